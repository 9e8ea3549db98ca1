package status

import (
	"fmt"
	"slices"
	"time"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// PoolNodes returns the status of a KafkaNodePool with its desired nodes. Their states stay unchanged.
func PoolNodes(pool *v1.KafkaNodePool, p topology.Pool, cluster, clusterID string) v1.KafkaNodePoolStatus {
	s := *pool.Status.DeepCopy()
	s.ClusterID, s.NodeIDs, s.Roles = clusterID, nil, rolesOf(p, pool.Spec.Roles)
	for _, n := range p.Nodes {
		s.NodeIDs = append(s.NodeIDs, n.ID)
	}
	s.Replicas = int32(len(p.Nodes)) // node ids have 31 bits
	s.LabelSelector = fmt.Sprintf("%s=%s,%s=%s,%s=%s,%s=%s", v1.LabelCluster, cluster, core.LabelKind, core.KindKafka,
		core.LabelName, cluster+"-kafka", core.LabelPoolName, p.Name)
	return s
}

// Pool returns the status of a KafkaNodePool with the observed states of its nodes. lost is the problem of their Kubernetes cluster; nil if
// there is none.
func Pool(in Input, pool *v1.KafkaNodePool, lost *Problem) v1.KafkaNodePoolStatus {
	s := *pool.Status.DeepCopy()
	s.ObservedGeneration = pool.Generation
	if b := blocked(in, pool.Name); b != nil && poolReadiness(in, pool.Name, lost).Status == v1.ConditionTrue {
		in.Failure = &Problem{Reason: v1.ReasonChangeBlocked, Message: b.Message, Stalled: b.Stalled}
	}
	conditions := append([]v1.Condition{poolReadiness(in, pool.Name, lost)}, stalled(in)...)
	concerned := slices.DeleteFunc(slices.Clone(in.Warnings), func(w Problem) bool { return w.Pool != pool.Name })
	s.Conditions = stamp(append(conditions, warnings(concerned)...), pool.Status.Conditions, in.Now)
	return s
}

// poolReadiness reports whether a pool's nodes are as their user wants them. It is not without its Kafka: a pass that failed may not have
// come to the pool.
func poolReadiness(in Input, pool string, lost *Problem) v1.Condition {
	switch {
	case in.Failure != nil:
		return notReady(in.Failure.Reason, in.Failure.Message)
	case lost != nil:
		return notReady(lost.Reason, lost.Message)
	}
	return in.nodes("KafkaNodePool", pool)
}

// blocked returns the change that was not made for a pool, or nil. It prefers one that waits for a user.
func blocked(in Input, pool string) (found *Problem) {
	for i, w := range in.Warnings {
		if w.Blocks && w.Pool == pool && (found == nil || w.Stalled && !found.Stalled) {
			found = &in.Warnings[i]
		}
	}
	return found
}

// PoolReady reports whether the status of a KafkaNodePool has the condition Ready, and it is True.
func PoolReady(s v1.KafkaNodePoolStatus) bool {
	return slices.ContainsFunc(s.Conditions, func(c v1.Condition) bool { return c.Type == v1.ConditionReady && c.Status == v1.ConditionTrue })
}

// PausedPool returns the status of a KafkaNodePool while the reconciliation of its Kafka is paused.
func PausedPool(pool *v1.KafkaNodePool, now time.Time) v1.KafkaNodePoolStatus {
	s := *pool.Status.DeepCopy()
	s.Conditions = paused(pool.Status.Conditions, now)
	return s
}

// rolesOf returns the roles that nodes of a pool have, in the order of those that are wanted: a change of roles may be blocked.
func rolesOf(p topology.Pool, wanted []v1.ProcessRole) []v1.ProcessRole {
	if len(p.Nodes) == 0 {
		return wanted
	}
	var roles []v1.ProcessRole
	for _, role := range slices.Concat(wanted, []v1.ProcessRole{v1.RoleController, v1.RoleBroker}) {
		has := slices.ContainsFunc(p.Nodes, func(n topology.Node) bool {
			return role == v1.RoleController && n.Roles.Controller || role == v1.RoleBroker && n.Roles.Broker
		})
		if has && !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	return roles
}
