package roller

import "slices"

// forget removes from the progress reasons that no longer exist, controllers that need nothing any more, and changes that were applied. It
// keeps what can't be read.
func (r *round) forget() {
	for _, a := range r.nodes {
		r.forgetReasons(a)
		if a.Need != NeedRestart || a.stage != stageNone {
			delete(r.progress.Waiting, a.Node)
		}
		if d, denied := r.progress.Denied[a.Node]; denied && (a.node.Instance.IsKnown() && a.node.Instance.Or("") != d.Instance) {
			delete(r.progress.Denied, a.Node)
		}
		if a.node.Config.IsKnown() && !a.Changes.Live() {
			delete(r.progress.Alterations, a.Node)
		}
	}
	r.forgetRefusals()
	for id := range r.progress.Restarted {
		if len(r.progress.Restarted[id]) == 0 {
			delete(r.progress.Restarted, id)
		}
	}
	if r.s.forgets() { // no StrimziPodSet lists a missing node any more (docs/decisions/facts-of-a-restart.md)
		r.progress.drop(func(id NodeID) bool { return r.s.Node(id) == nil })
	}
}

// forgetReasons removes the reasons for which a node was restarted and that it no longer has.
func (r *round) forgetReasons(a *Assessment) {
	kept, n := r.progress.Restarted[a.Node], a.node
	if len(kept) == 0 || a.stage != stageNone || !n.Revision.IsKnown() || !n.Instance.IsKnown() || !n.Config.IsKnown() && needsConfig(kept) {
		return
	}
	silence := Reason{Kind: PodUnresponsive}
	r.progress.Restarted[a.Node] = slices.DeleteFunc(slices.Clone(kept), func(key string) bool {
		if key == silence.key() && !n.answered() {
			return false // a new instance gets time to answer, and has not answered yet
		}
		shown := func(x Reason) bool { return x.key() == key || x.Kind == ConfigChangeRequiresRestart && x.about(key) }
		return !slices.ContainsFunc(a.Repeated, shown) && !slices.ContainsFunc(a.Reasons, shown)
	})
}

// needsConfig reports whether one of the reasons can be checked only with the configuration.
func needsConfig(keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		return len(key) >= len(ConfigChangeRequiresRestart) && key[:len(ConfigChangeRequiresRestart)] == string(ConfigChangeRequiresRestart)
	})
}
