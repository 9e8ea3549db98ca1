package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// leaving returns the nodes of a pool that run, are not wanted, and can't go yet. blocked says of how many what is not done.
func (a *assignment) leaving(pool string, blocked func(stay int) string, wanted func(int32) bool) []Node {
	var stay []Node
	var reasons []string
	var voters []string
	for _, n := range a.Running {
		if n.Pool != pool || wanted(n.ID) {
			continue
		}
		why := a.whyNeeded(n)
		if slices.Contains(a.Away, n.Cluster) {
			why = fmt.Sprintf("Kubernetes cluster %s, where node %d runs, can't be reached", n.Cluster, n.ID)
		}
		if why == "" && !n.Roles.Controller {
			continue
		}
		n.Leaving = true
		stay = append(stay, n)
		if n.Roles.Controller {
			voters = append(voters, fmt.Sprint(n.ID))
		} else {
			reasons = append(reasons, why)
		}
	}
	if len(voters) > 0 {
		reasons = append(reasons, votersStay(voters))
	}
	if len(stay) > 0 {
		a.block(pool, stay, len(voters) > 0, blocked(len(stay))+": "+strings.Join(reasons, "; "))
	}
	return stay
}

// votersStay is why nodes are to remain controllers, or to remain none.
func votersStay(nodes []string) string {
	return fmt.Sprintf("the voters of the controller quorum can't change while the cluster runs (nodes %s)", strings.Join(nodes, ", "))
}

// whyNeeded returns why a broker can't be stopped for good, or "".
func (a *assignment) whyNeeded(n Node) string {
	if a.Force || !n.Roles.Broker {
		return ""
	}
	return a.Holdings.WhyKept(n.ID)
}

// keepRoles gives nodes that run their present roles where a change of these is not safe.
func (a *assignment) keepRoles(spec PoolSpec, nodes []Node) {
	var kept []Node
	var reasons, voters []string
	for i := range nodes {
		n := &nodes[i]
		present, runs := a.running[n.ID]
		if !runs || present.Roles == spec.Roles {
			continue
		}
		switch {
		case present.Roles.Controller != spec.Roles.Controller:
			voters = append(voters, fmt.Sprint(n.ID))
		case present.Roles.Broker && !spec.Roles.Broker && !a.Force:
			why := a.Holdings.WhyKept(n.ID)
			if why == "" {
				continue
			}
			reasons = append(reasons, why)
		default:
			continue
		}
		n.Roles = present.Roles
		kept = append(kept, *n)
	}
	if len(voters) > 0 {
		reasons = append(reasons, votersStay(voters))
	}
	if len(kept) > 0 { // with Strimzi's text, which reverts the change of all nodes
		var names, roles []string
		for _, n := range kept {
			names, roles = append(names, fmt.Sprint(n.ID)), append(roles, "["+strings.ReplaceAll(n.Roles.String(), ",", ", ")+"]")
		}
		slices.Sort(roles)
		a.block(spec.Name, kept, len(voters) > 0, fmt.Sprintf("Reverting role change of KafkaNodePool %s (setting roles to %s) for nodes %s: %s",
			spec.Name, strings.Join(slices.Compact(roles), " and "), strings.Join(names, ", "), strings.Join(reasons, "; ")))
	}
}

// keepBrokers keeps the brokers that run if nobody would be a broker otherwise: another pool should become brokers, which is blocked.
func (a *assignment) keepBrokers() {
	if len(a.result.Brokers()) > 0 {
		return
	}
	kept := map[string][]Node{}
	for _, n := range a.Running {
		if n.Roles.Broker {
			kept[n.Pool] = append(kept[n.Pool], n)
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(kept)) {
		at := slices.IndexFunc(a.result.Pools, func(p Pool) bool { return p.Name == pool })
		if at < 0 {
			at = len(a.result.Pools)
			a.result.Pools = append(a.result.Pools, Pool{Name: pool, Cluster: kept[pool][0].Cluster, Removed: true})
		}
		p := &a.result.Pools[at]
		for _, n := range kept[pool] {
			if i := slices.IndexFunc(p.Nodes, func(o Node) bool { return o.ID == n.ID }); i >= 0 {
				p.Nodes[i].Roles = n.Roles
				continue
			}
			n.Leaving = true
			p.Nodes = append(p.Nodes, n)
		}
		slices.SortFunc(p.Nodes, func(x, y Node) int { return cmp.Compare(x.ID, y.ID) })
		a.block(pool, kept[pool], true, fmt.Sprintf("The change of KafkaNodePool %s is blocked: its nodes are the only brokers. "+
			"First add brokers to another KafkaNodePool", pool))
	}
}

func (a *assignment) block(pool string, nodes []Node, stalled bool, message string) {
	b := Blocked{Pool: pool, Stalled: stalled, Message: message}
	for _, n := range nodes {
		b.Nodes = append(b.Nodes, n.ID)
	}
	slices.Sort(b.Nodes)
	a.result.Blocked = append(a.result.Blocked, b)
}
