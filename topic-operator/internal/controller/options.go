package controller

import (
	"context"
	"time"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/executor"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// Kafka contains the requests of the reconciler to Kafka; executor.Executor implements it.
type Kafka interface {
	Describe(ctx context.Context, name string, patient bool) (topic.Actual, error)
	Locate(ctx context.Context, name string) (kafka.Topic, error)
	Create(ctx context.Context, t kafka.NewTopic, allowed executor.Check) (kafka.CreateResult, error)
	Validate(ctx context.Context, t kafka.NewTopic) error
	Alter(ctx context.Context, c kafka.ConfigChange, allowed executor.Check) error
	Increase(ctx context.Context, p kafka.PartitionIncrease, allowed executor.Check) error
	Reassignments(ctx context.Context, name string) (map[int32]kafka.Reassignment, error)
	Delete(ctx context.Context, id kafka.TopicID, allowed executor.Check) error
	BrokerConfig(ctx context.Context, keys []string) (map[string]string, error)
}

// Identity returns the Kafka cluster that the operator works for; identity.Guard implements it.
type Identity interface {
	// Own returns the cluster, and asks Kafka for it while it is unknown.
	Own(ctx context.Context) ownership.Cluster
	// Ask does the same, but asks at once if the last attempt began before since.
	Ask(ctx context.Context, since time.Time) ownership.Cluster
	// Current returns the cluster as far as it is known, without a request.
	Current() ownership.Cluster
	// Answered records that a broker of another cluster answered.
	Answered(as string)
}

// Schema reports which fields of a KafkaTopic the API server keeps. A CustomResourceDefinition other than the operator's may drop fields on
// which the operator's guarantees depend. schema.Watcher implements it.
type Schema interface {
	// KeepsClusterID reports whether the API server keeps status.clusterId; true until something shows the opposite.
	KeepsClusterID() bool
	// DroppedClusterID records that the answer to a patch of a status lacked the clusterId.
	DroppedClusterID()
	// KeepsManaged asks the API server whether it keeps spec.managed of an object.
	KeepsManaged(ctx context.Context, kt *v1.KafkaTopic) (bool, error)
}

// Options are the settings of the reconciler.
type Options struct {
	// Selects reports whether the operator's label selector matches a KafkaTopic's labels.
	Selects func(labels map[string]string) bool
	// Rules apply to plans, Ownership to what the operator may touch at all.
	Rules     topic.Rules
	Ownership ownership.Rules
	// Violation describes why the namespace policy forbids a namespace a topic; empty if it does not. Nil allows everything.
	Violation func(namespace, topic string) string
	// Identity returns the operator's Kafka cluster.
	Identity Identity
	// Claims finds the claimants of a topic; nil uses the manager's watches.
	Claims Claims
	// Leads returns ErrNotLeader if this replica does not lead, and another error if that can't be found out. The reconciler calls it right
	// before each change in Kafka. Nil means that there is no other replica.
	Leads func(context.Context) error
	// Schema reports which fields of a KafkaTopic the API server keeps; nil means all.
	Schema Schema
	// Namespaces are the watched namespaces; empty means all.
	Namespaces []string
	// Interval is the longest time between two passes over a KafkaTopic.
	Interval time.Duration
	// UseFinalizers holds deleted objects until their topics are deleted.
	UseFinalizers bool
	// KeepWhenDeletionDisabled keeps a deleted object, as Strimzi does, if topic deletion is disabled in Kafka; the default releases it
	// (docs/decisions/deletion.md).
	KeepWhenDeletionDisabled bool
	// Now returns the current time.
	Now func() time.Time
}
