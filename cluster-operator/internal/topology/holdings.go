package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Holdings are the replicas of brokers, as Kafka reports them. Kafka lists only topics that the operator may describe, so a broker without
// any is asked for its log directories, which have all of them.
type Holdings struct {
	// Replicas maps brokers to how many replicas they have of partitions that the operator may describe. A broker that is missing has none of
	// these.
	Replicas map[int32]int
	// Stored maps brokers to how many replicas are in the log directories that they reported: 0 only if they reported all of these.
	Stored map[int32]int
	// Silent maps each broker that was asked, and did not report all of its log directories, to the reason.
	Silent map[int32]string
	// Unheard maps brokers that stay, and that did not say which topics they have where they were asked, to the reason.
	Unheard map[int32]string
	// Hidden maps brokers to topics in their log directories that the operator may not describe.
	Hidden map[int32][]string
}

// WhyKept returns what keeps a broker from being stopped for good, or from being no broker any more; "" if it holds nothing.
//
// A broker that is down for good can't report its log directories, and must be able to go. It holds nothing if no partition lists it, and
// if nothing on the brokers that stay shows that Kafka hides topics from the operator.
func (h *Holdings) WhyKept(id int32) string {
	if h == nil {
		return fmt.Sprintf("it is unknown which partitions broker %d holds, because Kafka did not answer", id)
	}
	const orForce = "annotate the Kafka with strimzi.io/skip-broker-scaledown-check: \"true\" if their data may be lost"
	stored, reported := h.Stored[id]
	replicas, hidden := max(stored, h.Replicas[id]), h.Hidden[id]
	why, asked := h.Silent[id]
	switch {
	case len(hidden) > 0:
		return fmt.Sprintf("broker %d holds %d replicas of partitions, some of topics that the operator may not describe (%s): grant %s "+
			"Describe on all topics and move the replicas to other brokers first, or %s", id, replicas, List(hidden, 3), principal, orForce)
	case replicas > 0:
		return fmt.Sprintf("broker %d holds %d replicas of partitions: move them to other brokers first, or %s", id, replicas, orForce)
	case reported:
		return ""
	case !asked:
		return fmt.Sprintf("it is unknown which partitions broker %d holds, because it was not asked for its log directories", id)
	}
	for _, other := range slices.Sorted(maps.Keys(h.Hidden)) {
		return fmt.Sprintf("it is unknown which partitions broker %d holds, because it does not report its log directories (%s), and broker %d "+
			"holds replicas of topics that the operator may not describe (%s): grant %s Describe on all topics, or %s", id, why, other,
			List(h.Hidden[other], 3), principal, orForce)
	}
	for _, other := range slices.Sorted(maps.Keys(h.Unheard)) {
		return fmt.Sprintf("it is unknown which partitions broker %d holds, because it does not report its log directories (%s), nor does "+
			"broker %d (%s), so it is unknown whether the operator may describe all topics: make one of them answer, or %s", id, why, other,
			h.Unheard[other], orForce)
	}
	return ""
}

// principal is how Kafka names the operator.
const principal = "User:CN=cluster-operator,O=io.strimzi"

// List lists names for a message, and counts those beyond a maximum.
func List(names []string, most int) string {
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
