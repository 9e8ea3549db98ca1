package ownership_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// row is one row of seed 000's Behavior Summary, in all the readings of its columns, and what has to come of it where Kafka has no topic
// of the name, the object's own (X), or another one (Y).
type row struct {
	topicIDs, clusterIDs, own []string
	how                       []func(*ownership.Facts)
	gone, same, another       string
	// says is literal, where the seed is.
	says string
}

const seedMismatch = "KafkaTopic is owned by cluster 'B', not this cluster 'A'."

// behaviorSummary is seed 000's table. "any" is every value that the column can have; an object that was paused or never reconciled has no topicId.
func behaviorSummary() map[string]row {
	null, valid := []string{""}, []string{x.String()}
	matches, differs, known, failed := []string{clusterA}, []string{clusterB}, []string{clusterA}, []string{""}
	anyTopicID, anyCluster, anyOwn := []string{"", x.String(), y.String(), "garbage"}, []string{"", clusterA, clusterB}, []string{"", clusterA}
	how := func(changes ...func(*ownership.Facts)) []func(*ownership.Facts) { return changes }
	const mismatch = "refuse orders (ClusterMismatch)"
	return map[string]row{
		"New topic: null/null/valid: Set both, proceed": {topicIDs: null, clusterIDs: null, own: known, how: how(fresh),
			gone: "create orders", same: "align orders X claim=true", another: "align orders Y claim=true"},
		"New topic: null/null/null (fetch failed): Proceed without protection": {topicIDs: null, clusterIDs: null, own: failed, how: how(fresh),
			gone: "create orders", same: "align orders X claim=false", another: "align orders Y claim=false"},
		"Existing topic: valid/matches/valid: Proceed normally": {topicIDs: valid, clusterIDs: matches, own: known,
			gone: "create orders", same: "align orders X claim=false", another: "align orders Y claim=false"},
		"Existing topic: valid/differs/valid: Block with ClusterMismatch": {topicIDs: valid, clusterIDs: differs, own: known,
			gone: mismatch, same: mismatch, another: mismatch, says: seedMismatch},
		"Existing topic: any/any/null (fetch failed): Proceed (protection disabled)": {topicIDs: anyTopicID, clusterIDs: anyCluster, own: failed,
			gone: "create orders", same: "align orders X claim=false", another: "align orders Y claim=false"},
		"Unmanaged topic: any/any/any: Clear both to null": {topicIDs: anyTopicID, clusterIDs: anyCluster, own: anyOwn, how: how(unmanaged),
			gone: "mark-unmanaged orders", same: "mark-unmanaged orders", another: "mark-unmanaged orders"},
		"Paused topic: null/preserved/any: Skip reconciliation": {topicIDs: null, clusterIDs: anyCluster, own: anyOwn, how: how(paused),
			gone: "mark-paused orders", same: "mark-paused orders", another: "mark-paused orders"},
		"Delete (normal): valid/matches/valid: Compare topicId with Kafka, delete if match": {topicIDs: valid, clusterIDs: matches, own: known, how: how(deleting),
			gone: "release orders ()", same: "delete orders X", another: "refuse orders (TopicIdMismatch)"},
		"Delete (normal): valid/matches/valid: Block if topicId mismatch": {topicIDs: []string{y.String(), "garbage"}, clusterIDs: matches, own: known, how: how(deleting),
			gone: "release orders ()", same: "refuse orders (TopicIdMismatch)"},
		"Delete (paused): null/matches/valid: Proceed with deletion (clusterId fallback)": {topicIDs: null, clusterIDs: matches, own: known, how: how(deleting, paused),
			gone: "release orders ()", same: "delete orders X", another: "delete orders Y"},
		"Delete (paused): null/differs/valid: Block with ClusterMismatch": {topicIDs: null, clusterIDs: differs, own: known, how: how(deleting, paused),
			gone: mismatch, same: mismatch, another: mismatch, says: seedMismatch},
		"Delete (unclaimed): null/null/valid: Block (not ready for deletion)": {topicIDs: null, clusterIDs: null, own: known, how: how(deleting),
			gone: "refuse orders (NotReadyForDeletion)", same: "refuse orders (NotReadyForDeletion)", another: "refuse orders (NotReadyForDeletion)"},
		"Delete (any): any/any/null (fetch failed): Proceed (protection disabled), topicId null": {topicIDs: null, clusterIDs: anyCluster, own: failed, how: how(deleting),
			gone: "release orders ()", same: "delete orders X", another: "delete orders Y"},
		"Delete (any): any/any/null (fetch failed): Proceed (protection disabled), topicId valid": {topicIDs: valid, clusterIDs: anyCluster, own: failed, how: how(deleting),
			gone: "release orders ()", same: "delete orders X", another: "refuse orders (TopicIdMismatch)"},
	}
}

func (r row) check(t *testing.T) {
	g := NewWithT(t)
	for _, topicID := range r.topicIDs {
		for _, clusterID := range r.clusterIDs {
			for _, own := range r.own {
				f := facts(ids(topicID, clusterID))
				f.Own.ID = own
				for _, change := range r.how {
					change(&f)
				}
				columns := fmt.Sprintf("topicId %q, clusterId %q, operator's %q", topicID, clusterID, own)
				g.Expect(verdict(t, f, gone)).To(Equal(r.gone), "%s, Kafka has none", columns)
				g.Expect(verdict(t, f, has(x))).To(Equal(r.same), "%s, Kafka has X", columns)
				if r.another != "" {
					g.Expect(verdict(t, f, has(y))).To(Equal(r.another), "%s, Kafka has Y", columns)
				}
				if r.says != "" {
					g.Expect(wording(settle(t, f, has(x)))).To(Equal(r.says), "%s", columns)
				}
			}
		}
	}
}

// Seed 000, Behavior Summary: 13 rows, the last one in two parts, since a topicId that is known is compared even then (ruling T7).
func TestBehaviorSummary(t *testing.T) {
	rows := behaviorSummary()
	NewWithT(t).Expect(rows).To(HaveLen(14))
	for name, r := range rows {
		t.Run(name, r.check)
	}
}

// Seed 000, the flowchart of a deletion, by the letters of its nodes. The operator knows its cluster's id.
func TestDeletionFlowchart(t *testing.T) {
	for name, c := range map[string]struct {
		how  []func(*ownership.Facts)
		k    truth
		want string
	}{
		"A B C D E F: topicId, and Kafka's matches: proceed": {nil, has(x), "delete orders X"},
		"A B C D E F: also without a clusterId":              {[]func(*ownership.Facts){ids(x.String(), "")}, has(x), "delete orders X"},
		"A B C D E F: also while it is paused":               {[]func(*ownership.Facts){paused}, has(x), "delete orders X"},
		"A B C D E G: topicId, and Kafka's does not match: block": {
			nil, has(y), "refuse orders (TopicIdMismatch)"},
		"A B C D E G: also without a clusterId": {[]func(*ownership.Facts){ids(x.String(), "")}, has(y), "refuse orders (TopicIdMismatch)"},
		"A B C D: Kafka does not answer: wait":  {nil, silent, "wait orders"},
		"A B H I J: no topicId, no clusterId: block": {
			[]func(*ownership.Facts){ids("", "")}, has(x), "refuse orders (NotReadyForDeletion)"},
		"A B H I K: no topicId, clusterId matches: proceed": {
			[]func(*ownership.Facts){ids("", clusterA)}, has(x), "delete orders X"},
		"A B H I L: no topicId, clusterId differs: block": {
			[]func(*ownership.Facts){ids("", clusterB)}, has(x), "refuse orders (ClusterMismatch)"},
		"H2: topicId matches, clusterId differs: block": {
			[]func(*ownership.Facts){ids(x.String(), clusterB)}, has(x), "refuse orders (ClusterMismatch)"},
		"K only for a topic that was seen there: a status without its name proves nothing": {
			[]func(*ownership.Facts){ids("", clusterA), named("")}, has(x), "refuse orders (NotReadyForDeletion)"},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(append(c.how, deleting)...)
			NewWithT(t).Expect(verdict(t, f, c.k)).To(Equal(c.want))
		})
	}
}

// Seed 000, Rejected Alternatives: two operators see the same unclaimed object being deleted. Neither may claim it.
func TestOfTwoOperatorsNeitherDeletesWhatNobodyClaimed(t *testing.T) {
	g := NewWithT(t)
	for _, own := range []string{clusterA, clusterB} {
		f := facts(deleting, fresh)
		f.Own.ID = own
		g.Expect(verdict(t, f, has(x))).To(Equal("refuse orders (NotReadyForDeletion)"), "operator of %s", own)
	}
}

// Seed 000: of two operators that see the same new object, each has to store its claim before it changes anything.
func TestOfTwoOperatorsEachHasToClaimBeforeItChanges(t *testing.T) {
	g := NewWithT(t)
	for own, id := range map[string]string{clusterA: "X", clusterB: "Y"} {
		f := facts(fresh)
		f.Own.ID = own
		k := has(x)
		if own == clusterB {
			k = has(y)
		}
		g.Expect(verdict(t, f, k)).To(Equal("align orders " + id + " claim=true"))
	}
}

// check is one of the checks before a change, and what comes of it if no earlier one applies.
type check struct {
	name   string
	apply  func(*ownership.Facts)
	k      truth
	action string // without the topic's name
	says   string
}

// precede checks every check against all later ones: where both apply, the earlier one decides. Two checks that can't both apply are left out.
func precede(t *testing.T, base []func(*ownership.Facts), checks []check, apart map[string]string) {
	for i, first := range checks {
		t.Run(first.name+" alone", func(t *testing.T) { first.decides(t, facts(append(base, first.apply)...)) })
		for _, second := range checks[i+1:] {
			if apart[first.name] == second.name || apart[second.name] == first.name {
				continue
			}
			t.Run(first.name+" before "+second.name, func(t *testing.T) {
				k := first.k
				if k == (truth{}) {
					k = second.k
				}
				first.k = k
				first.decides(t, facts(append(base, second.apply, first.apply)...))
			})
		}
	}
}

func (c check) decides(t *testing.T, f ownership.Facts) {
	t.Helper()
	if c.k == (truth{}) {
		c.k = has(x)
	}
	d := settle(t, f, c.k)
	g := NewWithT(t)
	g.Expect(fmt.Sprintf("%s %s%s", d.Action, d.Refusal.Reason, d.Note.Reason)).To(Equal(c.action))
	g.Expect(wording(d)).To(ContainSubstring(c.says))
}

// Ruling T7. The order of what it does not mention is that of docs/topic-operator/ownership.md.
func TestOrderOfTheChecksOfADeletion(t *testing.T) {
	checks := []check{
		{name: "not selected", apply: func(f *ownership.Facts) { f.Object.Selected = false }, action: "ignore "},
		{name: "not held", apply: func(f *ownership.Facts) { f.Object.Held = false }, action: "ignore "},
		{name: "unmanaged", apply: unmanaged, action: "release Released", says: "'orders"},
		{name: "several claimants", apply: contested, action: "release LeftToOthers", says: "also managed by ns/a"},
		{name: "a name that no topic has", apply: named("orders!"), action: "release "},
		{name: "another cluster answers", apply: func(f *ownership.Facts) { f.Own.Answering = clusterB }, action: "refuse ClusterMismatch", says: "'B'"},
		{name: "own cluster id unknown", apply: func(f *ownership.Facts) { unseen(f); strict(f) }, action: "refuse ClusterIdUnknown", says: "block-deletion"},
		{name: "cluster ids differ", apply: func(f *ownership.Facts) { f.Object.ClusterID = "C" }, action: "refuse ClusterMismatch", says: "owned by cluster 'C', not this cluster 'A'."},
		{name: "forbidden by the policy", apply: forbidden, action: "release PolicyViolation", says: "the policy gives it to another namespace"},
		{name: "never claimed", apply: fresh, action: "refuse NotReadyForDeletion", says: "never reconciled"},
		{name: "topicId differs", apply: func(*ownership.Facts) {}, k: has(y), action: "refuse TopicIdMismatch"},
	}
	precede(t, []func(*ownership.Facts){deleting}, checks, map[string]string{
		"own cluster id unknown": "cluster ids differ", // nothing differs from what is unknown
		"cluster ids differ":     "never claimed",      // it was claimed elsewhere
	})
}

func TestOrderOfTheChecksOfAChange(t *testing.T) {
	checks := []check{
		{name: "not selected", apply: func(f *ownership.Facts) { f.Object.Selected = false }, action: "ignore "},
		{name: "held by somebody else only, while it is deleted", apply: func(f *ownership.Facts) { f.Object.Held = false; deleting(f) }, action: "ignore "},
		{name: "unmanaged", apply: unmanaged, action: "mark-unmanaged "},
		{name: "paused", apply: paused, action: "mark-paused "},
		{name: "another cluster answers", apply: func(f *ownership.Facts) { f.Own.Answering = clusterB }, action: "refuse ClusterMismatch", says: "'B'"},
		{name: "cluster ids differ", apply: func(f *ownership.Facts) { f.Object.ClusterID = "C" }, action: "refuse ClusterMismatch", says: "owned by cluster 'C', not this cluster 'A'."},
		{name: "retargeted", apply: asking("payments"), action: "refuse NotSupported", says: "stands for 'orders'"},
		{name: "forbidden by the policy", apply: forbidden, action: "refuse PolicyViolation", says: "the policy gives it to another namespace"},
		{name: "several claimants", apply: contested, action: "refuse ResourceConflict", says: "Also managed by ns/a"},
		{name: "a status without a cluster, and another topic", apply: ids(x.String(), ""), k: has(y), action: "refuse TopicIdMismatch"},
		{name: "Kafka does not answer", apply: func(*ownership.Facts) {}, k: silent, action: "wait "},
	}
	precede(t, nil, checks, map[string]string{
		"cluster ids differ":                            "a status without a cluster, and another topic",
		"a status without a cluster, and another topic": "Kafka does not answer",
	})
}

// Ruling T7: the operator's setting decides, and only as long as its cluster's id is unknown.
func TestADeletionWhileTheClusterIsUnknownIsASetting(t *testing.T) {
	g := NewWithT(t)
	g.Expect(verdict(t, facts(deleting, unseen), has(x))).To(Equal("delete orders X"))
	g.Expect(verdict(t, facts(deleting, unseen, strict), has(x))).To(Equal("refuse orders (ClusterIdUnknown)"))
	g.Expect(verdict(t, facts(deleting, strict), has(x))).To(Equal("delete orders X"))
	g.Expect(verdict(t, facts(unseen, strict), has(x))).To(Equal("align orders X claim=false"), "changes go on")
}

// H1: in the object's own cluster "there is none" means that it is gone; elsewhere it is the normal answer.
func TestAnAbsentTopicIsGoneOnlyInItsOwnCluster(t *testing.T) {
	for name, c := range map[string]struct {
		f    ownership.Facts
		k    truth
		want string
	}{
		"the clusters are the same":                        {facts(deleting), gone, "release orders ()"},
		"paused, and the clusters are the same":            {facts(deleting, paused, ids("", clusterA)), gone, "release orders ()"},
		"protection is disabled":                           {facts(deleting, unseen), gone, "release orders ()"},
		"another cluster":                                  {facts(deleting, ids(x.String(), clusterB)), gone, "refuse orders (ClusterMismatch)"},
		"nothing says which cluster":                       {facts(deleting, ids(x.String(), "")), gone, "refuse orders (NotReadyForDeletion)"},
		"nothing says which cluster, but it was made here": {facts(deleting, ids("", ""), made(x)), truth{shows: x, stale: true}, "release orders ()"},
		"only a broker says so, the controller has it":     {facts(deleting), unaware, "wait orders"},
		"a broker shows what the operator has deleted":     {facts(deleting), truth{shows: x, stale: true}, "release orders ()"},
		"a broker shows what was deleted and replaced":     {facts(deleting), truth{has: y, shows: x, stale: true}, "wait orders"},
		"nobody answers":                                   {facts(deleting), silent, "wait orders"},
		"only a broker says so, but this operator made it": {facts(deleting, fresh, made(x)), unaware, "delete orders X"},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(verdict(t, c.f, c.k)).To(Equal(c.want)) })
	}
}

func TestWhatTheOperatorMadeCountsAsTheObjectsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		f    ownership.Facts
		k    truth
		want string
	}{
		"the status never learned of it":                  {facts(deleting, fresh, made(z)), has(z), "delete orders Z"},
		"the status has the one before":                   {facts(deleting, made(z)), has(z), "delete orders Z"},
		"the broker still shows the one before":           {facts(deleting, made(z)), has(x), "delete orders X"},
		"the broker shows the one before, which is gone":  {facts(deleting, made(z)), truth{has: z, shows: x, stale: true}, "delete orders Z"},
		"somebody else's is there":                        {facts(deleting, fresh, made(z)), has(y), "refuse orders (TopicIdMismatch)"},
		"the object vanished":                             {facts(vanished, fresh, made(z)), has(z), "delete orders Z"},
		"the object belongs to another cluster meanwhile": {facts(deleting, ids("", clusterB), made(z)), has(z), "refuse orders (ClusterMismatch)"},
		"alive, it is aligned and claimed":                {facts(fresh, made(z)), has(z), "align orders Z claim=true"},
		"alive, and asking for another name before the status knew the first": {
			facts(fresh, made(z), asking("payments")), has(z), "refuse orders (NotSupported)"},
		"deleted, and asking for another name before the status knew the first": {
			facts(deleting, fresh, made(z), asking("payments")), has(z), "delete orders Z"},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(verdict(t, c.f, c.k)).To(Equal(c.want)) })
	}
}

// An object that vanished gets no second chance, so that its topic goes only by id.
func TestTheTopicOfAVanishedObjectGoesOnlyByItsID(t *testing.T) {
	for name, c := range map[string]struct {
		f    ownership.Facts
		k    truth
		want string
	}{
		"its id":                         {facts(vanished), has(x), "delete orders X"},
		"another id":                     {facts(vanished), has(y), "refuse orders (TopicIdMismatch)"},
		"no id, the clusters are equal":  {facts(vanished, ids("", clusterA)), has(x), "refuse orders (NotReadyForDeletion)"},
		"no id, protection is disabled":  {facts(vanished, ids("", clusterA), unseen), has(x), "refuse orders (NotReadyForDeletion)"},
		"another cluster":                {facts(vanished, ids(x.String(), clusterB)), has(x), "refuse orders (ClusterMismatch)"},
		"unmanaged":                      {facts(vanished, unmanaged), has(x), "release orders (Released)"},
		"claimed by others":              {facts(vanished, contested), has(x), "release orders (LeftToOthers)"},
		"not selected":                   {facts(vanished, func(f *ownership.Facts) { f.Object.Selected = false }), has(x), "ignore orders"},
		"gone with it":                   {facts(vanished), gone, "release orders ()"},
		"vanished in a deletion":         {facts(vanished, deleting), has(x), "delete orders X"},
		"its cluster's id is unknown":    {facts(vanished, unseen), has(x), "delete orders X"},
		"unknown, and that blocks":       {facts(vanished, unseen, strict), has(x), "refuse orders (ClusterIdUnknown)"},
		"the policy has come to refuse":  {facts(vanished, forbidden), has(x), "release orders (PolicyViolation)"},
		"what Kafka has can't be seen":   {facts(vanished), silent, "wait orders"},
		"the broker has not heard of it": {facts(vanished), unaware, "wait orders"},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(verdict(t, c.f, c.k)).To(Equal(c.want)) })
	}
}
