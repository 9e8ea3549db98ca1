package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// planted are faults that rollers had, or could have. Each changes the snapshot before the core decides, or the decision after it, so that
// the result is that of a core with the fault. breaks are the beginnings of the violations that the oracle has to find.
var planted = []struct {
	name   string
	breaks []string
	decide decider
}{
	{"an unknown log recovery is none", []string{"unknown: node", "node"}, seeing(func(n *roller.Node) {
		if !n.Recovery.IsKnown() {
			n.Recovery = roller.Known[*roller.Recovery](nil)
		}
	})},
	{"an unknown revision is the right one", []string{"unknown: all is done"}, seeing(func(n *roller.Node) {
		if !n.Revision.IsKnown() {
			n.Revision = roller.Known(roller.Revision{})
		}
	})},
	{"whoever is not seen is not there", []string{"unknown: all is done", "instance", "availability rule", "too many at once", "voters",
		"node", "quorum check"}, with(func(s *roller.Snapshot) { s.Unread = "" }, nil)},
	{"whoever Kafka lists and nobody sees serves", []string{"availability rule", "quorum check", "unknown: all is done"},
		with(func(s *roller.Snapshot) {
			for id, roles := range s.Unseen() {
				s.Nodes = append(s.Nodes, roller.Node{ID: id, Roles: roles, Instance: roller.Known("?"), Ready: roller.Known(true),
					Stuck: roller.Known(""), Recovery: roller.Known[*roller.Recovery](nil), Answers: roller.Known(true),
					Fenced: roller.Known(false), Revision: roller.Known(roller.Revision{}), Config: roller.Known(brokerconfig.Config{})})
			}
			slices.SortFunc(s.Nodes, func(a, b roller.Node) int { return int(a.ID - b.ID) })
		}, nil)},
	{"a broker that does not answer is in sync", []string{"availability rule"},
		seeing(func(n *roller.Node) { n.Answers = roller.Known(true) })},
	{"what a peer answered before counts", []string{"availability rule"}, with(nil, func(d *roller.Decision) {
		for i := range d.Actions {
			d.Actions[i].Unasked = nil
		}
	})},
	{"a pod that somebody else deletes stays", []string{"availability rule", "quorum check"},
		seeing(func(n *roller.Node) { n.Terminating = false })},
	{"a sidecar that crashes makes a node stuck", []string{"availability rule", "quorum check", "node", "voters"},
		seeing(func(n *roller.Node) {
			if n.Sidecar != "" {
				n.Ready, n.Stuck = roller.Known(false), roller.Known(n.Sidecar)
			}
		})},
	{"topics that nobody may describe need nothing", []string{"availability rule"}, seeing(func(n *roller.Node) { n.Hidden = "" })},
	{"a broker with hidden topics is chosen again and again", []string{"starvation"}, seeing(func(n *roller.Node) {
		if n.Recalled {
			n.Hidden = ""
		}
	})},
	{"the loss of a Kubernetes cluster is nobody's concern", []string{"cluster-loss budget, partition"},
		seeing(func(n *roller.Node) { n.Place = "" })},
	{"controllers are lost with no Kubernetes cluster", []string{"cluster-loss budget, the quorum"}, seeing(func(n *roller.Node) {
		if n.Roles.Controller {
			n.Place = ""
		}
	})},
	{"a Kubernetes cluster that can't be read is well", []string{"cluster-loss budget"}, seeing(func(n *roller.Node) {
		if !n.Instance.IsKnown() {
			n.Instance, n.Ready, n.Stuck = roller.Known("?"), roller.Known(true), roller.Known("")
			n.Answers, n.Fenced = roller.Known(true), roller.Known(false)
		}
	})},
	{"what nobody knows of a broker is that it answers", []string{"availability rule"}, seeing(func(n *roller.Node) {
		if !n.Answers.IsKnown() {
			n.Answers, n.Fenced = roller.Known(true), roller.Known(false)
		}
	})},
	{"what nobody knows of a voter is that it stays", []string{"quorum check"}, seeing(func(n *roller.Node) {
		if !n.Instance.IsKnown() {
			n.Instance, n.Ready, n.Stuck = roller.Known("?"), roller.Known(true), roller.Known("")
			n.Answers, n.Fenced = roller.Known(true), roller.Known(false)
		}
	})},
	{"what was read first counts", []string{"availability rule", "quorum check"}, recalling()},
	{"a node that may recover its logs goes beside others", []string{"one at a time"}, hurrying()},
	{"evidence counts a minute early", []string{"availability rule", "quorum check", "no leader", "one at a time", "voters", "broker"},
		early(50 * time.Second)},
	{"an illegal value is seen by the node alone", []string{"illegal value: node"}, seeing(func(n *roller.Node) {
		if !n.Config.IsKnown() {
			n.Desired = roller.Unknown[map[string]string]("nobody asked")
		}
	})},
	{"whoever is back is settled while a cluster can't be read", []string{"node"}, func(s *roller.Snapshot, p roller.Progress,
		policy roller.Policy) roller.Decision {
		if s.Unread != "" {
			policy.Settle = 0
		}
		return roller.Step(s, p, policy)
	}},
	{"a broker that hangs leads again", []string{"leaders: they are elected"}, seeing(func(n *roller.Node) {
		if n.Ready.Or(false) && !n.Answers.Or(true) && !n.Fenced.Or(true) {
			n.Answers = roller.Known(true)
		}
	})},
	{"facts do not age", []string{"old facts"}, ageless},
	{"a restart follows on changes of configurations", []string{"old facts"}, with(nil, func(d *roller.Decision) {
		if n := len(d.Actions); n > 1 && d.Actions[0].Kind == roller.ActionRestart {
			d.Actions = append(d.Actions[1:n:n], d.Actions[0])
		}
		for i := range d.Actions {
			d.Actions[i].Until = time.Time{}
		}
	})},
	{"the last replica is the preferred leader", []string{"leaders: node"}, with(func(s *roller.Snapshot) {
		if !s.Topics.IsKnown() {
			return
		}
		topics := slices.Clone(s.Topics.Or(nil))
		s.Topics = roller.Known(topics)
		for t := range topics {
			topics[t].Partitions = slices.Clone(topics[t].Partitions)
			for p := range topics[t].Partitions {
				replicas := slices.Clone(topics[t].Partitions[p].Replicas)
				slices.Reverse(replicas)
				topics[t].Partitions[p].Replicas = replicas
			}
		}
	}, nil)},
	{"every controller votes", []string{"termination", "quorum check"}, with(func(s *roller.Snapshot) {
		q, known := s.Quorum.Get()
		leader := slices.IndexFunc(q.Voters, func(v roller.Voter) bool { return v.ID == q.Leader })
		if !known || leader < 0 {
			return
		}
		q.Voters = slices.Clone(q.Voters)
		for _, n := range s.Nodes {
			if n.Roles.Controller && !slices.ContainsFunc(q.Voters, func(v roller.Voter) bool { return v.ID == n.ID }) {
				q.Voters = append(q.Voters, roller.Voter{ID: n.ID, LastCaughtUp: q.Voters[leader].LastCaughtUp})
			}
		}
		s.Quorum = roller.Known(q)
	}, nil)},
	{"who voted last is forgotten, and all vote", []string{"broker"}, remembering(func(s *roller.Snapshot, p *roller.Progress) {
		p.Voters = nil
		for _, n := range s.Nodes {
			if n.Roles.Controller {
				p.Voters = append(p.Voters, n.ID)
			}
		}
	})},
	{"who voted last votes for ever", []string{"broker"}, remembering(func(*roller.Snapshot, *roller.Progress) {})},
	{"a failed log directory is in sync", []string{"termination"}, with(func(s *roller.Snapshot) {
		topics := slices.Clone(s.Topics.Or(nil))
		for t := range topics {
			topics[t].Partitions = slices.Clone(topics[t].Partitions)
			for p := range topics[t].Partitions {
				topics[t].Partitions[p].Offline = nil
			}
		}
		if s.Topics.IsKnown() {
			s.Topics = roller.Known(topics)
		}
	}, nil)},
	{"nobody tells that failed log directories wait for one another", []string{"termination"}, with(nil, func(d *roller.Decision) {
		for i := range d.Nodes {
			d.Nodes[i].Blocks = slices.DeleteFunc(slices.Clone(d.Nodes[i].Blocks), func(b roller.Block) bool {
				return strings.Contains(b.Why, "wait for one another")
			})
		}
	})},
	{"a user is to delete a pod that the roller may restart", []string{"standstill"}, with(nil, func(d *roller.Decision) {
		for i := range d.Nodes {
			if d.Nodes[i].Roles.Broker && len(d.Nodes[i].Blocks) > 0 {
				d.Nodes[i].Blocks = []roller.Block{{Rule: roller.RuleAvailability, Why: fmt.Sprintf("(kubectl delete pod kafka-%d)", d.Nodes[i].Node)}}
			}
		}
	})},
	{"a user is to delete a pod that another one holds", []string{"standstill"}, func(s *roller.Snapshot, p roller.Progress,
		policy roller.Policy) roller.Decision {
		d, other := roller.Step(s, p, policy), *s
		other.Nodes = slices.Clone(s.Nodes)
		for i := range other.Nodes {
			other.Nodes[i].Hold = ""
		}
		d.Nodes = roller.Step(&other, p, policy).Nodes // only its messages are those of a roller that knows no hold
		return d
	}},
	{"a broker that is restarted leads again", []string{"leaders: they are elected"}, with(nil, func(d *roller.Decision) {
		if len(d.Actions) > 0 && d.Actions[0].Kind == roller.ActionRestart {
			again := roller.Action{Kind: roller.ActionElectLeaders, Node: d.Actions[0].Node, Partitions: map[string][]int32{"t": {0}}}
			d.Actions = append([]roller.Action{again}, d.Actions...)
		}
	})},
	{"a restart waits for no election", []string{"leaders: node"}, with(nil, func(d *roller.Decision) {
		for i := range d.Actions {
			d.Actions[i].Await = false
		}
	})},
	{"leaders are moved during a pause", []string{"leaders: they are moved"}, func(s *roller.Snapshot, p roller.Progress,
		policy roller.Policy) roller.Decision {
		d := roller.Step(s, p, policy)
		if policy.Paused != "" {
			policy.Paused = ""
			d.Actions = slices.DeleteFunc(roller.Step(s, p, policy).Actions,
				func(a roller.Action) bool { return a.Kind != roller.ActionElectLeaders })
		}
		return d
	}},
	{"silence is evidence although nobody answers", []string{"node", "voter", "broker", "availability rule", "quorum check"},
		func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
			p, other := p.Clone(), *s
			other.Nodes, p.Witnessed = slices.Clone(s.Nodes), s.At
			for i := range other.Nodes {
				if n := &other.Nodes[i]; !n.Answers.Or(true) && s.At.Sub(n.Silent) > 2*time.Minute {
					n.Failing, p.Failing[n.ID] = "it does not answer", time.Time{}.Add(time.Second)
				}
			}
			return roller.Step(&other, p, policy)
		}},
	{"whoever refuses the roller refuses everybody", []string{"node"}, with(func(s *roller.Snapshot) {
		for i := range s.Nodes {
			if n := &s.Nodes[i]; n.Roles.Broker && n.Failing != "" && s.At.Sub(n.Silent) > 2*time.Minute {
				n.Requests = append(slices.Clone(n.Requests), roller.Reason{Kind: roller.PodUnresponsive})
			}
		}
	}, nil)},
	{"a certificate that only the roller rejects has expired", []string{"availability rule", "quorum check", "broker", "node", "voters"},
		seeing(func(n *roller.Node) {
			if n.Config.Why() == distrusted {
				n.Failing, n.Expired = "its certificate has expired", true
			}
		})},
	{"whoever answers anywhere shows that the roller reaches everybody", []string{"node"}, with(func(s *roller.Snapshot) {
		if !slices.ContainsFunc(s.Nodes, func(n roller.Node) bool { return n.Roles.Broker && n.Answers.Or(false) }) {
			return
		}
		for i := range s.Nodes {
			if n := &s.Nodes[i]; n.Roles.Broker && !n.Answers.Or(true) && s.At.Sub(n.Silent) > 2*time.Minute &&
				s.At.Sub(n.ReadyChanged) > 2*time.Minute {
				n.Requests = append(slices.Clone(n.Requests), roller.Reason{Kind: roller.PodUnresponsive})
			}
		}
	}, nil)},
	{"whoever answered before is still reached", []string{"silence"}, with(nil, func(d *roller.Decision) {
		for i := range d.Actions {
			d.Actions[i].Unasked = nil
		}
	})},
	{"a lost cluster is left alone", []string{"termination"}, with(func(s *roller.Snapshot) {
		for i := range s.Nodes {
			s.Nodes[i].Failing = ""
		}
		if q, known := s.Quorum.Get(); known && q.Leader < 0 {
			s.Quorum = roller.Unknown[roller.Quorum]("there is no leader")
		}
	}, nil)},
	{"a lost cluster is restarted at once", []string{"one at a time", "voters", "quorum check", "availability rule", "too many at once",
		"no leader", "order"}, func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
		p = p.Clone()
		for id := range p.Failing {
			p.Failing[id] = time.Time{}.Add(time.Second)
		}
		if !p.Leaderless.IsZero() {
			p.Leaderless = time.Time{}.Add(time.Second)
		}
		return roller.Step(s, p, policy)
	}},
	{"a failed node on hold is waited for", []string{"termination"}, seeing(func(n *roller.Node) { n.Hold = "" })},
	{"only who is told of is out of service", []string{"termination"}, with(func(s *roller.Snapshot) {
		for i := range s.Nodes { // if recovery is unknown, unready nodes look as if they had just become unready
			if n := &s.Nodes[i]; !n.Fenced.IsKnown() && !n.Ready.Or(true) {
				n.ReadyChanged = s.At
			}
		}
	}, nil)},
	{"an illegal value is like any other", []string{"illegal value", "node"}, seeing(configured(func(c *brokerconfig.Config) {
		for key, value := range c.Desired {
			if strings.HasPrefix(value, "-") {
				c.Desired[key] = "7777"
			}
		}
	}))},
	{"a rejected key holds up the others", []string{"termination"}, with(nil, func(d *roller.Decision) {
		d.Actions = slices.DeleteFunc(d.Actions, func(a roller.Action) bool {
			return a.Kind == roller.ActionReconfigure && slices.ContainsFunc(d.Nodes,
				func(n roller.Assessment) bool { return len(n.Changes.Rejected) > 0 })
		})
	})},
	{"a hold keeps a node from restarts only", []string{"a configuration is changed through node"}, leavingNobody(func(n *roller.Node) {
		n.Hold = ""
	})},
	{"whoever nobody owns carries the changes of all", []string{"a configuration is changed through node"},
		leavingNobody(func(n *roller.Node) { n.Foreign = "" })},
	{"a change of all brokers rides on the first one", []string{"termination"},
		func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
			d := roller.Step(s, p, policy)
			first := slices.IndexFunc(s.Nodes, func(n roller.Node) bool { return n.Roles.Broker })
			d.Actions = slices.DeleteFunc(d.Actions,
				func(a roller.Action) bool { return len(a.Changes.Global) > 0 && a.Node != s.Nodes[first].ID })
			return d
		}},
	{"a node with an illegal value holds up the others", []string{"termination", "order"}, with(func(s *roller.Snapshot) {
		if slices.ContainsFunc(s.Nodes, func(n roller.Node) bool { return strings.Contains(fmt.Sprint(n.Desired.Or(nil)), ":-") }) {
			for i := range s.Nodes {
				s.Nodes[i].Hold = "somebody should correct it"
			}
		}
	}, nil)},
	{"a refusal of one key is one of all", []string{"termination"}, refusing(func(r brokerconfig.Refusal) []brokerconfig.Refusal {
		all := []brokerconfig.Refusal{r}
		for value := range 300 * (1 - slices.Index(keyNames[:], r.Key)) { // only for the first key
			other, to := r, strconv.Itoa(1000+value)
			other.Key, other.To, other.Final = keyNames[connections], &to, true
			all = append(all, other)
		}
		return all
	})},
	{"what is refused is told, and nothing else", []string{"termination"}, refusing(func(r brokerconfig.Refusal) []brokerconfig.Refusal {
		r.Final = true
		return []brokerconfig.Refusal{r}
	})},
	{"what is refused is forgotten", []string{"Kafka has refused", "termination"},
		refusing(func(brokerconfig.Refusal) []brokerconfig.Refusal { return nil })},
	{"what waits for another key waits for ever", []string{"Kafka has refused", "termination"},
		refusing(func(r brokerconfig.Refusal) []brokerconfig.Refusal {
			r.Waits = min(r.Waits, 1)
			return []brokerconfig.Refusal{r}
		})},
	{"a policy is like a node that runs", []string{"node"}, refusing(func(r brokerconfig.Refusal) []brokerconfig.Refusal {
		r.Final = false
		return []brokerconfig.Refusal{r}
	})},
	{"what is stored is of no interest", []string{"node", "termination"}, seeing(configured(func(c *brokerconfig.Config) {
		for key, e := range c.Live {
			c.Live[key] = brokerconfig.Entry{Value: e.Value, Source: brokerconfig.SourceStatic, ReadOnly: e.ReadOnly}
		}
	}))},
	{"what is set and does not show is left so", []string{"termination"},
		func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
			p = p.Clone()
			for id, a := range p.Alterations {
				a.Tries = min(a.Tries, 1)
				p.Alterations[id] = a
			}
			return roller.Step(s, p, policy)
		}},
	{"whoever goes beside another one needs no min.insync.replicas", []string{"availability rule"},
		func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
			if len(p.Restarts) == 0 {
				return roller.Step(s, p, policy)
			}
			return with(undemanding, nil)(s, p, policy)
		}},
	{"whoever was denied just now was not denied before", []string{"termination"},
		func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
			p = p.Clone()
			for id, d := range p.Denied {
				d.Since = s.At
				p.Denied[id] = d
			}
			return roller.Step(s, p, policy)
		}},
	{"whoever refuses the roller serves nobody", []string{"availability rule"}, seeing(func(n *roller.Node) {
		if n.Failing != "" {
			n.Ready, n.Fenced, n.Hidden = roller.Known(false), roller.Known(true), ""
		}
	})},
	{"whoever refuses the roller or is not ready has no hidden topics", []string{"availability rule"}, seeing(func(n *roller.Node) {
		if n.Failing != "" || !n.Ready.Or(true) {
			n.Hidden = ""
		}
	})},
	{"whoever is down is in no rack", []string{"2 brokers of rack", "3 brokers of rack"},
		func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
			p = p.Clone()
			for id, r := range p.Restarts {
				r.Rack = ""
				p.Restarts[id] = r
			}
			return roller.Step(s, p, policy)
		}},
	{"a failed request for a restart was none", []string{"termination"},
		func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
			p = p.Clone()
			for id, r := range p.Restarts {
				r.Unclear = ""
				p.Restarts[id] = r
			}
			return roller.Step(s, p, policy)
		}},
	{"all requests are one", []string{"termination"}, seeing(func(n *roller.Node) {
		for i := range n.Requests {
			n.Requests = append([]roller.Reason(nil), n.Requests...)
			n.Requests[i].Mark = "pod"
		}
	})},
}

// remembering is a roller that takes a memory of who votes for true, however old it is.
func remembering(change func(*roller.Snapshot, *roller.Progress)) decider {
	return func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
		p = p.Clone()
		change(s, &p)
		p.Static = len(p.Voters) > 0
		d := roller.Step(s, p, policy)
		if d.Progress.Voters == nil { // all is done
			d.Progress.Voters = p.Voters
		}
		return d
	}
}

// leavingNobody is a roller that restarts as it should, and changes configurations as if the nodes were seen differently.
func leavingNobody(see func(*roller.Node)) decider {
	return func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
		d, changed := roller.Step(s, p, policy), seeing(see)(s, p, policy)
		reconfigures := func(a roller.Action) bool { return a.Kind == roller.ActionReconfigure }
		d.Actions = slices.DeleteFunc(d.Actions, reconfigures)
		for _, a := range changed.Actions {
			if reconfigures(a) {
				d.Actions = append(d.Actions, a)
			}
		}
		return d
	}
}

// undemanding makes one replica in sync enough for each partition.
func undemanding(s *roller.Snapshot) {
	if !s.Topics.IsKnown() {
		return
	}
	topics := slices.Clone(s.Topics.Or(nil))
	for t := range topics {
		topics[t].MinISR = roller.Known(1)
	}
	s.Topics = roller.Known(topics)
}

// recalling is a roller that acts on its first decision although it has read the facts again.
func recalling() decider {
	var first roller.Decision
	var seenAt time.Time
	return func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
		d := roller.Step(s, p, policy)
		again := s.At.Sub(seenAt) <= time.Minute && len(first.Actions) > 0
		unasked := func(a roller.Action) bool { return len(a.Unasked) > 0 }
		if again {
			for i := range first.Actions {
				first.Actions[i].Unasked, first.Actions[i].Until = nil, time.Time{}
			}
			d, first = first, roller.Decision{}
			return d
		}
		if first, seenAt = (roller.Decision{}), s.At; slices.ContainsFunc(d.Actions, unasked) {
			first = d
			first.Actions = slices.Clone(d.Actions)
		}
		return d
	}
}

// hurrying is a roller that restarts a node that may recover its logs after patience, but not alone.
func hurrying() decider {
	return func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
		other := *s
		other.Nodes = slices.Clone(s.Nodes)
		guessed := map[roller.NodeID]bool{}
		for i := range other.Nodes {
			n := &other.Nodes[i]
			if !n.Ready.Or(true) && !n.Recovery.IsKnown() && s.At.Sub(n.ReadyChanged) >= policy.Patience {
				n.Recovery, guessed[n.ID] = roller.Known[*roller.Recovery](nil), true
			}
		}
		d := roller.Step(&other, p, policy)
		for i := range d.Actions {
			if a := &d.Actions[i]; guessed[a.Node] && a.Forced == "" {
				a.Forced = "it may be recovering its logs"
			}
		}
		return d
	}
}

// early is a roller that takes the evidence of a lost cluster for older than it is.
func early(by time.Duration) decider {
	return func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
		d := roller.Step(s, p, policy)
		p = p.Clone()
		for id, since := range p.Failing {
			p.Failing[id] = since.Add(-by)
		}
		if !p.Leaderless.IsZero() {
			p.Leaderless = p.Leaderless.Add(-by)
		}
		moved := roller.Step(s, p, policy)
		moved.Progress.Failing, moved.Progress.Leaderless = d.Progress.Failing, d.Progress.Leaderless
		return moved
	}
}

// with is a roller with a changed snapshot, or a changed decision.
func with(see func(*roller.Snapshot), do func(*roller.Decision)) decider {
	return func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
		other := *s
		other.Nodes = append([]roller.Node(nil), s.Nodes...)
		if see != nil {
			see(&other)
		}
		d := roller.Step(&other, p, policy)
		if do != nil {
			do(&d)
		}
		return d
	}
}

// configured changes the observed configuration of a node.
func configured(change func(*brokerconfig.Config)) func(*roller.Node) {
	return func(n *roller.Node) {
		c, known := n.Config.Get()
		if !known {
			return
		}
		c.Desired, c.Live = maps.Clone(c.Desired), maps.Clone(c.Live)
		change(&c)
		n.Config = roller.Known(c)
	}
}

// refusing is a roller that remembers each refusal differently.
func refusing(change func(brokerconfig.Refusal) []brokerconfig.Refusal) decider {
	return func(s *roller.Snapshot, p roller.Progress, policy roller.Policy) roller.Decision {
		p = p.Clone()
		var all []brokerconfig.Refusal
		for _, r := range p.Refusals {
			all = brokerconfig.Add(all, change(r)...)
		}
		p.Refusals = all
		return roller.Step(s, p, policy)
	}
}

// seeing is with, applied to each node.
func seeing(see func(*roller.Node)) decider {
	return with(func(s *roller.Snapshot) {
		for i := range s.Nodes {
			see(&s.Nodes[i])
		}
	}, nil)
}

// firsts are seeds for faults that few histories find. They find the fault soon, until histories change.
var firsts = map[string]uint64{
	"a broker with hidden topics is chosen again and again":            600,
	"an unknown revision is the right one":                             2180,
	"what a peer answered before counts":                               807,
	"what is set and does not show is left so":                         740,
	"all requests are one":                                             265,
	"what nobody knows of a broker is that it answers":                 401,
	"a node that may recover its logs goes beside others":              11380,
	"evidence counts a minute early":                                   14,
	"an illegal value is seen by the node alone":                       35,
	"whoever is back is settled while a cluster can't be read":         490,
	"a Kubernetes cluster that can't be read is well":                  2090,
	"a rejected key holds up the others":                               350,
	"a node with an illegal value holds up the others":                 350,
	"a refusal of one key is one of all":                               595,
	"what waits for another key waits for ever":                        645,
	"a failed node on hold is waited for":                              100,
	"a broker that hangs leads again":                                  900,
	"a failed log directory is in sync":                                1920,
	"nobody tells that failed log directories wait for one another":    200,
	"a user is to delete a pod that another one holds":                 1105,
	"who voted last is forgotten, and all vote":                        405,
	"who voted last votes for ever":                                    2190,
	"every controller votes":                                           490,
	"whoever answers anywhere shows that the roller reaches everybody": 800,
	"whoever refuses the roller or is not ready has no hidden topics":  690,
	"limits":        380,
	"reassignments": 170,
}

// The oracle finds each planted fault, and no violation in the same histories without it.
func TestTheOracleFindsPlantedFaults(t *testing.T) {
	for _, fault := range planted {
		t.Run(fault.name, func(t *testing.T) {
			find(t, firsts[fault.name], fault.breaks, func(h History) string { return h.play(fault.decide, nil).Broken })
		})
	}
}

// find fails if no history from the first seed on breaks one of these rules, or if it also does without the planted fault.
func find(t *testing.T, first uint64, breaks []string, play func(History) string) {
	t.Helper()
	const most = 3000
	for seed := first; seed < first+most; seed++ {
		h := RandomHistory(seed)
		broken := play(h)
		if !begins(broken, breaks) {
			continue
		}
		if without := h.Play(nil).Broken; without != "" {
			t.Fatalf("history %d breaks a rule without the fault, too: %s", seed, without)
		}
		t.Logf("history %d: %s", seed, broken)
		return
	}
	t.Errorf("not found in %d histories", most)
}

// The oracle also finds a roller that restarts nodes on recalled limits of topics or reassignments.
func TestTheOracleFindsStaleTopics(t *testing.T) {
	for name, plant := range map[string]func(*memory){
		"limits":        func(m *memory) { m.trustsLimits = true },
		"reassignments": func(m *memory) { m.trustsMoves = true },
	} {
		t.Run(name, func(t *testing.T) {
			find(t, firsts[name], []string{"availability rule"}, func(h History) string {
				r := newRun(h.Cluster, nil)
				plant(r.memory)
				return h.playOn(r).Broken
			})
		})
	}
}

// The oracle also finds a roller that waits for the logs of pods for as long as for other answers.
func TestTheOracleFindsLooksThatWaitForLogs(t *testing.T) {
	find(t, 0, []string{"termination"}, func(h History) string {
		r := newRun(h.Cluster, nil)
		r.probe = 20 * time.Second
		return h.playOn(r).Broken
	})
}

func begins(text string, with []string) bool {
	for _, w := range with {
		if len(text) >= len(w) && text[:len(w)] == w {
			return true
		}
	}
	return false
}
