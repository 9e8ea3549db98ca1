package observe

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
)

// agent is the Lease that the operator renews which recreates the pods of StrimziPodSets in a Kubernetes cluster.
type agent struct {
	namespace string
	// lease is nil if there is none, or if err says why it could not be read.
	lease *coordinationv1.Lease
	err   error
}

// operatorsIn returns the namespace of the Lease that tells of sets which name no other one. In the home cluster, nothing tells of those:
// Strimzi, or a program of the user, may recreate their pods.
func (o *Observer) operatorsIn(place string) string {
	if place == "" {
		return ""
	}
	return o.Operators
}

// readAgents reads the Leases of the operators that recreate the pods of sets in a Kubernetes cluster, by namespace.
func readAgents(ctx context.Context, reader client.Reader, sets []PodSet, operators string) map[string]agent {
	agents := map[string]agent{}
	for i := range sets {
		namespace := sets[i].agentIn(operators)
		if _, read := agents[namespace]; read || namespace == "" {
			continue
		}
		a := agent{namespace: namespace, lease: &coordinationv1.Lease{}}
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: core.LeaseAgent}, a.lease)
		if err != nil {
			a.lease, a.err = nil, client.IgnoreNotFound(err)
		}
		agents[namespace] = a
	}
	return agents
}

// agentIn returns the namespace of the Lease of the operator that recreates the pods of the set.
func (s *PodSet) agentIn(operators string) string {
	if s.Agent != "" {
		return s.Agent
	}
	return operators
}

// gone explains why the operator recreates no pods of a set; empty if it does, or if nothing tells: others may recreate the pods of a set
// that names no agent.
func (a agent) gone(named bool, seen time.Time, now time.Time) string {
	switch {
	case apierrors.IsForbidden(a.err):
		return fmt.Sprintf("it is unknown whether an operator recreates its pod: apply the current config/roller/remote, or your "+
			"overlay of the current config/cluster-operator, in its Kubernetes cluster (%v)", a.err)
	case a.err != nil:
		return fmt.Sprintf("it is unknown whether an operator recreates its pod: get Lease %s/%s: %v", a.namespace, core.LeaseAgent, a.err)
	case a.lease == nil && named:
		return fmt.Sprintf("its Kubernetes cluster has no Lease %s/%s of the cluster-operator that would recreate its pod: start it",
			a.namespace, core.LeaseAgent)
	case a.lease == nil:
		return ""
	}
	contract := a.lease.Annotations[core.AnnotationContract]
	switch {
	case contract != core.Contract:
		return fmt.Sprintf("the cluster-operator in its Kubernetes cluster has contract %q, and the roller has %q, so its pod may not be "+
			"recreated: upgrade both to the same version", contract, core.Contract)
	case now.Sub(seen) > core.AgentGone:
		why := fmt.Sprintf("the cluster-operator in its Kubernetes cluster, which would recreate its pod, was last seen at %s: start it",
			a.renewed().UTC().Format(time.RFC3339))
		if !named {
			why += fmt.Sprintf(", or delete Lease %s/%s there if another one creates pods", a.namespace, core.LeaseAgent)
		}
		return why
	}
	return ""
}

// renewed returns when the operator last renewed its Lease, by its own clock.
func (a agent) renewed() time.Time {
	if a.lease == nil || a.lease.Spec.RenewTime == nil {
		return time.Time{}
	}
	return a.lease.Spec.RenewTime.Time
}

// markIdle marks the sets of a Kubernetes cluster whose pods no operator recreates.
func (o *Observer) markIdle(place *Place, agents map[string]agent, now time.Time) {
	if o.beats == nil {
		o.beats = map[client.ObjectKey]core.Beat{}
	}
	for i := range place.Sets {
		set := &place.Sets[i]
		a, read := agents[set.agentIn(o.operatorsIn(place.ID))]
		if !read || set.Idle != "" {
			continue
		}
		key := client.ObjectKey{Namespace: place.ID, Name: a.namespace}
		if a.lease != nil {
			o.beats[key] = o.beats[key].Next(a.renewed(), now)
		}
		set.Idle = a.gone(set.Agent != "", o.beats[key].Seen, now)
	}
}
