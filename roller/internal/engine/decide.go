package engine

import (
	"slices"

	"github.com/kafka-operators/kafka-operators/roller"
)

// mostReadings is how often a look reads again what is to be done next, where that turns out to be something else.
const mostReadings = 3

// Reading is how a look comes from what may be recalled to what was asked in it (docs/decisions/facts-of-a-restart.md).
type Reading struct {
	// Verify asks these nodes for everything, and the peers whether they still answer.
	Verify func(nodes, peers []roller.NodeID) *roller.Snapshot
	// Step decides on what was read.
	Step func(s *roller.Snapshot) roller.Decision
}

// Decide decides on the first observation, in which some nodes were asked for all facts. While the decided actions need facts of further
// nodes, it asks these and decides again. It returns the nodes that have been asked.
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

// IsFresh reports whether an action rests on nothing but what was asked in the look in which it was decided, in which these nodes were
// asked for everything.
func IsFresh(a roller.Action, asked []roller.NodeID) bool {
	return len(a.Unasked) == 0 && slices.Contains(asked, a.Node)
}
