package executor

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// everyCall makes a call of each operation for topic number i.
var everyCall = map[string]func(ctx context.Context, e *Executor, i int) error{
	OperationDescribeTopics: func(ctx context.Context, e *Executor, i int) error {
		_, err := e.Describe(ctx, name(i), false)
		return err
	},
	OperationDescribeConfigs: func(ctx context.Context, e *Executor, i int) error {
		_, err := e.Describe(ctx, name(i), true)
		return err
	},
	OperationCreateTopics: func(ctx context.Context, e *Executor, i int) error {
		_, err := e.Create(ctx, kafka.NewTopic{Name: name(i)}, nil)
		return err
	},
	OperationAlterConfigs: func(ctx context.Context, e *Executor, i int) error {
		return e.Alter(ctx, kafka.ConfigChange{Resource: kafka.TopicResource(name(i))}, nil)
	},
	OperationCreatePartitions: func(ctx context.Context, e *Executor, i int) error {
		return e.Increase(ctx, kafka.PartitionIncrease{Topic: name(i), Total: 2}, nil)
	},
	OperationListReassignments: func(ctx context.Context, e *Executor, i int) error {
		_, err := e.Reassignments(ctx, name(i))
		return err
	},
	OperationDeleteTopics: func(ctx context.Context, e *Executor, i int) error { return e.Delete(ctx, topicID(i), nil) },
}

// topicID returns the id of topic number i.
func topicID(i int) (id kafka.TopicID) {
	binary.BigEndian.PutUint64(id[8:], uint64(i)+1) // small
	return id
}

// port is an Admin with the topics t0, t1 and so on. It counts requests, and fails as configured.
type port struct {
	Admin // panics on methods that the executor must not call

	mu       sync.Mutex
	existing map[string]kafka.TopicID
	names    map[kafka.TopicID]string
	requests map[string]int
	moves    map[kafka.TopicPartition]kafka.Reassignment

	itemError    func(item string) error
	requestError func(operation string) error
	// forgets is the item that the answer to operation forgetsIn omits.
	forgets, forgetsIn string
	hangs              string
}

func newPort(n int) *port {
	p := &port{existing: map[string]kafka.TopicID{}, names: map[kafka.TopicID]string{}, requests: map[string]int{}}
	for i := range n {
		p.existing[name(i)] = topicID(i)
		p.names[topicID(i)] = name(i)
	}
	return p
}

func (p *port) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// took returns how many items each operation had since the last call; a negative number marks more than one request.
func (p *port) took() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	requests := p.requests
	p.requests = map[string]int{}
	return requests
}

// begin counts a request, and injects the configured failure.
func (p *port) begin(ctx context.Context, operation string, items int) error {
	p.mu.Lock()
	if p.requests[operation] != 0 {
		items = -1
	}
	p.requests[operation] = items
	hangs, fail := p.hangs == operation, p.requestError
	p.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if fail != nil {
		return fail(operation)
	}
	return nil
}

func (p *port) item(item string) error {
	if p.itemError != nil {
		return p.itemError(item)
	}
	return nil
}

// each builds the answers of a request, one per item.
func each[K comparable, I, A any](p *port, operation string, items []I, key func(I) K, item func(I) string, answer func(I) A) map[K]A {
	answers := make(map[K]A, len(items))
	for _, i := range items {
		if p.forgetsIn == operation && p.forgets == item(i) {
			continue
		}
		answers[key(i)] = answer(i)
	}
	return answers
}

func (p *port) DescribeTopics(ctx context.Context, names []string) (map[string]kafka.TopicResult, error) {
	if err := p.begin(ctx, OperationDescribeTopics, len(names)); err != nil {
		return nil, err
	}
	return each(p, OperationDescribeTopics, names, self[string], self[string], func(n string) kafka.TopicResult {
		id, ok := p.existing[n]
		if !ok {
			return kafka.TopicResult{Err: kafka.NewError(3, "")}
		}
		return kafka.TopicResult{Topic: kafka.Topic{Name: n, ID: id}, Err: p.item(n)}
	}), nil
}

func (p *port) DescribeConfigs(ctx context.Context, resources []kafka.ConfigResource,
	_ []string) (map[kafka.ConfigResource]kafka.ConfigResult, error) {
	if err := p.begin(ctx, OperationDescribeConfigs, len(resources)); err != nil {
		return nil, err
	}
	return each(p, OperationDescribeConfigs, resources, self[kafka.ConfigResource], nameOf, func(r kafka.ConfigResource) kafka.ConfigResult {
		return kafka.ConfigResult{Entries: map[string]kafka.ConfigEntry{"name": {Value: r.Name}}, Err: p.item(r.Name)}
	}), nil
}

func nameOf(r kafka.ConfigResource) string { return r.Name }

func (p *port) CreateTopics(ctx context.Context, topics []kafka.NewTopic, _ bool) (map[string]kafka.CreateResult, error) {
	if err := p.begin(ctx, OperationCreateTopics, len(topics)); err != nil {
		return nil, err
	}
	newName := func(t kafka.NewTopic) string { return t.Name }
	return each(p, OperationCreateTopics, topics, newName, newName, func(t kafka.NewTopic) kafka.CreateResult {
		return kafka.CreateResult{Partitions: t.Partitions, Err: p.item(t.Name)}
	}), nil
}

func (p *port) AlterConfigs(ctx context.Context, changes []kafka.ConfigChange, _ bool) (map[kafka.ConfigResource]error, error) {
	if err := p.begin(ctx, OperationAlterConfigs, len(changes)); err != nil {
		return nil, err
	}
	key := func(c kafka.ConfigChange) kafka.ConfigResource { return c.Resource }
	item := func(c kafka.ConfigChange) string { return c.Resource.Name }
	return each(p, OperationAlterConfigs, changes, key, item, func(c kafka.ConfigChange) error { return p.item(c.Resource.Name) }), nil
}

func (p *port) CreatePartitions(ctx context.Context, topics []kafka.PartitionIncrease, _ bool) (map[string]error, error) {
	if err := p.begin(ctx, OperationCreatePartitions, len(topics)); err != nil {
		return nil, err
	}
	key := func(i kafka.PartitionIncrease) string { return i.Topic }
	return each(p, OperationCreatePartitions, topics, key, key, func(i kafka.PartitionIncrease) error { return p.item(i.Topic) }), nil
}

func (p *port) DeleteTopics(ctx context.Context, ids []kafka.TopicID) (map[kafka.TopicID]error, error) {
	if err := p.begin(ctx, OperationDeleteTopics, len(ids)); err != nil {
		return nil, err
	}
	item := func(id kafka.TopicID) string { return p.names[id] }
	return each(p, OperationDeleteTopics, ids, self[kafka.TopicID], item, func(id kafka.TopicID) error { return p.item(item(id)) }), nil
}

func (p *port) ListReassignments(ctx context.Context, topics []string) (map[kafka.TopicPartition]kafka.Reassignment, error) {
	if err := p.begin(ctx, OperationListReassignments, len(topics)); err != nil {
		return nil, err
	}
	return p.moves, nil
}

// observer records the calls of its methods.
type observer struct {
	mu    sync.Mutex
	sizes map[string][]int
	done  map[string]int
}

func newObserver() *observer { return &observer{sizes: map[string][]int{}, done: map[string]int{}} }

func (o *observer) BatchSent(operation string, size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sizes[operation] = append(o.sizes[operation], size)
}

func (o *observer) BatchDone(operation string, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.done[operation]++
}
