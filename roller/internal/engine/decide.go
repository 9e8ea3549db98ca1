package engine

import (
	"slices"

	"github.com/kafka-operators/kafka-operators/roller"
)

// mostReadings is how often a look reads further facts when the decision changes.
const mostReadings = 3

// Reading turns a decision on recalled facts into one on facts that were read in this look (docs/decisions/facts-of-a-restart.md).
type Reading struct {
	// Verify reads all facts about these nodes, and checks whether the peers still answer.
	Verify func(nodes, peers []roller.NodeID) *roller.Snapshot
	// Step decides on these facts.
	Step func(s *roller.Snapshot) roller.Decision
}

// Decide decides on the first observation, in which all facts about the asked nodes are fresh. While the decided actions need facts about
// further nodes, it reads these and decides again. It returns the nodes whose facts are fresh.
func (r Reading) Decide(s *roller.Snapshot, asked []roller.NodeID) (*roller.Snapshot, roller.Decision, []roller.NodeID) {
	d := r.Step(s)
	var peers []roller.NodeID
	for range mostReadings {
		enough := true
		for _, a := range d.Actions {
			if IsFresh(a, asked) {
				continue
			}
			enough = false
			if peers = append(peers, a.Unasked...); !slices.Contains(asked, a.Node) {
				asked = append(slices.Clip(asked), a.Node)
			}
		}
		if enough {
			break
		}
		s = r.Verify(asked, peers)
		d = r.Step(s)
	}
	return s, d, asked
}

// IsFresh reports whether an action depends only on facts that were read in the look of its decision, in which all facts about the asked
// nodes were read.
func IsFresh(a roller.Action, asked []roller.NodeID) bool {
	return len(a.Unasked) == 0 && slices.Contains(asked, a.Node)
}
