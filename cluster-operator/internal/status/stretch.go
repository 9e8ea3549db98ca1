package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// Conditions of a Kafka that is stretched over several Kubernetes clusters.
const (
	// StretchCluster is True once the Kafka is. Source: the proposal of stretch clusters for Strimzi, with reason and message.
	StretchCluster = "StretchCluster"
	// Degraded is True while something is known to be missing, and what is left goes on.
	Degraded = "Degraded"
)

// The reasons of Degraded: the API server of a lost cluster does not answer, or those of all do and something else is wrong.
const (
	reasonUnreachable = "RemoteClusterUnreachable"
	reasonFailed      = "RemoteClusterFailed"
)

// ConnectivityError is the reason of the problem of one Kubernetes cluster whose API server does not answer the operator's requests, or
// rejects its credentials. Source: the proposal of stretch clusters for Strimzi.
const ConnectivityError = "ConnectivityError"

// Stretch is the observed state of the Kubernetes clusters of a Kafka.
type Stretch struct {
	// Provider is the network provider, and Central the id of the Kubernetes cluster of the Kafka object.
	Provider, Central string
	// Formed reports that something was made for the Kafka to be stretched.
	Formed bool
	// Clusters are in any order.
	Clusters []Cluster
}

// Cluster is the observed state of one Kubernetes cluster.
type Cluster struct {
	// ID is the one by which users name it.
	ID string
	// Nodes are the ids of the nodes there, as last known, and Ready is how many of these are ready.
	Nodes []int32
	Ready int32
	// Problem is why nothing can be said or done there now; nil if all is well. LastSeen is when the API server
	// last answered.
	Problem  *Problem
	LastSeen time.Time
}

// answers reports whether the API server responds; if there is a problem, it is another one.
func (c Cluster) answers() bool {
	return c.Problem == nil || c.Problem.Reason != ConnectivityError
}

// ordered returns the clusters, the central one first.
func (s *Stretch) ordered() []Cluster {
	if s == nil {
		return nil
	}
	return slices.SortedFunc(slices.Values(s.Clusters), func(a, b Cluster) int { return s.compare(a.ID, b.ID) })
}

// compare orders the ids of clusters, the central one first.
func (s *Stretch) compare(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == s.Central:
		return -1
	case b == s.Central:
		return 1
	}
	return strings.Compare(a, b)
}

// lost are the clusters that are left out.
func (s *Stretch) lost() []Cluster {
	return slices.DeleteFunc(s.ordered(), func(c Cluster) bool { return c.Problem == nil })
}

func describeLost(lost []Cluster) string {
	var all []string
	for _, c := range lost {
		text := strings.TrimSuffix(c.Problem.Message, ".") + "."
		switch {
		case len(c.Nodes) == 0:
		case c.answers():
			text += fmt.Sprintf(" Its nodes (%s) stay as they are: the operator changes nothing there.", joined(c.Nodes))
		default:
			text += fmt.Sprintf(" The state of its nodes (%s) is unknown, and the operator changes nothing there.", joined(c.Nodes))
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func joined(ids []int32) string {
	var all []string
	for _, id := range ids {
		all = append(all, fmt.Sprint(id))
	}
	return strings.Join(all, ", ")
}

// stretched returns the conditions of a stretched Kafka.
func stretched(in Input) []v1.Condition {
	if in.Stretch == nil || !in.Stretch.Formed {
		return nil
	}
	var ids []string
	for _, c := range stretchClusters(in) {
		ids = append(ids, c.Name)
	}
	conditions := []v1.Condition{{Type: StretchCluster, Status: v1.ConditionTrue, Reason: "StretchClusterActive", Message: fmt.Sprintf(
		"Stretch cluster active: provider=%s, central=%s, clusters=%s", in.Stretch.Provider, in.Stretch.Central, strings.Join(ids, ","))}}
	if lost := in.Stretch.lost(); len(lost) > 0 {
		reason := reasonFailed
		if slices.ContainsFunc(lost, func(c Cluster) bool { return !c.answers() }) {
			reason = reasonUnreachable
		}
		conditions = append(conditions, v1.Condition{Type: Degraded, Status: v1.ConditionTrue, Reason: reason, Message: describeLost(lost)})
	}
	return conditions
}

// stretchClusters returns what the status shows of each Kubernetes cluster. Before anything is known of one it stays as it was.
func stretchClusters(in Input) []v1.StretchClusterStatus {
	if in.Stretch == nil {
		if in.Topology == nil {
			return in.Kafka.Status.StretchClusters
		}
		return nil
	}
	var list []v1.StretchClusterStatus
	for _, c := range in.Stretch.ordered() {
		s := v1.StretchClusterStatus{Name: c.ID, State: v1.StretchClusterConnected, NodeIDs: c.Nodes}
		if c.Problem == nil {
			s.ReadyNodes = new(c.Ready)
		} else {
			s.State, s.Reason, s.Message = v1.StretchClusterUnknown, c.Problem.Reason, c.Problem.Message
			if !c.LastSeen.IsZero() {
				s.LastSeenTime = new(metav1.NewTime(c.LastSeen))
			}
		}
		list = append(list, s)
	}
	if in.Topology == nil { // the pass may have ended before it came to the others
		for _, before := range in.Kafka.Status.StretchClusters {
			if !slices.ContainsFunc(list, func(s v1.StretchClusterStatus) bool { return s.Name == before.Name }) {
				list = append(list, before)
			}
		}
	}
	slices.SortFunc(list, func(a, b v1.StretchClusterStatus) int { return in.Stretch.compare(a.Name, b.Name) })
	return list
}
