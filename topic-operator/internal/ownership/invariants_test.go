package ownership_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// The values of each fact that can make a difference.
var (
	allAsks         = []string{"orders", "bills", "no/topic"}
	allNames        = []string{"", "orders"}
	allTopicIDs     = []string{"", idX.String(), idY.String(), "garbage"}
	allClusterIDs   = []string{"", clusterA, clusterB}
	allMade         = []*ownership.Creation{nil, {Name: "orders", ID: idX}, {Name: "orders", ID: idZ}}
	allOwn          = []ownership.Cluster{{}, {ID: clusterA}, {ID: clusterA, Answering: clusterB}}
	allViolations   = []string{"", "namespace ns may not have topic orders"}
	allObservations = []ownership.Observation{
		{View: ownership.NotAsked}, {View: ownership.Unknown}, {View: ownership.Absent}, {View: ownership.Free}, {View: ownership.Taken},
		{View: ownership.Present, ID: idX}, {View: ownership.Present, ID: idY}, {View: ownership.Present, ID: idX, Outdated: true},
	}
	allRules = []ownership.Rules{{}, {OldestWins: true}, {BlockUnknown: true}, {OldestWins: true, BlockUnknown: true}}

	// The order of names is the reverse of the order of ages, so that a test shows which one counts.
	older, younger  = claimant("z", -time.Hour), claimant("a", time.Hour)
	twin            = claimant("a", 0)
	foreign, native = claimant("z", -time.Hour, ofB), claimant("a", time.Hour, hadClaim)
	allOthers       = [][]ownership.Claimant{
		nil, {older}, {younger}, {twin}, {foreign}, {native},
		{claimant("z", -time.Hour, violator)}, {claimant("z", -time.Hour, violator, hadTopic)}, {claimant("z", -time.Hour, violator, hadClaim)},
		{older, younger}, {foreign, claimant("a", time.Hour, violator, hadTopic)},
	}
)

func claimant(name string, of time.Duration, changes ...func(*ownership.Claimant)) ownership.Claimant {
	c := ownership.Claimant{Key: types.NamespacedName{Namespace: "ns", Name: name}, Created: born.Add(of)}
	for _, change := range changes {
		change(&c)
	}
	return c
}

// tally counts the outcomes of one part of the combinations.
type tally struct {
	count, broken int64
	actions       [ownership.Delete + 1]int64
	// reasons counts the reasons of refusals and notes; those of notes begin with a prefix.
	reasons map[string]int64
	// first are the first broken promises.
	first []string
}

func (s *tally) add(o *tally) {
	s.count += o.count
	s.broken += o.broken
	for a, n := range o.actions {
		s.actions[a] += n
	}
	for r, n := range o.reasons {
		s.reasons[r] += n
	}
}

// TestEveryCombinationOfTheFactsKeepsThePromises tries all combinations. The functions below state the promises again, independently of the
// package's code.
func TestEveryCombinationOfTheFactsKeepsThePromises(t *testing.T) {
	total := &tally{reasons: map[string]int64{}}
	var lock sync.Mutex
	t.Run("of", func(t *testing.T) {
		for _, own := range allOwn {
			for _, clusterID := range allClusterIDs {
				t.Run(fmt.Sprintf("own=%s,answering=%s,clusterId=%s", own.ID, own.Answering, clusterID), func(t *testing.T) {
					t.Parallel()
					part := &tally{reasons: map[string]int64{}}
					part.objects(own, clusterID)
					for _, broken := range part.first {
						t.Error(broken)
					}
					lock.Lock()
					defer lock.Unlock()
					total.add(part)
				})
			}
		}
	})
	total.mustCoverAll(t)
	fmt.Printf("PROOF {\"name\":\"every combination of the facts\",\"count\":%d,\"violations\":%d,\"seed\":0}\n", total.count, total.broken)
}

// mustCoverAll fails if an outcome never occurred, because its promises would not have been tested.
func (s *tally) mustCoverAll(t *testing.T) {
	for a, n := range s.actions {
		if n == 0 {
			t.Errorf("no combination leads to %s", ownership.Action(a))
		}
		t.Logf("%14s %d", ownership.Action(a), n)
	}
	for _, r := range []string{
		v1.ReasonClusterMismatch, v1.ReasonClusterIDUnknown, v1.ReasonNotSupported, v1.ReasonPolicyViolation, v1.ReasonResourceConflict,
		v1.ReasonTopicIDMismatch,
		v1.ReasonNotReadyForDeletion, "released ", "released " + ownership.EventReleased, "released " + ownership.EventLeftToOthers,
		"released " + v1.ReasonPolicyViolation,
	} {
		if s.reasons[r] == 0 {
			t.Errorf("no combination leads to the reason %q", r)
		}
		t.Logf("%34s %d", r, s.reasons[r])
	}
}

// objects tries all objects with this clusterId.
func (s *tally) objects(own ownership.Cluster, clusterID string) {
	f := ownership.Facts{Own: own}
	for bits := range 1 << 6 {
		is := func(bit int) bool { return bits&(1<<bit) != 0 }
		for _, asks := range allAsks {
			for _, name := range allNames {
				for _, topicID := range allTopicIDs {
					for _, made := range allMade {
						f.Object = ownership.Object{
							Key: types.NamespacedName{Namespace: "ns", Name: "orders"}, Created: born,
							Selected: is(0), Deleting: is(1), Held: is(2), Vanished: is(3), Managed: is(4), Paused: is(5),
							Asks: asks, Name: name, TopicID: topicID, ClusterID: clusterID, Made: made,
						}
						s.surroundings(&f)
					}
				}
			}
		}
	}
}

// surroundings tries all combinations of the facts around an object.
func (s *tally) surroundings(f *ownership.Facts) {
	for _, f.Others = range allOthers {
		for _, f.Violation = range allViolations {
			for _, f.Rules = range allRules {
				for _, f.Observed = range allObservations {
					s.try(f)
				}
			}
		}
	}
}

func (s *tally) try(f *ownership.Facts) {
	d := ownership.Decide(*f)
	s.count++
	s.actions[d.Action]++
	switch d.Action {
	case ownership.Refuse:
		s.reasons[d.Refusal.Reason]++
	case ownership.Release:
		s.released(d.Note.Reason)
	}
	broken := judge(f, &d)
	if broken == "" {
		return
	}
	s.broken++
	if len(s.first) < 3 {
		s.first = append(s.first, fmt.Sprintf("%s: %s (%s)\nof %+v", broken, d, d.Refusal.Message, *f))
	}
}

func (s *tally) released(reason string) {
	switch reason {
	case "":
		s.reasons["released "]++
	case ownership.EventReleased:
		s.reasons["released "+ownership.EventReleased]++
	case ownership.EventLeftToOthers:
		s.reasons["released "+ownership.EventLeftToOthers]++
	case v1.ReasonPolicyViolation:
		s.reasons["released "+v1.ReasonPolicyViolation]++
	}
}

// view is what the test derives from the facts.
type view struct {
	*ownership.Facts
	// gone: the topic is to be deleted. standsFor is the topic's name.
	gone      bool
	standsFor string
	// stranger: the object belongs to another cluster. unplaced: the object has a topic, in an unknown cluster.
	stranger, unplaced bool
	// fresh: a broker that does not lag reported the topic.
	fresh bool
	// contested: because of other claimants the object must not change its topic. kept: because of them it must not delete the topic.
	contested, kept bool
}

func look(f *ownership.Facts) view {
	o := &f.Object
	v := view{
		Facts: f, gone: o.Deleting || o.Vanished, standsFor: o.Name,
		stranger: f.Own.ID != "" && o.ClusterID != "" && f.Own.ID != o.ClusterID,
		unplaced: f.Own.ID != "" && o.ClusterID == "" && o.TopicID != "" && o.Made == nil,
		fresh:    f.Observed.View == ownership.Present && !f.Observed.Outdated,
	}
	if v.standsFor == "" && o.Made != nil {
		v.standsFor = o.Made.Name
	}
	if v.standsFor == "" {
		v.standsFor = o.Asks
	}
	home := o.ClusterID
	if home == "" {
		home = f.Own.ID
	}
	for i := range f.Others {
		c := &f.Others[i]
		if home != "" && c.ClusterID != "" && c.ClusterID != home {
			continue // it claims a topic of another cluster
		}
		if !c.Violates {
			first := o.Created.Before(c.Created) || o.Created.Equal(c.Created) && o.Key.Name < c.Key.Name
			v.contested = v.contested || !f.Rules.OldestWins || !first
		}
		v.kept = v.kept || !c.Violates || c.TopicID != "" || c.ClusterID != ""
	}
	return v
}

// judge returns the promise that a decision breaks; empty if it keeps them all.
func judge(f *ownership.Facts, d *ownership.Decision) string {
	v := look(f)
	for _, broken := range [...]string{
		v.form(d), v.bystanders(d), v.questions(d), v.changes(d), v.deletion(d), v.releases(d), v.refusal(d), v.again(d),
	} {
		if broken != "" {
			return broken
		}
	}
	return ""
}

// form checks that each decision has the fields that belong to its action, and no others.
func (v *view) form(d *ownership.Decision) string {
	refused := d.Refusal.Reason != "" && d.Refusal.Message != ""
	withID := d.Action == ownership.Align || d.Action == ownership.Delete
	switch {
	case d.Topic != v.standsFor:
		return "it is about the topic that the object stands for"
	case refused != (d.Action == ownership.Refuse), !refused && (d.Refusal.Reason != "" || d.Refusal.Message != "" || d.Refusal.Advice != ""):
		return "a refusal, and nothing else, has a reason and a message"
	case d.Action != ownership.Release && d.Note.Reason != "", (d.Note.Reason == "") != (d.Note.Message == ""):
		return "a release, and nothing else, has a note, with reason and message"
	case withID == (d.ID == kafka.TopicID{}):
		return "Align and Delete, and nothing else, have an id"
	case d.Action == ownership.Delete && d.Claim != (v.Object.TopicID == "" && v.Object.Made == nil):
		return "it stores the id first exactly if nothing but the name says what is deleted"
	case d.Action != ownership.Delete && d.Claim != (d.Action == ownership.Align && v.Own.ID != "" && v.Object.ClusterID == ""):
		return "it claims exactly if the own cluster is known and the object unclaimed"
	case hasNewline(d.Refusal.Message) || hasNewline(d.Refusal.Advice) || hasNewline(d.Note.Message):
		return "there is no newline in a message"
	}
	return ""
}

func ofB(c *ownership.Claimant)      { c.ClusterID = clusterB }
func violator(c *ownership.Claimant) { c.Violates = true }
func hadTopic(c *ownership.Claimant) { c.TopicID = idX.String() }
func hadClaim(c *ownership.Claimant) { c.ClusterID = clusterA }

func hasNewline(s string) bool { return strings.ContainsAny(s, "\n\r") }

// bystanders checks that the operator ignores exactly the objects that it must not touch, and marks the unmanaged and paused ones.
func (v *view) bystanders(d *ownership.Decision) string {
	o := &v.Object
	ignored := !o.Selected || v.gone && !o.Held && !o.Vanished
	lives := !ignored && !v.gone
	switch {
	case ignored != (d.Action == ownership.Ignore):
		return "it ignores exactly what is not selected, and what is deleted and not held"
	case (lives && !o.Managed) != (d.Action == ownership.MarkUnmanaged):
		return "it marks exactly what lives unmanaged"
	case (lives && o.Managed && o.Paused) != (d.Action == ownership.MarkPaused):
		return "it marks exactly what lives managed and paused"
	}
	return ""
}

// questions checks that each question is asked at most once and in a fixed order, so that three truthful answers lead to an end.
func (v *view) questions(d *ownership.Decision) string {
	seen := v.Observed.View
	switch {
	case d.Action == ownership.Look && seen != ownership.NotAsked:
		return "it looks only once"
	case d.Action == ownership.Confirm && seen != ownership.Absent && (seen != ownership.Present || !v.Observed.Outdated):
		return "it confirms only that a topic is absent"
	case d.Action == ownership.Wait && seen != ownership.Unknown && seen != ownership.Taken && !v.Observed.Outdated:
		return "it waits only if an answer is missing, or contradicts another one"
	case seen == ownership.Unknown && (d.Action == ownership.Create || d.Action == ownership.Align || d.Action == ownership.Delete):
		return "nothing follows from what is unknown"
	}
	return ""
}

// changes checks that the topic of a live object is created or aligned exactly if no fact forbids it.
func (v *view) changes(d *ownership.Decision) string {
	o := &v.Object
	may := o.Selected && !v.gone && o.Managed && !o.Paused && v.Own.Answering == "" && !v.stranger && v.Violation == "" &&
		o.Asks == v.standsFor && !v.contested
	absent := v.Observed.View == ownership.Absent || v.Observed.View == ownership.Free
	switch {
	case (may && absent && !v.unplaced) != (d.Action == ownership.Create):
		return "it creates exactly what is its own and absent"
	case (may && v.fresh && (!v.unplaced || o.TopicID == v.Observed.ID.String())) != (d.Action == ownership.Align):
		return "it aligns exactly what is its own and was seen"
	case d.Action == ownership.Align && d.ID != v.Observed.ID:
		return "it aligns the topic that was seen"
	}
	return ""
}

// mayDelete reports whether all conditions of a deletion hold, except for the proof of identity.
func (v *view) mayDelete() bool {
	o := &v.Object
	return v.gone && o.Selected && (o.Held || o.Vanished) && o.Managed && v.Own.Answering == "" && !v.stranger && !v.kept &&
		v.Violation == "" &&
		(v.Own.ID != "" || !v.Rules.BlockUnknown) && isLegal(v.standsFor)
}

func isLegal(name string) bool { return !strings.Contains(name, "/") }

// proves reports whether this topic, under the object's name, is proven to be the object's own: by id, or by the fallback to the name.
func (v *view) proves(id kafka.TopicID) bool {
	o := &v.Object
	if o.TopicID != "" || o.Made != nil {
		return o.TopicID == id.String() || o.Made != nil && o.Made.ID == id
	}
	return !o.Vanished && (v.Own.ID == "" || o.ClusterID == v.Own.ID && o.Name != "")
}

// deletion checks that a topic is deleted exactly if it was reported, or was just created here, and is proven to be the object's own.
func (v *view) deletion(d *ownership.Decision) string {
	seen, made := v.Observed.View, v.Object.Made
	// A topic that was created here may be deleted although the broker that was asked does not report it yet.
	unheard := made != nil && (seen == ownership.Absent || v.Observed.Outdated && made.ID != v.Observed.ID)
	proven := v.fresh && v.proves(v.Observed.ID)
	switch {
	case d.Action == ownership.Delete && !v.mayDelete():
		return "it deletes nothing that something speaks against"
	case d.Action == ownership.Delete && !proven && !unheard:
		return "it deletes nothing without proof"
	case d.Action == ownership.Delete && proven && d.ID != v.Observed.ID:
		return "it deletes what was seen, by its id"
	case d.Action == ownership.Delete && unheard && d.ID != made.ID:
		return "it deletes what was made here, by its id"
	case d.Action != ownership.Delete && v.mayDelete() && (proven || unheard):
		return "it deletes what is proven"
	}
	return ""
}

// releases checks that an object is released only for one of four reasons, each of them certain.
func (v *view) releases(d *ownership.Decision) string {
	if d.Action != ownership.Release {
		return ""
	}
	o := &v.Object
	trusted := v.Own.Answering == "" && !v.stranger && (v.Own.ID != "" || !v.Rules.BlockUnknown)
	why := ""
	switch {
	case !v.gone || !o.Selected || !o.Held && !o.Vanished:
		return "it lets go only what is deleted and held"
	case !o.Managed:
		why = ownership.EventReleased
	case v.kept:
		why = ownership.EventLeftToOthers
	case !isLegal(v.standsFor):
	case !trusted:
		return "it lets nothing go in a cluster that is not the object's"
	case v.Violation != "":
		why = v1.ReasonPolicyViolation
	case v.Observed.View != ownership.Free:
		return "a topic is gone only if the controller says so"
	case v.Own.ID != "" && o.ClusterID == "" && o.Made == nil:
		return "a topic that may be in another cluster is not gone"
	}
	if d.Note.Reason != why {
		return "it says why it lets go"
	}
	return ""
}

// refusal checks that its reason applies, and that its message contains the way out.
func (v *view) refusal(d *ownership.Decision) string {
	if d.Action != ownership.Refuse {
		return ""
	}
	applies := false
	switch o := &v.Object; d.Refusal.Reason {
	case v1.ReasonClusterMismatch:
		applies = v.Own.Answering != "" || v.stranger
	case v1.ReasonClusterIDUnknown:
		applies = v.gone && v.Own.ID == "" && v.Rules.BlockUnknown
	case v1.ReasonNotSupported:
		applies = !v.gone && o.Asks != v.standsFor
	case v1.ReasonPolicyViolation:
		applies = !v.gone && v.Violation != ""
	case v1.ReasonResourceConflict:
		applies = !v.gone && v.contested
	case v1.ReasonTopicIDMismatch:
		applies = v.fresh && (o.TopicID != "" || o.Made != nil) && !v.proves(v.Observed.ID) &&
			strings.Contains(d.Refusal.Message, v.Observed.ID.String()) ||
			!v.gone && v.unplaced && v.Observed.View == ownership.Free
	case v1.ReasonNotReadyForDeletion:
		applies = v.gone && o.Made == nil && (o.TopicID == "" || o.ClusterID == "" && v.Own.ID != "" && v.Observed.View == ownership.Free)
	}
	if !applies {
		return "the reason of a refusal applies"
	}
	if out := d.Refusal.Message + d.Refusal.Advice; v.gone && !v.Object.Vanished && !strings.Contains(out, `strimzi.io/managed="false"`) &&
		!strings.Contains(out, "restart") {
		return "who blocks a deletion tells the way out"
	}
	return ""
}

// again checks that equivalent facts lead to the same decision, and that facts that forbid a deletion less do not block it.
func (v *view) again(d *ownership.Decision) string {
	f := *v.Facts
	if len(f.Others) > 1 {
		f.Others = []ownership.Claimant{f.Others[1], f.Others[0]}
		if ownership.Decide(f) != *d {
			return "the order of the others does not matter"
		}
		f.Others = v.Others
	}
	switch d.Action {
	case ownership.Delete:
		return v.weaker(d, f)
	case ownership.Look:
		return v.ends(f)
	case ownership.Create, ownership.Align:
		if f.Own.ID = clusterB; v.Own.ID != "" && v.Object.ClusterID != "" && ownership.Decide(f).Action != ownership.Refuse {
			return "of two operators only the one of the object's cluster acts"
		}
	case ownership.Refuse:
		return v.lasts(d, f)
	case ownership.Ignore, ownership.Release, ownership.MarkUnmanaged, ownership.MarkPaused, ownership.Confirm, ownership.Wait:
	}
	return ""
}

// lasts checks that a refused deletion stays refused once the status has the id of the created topic and the operator no longer remembers
// the creation.
func (v *view) lasts(d *ownership.Decision, f ownership.Facts) string {
	made := f.Object.Made
	if made == nil || f.Object.TopicID != "" || !v.gone || d.Refusal.Reason == v1.ReasonClusterMismatch { // no id in the status
		return ""
	}
	f.Object.Made, f.Object.Name, f.Object.TopicID = nil, made.Name, made.ID.String()
	if f.Own.ID != "" {
		f.Object.ClusterID = f.Own.ID
	}
	if after := ownership.Decide(f); after.Action != ownership.Refuse || after.Refusal.Reason != d.Refusal.Reason {
		return "what was refused stays refused without the operator's memory"
	}
	return ""
}

// weaker repeats a deletion after removing one fact at a time.
func (v *view) weaker(d *ownership.Decision, f ownership.Facts) string {
	if ownership.Decide(f) != *d {
		return "the same facts lead to the same decision"
	}
	f.Rules.BlockUnknown, f.Rules.OldestWins = false, !f.Rules.OldestWins
	if ownership.Decide(f) != *d {
		return "a strict rule alone makes nothing deletable"
	}
	f.Object.Paused = !f.Object.Paused
	if ownership.Decide(f) != *d {
		return "a pause makes no difference to a deletion"
	}
	f.Others, f.Violation = nil, ""
	if ownership.Decide(f) != *d {
		return "a claimant or a violation makes nothing deletable"
	}
	f.Violation = "no"
	if ownership.Decide(f).Action == ownership.Delete {
		return "a violation keeps from deleting"
	}
	f.Violation, f.Others = "", []ownership.Claimant{older}
	if ownership.Decide(f).Action == ownership.Delete {
		return "one more claimant keeps from deleting"
	}
	if f.Others, f.Own.ID = nil, clusterB; v.Own.ID != "" && v.Object.ClusterID != "" && ownership.Decide(f).Action == ownership.Delete {
		return "of two operators only the one of the object's cluster deletes"
	}
	return ""
}

// answers are combinations of a broker's observation and the controller's answer whether the name is free. If the two agree, the answer is
// final; otherwise the broker lags, and Wait is an accepted end as well.
var answers = []struct {
	broker       ownership.Observation
	free, agreed bool
}{
	{ownership.Observation{View: ownership.Unknown}, true, false}, {ownership.Observation{View: ownership.Absent}, true, true},
	{ownership.Observation{View: ownership.Absent}, false, false},
	{ownership.Observation{View: ownership.Present, ID: idX}, false, true},
	{ownership.Observation{View: ownership.Present, ID: idY}, false, true},
	{ownership.Observation{View: ownership.Present, ID: idX, Outdated: true}, true, false},
	{ownership.Observation{View: ownership.Present, ID: idX, Outdated: true}, false, false},
}

// ends checks that the questions of a pass come to an end with each of the answers.
func (v *view) ends(f ownership.Facts) string {
	for _, a := range answers {
		f.Observed = ownership.Observation{}
		asked, d := 0, ownership.Decision{Action: ownership.Look}
		for ; d.Action == ownership.Look || d.Action == ownership.Confirm; asked++ {
			if f.Observed = a.broker; d.Action == ownership.Confirm {
				f.Observed = ownership.Observation{View: ownership.Taken}
				if a.free {
					f.Observed.View = ownership.Free
				}
			}
			if asked == 3 {
				return "truthful answers lead to an end"
			}
			d = ownership.Decide(f)
		}
		if a.agreed && d.Action == ownership.Wait {
			return "it does not wait for what it knows"
		}
	}
	return ""
}
