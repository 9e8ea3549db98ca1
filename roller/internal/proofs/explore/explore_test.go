package explore_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/proofs/explore"
)

var (
	broker     = roller.Roles{Broker: true}
	controller = roller.Roles{Controller: true}
	combined   = roller.Roles{Controller: true, Broker: true}
)

func ids(of ...roller.NodeID) []roller.NodeID { return of }

// small are clusters whose states are explored in a moment.
var small = []explore.Cluster{
	{Name: "one combined node", Nodes: []roller.Roles{combined}, Partitions: []explore.Partition{{MinISR: 1, Replicas: ids(0)}}, Moves: -1,
		MaxUnavailable: 1, Crashes: 1, Faults: 1},
	{Name: "two combined nodes", Nodes: []roller.Roles{combined, combined}, Partitions: []explore.Partition{{MinISR: 1, Replicas: ids(0, 1)}},
		Current: ids(1), Moves: -1, MaxUnavailable: 2, Crashes: 1},
	{Name: "two brokers", Nodes: []roller.Roles{broker, broker}, Partitions: []explore.Partition{{MinISR: 1, Replicas: ids(0, 1)},
		{MinISR: 2, Replicas: ids(1, 0)}}, Sticky: ids(1), Moves: -1, MaxUnavailable: 2, Crashes: 1},
	{Name: "three brokers", Nodes: []roller.Roles{broker, broker, broker},
		Partitions: []explore.Partition{{MinISR: 2, Replicas: ids(0, 1, 2)}}, Moves: -1, MaxUnavailable: 2, Crashes: 1},
	{Name: "three controllers", Nodes: []roller.Roles{controller, controller, controller}, Moves: -1, MaxUnavailable: 1, Faults: 1},
	{Name: "a move among three brokers", Nodes: []roller.Roles{broker, broker, broker},
		Partitions: []explore.Partition{{MinISR: 1, Replicas: ids(0, 1)}}, Current: ids(1), Moves: 2, MaxUnavailable: 3, Faults: 1},
	{Name: "two pairs of brokers, each with a partition", Nodes: []roller.Roles{broker, broker, broker, broker},
		Partitions: []explore.Partition{{MinISR: 1, Replicas: ids(0, 1)}, {MinISR: 1, Replicas: ids(2, 3)}}, Moves: -1, MaxUnavailable: 2},
	{Name: "four brokers over two Kubernetes clusters", Nodes: []roller.Roles{broker, broker, broker, broker},
		Places: []string{"", "", "east", "east"}, Partitions: []explore.Partition{{MinISR: 1, Replicas: ids(0, 1, 2, 3)}}, Current: ids(1, 3),
		Moves: -1, MaxUnavailable: 3, Crashes: 1},
}

// large are clusters that take minutes.
var large = []explore.Cluster{
	{Name: "two combined nodes, both out of date", Nodes: []roller.Roles{combined, combined},
		Partitions: []explore.Partition{{MinISR: 1, Replicas: ids(0, 1)}}, Moves: -1, MaxUnavailable: 2, Crashes: 1},
	{Name: "two brokers with all that goes wrong", Nodes: []roller.Roles{broker, broker},
		Partitions: []explore.Partition{{MinISR: 1, Replicas: ids(0, 1)}, {MinISR: 2, Replicas: ids(1, 0)}}, Sticky: ids(1), Moves: -1,
		MaxUnavailable: 2, Crashes: 1, Faults: 1},
	{Name: "a move among three brokers that are all out of date", Nodes: []roller.Roles{broker, broker, broker},
		Partitions: []explore.Partition{{MinISR: 1, Replicas: ids(0, 1)}}, Moves: 2, MaxUnavailable: 3, Faults: 1},
	{Name: "three brokers with all that goes wrong", Nodes: []roller.Roles{broker, broker, broker},
		Partitions: []explore.Partition{{MinISR: 2, Replicas: ids(0, 1, 2)}, {MinISR: 1, Replicas: ids(1, 2)}}, Moves: -1, MaxUnavailable: 2,
		Crashes: 1, Faults: 1},
	{Name: "four brokers", Nodes: []roller.Roles{broker, broker, broker, broker},
		Partitions: []explore.Partition{{MinISR: 1, Replicas: ids(0, 1)}, {MinISR: 1, Replicas: ids(2, 3)}}, Moves: -1,
		MaxUnavailable: 2, Crashes: 1},
	{Name: "five brokers", Nodes: []roller.Roles{broker, broker, broker, broker, broker},
		Partitions: []explore.Partition{{MinISR: 2, Replicas: ids(0, 1, 2)}, {MinISR: 2, Replicas: ids(2, 3, 4)},
			{MinISR: 1, Replicas: ids(0, 3)}, {MinISR: 1, Replicas: ids(1, 4)}}, Moves: -1, MaxUnavailable: 2},
	{Name: "four brokers over two Kubernetes clusters with all that goes wrong", Nodes: []roller.Roles{broker, broker, broker, broker},
		Places: []string{"", "", "east", "east"}, Partitions: []explore.Partition{{MinISR: 1, Replicas: ids(0, 1, 2, 3)}}, Moves: -1,
		MaxUnavailable: 3, Crashes: 1, Faults: 1},
	{Name: "five controllers over three Kubernetes clusters", Nodes: []roller.Roles{controller, controller, controller, controller,
		controller}, Places: []string{"", "", "east", "east", "west"}, Current: ids(1, 3), Moves: -1, MaxUnavailable: 1, Crashes: 1},
	{Name: "three combined nodes", Nodes: []roller.Roles{combined, combined, combined},
		Partitions: []explore.Partition{{MinISR: 2, Replicas: ids(0, 1, 2)}}, Moves: -1, MaxUnavailable: 1, Crashes: 1},
	{Name: "three controllers with all that goes wrong", Nodes: []roller.Roles{controller, controller, controller}, Moves: -1,
		MaxUnavailable: 1, Crashes: 1, Faults: 2},
	{Name: "three controllers and two brokers", Nodes: []roller.Roles{broker, broker, controller, controller, controller},
		Partitions: []explore.Partition{{MinISR: 1, Replicas: ids(0, 1)}}, Current: ids(0), Moves: -1, MaxUnavailable: 1, Crashes: 1},
}

// TestEveryInterleavingOfASmallRoll explores all states of rolls of small clusters.
func TestEveryInterleavingOfASmallRoll(t *testing.T) {
	clusters, limit := small, 0
	if os.Getenv("PROVE") == "full" {
		clusters, limit = append(clusters[:len(clusters):len(clusters)], large...), 1_500_000
	}
	states, violations := 0, 0
	for _, c := range clusters {
		began := time.Now()
		result := explore.Explore(&c, limit)
		states += result.States
		t.Logf("%-45s %8d states, %9d transitions, %6d ends, complete %t, %s", c.Name, result.States, result.Transitions, result.Ends,
			result.Complete, time.Since(began).Round(time.Millisecond))
		if result.Broken != "" {
			violations++
			t.Errorf("%s: %s", c.Name, result.Broken)
		} else if limit == 0 && (!result.Complete || result.Ends == 0) {
			t.Errorf("%s: complete %t, %d ends", c.Name, result.Complete, result.Ends)
		}
	}
	fmt.Printf("PROOF {\"name\":\"every interleaving of small rolls\",\"count\":%d,\"violations\":%d,\"seed\":0}\n", states, violations)
}

// A planted fault that restarts brokers ahead of their batch without the check of replicas in sync is found. The same rolls with the check
// break no rule.
func TestARefillThatIgnoresReplicasInSyncIsFound(t *testing.T) {
	cluster := explore.Cluster{Nodes: []roller.Roles{broker, broker, broker, broker, broker},
		Partitions: []explore.Partition{{MinISR: 2, Replicas: ids(0, 1, 2)}, {MinISR: 1, Replicas: ids(3, 4)}}, Current: ids(2), Moves: -1,
		MaxUnavailable: 2}
	g := NewWithT(t)
	g.Expect(explore.Explore(&cluster, 0).Broken).To(BeEmpty())
	cluster.Step = func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
		if len(p.Restarts) > 0 {
			seen := *s
			topics := slices.Clone(s.Topics.Or(nil))
			topics[0].MinISR = roller.Known(1)
			seen.Topics = roller.Known(topics)
			s = &seen
		}
		return roller.Step(s, p, policy)
	}
	g.Expect(explore.Explore(&cluster, 0).Broken).To(HavePrefix("availability rule"))
}
