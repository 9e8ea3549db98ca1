package simulator

import (
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// heard is the instance of a node that last responded, and when it was asked.
type heard struct {
	instance string
	at       time.Time
}

// decideAnew decides as an engine does: first with recalled answers, and then with verified ones.
func (r *run) decideAnew(s Step) (*roller.Snapshot, roller.Decision, []roller.NodeID) {
	return engine.Reading{
		Verify: func(nodes, peers []roller.NodeID) *roller.Snapshot {
			r.peers += len(peers)
			return r.read(s, slices.Concat(nodes, peers))
		},
		Step: func(seen *roller.Snapshot) roller.Decision { return r.decide(seen, r.progress, r.w.policy) },
	}.Decide(r.read(s, nil), nil)
}

// read returns the roller's snapshot if it asks these nodes, and those without a recalled answer.
func (r *run) read(s Step, asked []roller.NodeID) *roller.Snapshot {
	r.oracle.looks()
	seen := r.w.observeNodes(s.Blind, s.Mask)
	if s.Fault == faultSlowLook {
		r.w.pass(slowly(s.Arg))
	}
	r.oracle.hears(s.Fault == faultSlowLook)
	r.w.observeKafka(seen, s.Blind)
	age := observe.RecallOf(observe.DefaultRecall, len(r.w.nodes))
	for i := range seen.Nodes {
		n := &seen.Nodes[i]
		last, known := r.heard[n.ID]
		suspect := !seen.Quorum.IsKnown() || r.w.byID[n.ID].fenced
		switch {
		case !n.Answers.IsKnown():
		case known && !slices.Contains(asked, n.ID) && !suspect && n.Ready.Or(false) && n.Instance.Or("") == last.instance &&
			r.w.now.Sub(last.at) <= age:
			n.Answers, n.Silent, n.Failing, n.Recalled = roller.Known(true), time.Time{}, "", true
		case n.Answers.Or(false) && n.Ready.Or(false):
			r.heard[n.ID] = heard{n.Instance.Or(""), r.w.now}
		default:
			delete(r.heard, n.ID)
		}
	}
	return seen
}
