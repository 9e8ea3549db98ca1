package observe

import (
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
)

// DefaultRecall is what Observer.Recall is for those who have no reason for another: how long a change that somebody else makes in Kafka may go unseen while
// there is nothing to do.
const DefaultRecall = 30 * time.Second

// memory is what Kafka said of configurations last. They are what costs most to read, by one request for each node and one for all topics, and what changes
// least; while a node is waited for, nothing depends on them.
type memory struct {
	// at is when all of them were asked.
	at        time.Time
	nodes     map[roller.NodeID]NodeAnswer
	instances map[roller.NodeID]string
	limits    map[kafka.TopicID]roller.Fact[int]
}

// recalled is what need not be asked again.
type recalled struct {
	nodes  map[roller.NodeID]NodeAnswer
	limits map[kafka.TopicID]roller.Fact[int]
}

// others are the nodes that have to be asked.
func (r recalled) others(ids []roller.NodeID) []roller.NodeID {
	return slices.DeleteFunc(slices.Clone(ids), func(id roller.NodeID) bool {
		_, known := r.nodes[id]
		return known
	})
}

// recall is what was learned not longer ago than that. Of a node it is recalled only if it answered, is ready, and was not started anew since; and of a topic
// only if it is still the same one. What was unknown is asked again.
func (m *memory) recall(now time.Time, within time.Duration, nodes []roller.Node) recalled {
	r := recalled{nodes: map[roller.NodeID]NodeAnswer{}, limits: map[kafka.TopicID]roller.Fact[int]{}}
	if now.Sub(m.at) > within {
		return r
	}
	for _, n := range nodes {
		answer, known := m.nodes[n.ID]
		if known && answer.Answers && answer.Live.IsKnown() && n.Ready.Or(false) && m.instances[n.ID] == n.Instance.Or("") {
			r.nodes[n.ID] = answer
		}
	}
	for id, limit := range m.limits {
		if limit.IsKnown() && !id.IsZero() {
			r.limits[id] = limit
		}
	}
	return r
}

// keep remembers. What was recalled keeps its age.
func (m *memory) keep(now time.Time, nodes []roller.Node, facts KafkaFacts, known recalled) {
	if len(known.nodes) == 0 && len(known.limits) == 0 {
		m.at = now
	}
	m.nodes, m.limits = facts.Nodes, facts.limits
	m.instances = make(map[roller.NodeID]string, len(nodes))
	for _, n := range nodes {
		m.instances[n.ID] = n.Instance.Or("")
	}
}
