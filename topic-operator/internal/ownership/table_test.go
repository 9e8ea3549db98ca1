package ownership_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// The topic idZ was created by this operator only. The operator's own cluster is clusterA.
var (
	idX, idY, idZ = kafka.TopicID{1}, kafka.TopicID{2}, kafka.TopicID{3}
	born          = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

const clusterA, clusterB = "cluster-A", "cluster-B"

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// facts returns the facts of a new KafkaTopic in a known cluster, modified by changes.
func facts(changes ...func(*ownership.Facts)) ownership.Facts {
	f := ownership.Facts{
		Object: ownership.Object{Key: key("ns", "orders"), Created: born, Selected: true, Managed: true, Asks: "orders"},
		Own:    ownership.Cluster{ID: clusterA},
	}
	for _, change := range changes {
		change(&f)
	}
	return f
}

// status sets the status that an earlier pass wrote.
func status(topicID, clusterID string) func(*ownership.Facts) {
	return func(f *ownership.Facts) {
		f.Object.TopicID, f.Object.ClusterID = topicID, clusterID
		if topicID != "" || clusterID != "" {
			f.Object.Name = "orders"
		}
	}
}

func deleting(f *ownership.Facts)     { f.Object.Deleting, f.Object.Held = true, true }
func unmanaged(f *ownership.Facts)    { f.Object.Managed = false }
func paused(f *ownership.Facts)       { f.Object.Paused = true }
func unknownOwn(f *ownership.Facts)   { f.Own.ID = "" }
func blockUnknown(f *ownership.Facts) { f.Rules.BlockUnknown = true }
func oldestWins(f *ownership.Facts)   { f.Rules.OldestWins = true }
func violates(f *ownership.Facts)     { f.Violation = "namespace ns may not have topic orders" }
func retargetedTo(asks string) func(*ownership.Facts) {
	return func(f *ownership.Facts) { f.Object.Asks = asks }
}

// rival adds another claimant of the same age, with changes.
func rival(namespace, name string, changes ...func(*ownership.Claimant)) func(*ownership.Facts) {
	return func(f *ownership.Facts) {
		c := ownership.Claimant{Key: key(namespace, name), Created: born}
		for _, change := range changes {
			change(&c)
		}
		f.Others = append(f.Others, c)
	}
}

// world is what a broker and the controller answer.
type world struct {
	broker ownership.Observation
	free   bool
}

func has(id kafka.TopicID) world {
	return world{broker: ownership.Observation{View: ownership.Present, ID: id}}
}

func nothing() world { return world{broker: ownership.Observation{View: ownership.Absent}, free: true} }

// drive decides as the controller does: it answers each question until the decision is final.
func drive(t *testing.T, f ownership.Facts, w world) ownership.Decision {
	t.Helper()
	for range 4 {
		d := ownership.Decide(f)
		switch d.Action {
		case ownership.Look:
			f.Observed = w.broker
		case ownership.Confirm:
			f.Observed = ownership.Observation{View: ownership.Taken}
			if w.free {
				f.Observed.View = ownership.Free
			}
		case ownership.Ignore, ownership.Release, ownership.MarkUnmanaged, ownership.MarkPaused, ownership.Refuse, ownership.Wait,
			ownership.Create, ownership.Align, ownership.Delete:
			return d
		}
	}
	t.Fatal("asked more than three times")
	return ownership.Decision{}
}

// row is a case: the expected decision as its String method prints it, and the message of an expected refusal.
type row struct {
	name    string
	facts   ownership.Facts
	world   world
	want    string
	message string
}

func check(t *testing.T, rows []row) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			g := NewWithT(t)
			d := drive(t, r.facts, r.world)
			g.Expect(d.String()).To(Equal(r.want))
			if r.message != "" {
				g.Expect(d.Refusal.Message).To(Equal(r.message))
			}
		})
	}
}

var (
	createsIt  = "create orders"
	alignsX    = "align orders " + idX.String() + " claim=false"
	claimsX    = "align orders " + idX.String() + " claim=true"
	deletesX   = "delete orders " + idX.String() + " claim=false"
	byNameX    = "delete orders " + idX.String() + " claim=true"
	letsGo     = "release orders ()"
	blocksIt   = func(reason string) string { return "refuse orders (" + reason + ")" }
	ofCluster  = "KafkaTopic is owned by cluster 'cluster-B', not this cluster 'cluster-A'."
	mismatched = blocksIt(v1.ReasonClusterMismatch)
)

// The names follow the table in docs/topic-operator/ownership.md, in its order. A row with "any" is tried with each value.
func TestBehaviorSummary(t *testing.T) {
	x, y := idX.String(), idY.String()
	rows := []row{
		{"New topic, valid: set both, proceed, create", facts(), nothing(), createsIt, ""},
		{"New topic, valid: set both, proceed, take over", facts(), has(idX), claimsX, ""},
		{"New topic, fetch failed: proceed without protection, create", facts(unknownOwn), nothing(), createsIt, ""},
		{"New topic, fetch failed: proceed without protection, take over", facts(unknownOwn), has(idX), alignsX, ""},
		{"Existing topic, matches: proceed normally", facts(status(x, clusterA)), has(idX), alignsX, ""},
		{"Existing topic, differs: block with ClusterMismatch", facts(status(x, clusterB)), has(idX), mismatched, ofCluster},
	}
	for _, topicID := range []string{"", x, y} {
		for _, clusterID := range []string{"", clusterA, clusterB} {
			has, is := has(idX), status(topicID, clusterID)
			of := " (" + topicID + "," + clusterID + ")"
			rows = append(rows, row{"Existing topic, fetch failed: proceed" + of, facts(unknownOwn, is), has, alignsX, ""})
			for _, own := range []string{"", clusterA, clusterB} {
				as := func(f *ownership.Facts) { f.Own.ID = own }
				rows = append(rows,
					row{"Unmanaged topic: clear both" + of + own, facts(is, unmanaged, as), has, "mark-unmanaged orders", ""},
					row{"Paused topic: skip reconciliation" + of + own, facts(is, paused, as), has, "mark-paused orders", ""})
			}
		}
	}
	rows = append(rows,
		row{"Delete (normal): compare topicId with Kafka, delete if match", facts(status(x, clusterA), deleting), has(idX), deletesX, ""},
		row{"Delete (normal): block if topicId mismatch", facts(status(y, clusterA), deleting), has(idX), blocksIt(v1.ReasonTopicIDMismatch), ""},
		row{"Delete (paused), matches: proceed with deletion (clusterId fallback)", facts(status("", clusterA), deleting, paused), has(idX),
			byNameX, ""},
		row{"Delete (paused), differs: block with ClusterMismatch", facts(status("", clusterB), deleting, paused), has(idX), mismatched,
			ofCluster},
		row{"Delete (unclaimed): block (not ready for deletion)", facts(deleting), has(idX), blocksIt(v1.ReasonNotReadyForDeletion), ""})
	for _, topicID := range []string{"", x} {
		for _, clusterID := range []string{"", clusterA, clusterB} {
			proceeds := deletesX
			if topicID == "" {
				proceeds = byNameX
			}
			rows = append(rows, row{"Delete (any), fetch failed: proceed (" + topicID + "," + clusterID + ")",
				facts(unknownOwn, status(topicID, clusterID), deleting), has(idX), proceeds, ""})
		}
	}
	check(t, rows)
}

// One row for each branch of docs/decisions/deletion.md. A row compares both topicId and clusterId if both are set.
func TestEachBranchOfTheDeletionFlowchart(t *testing.T) {
	x, y := idX.String(), idY.String()
	check(t, []row{
		{"topicId, Kafka has the same: proceed", facts(status(x, clusterA), deleting), has(idX), deletesX, ""},
		{"topicId, Kafka has the same, nobody claimed it for a cluster: proceed", facts(status(x, ""), deleting), has(idX), deletesX, ""},
		{"topicId, Kafka has another one: block with error", facts(status(y, clusterA), deleting), has(idX),
			blocksIt(v1.ReasonTopicIDMismatch), ""},
		{"topicId, Kafka has another one, nobody claimed it: block with error", facts(status(y, ""), deleting), has(idX),
			blocksIt(v1.ReasonTopicIDMismatch), ""},
		{"no topicId, no clusterId: block", facts(deleting), has(idX), blocksIt(v1.ReasonNotReadyForDeletion), ""},
		{"no topicId, clusterId matches: proceed", facts(status("", clusterA), deleting), has(idX), byNameX, ""},
		{"no topicId, clusterId differs: block with ClusterMismatch", facts(status("", clusterB), deleting), has(idX), mismatched, ofCluster},
	})
}

func TestNoHoleIsLeft(t *testing.T) {
	x, y := idX.String(), idY.String()
	behind := world{broker: ownership.Observation{View: ownership.Absent}}
	check(t, []row{
		{"gone from its own cluster is deleted", facts(status(x, clusterA), deleting), nothing(), letsGo, ""},
		{"gone, paused", facts(status("", clusterA), deleting, paused), nothing(), letsGo, ""},
		{"gone, protection disabled", facts(status(x, clusterB), deleting, unknownOwn), nothing(), letsGo, ""},
		{"absent from another cluster is no news", facts(status(x, clusterB), deleting), nothing(), mismatched, ofCluster},
		{"absent from a cluster that may be another one is no news", facts(status(x, ""), deleting), nothing(),
			blocksIt(v1.ReasonNotReadyForDeletion), ""},
		{"a broker that is behind is no proof", facts(status(x, clusterA), deleting), behind, "wait orders", ""},
		{"the same topicId does not outweigh another clusterId", facts(status(x, clusterB), deleting), has(idX), mismatched, ofCluster},
		{"another topicId is not outweighed by the same clusterId", facts(status(y, clusterA), deleting), has(idX),
			blocksIt(v1.ReasonTopicIDMismatch), ""},
		{"nor is an unreadable topicId taken for none", facts(status("garbage", clusterA), deleting), has(idX),
			blocksIt(v1.ReasonTopicIDMismatch), ""},
		{"nor with the protection disabled", facts(status(y, clusterA), deleting, unknownOwn), has(idX), blocksIt(v1.ReasonTopicIDMismatch), ""},
		{"on request an unknown cluster blocks deletions", facts(status(x, clusterA), deleting, unknownOwn, blockUnknown), has(idX),
			blocksIt(v1.ReasonClusterIDUnknown), ""},
		{"and only deletions", facts(status(x, clusterA), unknownOwn, blockUnknown), has(idX), alignsX, ""},
		{"and only unknown clusters", facts(status(x, clusterA), deleting, blockUnknown), has(idX), deletesX, ""},
		{"an illegal name holds up no deletion", facts(retargetedTo("no/topic"), deleting), nothing(), "release no/topic ()", ""},
		{"a replaced topic is taken over while its object lives", facts(status(y, clusterA)), has(idX), alignsX, ""},
	})
}

func illegal(f *ownership.Facts)     { f.Object.Asks = "no/topic" }
func unselected(f *ownership.Facts)  { f.Object.Selected = false }
func answeredByB(f *ownership.Facts) { f.Own.Answering = clusterB }

// For each two successive checks there is a row where both apply, and the earlier one wins.
func TestDeletionChecksInTheirOrder(t *testing.T) {
	x, y := idX.String(), idY.String()
	other := rival("ns", "other")
	check(t, []row{
		{"not selected before unmanaged", facts(deleting, unmanaged, unselected), has(idX), "ignore orders", ""},
		{"not held before unmanaged", facts(deleting, unmanaged, func(f *ownership.Facts) { f.Object.Held = false }), has(idX),
			"ignore orders", ""},
		{"unmanaged before several claimants", facts(deleting, unmanaged, other), has(idX), "release orders (Released)", ""},
		{"several claimants before an illegal name", facts(deleting, other, illegal), has(idX), "release no/topic (LeftToOthers)", ""},
		{"several claimants before an unknown cluster", facts(status(x, ""), deleting, other, unknownOwn, blockUnknown), has(idX),
			"release orders (LeftToOthers)", ""},
		{"an illegal name before another cluster that answers", facts(deleting, illegal, answeredByB), has(idX), "release no/topic ()", ""},
		{"an illegal name before an unknown cluster", facts(deleting, illegal, unknownOwn, blockUnknown), has(idX), "release no/topic ()", ""},
		{"another cluster that answers before clusters that differ", facts(status(x, "cluster-C"), deleting, answeredByB), has(idX), mismatched,
			"KafkaTopic is owned by cluster 'cluster-C', not this cluster 'cluster-B'."},
		{"an unknown cluster before the policy", facts(status(x, clusterA), deleting, violates, unknownOwn, blockUnknown), has(idX),
			blocksIt(v1.ReasonClusterIDUnknown), ""},
		{"clusters that differ before the policy", facts(status(x, clusterB), deleting, violates), has(idX), mismatched, ofCluster},
		{"the policy before a missing claim", facts(deleting, violates), has(idX), "release orders (PolicyViolation)", ""},
		{"the policy before another topicId", facts(status(y, clusterA), deleting, violates), has(idX), "release orders (PolicyViolation)", ""},
		{"a missing claim before an absent topic", facts(deleting), nothing(), blocksIt(v1.ReasonNotReadyForDeletion), ""},
		{"deletion before pause", facts(status(x, clusterA), deleting, paused), has(idX), deletesX, ""},
		{"deletion before retargeting", facts(status(x, clusterA), deleting, retargetedTo("bills")), has(idX), deletesX, ""},
	})
}

func TestReconciliationChecksInTheirOrder(t *testing.T) {
	x, y := idX.String(), idY.String()
	other := rival("ns", "other")
	check(t, []row{
		{"not selected before unmanaged", facts(unmanaged, unselected), has(idX), "ignore orders", ""},
		{"unmanaged before paused", facts(unmanaged, paused), has(idX), "mark-unmanaged orders", ""},
		{"paused before another cluster that answers", facts(paused, answeredByB), has(idX), "mark-paused orders", ""},
		{"another cluster that answers before clusters that differ", facts(status(x, "cluster-C"), answeredByB), has(idX), mismatched,
			"KafkaTopic is owned by cluster 'cluster-C', not this cluster 'cluster-B'."},
		{"clusters that differ before retargeting", facts(status(x, clusterB), retargetedTo("bills")), has(idX), mismatched, ofCluster},
		{"retargeting before the policy", facts(status(x, clusterA), retargetedTo("bills"), violates), has(idX),
			blocksIt(v1.ReasonNotSupported), ""},
		{"the policy before several claimants", facts(violates, other), has(idX), blocksIt(v1.ReasonPolicyViolation),
			"namespace ns may not have topic orders"},
		{"several claimants before a topic of unknown place", facts(status(y, ""), other), has(idX), blocksIt(v1.ReasonResourceConflict),
			"Also managed by ns/other"},
		{"a topic of unknown place, and another one here", facts(status(y, "")), has(idX), blocksIt(v1.ReasonTopicIDMismatch), ""},
		{"a topic of unknown place, and none here", facts(status(y, "")), nothing(), blocksIt(v1.ReasonTopicIDMismatch), ""},
		{"a topic of unknown place, and it is here", facts(status(x, "")), has(idX), claimsX, ""},
	})
}

// age moves a claimant's creation time.
func age(d time.Duration) func(*ownership.Claimant) {
	return func(c *ownership.Claimant) { c.Created = born.Add(d) }
}

func TestSeveralClaimantsOfOneTopic(t *testing.T) {
	mine, refused, both := status(idX.String(), clusterA), blocksIt(v1.ReasonResourceConflict), "Also managed by ns/a, ns/b"
	twoRivals := func(f *ownership.Facts) { rival("ns", "b")(f); rival("ns", "a")(f) }
	left := "release orders (LeftToOthers)"
	check(t, []row{
		{"all are refused, the others sorted", facts(mine, twoRivals), has(idX), refused, both},
		{"also before there is a topic", facts(twoRivals), nothing(), refused, both},
		{"sorted by namespace first", facts(rival("z", "a"), rival("b", "z")), nothing(), refused, "Also managed by b/z, z/a"},
		{"the oldest too", facts(mine, rival("ns", "a", age(time.Hour))), has(idX), refused, "Also managed by ns/a"},
		{"the object itself is no rival", facts(mine, rival("ns", "orders")), has(idX), alignsX, ""},
		{"nor is a KafkaTopic of another cluster", facts(mine, rival("ns", "a", ofB)), has(idX), alignsX, ""},
		{"oldest-wins: the oldest proceeds", facts(mine, oldestWins, rival("ns", "a", age(time.Second))), has(idX), alignsX, ""},
		{"oldest-wins: a younger one is refused", facts(mine, oldestWins, rival("ns", "z", age(-time.Second))), has(idX), refused,
			"Also managed by ns/z"},
		{"oldest-wins: of the same age, the first by name proceeds", facts(mine, oldestWins, rival("ns", "z")), has(idX), alignsX, ""},
		{"oldest-wins: of the same age, the second by name is refused", facts(mine, oldestWins, rival("ns", "a")), has(idX), refused,
			"Also managed by ns/a"},
		{"oldest-wins: of the same age, the namespace counts first", facts(mine, oldestWins, rival("a", "z")), has(idX), refused,
			"Also managed by a/z"},
		{"deleting one leaves the topic", facts(mine, deleting, rival("ns", "a")), has(idX), left, ""},
		{"also deleting the oldest where the oldest wins", facts(mine, deleting, oldestWins, rival("ns", "z", age(time.Hour))), has(idX),
			left, ""},
		{"not for a KafkaTopic of another cluster", facts(mine, deleting, rival("ns", "a", ofB)), has(idX), deletesX, ""},
		{"an object of another cluster is let go for a rival there", facts(status("", clusterB), deleting, rival("ns", "a", ofB)), has(idX),
			left, ""},
		{"the violator is refused", facts(mine, violates), has(idX), blocksIt(v1.ReasonPolicyViolation),
			"namespace ns may not have topic orders"},
		{"a conforming claimant proceeds next to a violator", facts(mine, rival("ns", "a", violator, hadTopic, hadClaim)), has(idX), alignsX, ""},
		{"a violator's deletion deletes nothing", facts(mine, violates, deleting), has(idX), "release orders (PolicyViolation)", ""},
		{"a violator that never had the topic does not keep it", facts(mine, deleting, rival("ns", "a", violator)), has(idX), deletesX, ""},
		{"one that had the topic keeps its data", facts(mine, deleting, rival("ns", "a", violator, hadTopic)), has(idX), left, ""},
		{"also if its topicId is away while it is paused", facts(mine, deleting, rival("ns", "a", violator, hadClaim)), has(idX), left, ""},
	})
}

func TestRetargeting(t *testing.T) {
	mine := status(idX.String(), clusterA)
	made := func(f *ownership.Facts) { f.Object.Made = &ownership.Creation{Name: "orders", ID: idX} }
	stands := "Changing spec.topicName is not supported: this KafkaTopic manages 'orders'"
	check(t, []row{
		{"is refused", facts(mine, retargetedTo("bills")), has(idX), blocksIt(v1.ReasonNotSupported), stands},
		{"is refused before the status tells what was made", facts(made, retargetedTo("bills")), has(idX),
			blocksIt(v1.ReasonNotSupported), stands},
		{"can be undone", facts(mine, retargetedTo("orders")), has(idX), alignsX, ""},
		{"is free as long as there is no topic", facts(retargetedTo("bills")), nothing(), "create bills", ""},
		{"and deletion deletes the topic it stands for", facts(mine, retargetedTo("bills"), deleting), has(idX), deletesX, ""},
		{"to an illegal name and deletion deletes the topic it stands for", facts(mine, illegal, deleting), has(idX), deletesX, ""},
		{"and deletion deletes the topic that was made", facts(made, retargetedTo("bills"), deleting), has(idX), deletesX, ""},
	})
}

// A deletion without finalizers is not retried by the user, so only an id proves ownership.
func TestAnObjectThatVanished(t *testing.T) {
	x, y := idX.String(), idY.String()
	vanished := func(f *ownership.Facts) { f.Object.Vanished = true }
	check(t, []row{
		{"takes the topic of its topicId with it", facts(vanished, status(x, clusterA)), has(idX), deletesX, ""},
		{"takes no topic of another topicId with it", facts(vanished, status(y, clusterA)), has(idX), blocksIt(v1.ReasonTopicIDMismatch), ""},
		{"takes nothing with it by the fallback", facts(vanished, status("", clusterA)), has(idX), blocksIt(v1.ReasonNotReadyForDeletion), ""},
		{"takes nothing with it by the fallback, protection disabled", facts(vanished, unknownOwn), has(idX),
			blocksIt(v1.ReasonNotReadyForDeletion), ""},
		{"takes nothing of another cluster with it", facts(vanished, status(x, clusterB)), has(idX), mismatched, ofCluster},
	})
}
