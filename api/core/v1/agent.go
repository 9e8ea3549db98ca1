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
