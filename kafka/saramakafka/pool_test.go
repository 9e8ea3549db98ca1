package saramakafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
)

func pooled(t *testing.T, o kafkatest.Options) (*kafkatest.Embedded, *Admin) {
	t.Helper()
	e, err := kafkatest.StartEmbedded(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	a, err := New(kafka.Config{Bootstrap: e.Bootstrap()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return e, a
}

// connections counts the open connections, and the idle ones among them.
func connections(a *Admin) (open, idle int) {
	r := a.current
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.nodes {
		open += n.open
		idle += len(n.idle)
	}
	return open, idle
}

// atOnce makes n calls that are all in flight at once: the fault holds each of them until all have arrived.
func atOnce(t *testing.T, e *kafkatest.Embedded, n int, f kafkatest.Fault, call func() error) {
	t.Helper()
	f.Count, f.Delay = n, time.Hour
	in := e.Inject(f)
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			if err := call(); err != nil {
				t.Error(err)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := in.Wait(ctx, n); err != nil {
		t.Fatal(err)
	}
	in.Remove()
	calls.Wait()
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	e, a := pooled(t, kafkatest.Options{})
	list := func() error { _, err := a.ListTopics(t.Context()); return err }
	atOnce(t, e, 3, kafkatest.Fault{Requests: []string{"Metadata"}}, list)
	if open, idle := connections(a); open != 3 || idle != 3 {
		t.Fatalf("%d connections are open, %d idle", open, idle)
	}
	r := a.current
	r.mu.Lock()
	for _, n := range r.nodes {
		n.idle[0].idleSince = time.Now().Add(-2 * maxIdle)
	}
	r.mu.Unlock()
	r.sweep()
	if open, idle := connections(a); open != 2 || idle != 2 {
		t.Errorf("after a sweep %d connections are open, %d idle", open, idle)
	}
	if r.sweeper == nil {
		t.Error("nobody will come for the others")
	}
	if err := list(); err != nil {
		t.Error(err)
	}
}

func TestNoMoreConnectionsThanAllowed(t *testing.T) {
	e, a := pooled(t, kafkatest.Options{})
	if _, err := a.ListTopics(t.Context()); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	in := e.Inject(kafkatest.Fault{Requests: []string{"Metadata"}, Delay: 20 * time.Millisecond})
	for range 20 {
		calls.Go(func() {
			if _, err := a.ListTopics(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	in.Remove()
	if open, _ := connections(a); open > maxConns {
		t.Errorf("%d connections", open)
	}
}

// TestMutedConnectionsDoNotStarveReads: each of the changes leaves a connection from which the broker reads nothing for a while.
func TestMutedConnectionsDoNotStarveReads(t *testing.T) {
	e, a := pooled(t, kafkatest.Options{})
	var mu sync.Mutex
	i := 0
	atOnce(t, e, maxConns, kafkatest.Fault{Requests: []string{"CreateTopics"}, Throttle: 25 * time.Second}, func() error {
		mu.Lock()
		i++
		name := fmt.Sprint("t", i)
		mu.Unlock()
		results, err := a.CreateTopics(t.Context(), []kafka.NewTopic{{Name: name, Partitions: 1, ReplicationFactor: 1}}, false)
		return errors.Join(err, results[name].Err)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if _, err := a.ListTopics(ctx); err != nil {
		t.Error(err)
	}
}

func TestSplitting(t *testing.T) {
	b := batch[string, int, error]{maxItems: 3, maxWeight: 10, weight: func(i int) int { return i }}
	for want, items := range map[string][]int{
		"[[]]":                      {},
		"[[1 2 3] [4]]":             {1, 2, 3, 4}, // items
		"[[9] [9 1]]":               {9, 9, 1},    // weight
		"[[99] [1 1]]":              {99, 1, 1},   // one that is too heavy goes alone
		"[[1] [99] [1]]":            {1, 99, 1},
		"[[5 5] [5 5] [1 1 1] [1]]": {5, 5, 5, 5, 1, 1, 1, 1},
	} {
		if got := fmt.Sprint(b.split(items)); got != want {
			t.Errorf("split(%v) = %s, want %s", items, got, want)
		}
	}
}

func TestErrorsOfTooLargeRequests(t *testing.T) {
	for text, want := range map[string]bool{
		"Excessively large number of partitions per request.":                        true,
		"Unable to perform excessively large batch operation: too many records":      true,
		"Topic names must begin with the team's name":                                false,
		"Attempted to atomically commit 10001 records, but maxRecordsPerBatch is 10": true,
	} {
		if got := isTooLarge(kafka.NewError(kafka.CodePolicyViolation, text)); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}

func BenchmarkDescribeConfigs(b *testing.B) {
	const topics = 2000
	e, err := kafkatest.StartEmbedded(kafkatest.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	a, err := New(kafka.Config{Bootstrap: e.Bootstrap()})
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	var batch []kafka.NewTopic
	var resources []kafka.ConfigResource
	for i := range topics {
		name := fmt.Sprint(strings.Repeat("n", 20), i)
		batch = append(batch, kafka.NewTopic{Name: name, Partitions: 1, ReplicationFactor: 1})
		resources = append(resources, kafka.TopicResource(name))
	}
	if _, err := a.CreateTopics(b.Context(), batch, false); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := a.DescribeConfigs(b.Context(), resources, nil); err != nil {
			b.Fatal(err)
		}
	}
}
