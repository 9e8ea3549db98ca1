package simulator

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// three are outdated brokers, each with a replica of one partition, of which two have to be in sync.
func three() Cluster {
	c := Cluster{Policy: roller.DefaultPolicy(), Topics: []Topic{{Name: "t", MinISR: 2, Partitions: [][]roller.NodeID{{0, 1, 2}}}}}
	for id := range roller.NodeID(3) {
		c.Nodes = append(c.Nodes, Node{ID: id, Roles: roller.Roles{Broker: true}, Outdated: true, Stop: 2 * time.Second, Boot: 9 * time.Second,
			Rate: 10})
	}
	return c
}

// crashes returns a look of the roller during which a node crashes a second after the facts were read, and this many seconds before the
// actions are carried out.
func crashes(node, seconds int) []Step {
	return []Step{{Do: "look", Node: node, Fault: faultMeanwhile, Arg: 1 + 24*seconds}}
}

// ageless is a roller that lets facts get as old as they like.
var ageless = with(nil, func(d *roller.Decision) {
	for i := range d.Actions {
		d.Actions[i].Until = time.Time{}
	}
})

// A broker that crashes between the facts and the restart makes the restart break the rule. The oracle counts that, and excuses it only if
// the facts are fresh, were true, and the roller did not break the rule itself.
func TestWhatIsARace(t *testing.T) {
	for name, c := range map[string]struct {
		steps  []Step
		decide decider
		races  int
		broken string
	}{
		"another broker crashes after the facts were read": {crashes(1, 1), roller.Step, 1, ""},
		"the same later, and nothing is restarted":         {crashes(1, 7), roller.Step, 0, ""},
		"the same with facts that do not age":              {crashes(1, 7), ageless, 0, "availability rule"},
		"it crashed before the facts were read, and they are not true": {append([]Step{{Do: "crash", Node: 1}}, crashes(2, 1)...),
			seeing(func(n *roller.Node) {
				n.Ready, n.Answers, n.Fenced = roller.Known(true), roller.Known(true), roller.Known(false)
			}), 0, "availability rule"},
		"another program of the roller restarts another broker meanwhile": {[]Step{{Do: "look", Fault: faultSleep, Arg: 1}}, forgetful(), 0,
			"availability rule"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result := History{Cluster: three(), Steps: c.steps}.play(c.decide, nil)
			g.Expect(result.Races).To(Equal(c.races))
			if c.broken == "" {
				g.Expect(result.Broken).To(BeEmpty())
			} else {
				g.Expect(result.Broken).To(HavePrefix(c.broken))
			}
		})
	}
}

// forgetful is a roller of two programs that know nothing of each other. The second one looks later, and leaves broker 0 alone.
func forgetful() decider {
	return func(s *roller.Snapshot, _ roller.Progress, policy roller.Policy) roller.Decision {
		if s.At.After(began) {
			s.Nodes[0].Hold = "the other program restarts it"
		}
		return roller.Step(s, roller.Progress{}, policy)
	}
}
