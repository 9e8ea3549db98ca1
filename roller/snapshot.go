package roller

import (
	"cmp"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// Snapshot contains all facts for a decision, as observed at one time.
type Snapshot struct {
	// At is when the observation ended. The package has no other clock.
	At time.Time `json:"at"`
	// From is when the oldest fact was read on which the safety of a restart depends; zero means At.
	From time.Time `json:"from,omitzero"`
	// Began is when the look began that this observation is part of; zero means From. Nobody looked between the end of one look and the
	// beginning of the next.
	Began time.Time `json:"began,omitzero"`
	// Unread explains why Nodes may be incomplete, such as a Kubernetes cluster that can't be read. If it is empty, no StrimziPodSet that
	// the roller can see lists a node that is not in Nodes, and the node has no pod there. Kafka may still report it (Unseen).
	Unread string `json:"unread,omitempty"`
	// Nodes are all nodes of the Kafka cluster, of all Kubernetes clusters, by ascending id, each once.
	Nodes []Node `json:"nodes"`
	// Topics are all topics, internal ones included, with their ongoing reassignments.
	Topics Fact[[]Topic] `json:"topics"`
	// Quorum is the metadata quorum.
	Quorum Fact[Quorum] `json:"quorum"`
}

// NodeID is the id of a Kafka node.
type NodeID int32

// Roles are the roles of a node. A node with both is called combined.
type Roles struct {
	Controller bool `json:"controller"`
	Broker     bool `json:"broker"`
}

// String returns the name of the roles.
func (r Roles) String() string {
	switch {
	case r.Controller && r.Broker:
		return "combined"
	case r.Controller:
		return "controller"
	case r.Broker:
		return "broker"
	}
	return "no role"
}

// Node is one node of Kafka, and its pod.
type Node struct {
	ID NodeID `json:"id"`
	// Name is the name of the pod.
	Name string `json:"name"`
	// Place is the Kubernetes cluster that it runs in; empty for that of the roller, and UnknownPlace if unknown.
	Place string `json:"place,omitempty"`
	// Rack is the broker's failure domain (broker.rack); empty if it has none.
	Rack  string `json:"rack,omitempty"`
	Roles Roles  `json:"roles"`

	// Instance identifies one run of the node: the pod's uid. Known and empty means that there is no pod.
	Instance Fact[string] `json:"instance"`
	// Terminating means that the pod is being deleted, by anybody, since Deleted. Overdue is when its grace period ends: if it still exists
	// long after that, its machine is probably lost.
	Terminating bool      `json:"terminating,omitempty"`
	Deleted     time.Time `json:"deleted,omitzero"`
	Overdue     time.Time `json:"overdue,omitzero"`
	// Ready is the readiness of the container of Kafka, and ReadyChanged when it last changed; the pod's creation if it was never ready.
	Ready        Fact[bool] `json:"ready"`
	ReadyChanged time.Time  `json:"readyChanged,omitzero"`
	// Created is when the pod was created, and LastReady until when it was ready; zero if it never was, or still is. Unlike ReadyChanged,
	// they do not change if the container is killed before it is ready.
	Created   time.Time `json:"created,omitzero"`
	LastReady time.Time `json:"lastReady,omitzero"`
	// StartTook is how long its pod took to become ready after the start of Kafka's container; zero if it is not ready, or that is not
	// known. A pod that became unready and ready again later shows a longer time.
	StartTook time.Duration `json:"startTook,omitempty"`
	// CrashesSince is since when the container of Kafka has ended again and again, and was never ready; zero if that is not known.
	CrashesSince time.Time `json:"crashesSince,omitzero"`
	// Stuck is the state that keeps the pod from running (CrashLoopBackOff, ImagePullBackOff, ContainerCreating, Unschedulable and the
	// like); empty if it is not stuck.
	Stuck Fact[string] `json:"stuck"`
	// Sidecar describes problems of other containers of the pod; empty if there are none. It is informational: Kafka may still serve.
	Sidecar string `json:"sidecar,omitempty"`
	// Recovery is the progress of the recovery of the logs after an unclean stop, or of their loading after any, until the node has started.
	// Known and nil means that there is none.
	Recovery Fact[*Recovery] `json:"recovery"`
	// Answers means that the node answered a request of ours. Silent is since when it has not.
	Answers Fact[bool] `json:"answers"`
	Silent  time.Time  `json:"silent,omitzero"`
	// Recalled means that the node's answers are from an earlier look. No restart may depend on them
	// (docs/decisions/facts-of-a-restart.md).
	Recalled bool `json:"recalled,omitempty"`
	// Failing is positive evidence that the node can't serve clients: it refuses connections, or its certificate has expired; empty without
	// any. A request that timed out is no evidence, because the cause may be on the roller's side.
	Failing string `json:"failing,omitempty"`
	// Expired means that the evidence is the node's own expired certificate: it concerns all clients, also while earlier connections keep the
	// broker in sync.
	Expired bool `json:"expired,omitempty"`
	// Hidden explains why the state of some partitions of the broker is unknown: the roller may not describe their topics. It is empty if
	// no topic is known to be hidden.
	Hidden string `json:"hidden,omitempty"`
	// Fenced means that the active controller has fenced the broker (KIP-1073).
	Fenced Fact[bool] `json:"fenced"`

	// Revision contains the current and the desired revision of the pod.
	Revision Fact[Revision] `json:"revision"`
	// Requests are the external reasons to restart the node: annotations, changed certificates.
	Requests []Reason `json:"requests,omitempty"`
	// ConfigHash has the hashes of the configuration that the pod was created with, and of the desired one; empty if the owner of the pod
	// states none.
	ConfigHash Revision `json:"configHash,omitzero"`
	// Config has the desired and the live configuration of the node.
	Config Fact[brokerconfig.Config] `json:"config"`
	// Desired is the desired configuration of the node, known even if the node does not report its live one.
	Desired Fact[map[string]string] `json:"desired"`
	// Hold explains why the node is on hold; empty if it is not.
	Hold string `json:"hold,omitempty"`
	// Unsettled explains why the desired state of the node is not known yet; the roller does not act on the node until it is. It is empty
	// if the desired state is known.
	Unsettled string `json:"unsettled,omitempty"`
	// Foreign explains why there is no proof that the roller may restart the node: nothing is known to recreate its pod, or another Kafka
	// cluster answers. It is empty if there is proof. The roller leaves a foreign node alone, whatever requests its restart.
	Foreign string `json:"foreign,omitempty"`
}

// UnknownPlace is the place of a node that may be in any of several Kubernetes clusters that can't be read.
const UnknownPlace = "?"

// Revision contains the current and the desired revision of a pod.
type Revision struct {
	Current string `json:"current"`
	Desired string `json:"desired"`
	// Note says more of the desired one to people.
	Note string `json:"note,omitempty"`
}

// Outdated reports whether the revisions differ.
func (r Revision) Outdated() bool { return r.Current != r.Desired }

// Recovery is the remaining work of a log recovery.
type Recovery struct {
	// RemainingLogs and RemainingSegments are negative if the node does not report them.
	RemainingLogs     int `json:"remainingLogs"`
	RemainingSegments int `json:"remainingSegments"`
	// Loading means that it only loads its logs, which takes minutes if there are many, and that nothing has to be recovered.
	Loading bool `json:"loading,omitempty"`
	// Loaded means that it has recovered or loaded all its logs, but has not started yet. A broker that is stopped before it has started does
	// not note that its logs are whole, and recovers them all again.
	Loaded bool `json:"loaded,omitempty"`
}

// Topic is a topic of Kafka.
type Topic struct {
	Name string `json:"name"`
	// MinISR is the effective min.insync.replicas.
	MinISR     Fact[int]   `json:"minISR"`
	Partitions []Partition `json:"partitions"`
}

// Partition is the placement and the state of one partition.
type Partition struct {
	Index int32 `json:"index"`
	// Leader is negative if there is none.
	Leader NodeID `json:"leader"`
	// Replicas contains, during a reassignment, the old and the new replicas; Adding and Removing are subsets of it.
	Replicas []NodeID `json:"replicas"`
	ISR      []NodeID `json:"isr"`
	Adding   []NodeID `json:"adding,omitempty"`
	Removing []NodeID `json:"removing,omitempty"`
	// Offline are the replicas in failed log directories of brokers that are in service. They come back only with a restart.
	Offline []NodeID `json:"offline,omitempty"`
}

// Quorum is the metadata quorum as reported by its leader, or by the node that was asked.
type Quorum struct {
	// Leader is the active controller; negative if there is none (docs/decisions/quorum.md).
	Leader NodeID  `json:"leader"`
	Voters []Voter `json:"voters"`
	// Observers replicate the metadata and do not vote: brokers, and controllers that are no voters yet or any more.
	Observers []Voter `json:"observers,omitempty"`
}

// Voter is a replica of the metadata log.
type Voter struct {
	ID NodeID `json:"id"`
	// Directory is the id of the directory of its log (KIP-853); empty in a static quorum.
	Directory string `json:"directory,omitempty"`
	// LastCaughtUp is when the replica was last known to be caught up, in milliseconds by the leader's clock; negative if never
	// (docs/decisions/quorum.md).
	LastCaughtUp int64 `json:"lastCaughtUp"`
}

func sortNodes(nodes []Node) {
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
}

// from returns when the oldest fact was read.
func (s *Snapshot) from() time.Time {
	if s.From.IsZero() {
		return s.At
	}
	return s.From
}

// began returns when the look began.
func (s *Snapshot) began() time.Time {
	if s.Began.IsZero() {
		return s.from()
	}
	return s.Began
}

// Node returns the node with this id, or nil.
func (s *Snapshot) Node(id NodeID) *Node {
	lo, hi := 0, len(s.Nodes)
	for lo < hi {
		if mid := (lo + hi) / 2; s.Nodes[mid].ID < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(s.Nodes) && s.Nodes[lo].ID == id {
		return &s.Nodes[lo]
	}
	return nil
}
