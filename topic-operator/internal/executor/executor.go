package executor

import (
	"context"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/batch"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// Admin contains the requests that the executor needs of the port.
type Admin interface {
	kafka.ClusterReader
	kafka.TopicReader
	kafka.TopicWriter
	kafka.ReassignmentReader
}

// Observer receives the size and duration of batches, for metrics. Its methods must not block.
type Observer interface {
	// BatchSent is called with the size of each batch. The operation is one of the Operation constants.
	BatchSent(operation string, size int)
	// BatchDone is called when a batch is answered.
	BatchDone(operation string, took time.Duration)
}

// The operations, by the names of Strimzi's timers (reference: MetricsHolder).
const (
	OperationDescribeTopics    = "describe_topics"
	OperationDescribeConfigs   = "describe_configs"
	OperationCreateTopics      = "create_topics"
	OperationAlterConfigs      = "alter_configs"
	OperationCreatePartitions  = "create_partitions"
	OperationListReassignments = "list_reassignments"
	OperationDeleteTopics      = "delete_topics"
)

// Options tune the batches.
type Options struct {
	// MaxBatch is the largest number of topics in a batch (STRIMZI_MAX_BATCH_SIZE).
	MaxBatch int
	// Linger is the longest that a change waits for others (STRIMZI_MAX_BATCH_LINGER_MS).
	Linger time.Duration
	// PatientLinger is the same for the timed check of a topic whose status is Ready.
	PatientLinger time.Duration
	// BusyLinger and BusyEnough let batches grow under sustained load (see batch.Options).
	BusyLinger time.Duration
	BusyEnough int
	// CallTimeout bounds one batch.
	CallTimeout time.Duration
}

// Executor combines single calls into batches. Its methods are safe for concurrent use.
type Executor struct {
	admin    Admin
	observer Observer
	timeout  time.Duration

	describe      *batch.Batcher[string, string, topic.Actual]
	locate        *batch.Batcher[string, string, kafka.Topic]
	create        *batch.Batcher[string, change[kafka.NewTopic], kafka.CreateResult]
	validate      *batch.Batcher[string, change[kafka.NewTopic], kafka.CreateResult]
	alter         *batch.Batcher[kafka.ConfigResource, change[kafka.ConfigChange], struct{}]
	increase      *batch.Batcher[string, change[kafka.PartitionIncrease], struct{}]
	reassignments *batch.Batcher[string, string, map[int32]kafka.Reassignment]
	remove        *batch.Batcher[kafka.TopicID, change[kafka.TopicID], struct{}]
}

// New returns an Executor whose calls live at most as long as ctx.
func New(ctx context.Context, admin Admin, observer Observer, o Options) *Executor {
	e := &Executor{admin: admin, observer: observer, timeout: o.CallTimeout}
	opts := func(operation string) batch.Options {
		return batch.Options{MaxItems: o.MaxBatch, Linger: o.Linger, PatientLinger: o.PatientLinger, BusyLinger: o.BusyLinger,
			BusyEnough: o.BusyEnough,
			Observe:    func(n int) { observer.BatchSent(operation, n) }}
	}
	e.describe = batch.New(ctx, self[string], e.describeBatch, opts(OperationDescribeTopics))
	e.locate = batch.New(ctx, self[string], e.locateBatch, opts(OperationDescribeTopics))
	e.create = batch.New(ctx, keyOf(newName), e.createBatch(false), opts(OperationCreateTopics))
	e.validate = batch.New(ctx, keyOf(newName), e.createBatch(true), opts(OperationCreateTopics))
	e.alter = batch.New(ctx, keyOf(resourceOf), e.alterBatch, opts(OperationAlterConfigs))
	e.increase = batch.New(ctx, keyOf(topicOf), e.increaseBatch, opts(OperationCreatePartitions))
	e.reassignments = batch.New(ctx, self[string], e.reassignmentsBatch, opts(OperationListReassignments))
	e.remove = batch.New(ctx, keyOf(self[kafka.TopicID]), e.removeBatch, opts(OperationDeleteTopics))
	return e
}

func self[T any](t T) T { return t }

func newName(t kafka.NewTopic) string { return t.Name }

func resourceOf(c kafka.ConfigChange) kafka.ConfigResource { return c.Resource }

func topicOf(p kafka.PartitionIncrease) string { return p.Topic }

// Describe returns a topic and its configuration. A topic that does not exist is an error of kafka.ClassNotFound. A patient caller waits
// a little, so that timed checks share their requests.
func (e *Executor) Describe(ctx context.Context, name string, patient bool) (topic.Actual, error) {
	if patient {
		return e.describe.DoPatiently(ctx, name)
	}
	return e.describe.Do(ctx, name)
}

// Locate returns a topic without its configuration, which is much slower to read. A topic that does not exist is an error of
// kafka.ClassNotFound.
func (e *Executor) Locate(ctx context.Context, name string) (kafka.Topic, error) {
	return e.locate.Do(ctx, name)
}

// Create creates a topic, if that is still allowed when the request leaves.
func (e *Executor) Create(ctx context.Context, t kafka.NewTopic, allowed Check) (kafka.CreateResult, error) {
	return e.create.Do(ctx, change[kafka.NewTopic]{t, allowed})
}

// Validate asks the controller whether it would create a topic; none is created. A name that is taken is an error of kafka.ClassExists.
func (e *Executor) Validate(ctx context.Context, t kafka.NewTopic) error {
	_, err := e.validate.Do(ctx, change[kafka.NewTopic]{item: t})
	return err
}

// Alter changes a topic's configuration, if that is still allowed when the request leaves.
func (e *Executor) Alter(ctx context.Context, c kafka.ConfigChange, allowed Check) error {
	_, err := e.alter.Do(ctx, change[kafka.ConfigChange]{c, allowed})
	return err
}

// Increase raises a topic's number of partitions, if that is still allowed when the request leaves.
func (e *Executor) Increase(ctx context.Context, p kafka.PartitionIncrease, allowed Check) error {
	_, err := e.increase.Do(ctx, change[kafka.PartitionIncrease]{p, allowed})
	return err
}

// Reassignments returns the ongoing reassignments of a topic by partition.
func (e *Executor) Reassignments(ctx context.Context, name string) (map[int32]kafka.Reassignment, error) {
	return e.reassignments.Do(ctx, name)
}

// Delete deletes a topic by its id, if that is still allowed when the request leaves. An id that no topic has is an error of
// kafka.ClassNotFound.
func (e *Executor) Delete(ctx context.Context, id kafka.TopicID, allowed Check) error {
	_, err := e.remove.Do(ctx, change[kafka.TopicID]{id, allowed})
	return err
}
