package observe

import (
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
)

// DefaultRecall is the default of Observer.Recall: how long a change in Kafka by another client may stay unnoticed while there is nothing
// to do.
const DefaultRecall = 30 * time.Second

// atATime is how many nodes are asked on average for their configurations within Recall: in a cluster of 1,000 nodes, each once in 83
// minutes, while no action affects it and it is not suspect. The answer shows changes by other clients, and whether the node answers; a
// broker that no longer follows the active controller is noticed at once.
const atATime = 6

// RecallOf returns the maximum age of configurations in a cluster of this size, if that of a small cluster is recall. It is longer while
// restarts are under way: a restart reads what it depends on anew.
func RecallOf(recall time.Duration, nodes int, awaits roller.Awaited) time.Duration {
	if awaits != roller.AwaitsNothing {
		nodes *= 5
	}
	return max(recall, recall*time.Duration(nodes)/atATime)
}

// SharedRecall returns the maximum age of the facts that are not about single nodes: that of reassignments, and that of the others. It is
// longer while the roller only awaits restarts. A node that is back waits for its replicas, of which a reassignment may add some.
func SharedRecall(recall time.Duration, awaits roller.Awaited) (moves, others time.Duration) {
	switch awaits {
	case roller.AwaitsNodes:
		return 10 * recall, 10 * recall
	case roller.AwaitsReplicas:
		return recall, 10 * recall
	case roller.AwaitsNothing, roller.AwaitsAnything:
	}
	return recall, recall
}

// memory contains Kafka's last answers about what rarely changes or is expensive to read: configurations, with one request for each node
// and one for all topics, reassignments, and the registered brokers. While the roller waits for a node, no decision depends on them.
type memory struct {
	nodes map[roller.NodeID]remembered
	// limits are those of the topics, read at limitsAt.
	limits   map[kafka.TopicID]limit
	limitsAt time.Time
	// moves are the reassignments, read at movesAt; nil if they are unknown.
	moves   map[kafka.TopicPartition]kafka.Reassignment
	movesAt time.Time
	// members were read at membersAt.
	members   membership
	membersAt time.Time
	// racks are those of all brokers that were ever listed.
	racks map[roller.NodeID]string
	// suspects are the brokers that the active controller is not known to have seen lately.
	suspects map[roller.NodeID]bool
	// hidden are the brokers with hidden topics. Without it, each glance would choose the same brokers for a restart, and no others.
	hidden map[roller.NodeID]hidden
}

// hidden explains, for an instance of a broker, that it may have replicas of hidden topics, as it was read at a time.
type hidden struct {
	why, instance string
	at            time.Time
}

// remembered is the answer of an instance of a node.
type remembered struct {
	NodeAnswer
	instance string
	at       time.Time
}

// membership is the id of the Kafka cluster, and its brokers.
type membership struct {
	brokers        roller.Fact[map[roller.NodeID]kafka.Node]
	fencedIncluded bool
	clusterID      string
}

// shows reports whether all brokers that are ready now are in service in it. One that has just become ready may not be yet.
func (m membership) shows(nodes []roller.Node) bool {
	brokers, known := m.brokers.Get()
	return known && !slices.ContainsFunc(nodes, func(n roller.Node) bool {
		b, registered := brokers[n.ID]
		return n.Roles.Broker && n.Ready.Or(false) && (!registered || b.Fenced)
	})
}

// serves reports whether the node answered, and is ready.
func (a NodeAnswer) serves(n roller.Node) bool {
	return a.Answers && a.Live.IsKnown() && n.Ready.Or(false)
}

// isAway reports whether the node did not answer, and is not ready.
func (a NodeAnswer) isAway(n roller.Node) bool { return !a.answers().Or(true) && !n.Ready.Or(true) }

// recalled contains the facts that need not be read again.
type recalled struct {
	nodes   map[roller.NodeID]NodeAnswer
	limits  map[kafka.TopicID]limit
	moves   map[kafka.TopicPartition]kafka.Reassignment
	members *membership
	// due are those of the nodes that are going to be asked again soon.
	due map[roller.NodeID]bool
	// controllers is how many controllers may be running; 0 if that is unknown.
	controllers int
	// noneReady means that Kubernetes reports no broker as ready.
	noneReady bool
	// candidates are the brokers that may be restarted on the facts that are read now.
	candidates []roller.NodeID
	// peers are the brokers with a recalled configuration that are asked whether they still answer.
	peers map[roller.NodeID]NodeAnswer
	// hidden explains which brokers may have replicas of hidden topics.
	hidden map[roller.NodeID]string
}

// others returns the nodes that have to be asked.
func (r recalled) others(ids []roller.NodeID) []roller.NodeID {
	return slices.DeleteFunc(slices.Clone(ids), func(id roller.NodeID) bool {
		_, known := r.nodes[id]
		_, peer := r.peers[id]
		return known || peer
	})
}

// recall returns the facts of nodes that are not older than within, or than the time to ask all nodes of a large cluster in turn, and
// the other facts that are not older than SharedRecall allows. The facts of a node are recalled only if it answered, is ready, was not
// restarted since, and is not suspect; those of a topic only if it has the same id, and those of brokers only if they show all that are
// ready in service. Unknown facts are read again, except for a node that is known to be away, which is asked at intervals; its readiness
// is read at each look.
func (m *memory) recall(now time.Time, within time.Duration, awaits roller.Awaited, nodes []roller.Node) recalled {
	moves, others := SharedRecall(within, awaits)
	r := recalled{nodes: map[roller.NodeID]NodeAnswer{}, limits: map[kafka.TopicID]limit{}, due: map[roller.NodeID]bool{}}
	age := RecallOf(within, len(nodes), awaits)
	for _, n := range nodes {
		answer, known := m.nodes[n.ID]
		old := now.Sub(answer.at)
		served := answer.serves(n) && !m.suspects[n.ID] && old <= age
		if known && answer.instance == n.Instance.Or("") && (served || answer.isAway(n) && old <= within) {
			r.nodes[n.ID], r.due[n.ID] = answer.NodeAnswer, old > age/2
		}
	}
	r.hidden = m.recallHidden(now, within, nodes)
	if now.Sub(m.membersAt) <= others && m.members.shows(nodes) {
		r.members = &m.members
	}
	if now.Sub(m.movesAt) <= moves {
		r.moves = m.moves
	}
	if now.Sub(m.limitsAt) <= others {
		m.recallLimits(r.limits)
	}
	return r
}

// recallHidden returns which brokers had hidden topics. A look checks only a few brokers, so that the maximum age grows with the number of
// brokers that have some: otherwise the looks would check the first ones again before they come to the last.
func (m *memory) recallHidden(now time.Time, within time.Duration, nodes []roller.Node) map[roller.NodeID]string {
	found := map[roller.NodeID]string{}
	for _, n := range nodes {
		h, is := m.hidden[n.ID]
		if is && h.instance == n.Instance.Or("") && now.Sub(h.at) <= RecallOf(within, len(m.hidden), roller.AwaitsNothing) {
			found[n.ID] = h.why
		}
	}
	return found
}

// recallLimits adds the known limits of topics that have an id.
func (m *memory) recallLimits(to map[kafka.TopicID]limit) {
	for id, limit := range m.limits {
		if limit.minISR.IsKnown() && !id.IsZero() {
			to[id] = limit
		}
	}
}

// except returns the facts of all nodes but these, without topics, reassignments and brokers, on which an action on these nodes depends. Of
// the peers it keeps only the configurations, unless they are going to be read soon: then one request does both.
func (r recalled) except(these roller.Asked) recalled {
	for _, id := range these.Nodes {
		delete(r.nodes, id)
	}
	for _, id := range these.Restarts {
		delete(r.hidden, id)
	}
	asked := map[roller.NodeID]NodeAnswer{}
	for _, id := range these.Peers {
		if answer, known := r.nodes[id]; known {
			if !r.due[id] {
				asked[id] = answer
			}
			delete(r.nodes, id)
		}
	}
	return recalled{nodes: r.nodes, candidates: these.Restarts, peers: asked, hidden: r.hidden}
}

// again converts the answers of the peers, which were only asked whether they still answer. For those that do, it returns the recalled
// answers, because their configurations count as unchanged.
func (r recalled) again(answers map[roller.NodeID]NodeAnswer) map[roller.NodeID]NodeAnswer {
	for id, answer := range answers {
		if answer.Answers && answer.Live.IsKnown() {
			answers[id] = r.peers[id]
		}
	}
	return answers
}

// keep stores the facts. Recalled ones keep their age.
func (m *memory) keep(now time.Time, nodes []roller.Node, facts KafkaFacts, known recalled) {
	before := m.nodes
	m.nodes = make(map[roller.NodeID]remembered, len(nodes))
	for _, n := range nodes {
		answer, asked := facts.Nodes[n.ID]
		if !asked {
			continue
		}
		_, recalled := known.nodes[n.ID]
		if _, peer := known.peers[n.ID]; recalled || peer && answer.serves(n) {
			m.nodes[n.ID] = before[n.ID]
		} else {
			m.nodes[n.ID] = remembered{NodeAnswer: answer, instance: n.Instance.Or(""), at: now}
		}
	}
	if len(known.limits) == 0 {
		m.limitsAt = now
	}
	m.limits = facts.limits
	if known.moves == nil {
		m.moves, m.movesAt = facts.moves, now
	}
	if known.members == nil {
		m.members, m.membersAt = membership{facts.Brokers, facts.FencedIncluded, facts.ClusterID}, now
	}
	m.keepHidden(now, nodes, facts, known)
	m.suspects = suspects(nodes, facts)
	if m.racks == nil {
		m.racks = map[roller.NodeID]string{}
	}
	for id, b := range facts.Brokers.Or(nil) {
		m.racks[id] = b.Rack
	}
}

// keepHidden stores which of the candidates have hidden topics, if that is known.
func (m *memory) keepHidden(now time.Time, nodes []roller.Node, facts KafkaFacts, known recalled) {
	before := m.hidden
	m.hidden = map[roller.NodeID]hidden{}
	for _, n := range nodes {
		h := before[n.ID]
		if facts.Hidden != nil && slices.Contains(known.candidates, n.ID) {
			h = hidden{why: facts.Hidden[n.ID], instance: n.Instance.Or(""), at: now}
		}
		if h.why != "" {
			m.hidden[n.ID] = h
		}
	}
}

// doubt drops recalled facts of nodes that this look makes suspect: they may not answer any more.
func (f *KafkaFacts) doubt(nodes []roller.Node, known recalled) {
	for id := range suspects(nodes, *f) {
		if known.nodes[id].Answers {
			delete(f.Nodes, id)
		}
	}
}

// suspects returns the brokers that the active controller has fenced, or that do not follow it. If that is unknown, it returns all.
func suspects(nodes []roller.Node, facts KafkaFacts) map[roller.NodeID]bool {
	brokers, registered := facts.Brokers.Get()
	quorum, known := facts.Quorum.Get()
	var ids []roller.NodeID
	for _, n := range nodes {
		ids = append(ids, n.ID)
	}
	follow, told := followers(quorum, ids)
	found := map[roller.NodeID]bool{}
	for _, n := range nodes {
		b, is := brokers[n.ID]
		if !registered || !known || quorum.Leader < 0 || n.Roles.Broker && (!is || b.Fenced) || told && !slices.Contains(follow, n.ID) {
			found[n.ID] = true
		}
	}
	return found
}
