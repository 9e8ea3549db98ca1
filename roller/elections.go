package roller

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// Return is a broker that came back from a restart by the roller, and may not lead its preferred partitions yet.
type Return struct {
	// At is the time at which it came back, and Tries the number of elections since.
	At    time.Time `json:"at"`
	Tries int       `json:"tries,omitempty"`
}

// A returned broker gets its partitions back when no other node is restarted, or together with a restart that is decided electionDelay
// later or more: a broker that has just started takes long to lead, and its followers pause for a second if they ask too early. The roller
// tries electionTries times, and no longer than electionTime after the broker came back.
const (
	electionDelay = time.Minute
	electionTime  = 10 * time.Minute
	electionTries = 3
)

// leaderBalanceKey is the property with which users disable moving leaders back.
const leaderBalanceKey = "auto.leader.rebalance.enable"

// elections returns elections of the returned brokers as leaders of the partitions whose preferred leaders they are
// (docs/decisions/leaders.md). Without them, the nodes that restart last would lead everything until Kafka's own balancing, minutes later.
func (r *round) elections() []Action {
	var actions []Action
	for _, id := range slices.Sorted(maps.Keys(r.progress.Returned)) {
		back, n := r.progress.Returned[id], r.s.Node(id)
		unled, known := r.avail.unled(id)
		forbidden := n == nil || r.policy.NoElections || !balanced(n)
		givenUp := back.Tries >= electionTries || r.s.At.Sub(back.At) >= electionTime
		leads := known && len(unled) == 0
		if forbidden || givenUp || leads {
			delete(r.progress.Returned, id)
			continue
		}
		if !r.electsNow(back) || !known || r.policy.Paused != "" || !r.keepsServing(n) {
			continue
		}
		back.Tries++
		r.progress.Returned[id] = back
		actions = append(actions, Action{Kind: ActionElectLeaders, Node: id, Partitions: unled, Await: len(r.chosen) > 0,
			Until: r.s.from().Add(Freshness)})
	}
	return actions
}

// electsNow reports whether it is time to elect a returned broker.
func (r *round) electsNow(back Return) bool {
	if len(r.chosen) > 0 {
		return r.s.At.Sub(back.At) >= electionDelay && r.s.At.Sub(r.progress.Elected) >= electionTime
	}
	return len(r.progress.Restarts) == 0
}

// ElectionsTookLong records that elections in the look at that time took so long that the facts of the restart that was to follow were too
// old for it. A restart that follows within electionTime does not wait for further ones.
func (p Progress) ElectionsTookLong(at time.Time) Progress {
	p = p.Clone()
	p.Elected = at
	return p
}

// electsAgain ends what ElectionsTookLong has recorded once a restart was carried out: one that was not has no record.
func (p *Progress) electsAgain() {
	for _, restart := range p.Restarts {
		if !restart.At.Before(p.Elected) {
			p.Elected = time.Time{}
		}
	}
}

// keepsServing reports whether a broker serves and will continue to: it answers, is ready and not fenced, its pod is not being deleted, and
// it needs no other restart.
func (r *round) keepsServing(n *Node) bool {
	_, restarting := r.progress.Restarts[n.ID]
	return !restarting && n.Foreign == "" && n.Answers.Or(false) && !n.Fenced.Or(false) && n.Ready.Or(false) && !n.Terminating &&
		!r.assessment(n.ID).wanted()
}

// balanced reports whether the user allows Kafka to move leaders to the preferred replicas, which is the default.
func balanced(n *Node) bool {
	desired, known := n.Desired.Get()
	if !known {
		desired = n.Config.Or(brokerconfig.Config{}).Desired
	}
	return !strings.EqualFold(strings.TrimSpace(desired[leaderBalanceKey]), "false") // as org.apache.kafka.common.config.ConfigDef reads it
}

// unled returns the partitions, by topic, whose preferred leader is the broker, and which another broker leads although it is in sync. It
// returns false if the topics are unknown.
func (a *availability) unled(id NodeID) (map[string][]int32, bool) {
	if a.unknown != "" {
		return nil, false
	}
	at := a.ids.of(id)
	if at < 0 {
		return nil, true
	}
	unled := map[string][]int32{}
	for _, where := range a.hosted[at] {
		t := &a.topics[where.topic]
		p := &t.Partitions[where.partition]
		if p.Replicas[0] == id && p.Leader >= 0 && p.Leader != id && slices.Contains(p.ISR, id) && len(p.Adding)+len(p.Removing) == 0 {
			unled[t.Name] = append(unled[t.Name], p.Index)
		}
	}
	return unled, true
}
