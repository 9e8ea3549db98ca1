package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
)

// Describe describes an outcome: whether it is a failure, a reason, and a note.
func Describe(o actuate.Outcome) (warning bool, reason, note string) {
	a := o.Action
	what, done, noun := "restarted", "Restarted", "restart"
	why := roller.Reasons(a.Reasons)
	switch a.Kind {
	case roller.ActionReconfigure:
		what, done, noun, why = "reconfigured without a restart", "Reconfigured", "reconfiguration", changes(a)
	case roller.ActionElectLeaders:
		return describeElection(o)
	}
	switch o.Result {
	case actuate.Done:
		note = fmt.Sprintf("node %d is %s: %s", a.Node, what, why)
	case actuate.Refused:
		return true, "ConfigurationRefused", fmt.Sprintf("Kafka rejects %[2]v while node %[1]d runs", a.Node,
			strings.ReplaceAll(o.Err.Error(), "\n", "; "))
	case actuate.TooLate:
		return false, "TooLate", fmt.Sprintf("postponed the %s of node %d: %v", noun, a.Node, o.Err)
	case actuate.NotDone:
		return true, "NotDone", fmt.Sprintf("node %d could not be %s: %v", a.Node, what, o.Err)
	case actuate.Unclear:
		return true, "Unclear", fmt.Sprintf("node %d may or may not have been %s: %v", a.Node, what, o.Err)
	}
	if a.Forced != "" {
		note += "; " + a.Forced
		return true, done, note
	}
	return false, done, note
}

// describeElection is Describe for an election. A failed one does no harm.
func describeElection(o actuate.Outcome) (warning bool, reason, note string) {
	count := 0
	for _, partitions := range o.Action.Partitions {
		count += len(partitions)
	}
	if o.Result == actuate.Done {
		return false, "LeadersElected", fmt.Sprintf("node %d leads %d partitions again", o.Action.Node, count)
	}
	return false, "LeadersNotElected", fmt.Sprintf("node %d does not lead %d partitions that it should: %v", o.Action.Node, count, o.Err)
}

// changes lists the changed keys.
func changes(a roller.Action) string {
	text := ""
	for _, c := range slices.Concat(a.Changes.Global, a.Changes.StoredGlobal) {
		text += ", " + c.Key + " of all brokers"
	}
	for _, c := range slices.Concat(a.Changes.Node, a.Changes.StoredNode) {
		text += ", " + c.Key
	}
	if text == "" {
		return "nothing"
	}
	return text[2:]
}
