package simulator

import (
	"fmt"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// Scale is a cluster to be rolled without a mishap, for its figures.
type Scale struct {
	// Brokers are spread over three racks, and PartitionsPerBroker is how many each leads, with three replicas, one in each rack.
	Brokers, PartitionsPerBroker int
	// MaxUnavailable is the policy's. 1: one at a time.
	MaxUnavailable int
	// Restart is how long a broker takes from the deletion of its pod until it is ready, CatchUp until all its replicas are in sync after
	// that.
	Restart, CatchUp time.Duration
	// Spread is how much longer the slowest broker takes to restart; the others take as much of it as their ids say. Settle is the policy's.
	Spread, Settle time.Duration
	// Recall is how old the configurations of nodes and topics may be while nothing is done (observe.Observer).
	Recall time.Duration
}

// Figures are what a roll comes to.
type Figures struct {
	// Batches is how often brokers were restarted together, one look after another, Fewest the plan's lower bound.
	Batches, Fewest int
	// Took is the virtual time from the first look to the last.
	Took time.Duration
	// Looks is how often the roller looked: each costs one reading of the cluster, its topics and its quorum.
	Looks int
	// Requests is how many requests to Kafka they were.
	Requests int
	// Restarts is how many brokers were restarted.
	Restarts int
}

// Measure rolls a cluster in virtual time. The roller looks as often as its decisions ask for. Looks between which nothing happens, and
// nothing but time is waited for, are counted and left out: they would see the same. It fails if a rule is broken, or the roll does not
// end.
func Measure(s Scale) (Figures, error) { return measure(s.cluster(), s.Recall, true) }

func measure(c Cluster, recall time.Duration, skip bool) (Figures, error) {
	r := newRun(c, nil)
	plan := roller.NewPlan(r.w.observe(0, 0), roller.Progress{}, r.w.policy)
	figures := Figures{Fewest: plan.Fewest}
	m := newMeter(len(c.Nodes), recall)
	batch := false // the last look restarted a member
	for {
		before, restarts, peers, at := r.w.changed, r.restarts, r.peers, r.w.now
		r.look(Step{})
		figures.Looks++
		m.look(at, len(r.last.Actions), r.unready())
		m.elected(r.last.Actions)
		m.requests += r.peers - peers
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
		for quiet := 1; quiet < steps; quiet++ {
			m.look(at.Add(time.Duration(quiet)*again), 0, r.unready())
		}
		figures.Looks += steps - 1
		r.w.pass(time.Duration(steps) * again)
		if r.w.now.Sub(began) > 30*24*time.Hour {
			return figures, fmt.Errorf("no end in sight: %s", r.rolled())
		}
	}
	figures.Took, figures.Restarts, figures.Requests = r.w.now.Sub(began), r.restarts, m.requests
	if why := r.broken(); why != "" {
		return figures, fmt.Errorf("broken: %s", why)
	}
	return figures, nil
}

// pause is after how long a Deployment looks again, which is woken when a pod changes.
func (r *run) pause() time.Duration {
	pace := engine.Pace(r.last, r.w.now)
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

// unready is how many nodes were restarted and are not ready: these are asked at each look.
func (r *run) unready() int {
	n := 0
	for _, restart := range r.last.Progress.Restarts {
		if restart.Ready.IsZero() {
			n++
		}
	}
	return n
}

// calm is how long after a pod changed it is looked at.
const calm = 500 * time.Millisecond

// meter counts requests to Kafka as an observer makes them (package observe, whose tests count them on a Kafka).
type meter struct {
	nodes  int
	recall time.Duration
	// askedNodes, askedTopics, askedMoves and askedAway are when the configurations of all nodes, those of all topics, the reassignments, and
	// the nodes that are not ready were asked for last.
	askedNodes, askedTopics, askedMoves, askedAway time.Time
	// away is how many nodes were not ready then.
	away     int
	requests int
}

func newMeter(nodes int, recall time.Duration) *meter {
	return &meter{nodes: nodes, recall: recall}
}

// look counts a glance while so many nodes are not ready, and where something is done to so many, the closer look that it is done on.
func (m *meter) look(at time.Time, done, unready int) {
	m.read(at, 0, unready, false)
	if done > 0 {
		m.read(at, done, unready, true)
		m.requests += done // which topics the broker has replicas of
	}
}

// electionChecks is how often a broker that was elected is asked whether it leads and its followers fetch from it: a follower that has
// nothing to fetch asks every half second (replica.fetch.wait.max.ms), and the broker is asked every fifth of a second (package actuate).
const electionChecks = 4

// elected counts the elections of leaders, and the questions that follow.
func (m *meter) elected(actions []roller.Action) {
	for _, a := range actions {
		if a.Kind == roller.ActionElectLeaders {
			m.requests += 1 + electionChecks
		}
	}
}

// read counts a reading of everything that is not recalled, with the nodes that are asked in any case.
func (m *meter) read(at time.Time, nodes, unready int, verify bool) {
	m.requests += 3 // the brokers, the quorum, the topics
	if verify || at.Sub(m.askedTopics) > m.recall {
		m.requests++ // the configurations of all topics
		m.askedTopics = at
	}
	if verify || at.Sub(m.askedMoves) > m.recall {
		m.requests++
		m.askedMoves = at
	}
	switch {
	case at.Sub(m.askedNodes) > observe.RecallOf(m.recall, m.nodes):
		m.askedNodes, m.askedAway, m.away, nodes = at, at, unready, m.nodes
	case at.Sub(m.askedAway) > min(m.recall, observe.RecallOfAway):
		m.askedAway, m.away = at, unready
		nodes += unready
	default: // those who went since
		nodes += max(0, unready-m.away)
		m.away = unready
	}
	m.requests += nodes
}

// cluster is the cluster of a scale.
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
	racks := [3]int{} // how many brokers each rack has
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
