package roller

import "slices"

// Asked are the nodes about which facts are read anew in a look, and not recalled (docs/decisions/facts-of-a-restart.md).
type Asked struct {
	// Nodes are those about which all facts are read, and Restarts those of them that are also asked which topics they have replicas of.
	Nodes, Restarts []NodeID
	// Peers are only asked whether they still answer.
	Peers []NodeID
}

// And returns the nodes together with those that an action depends on.
func (a Asked) And(action Action) Asked {
	with := func(ids []NodeID, more ...NodeID) []NodeID {
		ids = slices.Clone(ids)
		for _, id := range more {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	a.Nodes, a.Peers = with(a.Nodes, action.Node), with(a.Peers, action.Unasked...)
	if action.Kind == ActionRestart {
		a.Restarts = with(a.Restarts, action.Node)
	}
	return a
}

// Suffice reports whether an action that was decided on these facts depends on no others.
func (a Asked) Suffice(action Action) bool {
	return len(action.Unasked) == 0 && slices.Contains(a.Nodes, action.Node) &&
		(action.Kind != ActionRestart || slices.Contains(a.Restarts, action.Node))
}
