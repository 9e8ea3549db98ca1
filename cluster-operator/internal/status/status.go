// Package status turns what a pass found and did into the status of a Kafka and of its pools. It is pure.
package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// Problem is something that a user should know.
type Problem struct {
	// Reason is a word in CamelCase, and Message describes what happened, to which object, and what to do.
	Reason, Message string
	// Pool names the KafkaNodePool that a warning is about; empty if it is about none, or several.
	Pool string
	// Blocks reports that a warning is about a change of that KafkaNodePool that was not made.
	Blocks bool
	// Stalled reports that nothing changes until a user does something.
	Stalled bool
}

// Input is the result of a pass.
type Input struct {
	Kafka *v1.Kafka
	// Failure ended the pass; nil if it went through.
	Failure *Problem
	// Warnings are shown in addition to Ready.
	Warnings []Problem
	// Pending are nodes that this version of the operator would change, and does not: docs/decisions/upgrades-restart-nothing.md.
	Pending []string
	// PendingUntil is what they wait for, if their user lets them be changed; else empty.
	PendingUntil string

	// The other fields are observations of the pass; the status keeps its previous value for those that are nil or empty because the pass
	// ended early.
	Topology *topology.Topology
	// Pruned reports that the pass has deleted all unwanted objects.
	Pruned bool
	Sets   []*core.StrimziPodSet
	// Changed names the StrimziPodSets whose status is outdated, because this pass changed them or will.
	Changed map[string]bool
	// Waiting are the nodes that are not started yet, and the pods that are not ready for a reason that Kubernetes knows.
	Waiting []Wait
	// Unconfigured names the pool of each node whose pod is up to date, but does not run with its configuration yet.
	Unconfigured []string
	// KeyReplacement is the phase of the replacement of the cluster CA's key; empty if the pass ended before that was known.
	KeyReplacement pki.Phase
	// Distrusting reports that running nodes still trust the key that was replaced, and are to stop that.
	Distrusting bool
	// Unreachable are the reasons why clients can't use listeners yet.
	Unreachable []string
	// TopicOperatorNotReady reports that the topic operator that the Kafka asks for does not run yet.
	TopicOperatorNotReady bool
	Endpoints             *model.Endpoints
	// ClusterCA are the certificates of the cluster CA that clients need, and Certificates are those of the listeners that have their own.
	ClusterCA    string
	Certificates map[string]string
	// Served are the certificates in the Secrets of nodes, if the pass ended before it knew the listeners.
	Served    map[string]bool
	ClusterID string

	// Stretch is set for a Kafka that is stretched over several Kubernetes clusters.
	Stretch *Stretch

	Version, MetadataVersion, OperatorVersion string
	Now                                       time.Time
}

// Wait is why a node is not ready.
type Wait struct {
	// Pool names the KafkaNodePool of the node; empty if it is unknown.
	Pool string
	// Message names the node, its pod or its StrimziPodSet, and what that waits for.
	Message string
}

// Conditions of a Kafka in addition to Ready and Warning.
const (
	// Stalled is True if nothing changes until a user does something, as kstatus has it.
	Stalled = "Stalled"
)

// Of returns the status of a Kafka.
func Of(in Input) v1.KafkaStatus {
	s := *in.Kafka.Status.DeepCopy()
	s.ObservedGeneration = in.Kafka.Generation
	withoutKeys(s.Listeners)
	if in.ClusterID != "" {
		s.ClusterID = in.ClusterID
	}
	if in.Topology != nil {
		s.KafkaNodePools = usedPools(in, s.KafkaNodePools)
	}
	switch {
	case in.Endpoints != nil:
		s.Listeners = listeners(in, s.Listeners)
	case in.ClusterCA != "":
		renewListeners(s.Listeners, in)
	}
	s.StretchClusters = stretchClusters(in)
	ready := readiness(in)
	conditions := slices.Concat([]v1.Condition{ready}, stretched(in), stalled(in), updatesPending(in), warnings(in.Warnings))
	s.Conditions = stamp(conditions, in.Kafka.Status.Conditions, in.Now)
	if NodesConverged(in) {
		s.KafkaVersion, s.KafkaMetadataVersion = in.Version, in.MetadataVersion
	}
	if ready.Status == v1.ConditionTrue {
		s.OperatorLastSuccessfulVersion = in.OperatorVersion
	}
	return s
}

// usedPools are those with nodes. One that is to have none any more stays until a pass has removed what is left of them: a later pass finds
// by this that they exist, and may find that they are needed.
func usedPools(in Input, before []v1.UsedNodePool) (used []v1.UsedNodePool) {
	for _, p := range in.Topology.Pools {
		used = append(used, v1.UsedNodePool{Name: p.Name})
	}
	for _, p := range before {
		if !in.Pruned && !slices.Contains(used, p) {
			used = append(used, p)
		}
	}
	return used
}

// stalled is there if nothing changes until a user does something.
func stalled(in Input) []v1.Condition {
	if in.Failure == nil || !in.Failure.Stalled {
		return nil
	}
	return []v1.Condition{{Type: Stalled, Status: v1.ConditionTrue, Reason: in.Failure.Reason, Message: in.Failure.Message}}
}

// updatesPending is there if a newer version of the operator would change nodes, and waits.
func updatesPending(in Input) []v1.Condition {
	if len(in.Pending) == 0 {
		return nil
	}
	const sets = "the StrimziPodSets with " + core.AnnotationManualRollingUpdate + `: "true"`
	then := "; to apply that, annotate the Kafka with " + v1.AnnotationApplyUpdates + `: "true" (as after each later upgrade), or ` + sets +
		" (this time)"
	if in.PendingUntil != "" {
		then = ", and will: " + in.PendingUntil + "; to apply that now, annotate " + sets
	}
	return []v1.Condition{{Type: v1.ConditionUpdatesPending, Status: v1.ConditionTrue, Reason: "OperatorUpgraded",
		Message: "this version of the operator would change " + strings.Join(in.Pending, ", ") + then}}
}

func warnings(problems []Problem) (conditions []v1.Condition) {
	for _, w := range problems {
		conditions = append(conditions, v1.Condition{Type: v1.ConditionWarning, Status: v1.ConditionTrue, Reason: w.Reason, Message: w.Message})
	}
	return conditions
}

// Converged reports whether the Kafka is as its user wants it.
func Converged(in Input) bool { return readiness(in).Status == v1.ConditionTrue }

// NodesConverged reports whether all nodes are as they should be. The topic operator does not count, nor do listeners that nodes lack.
func NodesConverged(in Input) bool {
	in.TopicOperatorNotReady, in.Unreachable = false, nil
	return Converged(in)
}

// NodesReady reports whether all nodes are ready, whether they are up to date or not.
func NodesReady(in Input) bool {
	if in.Failure != nil || in.Topology == nil || len(in.Stretch.lost()) > 0 {
		return false
	}
	ready := 0
	for _, set := range in.Sets {
		ready += int(set.Status.ReadyPods)
	}
	return ready >= in.planned("")
}

func notReady(reason, message string) v1.Condition {
	return v1.Condition{Type: v1.ConditionReady, Status: v1.ConditionFalse, Reason: reason, Message: message}
}

// readiness reports whether the Kafka is as its user wants it, in every node.
func readiness(in Input) v1.Condition {
	if in.Failure != nil {
		return notReady(in.Failure.Reason, in.Failure.Message)
	}
	if in.Topology == nil {
		return notReady(v1.ReasonCreating, "Kafka cluster is being deployed")
	}
	if lost := in.Stretch.lost(); len(lost) > 0 {
		return notReady(lost[0].Problem.Reason, describeLost(lost))
	}
	ready := in.nodes("Kafka cluster", "")
	switch {
	case ready.Status != v1.ConditionTrue:
	case len(in.Unreachable) > 0:
		return notReady("ListenerNotReady", strings.Join(in.Unreachable, "; "))
	case in.TopicOperatorNotReady:
		return notReady("TopicOperatorNotReady", fmt.Sprintf("all nodes are ready; the topic operator (Deployment %s-entity-operator) is not%s",
			in.Kafka.Name, in.why("")))
	}
	return ready
}

// nodes reports whether the nodes of a pool are as they should be, or all nodes if none is named. What they make up is named as a user
// knows it.
func (in Input) nodes(what, pool string) v1.Condition {
	nodes := in.planned(pool)
	var listed, current, ready int
	changing := pool == "" && len(in.Changed) > 0 || in.Changed[in.Topology.PodSetName(pool)]
	for _, set := range in.Sets {
		if pool != "" && set.Name != in.Topology.PodSetName(pool) {
			continue
		}
		listed += len(set.Spec.Pods)
		if set.Status.ObservedGeneration != set.Generation {
			changing = true
			continue
		}
		current += int(set.Status.CurrentPods)
		ready += int(set.Status.ReadyPods)
	}
	current = max(0, current-in.unconfigured(pool))
	if listed > nodes { // some are to leave, and are counted
		changing, current, ready = true, min(current, nodes), min(ready, nodes)
	}
	switch why := in.why(pool); {
	case listed < nodes || ready < nodes && in.Kafka.Status.KafkaVersion == "":
		return notReady(v1.ReasonCreating, fmt.Sprintf("%s is being deployed: %d of %d nodes are ready%s", what, ready, nodes, why))
	case current < nodes || changing:
		return notReady("Updating", fmt.Sprintf("%d of %d nodes are up to date, %d are ready%s%s", current, nodes, ready, in.round(), why))
	case ready < nodes:
		return notReady("NodesNotReady", fmt.Sprintf("%d of %d nodes are ready%s", ready, nodes, why))
	}
	return v1.Condition{Type: v1.ConditionReady, Status: v1.ConditionTrue}
}

// round names the restart of all nodes that is in progress for a new key of the cluster CA: docs/decisions/ca-replacement.md.
func (in Input) round() string {
	const replaced = "; the key of the cluster CA is being replaced: "
	switch {
	case in.KeyReplacement == pki.Distributing:
		return replaced + "first restart, to trust the new key"
	case in.KeyReplacement == pki.Switching:
		return replaced + "second restart, to use the new key"
	case in.Distrusting:
		return replaced + "third restart, to trust the old key no more"
	}
	return ""
}

// unconfigured returns how many nodes of a pool, or of all pools together if none is named, do not run with their configuration yet.
func (in Input) unconfigured(pool string) (nodes int) {
	for _, of := range in.Unconfigured {
		if pool == "" || of == pool {
			nodes++
		}
	}
	return nodes
}

// planned returns how many nodes a pool is to have, or all pools together if none is named.
func (in Input) planned(pool string) (nodes int) {
	for _, p := range in.Topology.Pools {
		if pool == "" || p.Name == pool {
			nodes += len(p.Nodes)
		}
	}
	return nodes
}

// why describes what the first unready pods of a pool wait for, or of all pools if pool is empty.
func (in Input) why(pool string) string {
	const most = 3
	var all []string
	for _, w := range in.Waiting {
		if pool == "" || w.Pool == pool {
			all = append(all, w.Message)
		}
	}
	switch {
	case len(all) == 0:
		return ""
	case len(all) > most:
		return fmt.Sprintf(". Waiting: %s, and %d others", strings.Join(all[:most], ", "), len(all)-most)
	}
	return ". Waiting: " + strings.Join(all, ", ")
}

// DeploymentReady reports whether a Deployment has a ready pod, and none of an earlier template. Its status may count the pod of before for
// a moment after it observed the new template.
func DeploymentReady(d *appsv1.Deployment) bool {
	s := d.Status
	return s.ObservedGeneration == d.Generation && s.UpdatedReplicas >= 1 && s.Replicas == s.UpdatedReplicas && s.ReadyReplicas >= 1
}

// order is the order in which listeners are listed. Source: Strimzi.
var order = []v1.ListenerType{v1.ListenerInternal, v1.ListenerLoadBalancer, v1.ListenerNodePort, v1.ListenerRoute, v1.ListenerTLSRoute,
	v1.ListenerIngress,
	v1.ListenerClusterIP}

func listeners(in Input, before []v1.ListenerStatus) []v1.ListenerStatus {
	var list []v1.ListenerStatus
	sorted := slices.Clone(in.Kafka.Spec.Kafka.Listeners)
	slices.SortStableFunc(sorted, func(a, b v1.Listener) int { return slices.Index(order, a.Type) - slices.Index(order, b.Type) })
	for _, l := range sorted {
		status := v1.ListenerStatus{Name: l.Name}
		var servers []string
		for _, e := range in.Endpoints.Bootstrap[l.Name] {
			status.Addresses = append(status.Addresses, v1.ListenerAddress{Host: e.Host, Port: e.Port})
			servers = append(servers, e.String())
		}
		slices.Sort(servers)
		status.BootstrapServers = strings.Join(slices.Compact(servers), ",")
		if certificate := cmp.Or(in.Certificates[l.Name], in.ClusterCA); l.TLS && certificate != "" {
			status.Certificates = []string{certificate}
		} else if l.TLS {
			status.Certificates = certificatesOf(before, l.Name)
		}
		list = append(list, status)
	}
	return list
}

// certificatesOf returns the certificates of a listener in a status.
func certificatesOf(listeners []v1.ListenerStatus, name string) []string {
	for _, l := range listeners {
		if l.Name == name {
			return l.Certificates
		}
	}
	return nil
}

// withoutKeys takes out of a status what is no certificate: earlier versions, and Strimzi, copied the entry of a Secret, which may also
// have the key.
func withoutKeys(listeners []v1.ListenerStatus) {
	for i := range listeners {
		var certificates []string
		for _, text := range listeners[i].Certificates {
			if only := pki.Certificates([]byte(text)); len(only) > 0 {
				certificates = append(certificates, string(only))
			}
		}
		listeners[i].Certificates = certificates
	}
}

// renewListeners puts the current certificates of the cluster CA into the status of the listeners that serve its certificates, and not into
// that of users' own: a pass that ends early may renew it. The spec may say something else by now than what nodes serve.
func renewListeners(listeners []v1.ListenerStatus, in Input) {
	for i := range listeners {
		if certificates := listeners[i].Certificates; len(certificates) > 0 && !in.Served[certificates[0]] {
			listeners[i].Certificates = []string{in.ClusterCA}
		}
	}
}

// stamp sets when each condition last changed its status.
func stamp(conditions, before []v1.Condition, now time.Time) []v1.Condition {
	for i := range conditions {
		conditions[i].LastTransitionTime = conditions[i].TransitionTime(before, now)
	}
	return conditions
}

// Paused returns the status of a Kafka whose reconciliation is paused.
func Paused(kafka *v1.Kafka, now time.Time) v1.KafkaStatus {
	s := *kafka.Status.DeepCopy()
	withoutKeys(s.Listeners)
	s.Conditions = paused(kafka.Status.Conditions, now)
	return s
}

// paused keeps warnings, as Strimzi does: what they name is not repaired by the pause.
func paused(before []v1.Condition, now time.Time) []v1.Condition {
	var conditions []v1.Condition
	for _, c := range before {
		if c.Type == v1.ConditionWarning {
			conditions = append(conditions, c)
		}
	}
	return stamp(append(conditions, v1.Condition{Type: v1.ConditionReconciliationPaused, Status: v1.ConditionTrue}), before, now)
}
