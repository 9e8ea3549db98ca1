package roller

import (
	"maps"
	"slices"
)

// Configurations returns the hash of the configuration that pods run with, by instance, where it differs from the one that the pod was
// created with; an empty hash means that it is not a desired one, or not yet. before is the last result, which stays valid for pods whose
// configuration is unknown now.
func Configurations(s *Snapshot, d Decision, policy Policy, before map[string]string) map[string]string {
	now := map[string]string{}
	if s.Unread != "" {
		maps.Copy(now, before)
	}
	everyBroker := slices.ContainsFunc(d.Nodes, func(a Assessment) bool { return len(a.Changes.Global)+len(a.Changes.StoredGlobal) > 0 })
	for i := range d.Nodes {
		a := &d.Nodes[i]
		n := s.Node(a.Node)
		if n == nil || n.Instance.Or("") == "" {
			continue
		}
		pod := n.Instance.Or("")
		delete(now, pod)
		hash, known := before[pod]
		switch {
		case !n.Config.IsKnown() || n.Unsettled != "" || policy.NoReconfiguration:
		case !a.configured() || everyBroker && n.Roles.Broker:
			hash, known = "", true
		default:
			hash, known = n.ConfigHash.Desired, true
		}
		if known && hash != n.ConfigHash.Current {
			now[pod] = hash
		}
	}
	if len(now) == 0 {
		return nil
	}
	return now
}

// configured reports whether the node runs with its desired configuration. A difference that a restart did not remove does not count: Kafka
// may report the value in another form.
func (a *Assessment) configured() bool {
	return !a.Changes.Live() && len(a.Changes.Rejected) == 0 &&
		!slices.ContainsFunc(a.Reasons, func(r Reason) bool { return r.Kind == ConfigChangeRequiresRestart })
}
