package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/batch"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// errUnanswered means that the client returned no result for an item, which breaks the port's contract. It never means "not found".
var errUnanswered = errors.New("the Kafka client did not answer for this item")

// call sends one request of the port within the time limit, and reports to the observer how long it took.
func call[R any](ctx context.Context, e *Executor, operation string, request func(context.Context) (R, error)) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	began := time.Now()
	answer, err := request(ctx)
	e.observer.BatchDone(operation, time.Since(began))
	return answer, err
}

// answers converts a map of answers into results in the items' order.
func answers[K comparable, I, A, O any](items []I, key func(I) K, got map[K]A, convert func(A) (O, error)) []batch.Result[O] {
	results := make([]batch.Result[O], len(items))
	for i, item := range items {
		answer, ok := got[key(item)]
		if !ok {
			results[i].Err = errUnanswered
			continue
		}
		results[i].Value, results[i].Err = convert(answer)
	}
	return results
}

func onlyError(err error) (struct{}, error) { return struct{}{}, err }

// describeBatch reads the topics first, and then the configurations of those that exist.
func (e *Executor) describeBatch(ctx context.Context, names []string) ([]batch.Result[topic.Actual], error) {
	topics, err := e.describeTopics(ctx, names)
	if err != nil {
		return nil, err
	}
	resources := make([]kafka.ConfigResource, 0, len(names))
	for _, name := range names {
		if t, ok := topics[name]; ok && t.Err == nil {
			resources = append(resources, kafka.TopicResource(name))
		}
	}
	var configs map[kafka.ConfigResource]kafka.ConfigResult
	if len(resources) > 0 {
		configs, err = call(ctx, e, OperationDescribeConfigs, func(ctx context.Context) (map[kafka.ConfigResource]kafka.ConfigResult, error) {
			return e.admin.DescribeConfigs(ctx, resources, nil)
		})
	}
	return answers(names, self[string], topics, func(t kafka.TopicResult) (topic.Actual, error) {
		if t.Err != nil {
			return topic.Actual{}, t.Err
		}
		if err != nil {
			return topic.Actual{}, unreadable(err)
		}
		config, ok := configs[kafka.TopicResource(t.Topic.Name)]
		if !ok {
			return topic.Actual{}, errUnanswered
		}
		return topic.Actual{Topic: t.Topic, Config: config.Entries}, unreadable(config.Err)
	}), nil
}

// BrokerConfig returns settings of a broker in service. It is rarely needed, so that it is not batched.
func (e *Executor) BrokerConfig(ctx context.Context, keys []string) (map[string]string, error) {
	found, err := call(ctx, e, OperationDescribeConfigs, func(ctx context.Context) (kafka.ConfigResult, error) {
		cluster, err := e.admin.DescribeCluster(ctx)
		if err != nil {
			return kafka.ConfigResult{}, err
		}
		at := slices.IndexFunc(cluster.Brokers, func(b kafka.Node) bool { return !b.Fenced }) // a fenced broker can't answer
		if at < 0 {
			return kafka.ConfigResult{}, kafka.NewTransportError("no broker is in service", nil)
		}
		broker := kafka.BrokerResource(cluster.Brokers[at].ID)
		configs, err := e.admin.DescribeConfigs(ctx, []kafka.ConfigResource{broker}, keys)
		return configs[broker], err
	})
	if err == nil {
		err = found.Err
	}
	switch {
	case err != nil && kafka.ClassOf(err) == kafka.ClassForbidden:
		return nil, fmt.Errorf("%w (Kafka creates this internal topic with settings of its brokers: grant the operator DescribeConfigs on the "+
			"cluster, or wait until Kafka has created the topic)", err)
	case err != nil:
		return nil, err
	}
	values := make(map[string]string, len(keys))
	for _, key := range keys {
		values[key] = found.Entries[key].Value
	}
	return values, nil
}

// unreadable explains Kafka's refusal to show a topic's configuration: the topic exists, and can't be compared.
func unreadable(err error) error {
	switch kafka.ClassOf(err) {
	case kafka.ClassForbidden:
		return fmt.Errorf("%w (the topic exists, and its configuration can't be compared: grant the operator DescribeConfigs on it)", err)
	case kafka.ClassUnsupported:
		return fmt.Errorf("%w (the topic exists, and its configuration can't be compared: this Kafka has no DescribeConfigs)", err)
	case kafka.ClassUnknown, kafka.ClassRetriable, kafka.ClassThrottled, kafka.ClassAuthentication, kafka.ClassInvalid, kafka.ClassNotFound,
		kafka.ClassExists,
		kafka.ClassDisabled, kafka.ClassWrongCluster:
	}
	return err
}

func (e *Executor) describeTopics(ctx context.Context, names []string) (map[string]kafka.TopicResult, error) {
	return call(ctx, e, OperationDescribeTopics, func(ctx context.Context) (map[string]kafka.TopicResult, error) {
		return e.admin.DescribeTopics(ctx, names)
	})
}

func (e *Executor) locateBatch(ctx context.Context, names []string) ([]batch.Result[kafka.Topic], error) {
	topics, err := e.describeTopics(ctx, names)
	if err != nil {
		return nil, err
	}
	return answers(names, self[string], topics, func(t kafka.TopicResult) (kafka.Topic, error) { return t.Topic, t.Err }), nil
}

func (e *Executor) createBatch(validateOnly bool) batch.Func[change[kafka.NewTopic], kafka.CreateResult] {
	return func(ctx context.Context, changes []change[kafka.NewTopic]) ([]batch.Result[kafka.CreateResult], error) {
		topics := items(changes)
		ctx = gated(ctx, changes, newName)
		got, err := call(ctx, e, OperationCreateTopics, func(ctx context.Context) (map[string]kafka.CreateResult, error) {
			return e.admin.CreateTopics(ctx, topics, validateOnly)
		})
		if err != nil {
			return nil, err
		}
		return answers(topics, newName, got, func(r kafka.CreateResult) (kafka.CreateResult, error) { return r, r.Err }), nil
	}
}

func (e *Executor) alterBatch(ctx context.Context, changes []change[kafka.ConfigChange]) ([]batch.Result[struct{}], error) {
	configs := items(changes)
	ctx = gated(ctx, changes, resourceOf)
	got, err := call(ctx, e, OperationAlterConfigs, func(ctx context.Context) (map[kafka.ConfigResource]error, error) {
		return e.admin.AlterConfigs(ctx, configs, false)
	})
	if err != nil {
		return nil, err
	}
	return answers(configs, resourceOf, got, onlyError), nil
}

func (e *Executor) increaseBatch(ctx context.Context, changes []change[kafka.PartitionIncrease]) ([]batch.Result[struct{}], error) {
	increases := items(changes)
	ctx = gated(ctx, changes, topicOf)
	got, err := call(ctx, e, OperationCreatePartitions, func(ctx context.Context) (map[string]error, error) {
		return e.admin.CreatePartitions(ctx, increases, false)
	})
	if err != nil {
		return nil, err
	}
	return answers(increases, topicOf, got, onlyError), nil
}

func (e *Executor) removeBatch(ctx context.Context, changes []change[kafka.TopicID]) ([]batch.Result[struct{}], error) {
	ids := items(changes)
	ctx = gated(ctx, changes, self[kafka.TopicID])
	got, err := call(ctx, e, OperationDeleteTopics, func(ctx context.Context) (map[kafka.TopicID]error, error) {
		return e.admin.DeleteTopics(ctx, ids)
	})
	if err != nil {
		return nil, err
	}
	return answers(ids, self[kafka.TopicID], got, onlyError), nil
}

// reassignmentsBatch differs from the others in that a topic without an entry has an answer: nothing moves.
func (e *Executor) reassignmentsBatch(ctx context.Context, names []string) ([]batch.Result[map[int32]kafka.Reassignment], error) {
	got, err := call(ctx, e, OperationListReassignments, func(ctx context.Context) (map[kafka.TopicPartition]kafka.Reassignment, error) {
		return e.admin.ListReassignments(ctx, names)
	})
	if err != nil {
		return nil, err
	}
	results := make([]batch.Result[map[int32]kafka.Reassignment], len(names))
	place := make(map[string]int, len(names))
	for i, name := range names {
		place[name] = i
		results[i].Value = map[int32]kafka.Reassignment{}
	}
	for p, r := range got {
		if i, asked := place[p.Topic]; asked {
			results[i].Value[p.Partition] = r
		}
	}
	return results, nil
}
