package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// MaxRecords is how many metadata records one request may write.
const MaxRecords = 10_000

// Name checks a topic's name (org.apache.kafka.common.internals.Topic).
func Name(name string) error { return kafka.CheckTopicName(name) }

// Collation returns a form that is equal for names that collide: metrics do not distinguish periods from underscores.
func Collation(name string) string { return strings.ReplaceAll(name, ".", "_") }

// Collision is the error for a name that collides with an existing one.
func Collision(name, existing string) error {
	return kafka.NewError(kafka.CodeInvalidTopic, fmt.Sprintf("Topic '%s' collides with existing topic: %s", name, existing))
}

// Exists is the error for a name that is taken.
func Exists(name string) error {
	return kafka.NewError(kafka.CodeTopicAlreadyExists, fmt.Sprintf("Topic '%s' already exists.", name))
}

// Missing is the error for a change of the configuration of a topic that does not exist.
func Missing(name string) error {
	return kafka.NewError(kafka.CodeUnknownTopicOrPartition, fmt.Sprintf("The topic '%s' does not exist.", name))
}

// TooManyPartitions is the error for a request that would write more than MaxRecords.
func TooManyPartitions() error {
	return kafka.NewError(kafka.CodePolicyViolation, "Excessively large number of partitions per request.")
}

// Cluster has the settings that a topic's placement depends on.
type Cluster struct {
	Brokers           []int32
	Partitions        int32 // num.partitions
	ReplicationFactor int16 // default.replication.factor
}

// Placement checks a new topic's partitions and replicas, and returns their numbers with defaults applied.
func (c Cluster) Placement(t kafka.NewTopic) (partitions int32, factor int16, err error) {
	if len(t.Assignments) > 0 {
		return c.assigned(t)
	}
	partitions, factor = t.Partitions, t.ReplicationFactor
	if factor == -1 {
		factor = c.ReplicationFactor
	}
	if partitions == -1 {
		partitions = c.Partitions
	}
	switch {
	case factor <= 0:
		return 0, 0, kafka.NewError(kafka.CodeInvalidReplicationFactor,
			"Replication factor must be larger than 0, or -1 to use the default value.")
	case partitions <= 0:
		return 0, 0, kafka.NewError(kafka.CodeInvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	case int(factor) > len(c.Brokers):
		return 0, 0, kafka.NewError(kafka.CodeInvalidReplicationFactor, fmt.Sprintf(
			"Unable to replicate the partition %d time(s): The target replication factor of %d cannot be reached because only %d broker(s) are "+
				"registered or some brokers have all their log directories cordoned.",
			factor, factor, len(c.Brokers)))
	}
	return partitions, factor, nil
}

func (c Cluster) assigned(t kafka.NewTopic) (int32, int16, error) {
	if t.ReplicationFactor != -1 {
		return 0, 0, kafka.NewError(kafka.CodeInvalidRequest,
			"A manual partition assignment was specified, but replication factor was not set to -1.")
	}
	if t.Partitions != -1 {
		return 0, 0, kafka.NewError(kafka.CodeInvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	refuse := func(format string, args ...any) (int32, int16, error) {
		return 0, 0, kafka.NewError(kafka.CodeInvalidReplicaAssignment, fmt.Sprintf(format, args...))
	}
	for i := range int32(len(t.Assignments)) {
		replicas, ok := t.Assignments[i]
		switch {
		case !ok:
			return refuse("partitions should be a consecutive 0-based integer sequence")
		case len(replicas) == 0:
			return refuse("The manual partition assignment includes an empty replica list.")
		case len(replicas) != len(t.Assignments[0]):
			return refuse("The manual partition assignment includes a partition with %d replica(s), but this is not consistent with previous "+
				"partitions, which have %d replica(s).", len(replicas), len(t.Assignments[0]))
		}
		for j, id := range replicas {
			if slices.Contains(replicas[:j], id) {
				return refuse("The manual partition assignment includes the broker %d more than once.", id)
			}
			if !slices.Contains(c.Brokers, id) {
				return refuse("The manual partition assignment includes broker %d, but no such broker is registered.", id)
			}
		}
	}
	return int32(len(t.Assignments)), int16(len(t.Assignments[0])), nil
}

// Increase checks a topic's new number of partitions.
func Increase(topic string, present, wanted int32) error {
	refuse := func(format string, args ...any) error {
		return kafka.NewError(kafka.CodeInvalidPartitions, fmt.Sprintf(format, args...))
	}
	switch {
	case wanted == present:
		return refuse("Topic already has %d partition(s).", present)
	case wanted < present:
		return refuse("The topic %s currently has %d partition(s); %d would not be an increase.", topic, present, wanted)
	}
	return nil
}
