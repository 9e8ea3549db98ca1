package simulator

import (
	"fmt"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
)

// Scale is a cluster that is rolled without faults to measure its figures.
type Scale struct {
	// Brokers are spread over three racks. Each leads PartitionsPerBroker partitions with three replicas, one in each rack.
	Brokers, PartitionsPerBroker int
	// MaxUnavailable is that of the policy; 1 restarts one at a time.
	MaxUnavailable int
	// Restart is the time from the deletion of a broker's pod until it is ready. CatchUp is the time from then until all its replicas are
	// in sync.
	Restart, CatchUp time.Duration
	// Spread is how much longer the slowest broker takes to restart; for the others it grows with their ids. Settle is that of the policy.
	Spread, Settle time.Duration
	// Recall is how old the configurations of nodes and topics may be for a glance (observe.Observer).
	Recall time.Duration
}

// Figures are the measurements of a roll.
type Figures struct {
	// Batches is the number of groups of brokers that were restarted in successive looks. Fewest is the plan's lower bound.
	Batches, Fewest int
	// Took is the virtual time from the first look to the last.
	Took time.Duration
	// Looks is the number of looks: each reads the cluster, its topics and its quorum once.
	Looks int
	// Requests is the number of requests to Kafka, and Peers the number of those that only ask whether a broker with replicas of the same
	// partitions still answers.
	Requests, Peers int
	// Restarts is the number of restarts.
	Restarts int
}

// Measure rolls a cluster in virtual time. The roller looks as often as its decisions ask for. Looks that only wait for time to pass, and
// between which nothing happens, are counted but skipped: they would read the same. Measure fails if a rule is
// broken, or if the roll does not end.
func Measure(s Scale) (Figures, error) { return measure(s.cluster(), s.Recall, true) }

func measure(c Cluster, recall time.Duration, skip bool) (Figures, error) {
	r := newRun(c, nil)
	plan := roller.NewPlan(r.w.observe(0, 0), roller.Progress{}, r.w.policy)
	figures := Figures{Fewest: plan.Fewest}
	r.memory = newMemory(recall)
	batch := false // whether the last look restarted a broker of a batch
	for {
		before, restarts, at := r.w.changed, r.restarts, r.w.now
		r.look(Step{})
		figures.Looks++
		figures.Requests += elections(r.last.Actions)
		if r.restarts > restarts && !batch {
			figures.Batches++
		}
		batch = r.restarts > restarts
		if r.last.Phase == roller.PhaseDone || r.broken() != "" {
			break
		}
		again := max(100*time.Millisecond, r.pause())
		steps := 1
		if next := r.w.next(); skip && before == r.w.changed && len(r.last.Actions) == 0 && !next.IsZero() {
			steps = max(1, int(min(next.Sub(r.w.now), time.Minute)/again))
		}
		r.memory.awaits = r.last.Awaits()
		for quiet := 1; quiet < steps; quiet++ {
			r.memory.glance(at.Add(time.Duration(quiet)*again), r.w.nodes)
		}
		figures.Looks += steps - 1
		r.w.pass(time.Duration(steps) * again)
		if r.w.now.Sub(began) > 30*24*time.Hour {
			return figures, fmt.Errorf("no end in sight: %s", r.rolled())
		}
	}
	figures.Took, figures.Restarts, figures.Peers = r.w.now.Sub(began), r.restarts, r.peers
	figures.Requests += r.memory.requests
	if why := r.broken(); why != "" {
		return figures, fmt.Errorf("broken: %s", why)
	}
	return figures, nil
}

// pause returns the time until a Deployment's next look. A change of a pod ends it earlier.
func (r *run) pause() time.Duration {
	pace := engine.Pace(r.last, r.w.now, engine.UnreadyWoken)
	for _, restart := range r.last.Progress.Restarts {
		if !restart.Ready.IsZero() {
			return pace
		}
	}
	if next := r.w.next(); !next.IsZero() && next.After(r.w.now) {
		pace = min(pace, next.Sub(r.w.now)+calm)
	}
	return pace
}

// calm is the delay between a pod's change and the look that it triggers.
const calm = 500 * time.Millisecond

// electionChecks is how often an elected broker is asked whether it leads and its followers fetch, if a restart waits for that: a follower
// with nothing to fetch asks every half second (replica.fetch.wait.max.ms), and package actuate asks the broker as often.
const electionChecks = 2

// elections returns the number of requests for elections, and for the checks that follow.
func elections(actions []roller.Action) int {
	n := 0
	for _, a := range actions {
		if a.Kind == roller.ActionElectLeaders {
			n++
		}
		if a.Await {
			n += electionChecks
		}
	}
	return n
}

// cluster returns the cluster of a scale.
func (s Scale) cluster() Cluster {
	c := Cluster{Policy: roller.DefaultPolicy()}
	c.Policy.MaxUnavailable, c.Policy.Settle = s.MaxUnavailable, s.Settle
	stop := s.Restart / 4
	for id := range roller.NodeID(s.Brokers) {
		n := Node{ID: id, Roles: roller.Roles{Broker: true}, Rack: fmt.Sprint("r", id%3), Outdated: true, Stop: stop,
			Boot: s.Restart - stop - replacement + s.Spread*time.Duration(id*7%10)/9}
		n.Rate = max(1, 3*s.PartitionsPerBroker/max(1, int(s.CatchUp/time.Second)))
		c.Nodes = append(c.Nodes, n)
	}
	racks := [3]int{} // the number of brokers in each rack
	for rack := range racks {
		racks[rack] = (s.Brokers - rack + 2) / 3
	}
	for i := range s.Brokers * s.PartitionsPerBroker {
		first := i % s.Brokers
		var replicas []roller.NodeID
		for k := range 3 {
			rack := (first + k) % 3
			replicas = append(replicas, roller.NodeID((first/3+k*(1+i/s.Brokers))%racks[rack]*3+rack))
		}
		if i%100 == 0 {
			c.Topics = append(c.Topics, Topic{Name: fmt.Sprint("topic", len(c.Topics)), MinISR: 2})
		}
		t := &c.Topics[len(c.Topics)-1]
		t.Partitions = append(t.Partitions, replicas)
	}
	return c
}
