package bench

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// floor makes only the requests that n KafkaTopics need: for each object those of the user and those that an operator cannot avoid, and the
// requests for topics in large batches at the same time.
type floor struct {
	*world
	namespace string
	// first and n select the objects.
	first, n int
	objects  []*v1.KafkaTopic
	ids      []kafka.TopicID
}

// beside runs the Kubernetes calls and the Kafka calls at the same time.
func beside(calls ...func() error) error {
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { errs[i] = call() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// inBatches calls f for each range of topicsPerRequest indexes.
func inBatches(n int, f func(from, to int) error) error {
	for from := 0; from < n; from += topicsPerRequest {
		if err := f(from, min(from+topicsPerRequest, n)); err != nil {
			return err
		}
	}
	return nil
}

func mergePatch(ctx context.Context, w client.SubResourceWriter, kt *v1.KafkaTopic, patch any) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return w.Patch(ctx, kt, client.RawPatch(types.MergePatchType, data))
}

func (f *floor) patch(ctx context.Context, kt *v1.KafkaTopic, patch any) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return f.client.Patch(ctx, kt, client.RawPatch(types.MergePatchType, data))
}

func (f *floor) status(ctx context.Context, kt *v1.KafkaTopic, id kafka.TopicID) error {
	return mergePatch(ctx, f.client.Status(), kt, map[string]any{
		"metadata": map[string]any{"resourceVersion": kt.ResourceVersion},
		"status": v1.KafkaTopicStatus{ObservedGeneration: kt.Generation, TopicName: kt.Name, TopicID: id.String(),
			Conditions: []v1.Condition{{Type: v1.ConditionReady, Status: v1.ConditionTrue,
				LastTransitionTime: time.Now().UTC().Format(time.RFC3339Nano)}}},
	})
}

func (f *floor) create(ctx context.Context) error {
	f.objects, f.ids = make([]*v1.KafkaTopic, f.n), make([]kafka.TopicID, f.n)
	return beside(
		func() error {
			return each(ctx, f.n, func(ctx context.Context, i int) error {
				if err := f.createObject(ctx, i); err != nil {
					return err
				}
				return f.status(ctx, f.objects[i], kafka.TopicID{1})
			})
		},
		func() error { return inBatches(f.n, func(from, to int) error { return f.createTopics(ctx, from, to) }) },
	)
}

// createOneByOne makes the requests for one object one after the other, as an operator has to.
func (f *floor) createOneByOne(ctx context.Context) error {
	f.objects, f.ids = make([]*v1.KafkaTopic, 1), make([]kafka.TopicID, 1)
	if err := f.createObject(ctx, 0); err != nil {
		return err
	}
	if err := f.createTopics(ctx, 0, 1); err != nil {
		return err
	}
	return f.status(ctx, f.objects[0], f.ids[0])
}

// createObject creates an object, and adds its finalizer.
func (f *floor) createObject(ctx context.Context, i int) error {
	kt := newTopic(f.namespace, f.namespace, f.first+i)
	f.objects[i] = kt
	if err := f.client.Create(ctx, kt); err != nil {
		return err
	}
	return f.patch(ctx, kt, map[string]any{"metadata": map[string]any{"resourceVersion": kt.ResourceVersion,
		"finalizers": []string{v1.FinalizerTopicOperator}}})
}

func (f *floor) createTopics(ctx context.Context, from, to int) error {
	topics := make([]kafka.NewTopic, 0, to-from)
	retention := "7200000"
	for i := from; i < to; i++ {
		name := newTopic(f.namespace, f.namespace, f.first+i).Name
		topics = append(topics, kafka.NewTopic{Name: name, Partitions: 1, ReplicationFactor: 1,
			Configs: map[string]*string{"retention.ms": &retention}})
	}
	made, err := f.admin.CreateTopics(ctx, topics, false)
	for i := from; i < to && err == nil; i++ {
		result := made[topics[i-from].Name]
		f.ids[i], err = result.ID, result.Err
	}
	return err
}

func (f *floor) change(ctx context.Context) error {
	return beside(
		func() error {
			return each(ctx, f.n, func(ctx context.Context, i int) error {
				if err := f.patch(ctx, f.objects[i], changedSpec); err != nil {
					return err
				}
				return f.status(ctx, f.objects[i], f.ids[i])
			})
		},
		func() error { return inBatches(f.n, func(from, to int) error { return f.changeTopics(ctx, from, to) }) },
	)
}

// changeOneByOne makes the requests for the change of one object one after the other.
func (f *floor) changeOneByOne(ctx context.Context) error {
	if err := f.patch(ctx, f.objects[0], changedSpec); err != nil {
		return err
	}
	if err := f.changeTopics(ctx, 0, 1); err != nil {
		return err
	}
	return f.status(ctx, f.objects[0], f.ids[0])
}

func (f *floor) changeTopics(ctx context.Context, from, to int) error {
	changes := make([]kafka.ConfigChange, 0, to-from)
	for i := from; i < to; i++ {
		changes = append(changes, kafka.ConfigChange{Resource: kafka.TopicResource(f.objects[i].Name),
			Set: map[string]string{"retention.ms": "3600000"}})
	}
	done, err := f.admin.AlterConfigs(ctx, changes, false)
	for _, e := range done {
		err = errors.Join(err, e)
	}
	return err
}

func (f *floor) remove(ctx context.Context) error {
	return beside(
		func() error {
			return each(ctx, f.n, func(ctx context.Context, i int) error {
				if err := f.client.Delete(ctx, f.objects[i]); err != nil {
					return err
				}
				return f.patch(ctx, f.objects[i], map[string]any{"metadata": map[string]any{"finalizers": nil}})
			})
		},
		func() error {
			return inBatches(f.n, func(from, to int) error {
				done, err := f.admin.DeleteTopics(ctx, f.ids[from:to])
				for _, e := range done {
					err = errors.Join(err, e)
				}
				return err
			})
		},
	)
}

// changedSpec is a user's patch of one setting.
var changedSpec = map[string]any{"spec": map[string]any{"config": map[string]string{"retention.ms": "3600000"}}}
