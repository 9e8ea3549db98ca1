package engine

import "github.com/kafka-operators/kafka-operators/roller"

// mostReadings is how often a look reads further facts when the decision changes.
const mostReadings = 3

// Reading turns a decision on recalled facts into one on facts that were read in this look (docs/decisions/facts-of-a-restart.md).
type Reading struct {
	// Verify reads all facts about the asked nodes.
	Verify func(roller.Asked) *roller.Snapshot
	// Step decides on these facts.
	Step func(s *roller.Snapshot) roller.Decision
}

// Decide decides on the first observation, in which all facts about the asked nodes are fresh. While the decided actions need facts about
// further nodes, it reads these and decides again. It returns the nodes whose facts are fresh.
func (r Reading) Decide(s *roller.Snapshot, asked roller.Asked) (*roller.Snapshot, roller.Decision, roller.Asked) {
	d := r.Step(s)
	for range mostReadings {
		enough := true
		for _, a := range d.Actions {
			if !asked.Suffice(a) {
				enough, asked = false, asked.And(a)
			}
		}
		if enough {
			break
		}
		s = r.Verify(asked)
		d = r.Step(s)
	}
	return s, d, asked
}
