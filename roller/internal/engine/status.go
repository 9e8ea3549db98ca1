package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/roller"
)

// The types of a Status's conditions.
const (
	// ConditionReady is True while all nodes are ready and up to date. Otherwise its reason is the phase.
	ConditionReady = "Ready"
	// ConditionBlocked is present while a node waits for something that does not end with time. Its reason is the rule.
	ConditionBlocked = core.RollerBlocked
)

// Status is the state of a roll in the journal, for people and for the owner of the pods.
type Status struct {
	core.RollerStatus
	Phase roller.Phase `json:"phase"`
	// Expected is when the roll will likely be complete, to the minute; empty while no restart is in progress, or if it is unknown.
	Expected string `json:"expected,omitempty"`
	// Nodes summarizes the nodes that need an action, or are not ready.
	Nodes map[string]string `json:"nodes,omitempty"`
}

// turns are the rules that only mean that other nodes go first.
var turns = []roller.Rule{
	roller.RuleOrder, roller.RuleLimit, roller.RuleBatch, roller.RuleSettle, roller.RuleUnderWay, roller.RuleRack, roller.RuleLeaders,
}

// Obstacle returns the first block of a node other than its turn; false if there is none. That its Kafka was deleted is none: it ends.
func Obstacle(a roller.Assessment) (roller.Block, bool) {
	i := slices.IndexFunc(a.Blocks, func(b roller.Block) bool {
		ends := b.Rule == roller.RulePaused && strings.HasSuffix(b.Why, ErrDeleted.Error())
		return !ends && !slices.Contains(turns, b.Rule)
	})
	if i < 0 {
		return roller.Block{}, false
	}
	return a.Blocks[i], true
}

// summary summarizes a decision. before is the last summary, in JSON: unchanged conditions keep their times.
func summary(s *roller.Snapshot, d roller.Decision, policy roller.Policy, before string) Status {
	var last Status
	_ = json.Unmarshal([]byte(before), &last) // without a valid summary there are no times to keep
	status := Status{Phase: d.Phase, RollerStatus: core.RollerStatus{Conditions: conditions(d, s.Unread)}}
	status.Configurations = roller.Configurations(s, d, policy, last.Configurations)
	if !d.Expected.IsZero() {
		status.Expected = d.Expected.Round(time.Minute).UTC().Format(time.RFC3339)
	}
	for _, a := range d.Nodes {
		if line := Line(a); line != "" {
			if status.Nodes == nil {
				status.Nodes = map[string]string{}
			}
			status.Nodes[a.Name] = line
		}
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.LastTransitionTime = c.TransitionTime(last.Conditions, s.At)
	}
	return status
}

// conditions returns the conditions of a decision, without their times.
func conditions(d roller.Decision, unread string) []v1.Condition {
	ready := v1.Condition{Type: ConditionReady, Status: "True"}
	if d.Phase != roller.PhaseDone {
		ready.Status, ready.Reason, ready.Message = "False", string(d.Phase), Missing(d, unread)
	}
	all := []v1.Condition{ready}
	for _, a := range d.Nodes {
		if b, blocked := Obstacle(a); blocked {
			return append(all, v1.Condition{Type: ConditionBlocked, Status: "True", Reason: string(b.Rule),
				Message: fmt.Sprintf("node %d: %s", a.Node, b.Why)})
		}
	}
	return all
}

// Missing summarizes why not all is done: the nodes that need something, or are not ready or known, and why nodes may not have been seen.
func Missing(d roller.Decision, unread string) string {
	restarts, changes, unready, unknown := 0, 0, 0, 0
	first := ""
	for _, a := range d.Nodes {
		switch {
		case a.Need == roller.NeedRestart:
			restarts++
		case a.Need == roller.NeedReconfiguration:
			changes++
		case isUnknown(a):
			_, restarted := d.Progress.Restarts[a.Node] // of all that may be unknown, what becomes of a restart matters most
			if unknown++; unknown == 1 || restarted {
				first = fmt.Sprintf(" (node %d: %s)", a.Node, fact(a))
			}
		case a.State != roller.StateReady || len(a.Blocks) > 0:
			unready++
		}
	}
	var parts []string
	for _, p := range []struct {
		n             int
		one, many, of string
	}{
		{restarts, "needs a restart", "need a restart", ""}, {changes, "needs a reconfiguration", "need a reconfiguration", ""},
		{unready, "is not ready", "are not ready", ""}, {unknown, "is unknown", "are unknown", first},
	} {
		what := p.many
		if p.n == 1 {
			what = p.one
		}
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d nodes %s%s", p.n, len(d.Nodes), what, p.of))
		}
	}
	if unread != "" {
		parts = append(parts, unread)
	}
	if len(parts) == 0 {
		return "preferred leaders are being elected"
	}
	return strings.Join(parts, "; ")
}

// isUnknown reports whether a node may need something that the roller does not know.
func isUnknown(a roller.Assessment) bool {
	return a.Need == roller.NeedNothing && (a.State == roller.StateUnknown || a.State == roller.StateReady && len(a.Unknown) > 0)
}

// fact returns the first unknown fact of a node, and why it is unknown.
func fact(a roller.Assessment) string {
	if len(a.Unknown) > 0 {
		return a.Unknown[0]
	}
	return a.Detail
}

// Reason returns why a node is not done, in full; empty if nothing is in its way.
func Reason(a roller.Assessment) string {
	switch {
	case len(a.Blocks) > 0:
		return a.Blocks[0].Why
	case isUnknown(a):
		return fact(a)
	}
	return ""
}

// Line describes in one line what a node needs and what blocks it; empty if it is ready and needs nothing. It omits values that change from
// second to second.
func Line(a roller.Assessment) string {
	switch {
	case a.Need == roller.NeedNothing && len(a.Blocks) > 0:
		return fmt.Sprintf("%s: waits: %s", a.State, a.Blocks[0].Rule)
	case isUnknown(a):
		name, _, _ := strings.Cut(fact(a), ": ") // without the error
		return "Unknown: " + name
	case a.Need == roller.NeedNothing && a.State == roller.StateReady:
		return ""
	case a.Need == roller.NeedNothing:
		return string(a.State)
	case len(a.Blocks) == 0:
		return fmt.Sprintf("%s: %s", a.State, a.Need)
	case a.Blocks[0].Rule == roller.RuleUnderWay:
		return string(a.State)
	}
	return fmt.Sprintf("%s: %s waits: %s", a.State, a.Need, a.Blocks[0].Rule)
}
