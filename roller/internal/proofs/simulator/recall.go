package simulator

import (
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// memory is what the roller's observer recalls (package observe), and how many requests to Kafka it made.
type memory struct {
	// within is how old answers of a small cluster may be for a glance (observe.Observer).
	within time.Duration
	// awaits is what the last look waited for.
	awaits roller.Awaited
	// nodes are the answers of nodes that served, or were away.
	nodes map[roller.NodeID]heard
	// limits are the limits of topics, and moves the replicas that reassignments add and remove; nil if they are unknown.
	limits map[*topic]roller.Fact[int]
	moves  map[*partition]move
	// limitsAt, movesAt and members are the times at which they, and the registered brokers, were read.
	limitsAt, movesAt, members time.Time
	// trustsLimits and trustsMoves are planted faults: actions depend on what is recalled.
	trustsLimits, trustsMoves bool
	// fenced is whether the registered brokers were in service then; nil if that is unknown. outdated means that a broker which was ready at
	// the last look was not.
	fenced   map[roller.NodeID]roller.Fact[bool]
	outdated bool
	// hidden are the brokers that had hidden topics.
	hidden   map[roller.NodeID]veiled
	requests int
}

// move contains the replicas that a reassignment adds and removes.
type move struct{ adding, removing []roller.NodeID }

// veiled is the instance of a broker with hidden topics, and when it was asked.
type veiled struct {
	instance, why string
	at            time.Time
}

// heard is the answer of an instance of a node, and when it was asked.
type heard struct {
	instance string
	at       time.Time
	// away: it did not answer, and was not ready. silent, failing and expired are what else was seen then.
	away    bool
	silent  time.Time
	failing string
	expired bool
}

func newMemory(within time.Duration) *memory {
	return &memory{within: within, nodes: map[roller.NodeID]heard{}, hidden: map[roller.NodeID]veiled{}}
}

// decideAnew decides as an engine does: first with recalled answers, and then with verified ones.
func (r *run) decideAnew(s Step) (*roller.Snapshot, roller.Decision, roller.Asked) {
	began := r.w.now
	return engine.Reading{
		Verify: func(asked roller.Asked) *roller.Snapshot { return r.read(s, asked) },
		Step: func(seen *roller.Snapshot) roller.Decision {
			seen.Began = began
			return r.decide(seen, r.progress, r.w.policy)
		},
	}.Decide(r.read(s, roller.Asked{}), roller.Asked{})
}

// read returns the roller's snapshot if it asks these nodes about everything, the peers whether they answer, and those without a recalled
// answer. Without nodes it is a glance.
func (r *run) read(s Step, asked roller.Asked) *roller.Snapshot {
	r.oracle.looks()
	seen := r.w.observeNodes(s.Blind, s.Mask)
	if s.Fault == faultSlowLook {
		r.w.pass(slowly(s.Arg))
	}
	waits := r.w.clogged && slices.ContainsFunc(seen.Nodes, probed)
	if waits {
		r.w.pass(r.probe)
	}
	r.oracle.hears(s.Fault == faultSlowLook || waits)
	r.w.observeKafka(seen, s.Blind)
	verify := len(asked.Nodes) > 0
	r.memory.awaits = r.last.Awaits()
	r.memory.shared(r.w.now, verify)
	r.memory.recallTopics(r.w, seen)
	r.memory.requests += len(asked.Restarts) // the topics that the brokers have replicas of
	if verify || !r.memory.recallMembers(r.w.now, seen) {
		r.memory.readMembers(r.w.now, seen)
	}
	for i := range seen.Nodes {
		n := &seen.Nodes[i]
		r.memory.hides(r.w.now, n, slices.Contains(asked.Restarts, n.ID), seen.Topics.IsKnown())
		suspect := !seen.Quorum.IsKnown() || r.w.byID[n.ID].fenced
		switch {
		case n.Instance.Or("") == "" || !n.Answers.IsKnown():
			delete(r.memory.nodes, n.ID)
		case slices.Contains(asked.Nodes, n.ID) || !r.memory.recall(r.w.now, n, suspect, len(r.w.nodes)):
			r.memory.ask(r.w.now, n)
		case slices.Contains(asked.Peers, n.ID):
			r.peers++
			r.memory.check(r.w.now, n, len(r.w.nodes))
		default:
			r.memory.tell(n)
		}
	}
	return seen
}

// probed reports whether a look reads the log of a node.
func probed(n roller.Node) bool {
	return n.Roles.Broker && n.Instance.Or("") != "" && !n.Ready.Or(true) && n.Stuck.Or("") == ""
}

// hides replaces whether a broker has hidden topics by what is recalled of that, unless it was asked.
func (m *memory) hides(now time.Time, n *roller.Node, asked, known bool) {
	if asked && known {
		m.hidden[n.ID] = veiled{n.Instance.Or(""), n.Hidden, now}
	}
	if last := m.hidden[n.ID]; last.why == "" || last.instance != n.Instance.Or("") {
		delete(m.hidden, n.ID)
	}
	if n.Hidden = ""; now.Sub(m.hidden[n.ID].at) <= observe.RecallOf(m.within, len(m.hidden), roller.AwaitsNothing) {
		n.Hidden = m.hidden[n.ID].why
	}
}

// limit returns how old an answer may be.
func (m *memory) limit(h heard, nodes int) time.Duration {
	if h.away {
		return m.within
	}
	return observe.RecallOf(m.within, nodes, m.awaits)
}

// recall reports whether the remembered answer of a node may be reused.
func (m *memory) recall(now time.Time, n *roller.Node, suspect bool, nodes int) bool {
	last, known := m.nodes[n.ID]
	if !known || last.instance != n.Instance.Or("") || now.Sub(last.at) > m.limit(last, nodes) {
		return false
	}
	if last.away {
		return !n.Ready.Or(true)
	}
	return n.Ready.Or(false) && !suspect
}

// ask asks a node.
func (m *memory) ask(now time.Time, n *roller.Node) {
	m.requests++
	switch answers := n.Answers.Or(false); {
	case answers && n.Ready.Or(false):
		m.nodes[n.ID] = heard{instance: n.Instance.Or(""), at: now}
	case !answers && !n.Ready.Or(true):
		m.nodes[n.ID] = heard{n.Instance.Or(""), now, true, n.Silent, n.Failing, n.Expired}
	default:
		delete(m.nodes, n.ID)
	}
}

// check asks a node whether it answers, and for its configuration if that has to be read soon in any case.
func (m *memory) check(now time.Time, n *roller.Node, nodes int) {
	last := m.nodes[n.ID]
	m.ask(now, n)
	if at, still := m.nodes[n.ID]; still && now.Sub(last.at) <= m.limit(last, nodes)/2 && n.Answers.Or(false) {
		at.at = last.at
		m.nodes[n.ID] = at
	}
}

// tell replaces a node's answer by the recalled one.
func (m *memory) tell(n *roller.Node) {
	last := m.nodes[n.ID]
	n.Recalled = true
	if !last.away {
		n.Answers, n.Silent, n.Failing, n.Expired = roller.Known(true), time.Time{}, "", false
		return
	}
	n.Answers, n.Silent, n.Failing, n.Expired = roller.Known(false), last.silent, last.failing, last.expired
	n.Config = roller.Unknown[brokerconfig.Config]("the node does not answer")
}

// shared counts the requests that are not about single nodes: the quorum, the topics, and what is not recalled.
func (m *memory) shared(now time.Time, verify bool) {
	m.requests += 2
	moves, limits := observe.SharedRecall(m.within, m.awaits)
	if verify && !m.trustsLimits || now.Sub(m.limitsAt) > limits {
		m.limits, m.limitsAt = nil, now
		m.requests++
	}
	if verify && !m.trustsMoves || now.Sub(m.movesAt) > moves {
		m.moves, m.movesAt = nil, now
		m.requests++
	}
}

// recallTopics replaces the limits and the reassignments that are recalled, and remembers the others.
func (m *memory) recallTopics(w *world, seen *roller.Snapshot) {
	limits, moves := m.limits, m.moves
	m.limits = nil
	topics, known := seen.Topics.Get()
	if !known {
		return
	}
	m.limits = map[*topic]roller.Fact[int]{}
	if moves == nil {
		m.moves = map[*partition]move{}
	}
	told := slices.DeleteFunc(slices.Clone(w.topics), func(t *topic) bool { return t.hidden })
	for i, t := range told {
		if limits[t].IsKnown() {
			topics[i].MinISR = limits[t]
		}
		m.limits[t] = topics[i].MinISR
		for k, p := range t.partitions {
			q := &topics[i].Partitions[k]
			switch {
			case moves != nil:
				q.Adding, q.Removing = among(moves[p].adding, q.Replicas), among(moves[p].removing, q.Replicas)
			case len(q.Adding)+len(q.Removing) > 0:
				m.moves[p] = move{q.Adding, q.Removing}
			}
		}
	}
}

// among returns those of the nodes that are among the others.
func among(ids, others []roller.NodeID) []roller.NodeID {
	return slices.DeleteFunc(slices.Clone(ids), func(id roller.NodeID) bool { return !slices.Contains(others, id) })
}

// recallMembers replaces what Kafka reports about the registered brokers, if it is recalled.
func (m *memory) recallMembers(now time.Time, seen *roller.Snapshot) bool {
	m.outdated = m.fenced == nil || slices.ContainsFunc(seen.Nodes, func(n roller.Node) bool {
		return n.Roles.Broker && n.Ready.Or(false) && m.fenced[n.ID].Or(true)
	})
	if m.outdated || m.oldMembers(now) {
		return false
	}
	for i := range seen.Nodes {
		if n := &seen.Nodes[i]; n.Fenced.IsKnown() {
			n.Fenced = m.fenced[n.ID]
		}
	}
	return true
}

// oldMembers reports whether the registered brokers were read too long ago.
func (m *memory) oldMembers(now time.Time) bool {
	_, within := observe.SharedRecall(m.within, m.awaits)
	return now.Sub(m.members) > within
}

// readMembers reads the registered brokers.
func (m *memory) readMembers(now time.Time, seen *roller.Snapshot) {
	m.requests++
	m.members, m.fenced = now, map[roller.NodeID]roller.Fact[bool]{}
	for i := range seen.Nodes {
		m.fenced[seen.Nodes[i].ID] = seen.Nodes[i].Fenced
	}
}

// glance counts a glance that sees the same as the last look.
func (m *memory) glance(now time.Time, nodes []*node) {
	m.shared(now, false)
	if m.outdated || m.oldMembers(now) {
		m.members = now
		m.requests++
	}
	for _, n := range nodes {
		last, known := m.nodes[n.ID]
		switch {
		case n.pod == podGone:
		case !known:
			m.requests++
		case now.Sub(last.at) > m.limit(last, len(nodes)):
			last.at = now
			m.nodes[n.ID] = last
			m.requests++
		}
	}
}
