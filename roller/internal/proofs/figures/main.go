// Command figures measures the roller's core: the cost of planning, the quality of batches, and the virtual time of rolls. It prints one
// JSON object per line for make bench. It needs neither Kubernetes nor Kafka.
package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/proofs/simulator"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// figure is one line of the output.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Floor float64 `json:"floor,omitempty"`
	Ratio float64 `json:"ratio,omitempty"`
}

func main() {
	out := json.NewEncoder(os.Stdout)
	print := func(f figure) {
		if f.Floor > 0 {
			f.Ratio = f.Value / f.Floor
		}
		if err := out.Encode(f); err != nil {
			fmt.Fprintln(os.Stderr, "figures:", err)
			os.Exit(1)
		}
	}
	for _, p := range placements {
		for _, n := range []int{50, 300, 1000} {
			batches(n, p, print)
		}
	}
	for _, n := range []int{50, 300, 1000} {
		if err := rolls(n, print); err != nil {
			fmt.Fprintln(os.Stderr, "figures:", err)
			os.Exit(1)
		}
	}
}

// placement describes how replicas are placed.
type placement struct {
	name string
	// unaware is the share of partitions that are placed without regard to racks.
	unaware float64
}

var placements = []placement{{"racks", 0}, {"racks_0.1%_unaware", 0.001}, {"random", 1}}

// batches plans a cluster of n brokers with 200 partitions per broker, three replicas and min.insync.replicas 2.
func batches(n int, p placement, print func(figure)) {
	policy := roller.DefaultPolicy()
	policy.MaxUnavailable = n
	before := memory()
	s := cluster(n, p.unaware)
	held := memory().HeapAlloc - before.HeapAlloc
	var plan roller.Plan
	var took []time.Duration
	allocated := memory().TotalAlloc
	const plans = 5
	for range plans {
		start := time.Now()
		plan = roller.NewPlan(s, roller.Progress{}, policy)
		took = append(took, time.Since(start))
	}
	allocated = (memory().TotalAlloc - allocated) / plans
	slices.Sort(took)
	name := fmt.Sprintf("roller_plan_%d_%s", n, p.name)
	print(figure{Name: name + "_batches", Value: float64(len(plan.Batches)), Unit: "batches", Floor: float64(plan.Fewest)})
	print(figure{Name: name, Value: float64(took[len(took)/2].Microseconds()) / 1000, Unit: "ms"})
	print(figure{Name: name + "_memory", Value: float64(held+allocated) / (1 << 20), Unit: "MiB"})
	runtime.KeepAlive(s)
}

// memory returns the memory in use after a garbage collection, and the total allocated so far. A snapshot's memory plus one plan's
// allocations bound the memory in use at once, whenever the garbage is collected.
func memory() runtime.MemStats {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m
}

// cluster returns a healthy cluster over three racks in which each node is outdated.
func cluster(n int, unaware float64) *roller.Snapshot {
	random := rand.New(rand.NewPCG(1, 2))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &roller.Snapshot{At: now, Quorum: roller.Known(roller.Quorum{Leader: roller.NodeID(n)})}
	for id := range n {
		s.Nodes = append(s.Nodes, roller.Node{
			ID: roller.NodeID(id), Name: fmt.Sprint("kafka-", id), Roles: roller.Roles{Broker: true}, Rack: fmt.Sprint(id % 3),
			Instance: roller.Known("i"),
			Ready:    roller.Known(true), ReadyChanged: now.Add(-time.Hour), Answers: roller.Known(true), Stuck: roller.Known(""),
			Revision: roller.Known(roller.Revision{Current: "old", Desired: "new"}),
		})
	}
	topics := make([]roller.Topic, 2*n)
	for t := range topics {
		topics[t] = roller.Topic{Name: fmt.Sprint("topic-", t), MinISR: roller.Known(2)}
		for p := range int32(100) {
			replicas := replicas(random, n, random.Float64() < unaware)
			topics[t].Partitions = append(topics[t].Partitions, roller.Partition{Index: p, Leader: replicas[0], Replicas: replicas, ISR: replicas})
		}
	}
	s.Topics = roller.Known(topics)
	return s
}

// replicas returns three different brokers: of three racks, or any.
func replicas(random *rand.Rand, n int, anywhere bool) []roller.NodeID {
	var ids []roller.NodeID
	for len(ids) < 3 {
		id := roller.NodeID(3*random.IntN(n/3) + len(ids))
		if anywhere {
			id = roller.NodeID(random.IntN(n))
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// rolls rolls a cluster in virtual time: each broker needs two minutes to restart, and half a minute to catch up.
func rolls(n int, print func(figure)) error {
	var serial float64
	for _, most := range []int{1, 10, n} {
		f, err := simulator.Measure(simulator.Scale{Brokers: n, PartitionsPerBroker: 20, MaxUnavailable: most, Restart: 2 * time.Minute,
			CatchUp: 30 * time.Second, Recall: observe.DefaultRecall})
		if err != nil {
			return err
		}
		name := fmt.Sprintf("roller_simulated_%d_brokers_%d_at_once", n, most)
		minutes := f.Took.Minutes()
		if most == 1 {
			serial = minutes
		}
		print(figure{Name: name, Value: minutes, Unit: "min", Floor: serial}) // beside the time of a serial roll
		print(figure{Name: name + "_looks", Value: float64(f.Looks), Unit: "looks"})
		print(figure{Name: name + "_requests", Value: float64(f.Requests), Unit: "requests"}) // to Kafka
		print(figure{Name: name + "_peer_requests", Value: float64(f.Peers), Unit: "requests"})
	}
	return unequal(n, print)
}

// unequal does the same with restarts of one to four minutes, with refill, and beside that one batch after another.
func unequal(n int, print func(figure)) error {
	s := simulator.Scale{Brokers: n, PartitionsPerBroker: 1, MaxUnavailable: 10, Restart: time.Minute, Spread: 3 * time.Minute,
		CatchUp: 10 * time.Second, Recall: observe.DefaultRecall}
	refilled, err := simulator.Measure(s)
	if err != nil {
		return err
	}
	s.Settle = time.Nanosecond // without refill: each batch has to be back before the next one
	whole, err := simulator.Measure(s)
	if err != nil {
		return err
	}
	print(figure{Name: fmt.Sprintf("roller_simulated_%d_brokers_10_at_once_unequal", n), Value: refilled.Took.Minutes(), Unit: "min",
		Floor: whole.Took.Minutes()})
	return nil
}
