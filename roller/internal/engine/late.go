package engine

import (
	"fmt"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
)

// lateLooks is how many looks in a row may come too late for their actions before users are told.
const lateLooks = 3

// countLate counts the looks in a row that came too late for all their actions. After several, the next ones may always do, because the
// facts take longer to read than they may be old: then it shows that as what blocks the nodes. The next look tries again nevertheless.
func (e *Engine) countLate(d *roller.Decision, outcomes []actuate.Outcome) {
	why := map[roller.NodeID]error{}
	for _, o := range outcomes {
		switch {
		case o.Action.Kind == roller.ActionElectLeaders: // it is no work that a node needs
		case o.Result == actuate.TooLate:
			why[o.Action.Node] = o.Err
		default:
			e.late = 0
			return
		}
	}
	switch {
	case len(d.Actions) == 0:
		e.late = 0
	case len(why) > 0:
		e.late++
	}
	if e.late < lateLooks || len(why) == 0 {
		return
	}
	for i := range d.Nodes {
		if err := why[d.Nodes[i].Node]; err != nil {
			d.Nodes[i].Blocks = append(d.Nodes[i].Blocks, roller.Block{Rule: roller.RuleUnknown, Why: fmt.Sprintf(
				"the last %d looks came too late: %v", e.late, err)})
		}
	}
	d.Phase, d.Actions = roller.PhaseBlocked, nil
}
