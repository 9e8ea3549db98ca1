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

// The cast: two topic ids, a third that only this operator made, and two clusters, of which A is the operator's own.
var (
	idX, idY, idZ = kafka.TopicID{1}, kafka.TopicID{2}, kafka.TopicID{3}
	born          = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

const clusterA, clusterB = "cluster-A", "cluster-B"

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// facts returns a KafkaTopic that nobody reconciled yet, of an operator that knows its cluster, changed as the test wants it.
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

// status is what an earlier pass wrote.
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

// rival adds another claimant of the same age, changed as the test wants it.
func rival(namespace, name string, changes ...func(*ownership.Claimant)) func(*ownership.Facts) {
	return func(f *ownership.Facts) {
		c := ownership.Claimant{Key: key(namespace, name), Created: born}
		for _, change := range changes {
			change(&c)
		}
		f.Others = append(f.Others, c)
	}
}

// world is what Kafka answers when it is asked: a broker, and the controller.
type world struct {
	broker ownership.Sight
	free   bool
}

func has(id kafka.TopicID) world {
	return world{broker: ownership.Sight{View: ownership.Present, ID: id}}
}

func nothing() world { return world{broker: ownership.Sight{View: ownership.Absent}, free: true} }

// drive decides as the controller does: what is asked for is answered, until there is nothing to ask any more.
func drive(t *testing.T, f ownership.Facts, w world) ownership.Decision {
	t.Helper()
	for range 4 {
		d := ownership.Decide(f)
		switch d.Action {
		case ownership.Look:
			f.Sight = w.broker
		case ownership.Confirm:
			f.Sight = ownership.Sight{View: ownership.Taken}
			if w.free {
				f.Sight.View = ownership.Free
			}
		case ownership.Ignore, ownership.Release, ownership.MarkUnmanaged, ownership.MarkPaused, ownership.Refuse, ownership.Wait,
			ownership.Create, ownership.Align, ownership.Delete:
			return d
		}
	}
	t.Fatal("asked more than three times")
	return ownership.Decision{}
}

// row is a case and what has to come of it: the decision as it prints itself, and, if it refuses, its message.
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
	deletesX   = "delete orders " + idX.String()
	letsGo     = "release orders ()"
	blocksIt   = func(reason string) string { return "refuse orders (" + reason + ")" }
	ofCluster  = "KafkaTopic is owned by cluster 'cluster-B', not this cluster 'cluster-A'."
	mismatched = blocksIt(v1.ReasonClusterMismatch)
)

// The names are those of the table "Behavior Summary" of seed 000, in its order. "any" is tried with each value that there is.
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
		row{"Delete (paused), matches: proceed with deletion (clusterId fallback)", facts(status("", clusterA), deleting, paused), has(idX), deletesX, ""},
		row{"Delete (paused), differs: block with ClusterMismatch", facts(status("", clusterB), deleting, paused), has(idX), mismatched, ofCluster},
		row{"Delete (unclaimed): block (not ready for deletion)", facts(deleting), has(idX), blocksIt(v1.ReasonNotReadyForDeletion), ""})
	for _, topicID := range []string{"", x} {
		for _, clusterID := range []string{"", clusterA, clusterB} {
			rows = append(rows, row{"Delete (any), fetch failed: proceed (" + topicID + "," + clusterID + ")", facts(unknownOwn, status(topicID, clusterID), deleting), has(idX), deletesX, ""})
		}
	}
	check(t, rows)
}
