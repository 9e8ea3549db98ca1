package simulator

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// blind describes the facts that a look can't read. For the kinds that concern nodes, Mask selects nodes by their index.
type blind uint16

const (
	blindTopics blind = 1 << iota
	blindMinISR
	blindQuorum
	blindPods     // all facts of the pod
	blindInstance // one of them
	blindReady
	blindStuck
	blindConfig
	blindRevision
	blindAnswers // and whether the broker is fenced
	blindRecovery
	blindNode  // the node is missing, because its Kubernetes cluster can't be read
	blindKinds // the number of kinds
)

// outside is the voter of clusters that have no controller among their nodes.
const outside = 1_000_000

// observe returns the roller's snapshot. Facts that b hides are unknown, for the nodes whose index is in the mask.
func (w *world) observe(b blind, mask uint64) *roller.Snapshot {
	s := w.observeNodes(b, mask)
	w.observeKafka(s, b)
	return s
}

// observeNodes reads the facts of nodes, which come first.
func (w *world) observeNodes(b blind, mask uint64) *roller.Snapshot {
	s := &roller.Snapshot{At: w.now, From: w.now, Nodes: make([]roller.Node, 0, len(w.nodes))}
	for i, n := range w.nodes {
		seen := w.seen(n)
		if w.unreadable(n) {
			s.Unread = fmt.Sprintf("cluster %q can't be read", n.Place)
			hide(&seen, blindPods)
		}
		if mask&(1<<(i%64)) != 0 {
			if b&blindNode != 0 {
				s.Unread = "cluster east can't be read"
				continue
			}
			hide(&seen, b)
		}
		s.Nodes = append(s.Nodes, seen)
	}
	return s
}

// observeKafka reads the facts of Kafka, which come last.
func (w *world) observeKafka(s *roller.Snapshot, b blind) {
	s.At = w.now
	s.Topics, s.Quorum = w.observeTopics(b), w.observeQuorum()
	if b&blindTopics != 0 {
		s.Topics = roller.Unknown[[]roller.Topic]("timed out")
	}
	if b&blindQuorum != 0 {
		s.Quorum = roller.Unknown[roller.Quorum]("timed out")
	}
	w.unlist(s)
}

// hide makes facts of a node unknown.
func hide(n *roller.Node, b blind) {
	const why = "timed out"
	if b&(blindPods|blindInstance) != 0 {
		n.Instance = roller.Unknown[string](why)
	}
	if b&(blindPods|blindReady) != 0 {
		n.Ready = roller.Unknown[bool](why)
	}
	if b&(blindPods|blindInstance|blindStuck) != 0 { // whether an unknown pod is stuck is unknown too
		n.Stuck = roller.Unknown[string](why)
	}
	if b&blindPods != 0 {
		n.Terminating = false
	}
	if b&blindConfig != 0 {
		n.Config = roller.Unknown[brokerconfig.Config](why)
	}
	if b&blindRecovery != 0 && !n.Ready.Or(false) {
		n.Recovery = roller.Unknown[*roller.Recovery]("the pod's log can't be read")
	}
	if b&(blindRevision|blindPods) != 0 {
		n.Revision = roller.Unknown[roller.Revision](why)
	}
	if b&blindAnswers != 0 {
		n.Answers, n.Fenced = roller.Unknown[bool](why), roller.Unknown[bool](why)
	}
}

// seen returns what a look shows of a node. The informer may show a pod that the roller deleted as it was before; annotations show at once.
func (w *world) seen(n *node) roller.Node {
	seen := w.look(n)
	if n.seen != nil {
		old := *n.seen
		seen.Instance, seen.Terminating, seen.Ready, seen.ReadyChanged, seen.Stuck = old.Instance, old.Terminating, old.Ready,
			old.ReadyChanged, old.Stuck
		seen.Created, seen.LastReady = old.Created, old.LastReady
		seen.Revision = roller.Known(roller.Revision{Current: old.Revision.Or(roller.Revision{}).Current, Desired: strconv.Itoa(n.wanted)})
	}
	return seen
}

// shownReady reports whether Kubernetes shows the pod as ready: one that is stopping is as it was.
func (n *node) shownReady() bool { return n.pod == podReady || n.pod == podStopping && n.wasReady }

// look returns the observable facts of a node.
func (w *world) look(n *node) roller.Node {
	seen := roller.Node{
		ID: n.ID, Name: "kafka-" + strconv.Itoa(int(n.ID)), Place: n.Place, Rack: n.Rack, Roles: n.Roles,
		Instance: roller.Known(n.instance()), Terminating: n.pod == podStopping, Deleted: n.deleted, Overdue: n.overdue(),
		Ready: roller.Known(n.shownReady()), ReadyChanged: n.readyAt, Stuck: roller.Known(""),
		Created: n.createdAt, LastReady: n.lastReady,
		Recovery: roller.Known[*roller.Recovery](nil),
		Answers:  roller.Known(w.answers(n)), Silent: n.silent, Fenced: roller.Known(n.fenced),
		Revision: roller.Known(roller.Revision{Current: strconv.Itoa(n.revision), Desired: strconv.Itoa(n.wanted)}),
	}
	if !w.answers(n) && seen.Silent.IsZero() {
		seen.Silent = n.readyAt
		if w.cut || w.refused || w.distrusting {
			seen.Silent = w.cutAt
		}
	}
	if n.shownReady() {
		seen.LastReady = time.Time{}
	}
	if n.kills > 1 { // the run before this one began after the pod became unready
		seen.CrashesSince = n.unready
	}
	switch n.pod {
	case podStuck:
		seen.Stuck = roller.Known("CrashLoopBackOff")
	case podRecovering:
		seen.Recovery = roller.Known(&roller.Recovery{RemainingLogs: 7, RemainingSegments: 70})
	case podGone:
		seen.Revision = roller.Unknown[roller.Revision]("there is no pod")
	}
	if !n.Roles.Broker || !w.governed() {
		seen.Fenced = roller.Unknown[bool]("nobody tells")
	}
	w.annotate(n, &seen)
	return seen
}

// overdue returns when the grace period of a pod that is being deleted ends.
func (n *node) overdue() time.Time {
	if n.pod != podStopping {
		return time.Time{}
	}
	return n.deleted.Add(30 * time.Second)
}

// failing returns why no client can connect to a node, as far as that shows, and whether its certificate has expired.
func (w *world) failing(n *node) (why string, expired bool) {
	switch {
	case w.cut || !n.process:
	case !n.expired.IsZero():
		return "its certificate has expired", true
	case w.refused:
		return "it refuses TLS", false
	case !n.shut.IsZero():
		return "it refuses connections", false
	}
	return "", false
}

// annotate adds the requests of users, faults, and facts that are unknown.
func (w *world) annotate(n *node, seen *roller.Node) {
	if n.request != "" {
		seen.Requests = []roller.Reason{{Kind: roller.ManualRollingUpdate, Mark: n.request}}
	}
	if (w.mum || w.clogged) && n.pod != podReady {
		seen.Recovery = roller.Unknown[*roller.Recovery]("pods/log is forbidden")
	}
	if n.sidecar && n.pod != podGone {
		seen.Sidecar = "CrashLoopBackOff"
	}
	seen.Failing, seen.Expired = w.failing(n)
	if w.old && n.fenced {
		seen.Fenced = roller.Unknown[bool]("the brokers do not tell of those that are out of service")
		seen.Rack = "" // nor of their racks
	}
	if n.hold {
		seen.Hold = "annotated"
	}
	if n.foreign {
		seen.Foreign = "nobody owns it"
	}
	seen.Desired = roller.Known(n.config.desired())
	w.tells(n, seen)
}

// distrusted is why a node's configuration is unknown if the roller rejects its certificate.
const distrusted = "the roller rejects its certificate"

// tells adds the facts that the node reports itself, and those that others report about it.
func (w *world) tells(n *node, seen *roller.Node) {
	why := "the node does not answer"
	if w.distrusting && n.process {
		why = distrusted
	}
	seen.Config = roller.Unknown[brokerconfig.Config](why)
	if w.answers(n) {
		seen.Config = roller.Known(w.observed(n))
	}
	if w.hides(n) || !w.answers(n) && slices.ContainsFunc(w.nodes, w.hides) {
		seen.Hidden = "it has, or may have, replicas of topics that the roller may not describe"
	}
}

// hides reports whether a broker has replicas of topics that the roller may not describe.
func (w *world) hides(n *node) bool {
	return w.answers(n) && slices.ContainsFunc(n.hosted, func(p *partition) bool { return p.topic.hidden })
}

// answers reports whether the node responds to the roller.
func (w *world) answers(n *node) bool {
	return w.accepts(n) && (n.up || !n.Roles.Broker)
}

// accepts reports whether the roller can connect to the node. A controller answers before the broker in the same process does.
func (w *world) accepts(n *node) bool {
	return n.process && !n.mute && n.shut.IsZero() && !w.cut && !w.refused && !w.distrusting && n.expired.IsZero()
}

// observeTopics returns the topics, if any broker responds.
func (w *world) observeTopics(b blind) roller.Fact[[]roller.Topic] {
	if !slices.ContainsFunc(w.nodes, func(n *node) bool { return n.Roles.Broker && w.answers(n) }) {
		return roller.Unknown[[]roller.Topic]("no broker answers")
	}
	topics := make([]roller.Topic, 0, len(w.topics))
	for _, t := range w.topics {
		if t.hidden {
			continue
		}
		seen := roller.Topic{Name: t.name, MinISR: roller.Known(t.minISR), Partitions: make([]roller.Partition, 0, len(t.partitions))}
		if b&blindMinISR != 0 {
			seen.MinISR = roller.Unknown[int]("timed out")
		}
		for _, p := range t.partitions {
			q := p.Partition
			q.Replicas, q.ISR = slices.Clone(q.Replicas), slices.Clone(q.ISR)
			q.Offline = slices.DeleteFunc(slices.Clone(q.Offline), func(id roller.NodeID) bool { return w.byID[id].fenced })
			seen.Partitions = append(seen.Partitions, q)
		}
		topics = append(topics, seen)
	}
	return roller.Known(topics)
}

// skew returns how far the clock of a quorum's leader is off.
func skew(leader roller.NodeID) time.Duration { return time.Duration(leader%7-3) * time.Minute }

// observeQuorum returns the quorum, if a node responds that knows it.
func (w *world) observeQuorum() roller.Fact[roller.Quorum] {
	voters := w.voters()
	if len(voters) == 0 {
		return roller.Known(roller.Quorum{Leader: outside, Voters: []roller.Voter{{ID: outside, LastCaughtUp: 1}}})
	}
	leads := func(n *node) bool { return n.ID == w.leader && w.accepts(n) || n.Roles.Broker && w.answers(n) } // brokers forward the question
	if w.leader >= 0 && slices.ContainsFunc(w.nodes, leads) {
		return roller.Known(w.quorum())
	}
	// Only the leader describes the quorum. The other controllers answer that they do not lead.
	silent := func(n *node) bool {
		seen := w.seen(n)
		return n.Roles.Controller && !w.accepts(n) && seen.Instance.Or("?") != "" && seen.Stuck.Or("") == ""
	}
	if w.leader >= 0 || slices.ContainsFunc(w.nodes, silent) {
		return roller.Unknown[roller.Quorum]("no controller that answered is the leader")
	}
	return roller.Known(roller.Quorum{Leader: -1})
}

// quorum returns the quorum as its leader knows it.
func (w *world) quorum() roller.Quorum {
	q := roller.Quorum{Leader: w.leader}
	for _, n := range w.voters() {
		v := roller.Voter{ID: n.ID}
		if w.dynamic {
			v.Directory = "metadata"
		}
		switch {
		case n.lagsSince.Equal(never) && !n.lagsSince.IsZero():
			v.LastCaughtUp = -1
		case n.ID == w.leader:
			v.LastCaughtUp = w.now.Add(skew(w.leader)).UnixMilli()
		case n.lagsSince.IsZero():
			v.LastCaughtUp = w.now.Add(skew(w.leader) - 300*time.Millisecond).UnixMilli()
		default:
			v.LastCaughtUp = n.lagsSince.Add(skew(w.leader)).UnixMilli()
		}
		q.Voters = append(q.Voters, v)
	}
	return q
}

// observeAll returns the true topics, whether any broker responds or not.
func (w *world) observeAll() []roller.Topic {
	topics := make([]roller.Topic, 0, len(w.topics))
	for _, t := range w.topics {
		all := roller.Topic{Name: t.name, MinISR: roller.Known(t.minISR), Partitions: make([]roller.Partition, 0, len(t.partitions))}
		for _, p := range t.partitions {
			all.Partitions = append(all.Partitions, p.Partition)
		}
		topics = append(topics, all)
	}
	return topics
}
