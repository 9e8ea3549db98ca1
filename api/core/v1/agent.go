package v1

import "time"

// What operators agree on, so that each knows whether one of them creates the pods of StrimziPodSets in a Kubernetes cluster.
const (
	// LeaseAgent names the Lease that this operator renews there, in the operators' namespace. Source: the proposal of stretch clusters for
	// Strimzi.
	LeaseAgent = "strimzi-stretch-agent"
	// AnnotationAgentNamespace of a StrimziPodSet is the namespace, in the same Kubernetes cluster, of the Lease LeaseAgent of the operator
	// that creates its pods. Source: this project.
	AnnotationAgentNamespace = "kafka-operators.io/agent-namespace"
	// AnnotationContract of the Lease is the version of StrimziPodSets that it understands: Contract. Source: this project.
	AnnotationContract = "kafka-operators.io/contract"
	// Contract is the version that this one writes and reads. Operators with different ones don't work together.
	Contract = "2"
	// AgentGone is how old the last renewal is when the operator counts as gone.
	AgentGone = 60 * time.Second
)

// Beat is the latest renewal of an operator's Lease, as it was observed: the clock of its Kubernetes cluster may be any time off this one.
//
// +kubebuilder:object:generate=false
type Beat struct {
	// Renewed is when it happened by the operator's own clock.
	Renewed time.Time
	// Seen is the time by this clock at which it is known to have happened at the earliest; zero if nothing is known.
	Seen time.Time
	// read is when the Lease was last read.
	read time.Time
}

// Next returns the beat after the Lease was read: a renewal that was not there before happened since the Lease was last read. When the
// first one happened, only it tells: it proves nothing if it says that it is of the future.
func (b Beat) Next(renewed, now time.Time) Beat {
	next := Beat{Renewed: renewed, Seen: b.Seen, read: now}
	switch first := b.Renewed.IsZero(); {
	case renewed.Equal(b.Renewed), first && renewed.After(now.Add(AgentGone)):
	case !first && (renewed.Before(b.read) || renewed.After(now)):
		next.Seen = b.read
	case renewed.After(now):
		next.Seen = now
	default:
		next.Seen = renewed
	}
	return next
}
