package simulator

import (
	"maps"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// all returns the reasons that a node shows, each with a mark that distinguishes it from a later one.
func (o *oracle) all(n *roller.Node) []string {
	var all []string
	for _, r := range n.Requests {
		all = append(all, "request "+r.Mark)
	}
	if r, known := n.Revision.Get(); known && r.Current != r.Desired {
		all = append(all, "revision "+r.Desired)
	}
	quiet := n.Silent
	if n.ReadyChanged.After(quiet) {
		quiet = n.ReadyChanged
	}
	if answers, known := n.Answers.Get(); o.seen != nil && n.Roles.Broker && known && !answers && !n.Silent.IsZero() &&
		o.seen.At.Sub(quiet) >= o.silence(n) && o.witnessed(n, false) {
		all = append(all, "silence")
	}
	return append(all, o.differs(n, requests)...)
}

// witnessed reports whether a missing answer is the node's fault and not the roller's: a broker of the same Kubernetes cluster responds, or
// any if the node is the only broker there, or Kubernetes reports the node as not ready (docs/decisions/lost-clusters.md). That all nodes
// refuse the roller may be its own certificate's fault. fresh: it responds in this look.
func (o *oracle) witnessed(n *roller.Node, fresh bool) bool {
	only := !slices.ContainsFunc(o.w.nodes, func(other *node) bool { return other.Roles.Broker && other.Place == n.Place && other.ID != n.ID })
	return !n.Ready.Or(true) || slices.ContainsFunc(o.seen.Nodes, func(other roller.Node) bool {
		return other.Roles.Broker && (only || other.Place == n.Place) && other.Answers.Or(false) && (!fresh || !other.Recalled)
	})
}

// silent fails if a broker is restarted only because it is silent, and no broker that could not be reached either would have been noticed.
func (o *oracle) silent(n *node) {
	seen := o.seen.Node(n.ID)
	if reasons := o.reasons(seen); slices.Equal(reasons, []string{"silence"}) && !o.witnessed(seen, true) {
		o.fail("silence: node %d is restarted, and no broker near it has responded in this look", n.ID)
	}
}

// silence returns how long a node may be silent. An unready node gets as long as it may take to become ready.
func (o *oracle) silence(n *roller.Node) time.Duration {
	if n.Ready.Or(true) {
		return o.policy.Silence
	}
	return o.policy.Patience
}

// reasons returns the reasons that the node was not restarted for.
func (o *oracle) reasons(n *roller.Node) []string {
	return o.unserved(n, o.all(n))
}

// unserved returns those of the reasons that the node was not restarted for.
func (o *oracle) unserved(n *roller.Node, all []string) []string {
	return slices.DeleteFunc(all, func(key string) bool { return o.served[n.ID][key] })
}

// vanished reports whether a look shows that a reason no longer exists. An unknown fact does not show that.
func (o *oracle) vanished(n *roller.Node, key string) bool {
	switch {
	case slices.Contains(append(o.all(n), o.refusedValues(n)...), key):
		return false
	case key == "silence":
		return n.Answers.Or(false) || n.Answers.IsKnown() && n.Silent.After(n.ReadyChanged) // it has responded since
	case key[:3] == "req":
		return true
	case key[:3] == "rev":
		return n.Revision.IsKnown()
	}
	return n.Config.IsKnown()
}

// cause checks that a restart has a reason, and that the facts it needs are known.
func (o *oracle) cause(seen *roller.Node) {
	reasons := o.reasons(seen)
	switch {
	case len(reasons) == 0 && len(o.unserved(seen, o.refusedValues(seen))) == 0:
		o.fail("node %d is restarted for nothing: it shows %v, and was restarted for %v", seen.ID, o.all(seen), o.served[seen.ID])
	case !seen.Ready.IsKnown() && seen.Stuck.Or("") == "":
		o.fail("node %d is restarted, and its readiness is not known", seen.ID)
	case seen.Stuck.Or("") != "" && !slices.ContainsFunc(reasons, func(key string) bool { return key[:3] == "rev" }):
		o.fail("node %d is stuck and up to date, and is restarted", seen.ID)
	}
}

// remember forgets reasons that no longer exist, and records since when a controller waits. A rejected value counts too, even if the roller
// does not know of it yet.
func (o *oracle) remember(n *roller.Node) {
	served := o.served[n.ID]
	for key := range served {
		if o.vanished(n, key) {
			delete(served, key)
		}
	}
	since, waits := o.wants[n.ID]
	givenUp := waits && o.seen.At.Sub(since) >= o.policy.Patience
	reasons := o.unserved(n, append(o.all(n), o.refusedValues(n)...))
	if gone := len(reasons) == 0 && n.Revision.IsKnown() && n.Config.IsKnown(); !n.Roles.Controller || gone || !givenUp && o.queues(n) {
		delete(o.wants, n.ID)
	} else if !waits && len(reasons) > 0 {
		o.wants[n.ID] = o.seen.At
	}
}

// accepted records a restart that was carried out.
func (o *oracle) accepted(n *node, a roller.Action) {
	o.ended[a.Instance] = true
	o.lastEnd[n.ID] = o.w.now
	delete(o.wants, n.ID)
	o.served[n.ID] = o.meant[n.ID]
}

// serve returns the reasons that a node counts as restarted for after its restart: the earlier ones, and all that it shows. Whether the
// look proves a silence is for the roller to say.
func (o *oracle) serve(n *roller.Node, a roller.Action) map[string]bool {
	unresponsive := func(r roller.Reason) bool { return r.Kind == roller.PodUnresponsive }
	served := maps.Clone(o.served[n.ID])
	if served == nil {
		served = map[string]bool{}
	}
	for _, key := range append(o.all(n), o.refusedValues(n)...) {
		served[key] = served[key] || key != "silence" || slices.ContainsFunc(a.Reasons, unresponsive)
	}
	return served
}
