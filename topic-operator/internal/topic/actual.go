package topic

import (
	"fmt"
	"slices"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// Actual is the state of a topic in Kafka.
type Actual struct {
	Topic  kafka.Topic
	Config map[string]kafka.ConfigEntry
	// Reassignments of the topic's partitions, by index; they matter only where the replication factor differs (NeedsReassignments).
	Reassignments map[int32]kafka.Reassignment
}

// NeedsReassignments reports whether the replication factor seems to differ from the desired one, so that the ongoing reassignments have to
// be read first.
func (a Actual) NeedsReassignments(d Desired) bool { return len(a.differingReplicas(d)) > 0 }

// UnreadReassignments explains Kafka's refusal to tell the reassignments of a topic whose replication factor seems to differ.
func (a Actual) UnreadReassignments(d Desired, err error) error {
	help := "grant the operator Describe on the cluster, or set spec.replicas to that number"
	if class := kafka.ClassOf(err); class == kafka.ClassUnsupported {
		help = "this Kafka does not tell; set spec.replicas to that number"
	} else if class != kafka.ClassForbidden {
		return err
	}
	differing := a.differingReplicas(d)
	return fmt.Errorf("%w (spec.replicas is %d, and partition %d has %d replicas; the operator does not change that, and whether it is being "+
		"changed is unknown: %s)", err, d.Replicas, differing[0], a.replicas(differing[0]), help)
}

// MayHaveMoved reports whether the replication factor of a partition differs from the desired one without an ongoing reassignment: one may
// have ended after the topic was read, and a broker may still show the previous state.
func (a Actual) MayHaveMoved(d Desired) bool {
	return slices.ContainsFunc(a.differingReplicas(d), func(index int32) bool { _, moving := a.Reassignments[index]; return !moving })
}

// differingReplicas returns the partitions whose replication factor, once ongoing reassignments are complete, is not the desired one.
func (a Actual) differingReplicas(d Desired) []int32 {
	if d.Replicas == brokerDefault {
		return nil
	}
	var differing []int32
	for _, p := range a.Topic.Partitions {
		if a.targetReplicas(p) != int(d.Replicas) {
			differing = append(differing, p.Index)
		}
	}
	return differing
}

// targetReplicas returns how many replicas the partition has once its reassignment, if any, is complete.
func (a Actual) targetReplicas(p kafka.Partition) int {
	if r, moving := a.Reassignments[p.Index]; moving {
		return len(r.Target())
	}
	return len(p.Replicas)
}

// replicas is targetReplicas by index, for messages.
func (a Actual) replicas(index int32) int {
	for _, p := range a.Topic.Partitions {
		if p.Index == index {
			return a.targetReplicas(p)
		}
	}
	return 0
}
