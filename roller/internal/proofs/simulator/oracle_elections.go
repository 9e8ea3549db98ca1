package simulator

import (
	"slices"

	"github.com/kafka-operators/kafka-operators/roller"
)

// mayElect checks that an election is allowed: the roller is not paused, the broker is not stopping, and a restart that follows waits until
// the broker leads.
func (o *oracle) mayElect(a roller.Action, d roller.Decision) {
	if o.policy.Paused != "" {
		o.fail("leaders: they are moved although it is paused")
	}
	if n := o.seen.Node(a.Node); n == nil || n.Terminating || !n.Ready.Or(false) {
		o.fail("leaders: they are elected for node %d, which does not serve or goes", a.Node)
	}
	for _, b := range d.Actions {
		switch {
		case b.Kind == roller.ActionRestart && b.Node == a.Node:
			o.fail("leaders: they are elected for node %d, which is restarted now", a.Node)
		case b.Kind == roller.ActionRestart && !a.Await:
			o.fail("leaders: node %d goes without waiting until node %d leads", b.Node, a.Node)
		}
	}
}

// elects checks the partitions of an election: the broker served when the facts were read, and is the preferred leader, in sync, and not
// the leader, as far as the look showed.
func (o *oracle) elects(a roller.Action) {
	if n := o.w.byID[a.Node]; n == nil || !n.Roles.Broker || len(a.Partitions) == 0 {
		o.fail("leaders: they are elected for node %d, which is no broker, or for no partition", a.Node)
		return
	}
	if o.before.down[a.Node] {
		o.fail("leaders: they are elected for node %d, which served nobody or was going", a.Node)
	}
	for _, t := range o.seen.Topics.Or(nil) {
		for _, p := range t.Partitions {
			asked := slices.Contains(a.Partitions[t.Name], p.Index)
			if asked && (p.Replicas[0] != a.Node || p.Leader == a.Node || !slices.Contains(p.ISR, a.Node)) {
				o.fail("leaders: node %d is to lead partition %s-%d, of replicas %v in sync %v led by %d", a.Node, t.Name, p.Index, p.Replicas, p.ISR,
					p.Leader)
			}
		}
	}
}
