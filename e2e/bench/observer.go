package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// observer watches the KafkaTopics of one namespace. It runs with the floor and with the operator, so that its own cost is on both sides.
type observer struct {
	mu      sync.Mutex
	objects map[string]objectState
	changed chan struct{}
}

type objectState struct {
	ready      bool
	generation int64
	readyAt    time.Time
}

func (w *world) observe(ctx context.Context, namespace string) (*observer, error) {
	o := &observer{objects: map[string]objectState{}, changed: make(chan struct{})}
	c, err := cache.New(w.config, cache.Options{Scheme: w.scheme, DefaultNamespaces: map[string]cache.Config{namespace: {}},
		DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return nil, err
	}
	informer, err := c.GetInformer(ctx, &v1.KafkaTopic{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { o.seen(obj) },
		UpdateFunc: func(_, obj any) { o.seen(obj) },
		DeleteFunc: func(obj any) {
			if kt, ok := obj.(client.Object); ok {
				o.gone(kt.GetName())
			}
		},
	}); err != nil {
		return nil, err
	}
	go func() { _ = c.Start(ctx) }()
	if !c.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("the watch of namespace %s did not start", namespace)
	}
	return o, nil
}

func (o *observer) seen(obj any) {
	kt, ok := obj.(*v1.KafkaTopic)
	if !ok {
		return
	}
	s := objectState{generation: kt.Status.ObservedGeneration, readyAt: time.Now()}
	for _, c := range kt.Status.Conditions {
		s.ready = s.ready || c.Type == v1.ConditionReady && c.Status == v1.ConditionTrue && kt.Status.ObservedGeneration == kt.Generation
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.objects[kt.Name] = s
	o.signal()
}

func (o *observer) gone(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.objects, name)
	o.signal()
}

// signal wakes all waiting goroutines. The caller holds the lock.
func (o *observer) signal() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// await waits until the condition holds for the known objects.
func (o *observer) await(ctx context.Context, what string, condition func(map[string]objectState) bool) error {
	for {
		o.mu.Lock()
		if condition(o.objects) {
			o.mu.Unlock()
			return nil
		}
		changed, known := o.changed, len(o.objects)
		o.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s with %d objects: %w", what, known, ctx.Err())
		}
	}
}

// allReady waits until n objects are ready in at least the given generation.
func (o *observer) allReady(ctx context.Context, n int, generation int64) error {
	return o.await(ctx, fmt.Sprintf("%d ready objects", n), func(objects map[string]objectState) bool {
		if len(objects) < n {
			return false
		}
		for _, s := range objects {
			if !s.ready || s.generation < generation {
				return false
			}
		}
		return true
	})
}

// ready waits until one object is ready in at least the given generation, and returns when it was seen to be.
func (o *observer) ready(ctx context.Context, name string, generation int64) (time.Time, error) {
	var at time.Time
	err := o.await(ctx, name, func(objects map[string]objectState) bool {
		s := objects[name]
		at = s.readyAt
		return s.ready && s.generation >= generation
	})
	return at, err
}

func (o *observer) none(ctx context.Context) error {
	return o.await(ctx, "no objects", func(objects map[string]objectState) bool { return len(objects) == 0 })
}
