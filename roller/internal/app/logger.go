package app

import (
	"github.com/go-logr/logr"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
)

// logger logs actions, and changes of what the roll waits for.
type logger struct {
	log   logr.Logger
	phase roller.Phase
	lines map[roller.NodeID]string
}

// ReportLook implements engine.Reporter.
func (l *logger) ReportLook(s *roller.Snapshot, d roller.Decision, outcomes []actuate.Outcome) {
	for _, o := range outcomes {
		_, reason, note := engine.Describe(o)
		l.log.Info(note, "node", o.Action.Node, "what", reason)
	}
	lines := map[roller.NodeID]string{}
	for _, a := range d.Nodes {
		lines[a.Node] = engine.Line(a)
		if lines[a.Node] == l.lines[a.Node] || lines[a.Node] == "" && l.lines == nil {
			continue
		}
		l.log.Info("Node changed", "node", a.Node, "pod", a.Name, "state", lines[a.Node], "detail", a.Detail, "reason", engine.Reason(a))
	}
	if d.Phase != l.phase {
		l.log.Info("Roll phase changed", "phase", d.Phase, "before", l.phase, "reason", engine.Missing(d, s.Unread))
	}
	l.phase, l.lines = d.Phase, lines
}
