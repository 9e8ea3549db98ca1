package saramakafka_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// within bounds a call by a deadline.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// patience bounds each wait. Only a failing test reaches it.
const patience = 30 * time.Second

// ending is a context whose deadline passes when the test calls end, regardless of the machine's speed.
type ending struct {
	context.Context
	over chan struct{}
	once sync.Once
}

// endable returns a context that ends as a deadline does, at a call of end.
func endable(t testing.TB) *ending {
	t.Helper()
	return &ending{Context: t.Context(), over: make(chan struct{})}
}

func (e *ending) end() { e.once.Do(func() { close(e.over) }) }

// Done implements context.Context.
func (e *ending) Done() <-chan struct{} { return e.over }

// Err implements context.Context.
func (e *ending) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// until waits for a condition that other goroutines bring about.
func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	if !poll(f) {
		t.Fatalf("still not: %s", what)
	}
}

// poll waits until f returns true. It returns false after patience.
func poll(f func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.NewTimer(patience)
	defer end.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-end.C:
			return false
		}
	}
	return true
}

// noLeaks fails the test if goroutines of the adapter outlive it. It must be called before any cleanup is registered.
func noLeaks(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		var stacks string
		ended := poll(func() bool { stacks = adapterStacks(); return stacks == "" })
		if !ended {
			t.Errorf("goroutines are left:\n%s", stacks)
		}
	})
}

func adapterStacks() string {
	buf := make([]byte, 4<<20)
	var out []string
	for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "adapterStacks") || strings.Contains(stack, "testing.(*T).Run") {
			continue
		}
		for _, ours := range []string{"saramakafka.", "IBM/sarama", "kafkatest.(", "go-metrics"} {
			if strings.Contains(stack, ours) {
				out = append(out, stack)
				break
			}
		}
	}
	return strings.Join(out, "\n\n")
}

func quick(e *kafkatest.Embedded) kafka.Config {
	return kafka.Config{Bootstrap: e.Bootstrap(), RequestTimeout: patience}
}

// works makes one call of each method, which must succeed.
func works(t *testing.T, a kafka.Admin, topic string) {
	t.Helper()
	worksWithout(t, a, topic)
}

// worksWithout leaves out the calls that are not expected to work.
func worksWithout(t *testing.T, a kafka.Admin, topic string, broken ...string) {
	t.Helper()
	ctx := within(t, patience)
	created, err := a.CreateTopics(ctx, []kafka.NewTopic{{Name: topic, Partitions: 1, ReplicationFactor: 1}}, false)
	if err == nil {
		err = created[topic].Err
	}
	if err != nil {
		t.Fatalf("CreateTopics: %v", err)
	}
	calls := kafkatest.Calls(a, topic)
	delete(calls, "CreateTopics")
	delete(calls, "DeleteTopics")
	for _, name := range broken {
		delete(calls, name)
	}
	for name, call := range calls {
		if err := call(ctx); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	deleted, err := a.DeleteTopics(ctx, []kafka.TopicID{created[topic].ID})
	if err == nil {
		err = deleted[created[topic].ID]
	}
	if err != nil {
		t.Fatalf("DeleteTopics: %v", err)
	}
}

func TestAnyBrokerMayDie(t *testing.T) {
	noLeaks(t)
	e := embed(t, kafkatest.Options{Brokers: 3})
	a := connect(t, quick(e))
	works(t, a, "before")
	for id := range int32(3) { // the controller is among them
		if err := e.StopNode(id); err != nil {
			t.Fatal(err)
		}
		works(t, a, fmt.Sprintf("listed-%d", id))
		if err := e.Fence(id); err != nil {
			t.Fatal(err)
		}
		works(t, a, fmt.Sprintf("fenced-%d", id))
		if err := e.StartNode(id, false); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADeadControllerOfBrokersThatDoNotForward(t *testing.T) {
	e := embed(t, kafkatest.Options{Brokers: 3, NoForwarding: true})
	a := connect(t, quick(e))
	works(t, a, "before")
	if err := e.StopNode(e.Controller()); err != nil {
		t.Fatal(err)
	}
	results, err := a.CreateTopics(within(t, time.Second), []kafka.NewTopic{{Name: "x", Partitions: 1, ReplicationFactor: 1}}, false)
	if err = errors.Join(err, results["x"].Err); !kafka.IsRetriable(err) {
		t.Errorf("got %v, want something that passes", err)
	}
	if _, err := a.ListTopics(within(t, patience)); err != nil {
		t.Errorf("reading needs no controller: %v", err)
	}
	if err := e.StartNode(e.Controller(), true); err != nil {
		t.Fatal(err)
	}
	works(t, a, "after")
}

func TestAHungBrokerLeavesTimeForOthers(t *testing.T) {
	noLeaks(t)
	for id := range int32(3) {
		e := embed(t, kafkatest.Options{Brokers: 3})
		cfg := quick(e)
		cfg.DialTimeout = time.Second // how long to wait for a connection to the broker that hangs
		// The broker that hangs is asked first, because its address is the first one.
		cfg.Bootstrap = []string{e.Bootstrap()[id], e.Bootstrap()[(id+1)%3]}
		a := connect(t, cfg)
		hang := e.Inject(kafkatest.Fault{Nodes: []int32{id}, Hang: true})
		works(t, a, "from-the-start")
		hang.Remove()

		// And a broker that hangs after connections to it were opened.
		works(t, a, "healthy")
		e.Inject(kafkatest.Fault{Nodes: []int32{id}, Hang: true})
		works(t, a, "later")
	}
}

func TestARequestThatHangsIsSentElsewhereOnlyIfItMayBe(t *testing.T) {
	e := embed(t, kafkatest.Options{Brokers: 3})
	a := connect(t, quick(e))
	works(t, a, "warm")
	topic := []kafka.NewTopic{{Name: "once", Partitions: 1, ReplicationFactor: 1}}

	hang := e.Inject(kafkatest.Fault{Requests: []string{"CreateTopics"}, HangAfter: true, Count: 1})
	ctx := endable(t)
	go func() {
		_ = hang.Wait(t.Context(), 1) // fails only when the test has ended
		ctx.end()
	}()
	results, err := a.CreateTopics(ctx, topic, false)
	if err != nil {
		t.Fatalf("the request was sent, so that the items must answer: %v", err)
	}
	err = results["once"].Err
	if !errors.Is(err, context.DeadlineExceeded) || kafka.ClassOf(err) != kafka.ClassRetriable ||
		!strings.Contains(err.Error(), "may have been executed") {
		t.Errorf("got %v", err)
	}
	if hang.Hits() != 1 {
		t.Errorf("it was sent %d times", hang.Hits())
	}
	if _, err := a.DescribeTopics(within(t, patience), []string{"once"}); err != nil {
		t.Errorf("the next call suffers: %v", err)
	}

	e.Inject(kafkatest.Fault{Requests: []string{"Metadata", "DescribeConfigs", "IncrementalAlterConfigs"}, Hang: true, Count: 1})
	for name, call := range kafkatest.Calls(a, "once") {
		if name == "DescribeTopics" || name == "AlterConfigs" || name == "DescribeConfigs" {
			if err := call(within(t, 8*time.Second)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestAConnectionThatBreaks(t *testing.T) {
	noLeaks(t)
	e := embed(t, kafkatest.Options{Brokers: 3})
	a := connect(t, quick(e))
	works(t, a, "warm")

	for _, request := range []string{"Metadata", "DescribeConfigs", "DescribeCluster", "ListPartitionReassignments", "DescribeQuorum",
		"IncrementalAlterConfigs"} {
		t.Run("during "+request, func(t *testing.T) {
			broken := e.Inject(kafkatest.Fault{Requests: []string{request}, DropAfter: true, Count: 1})
			works(t, a, "broken-"+strings.ToLower(request))
			if broken.Hits() != 1 {
				t.Errorf("%d connections broke", broken.Hits())
			}
		})
	}
	t.Run("during DeleteTopics", func(t *testing.T) {
		id := createOne(t, a, "lost").ID
		broken := e.Inject(kafkatest.Fault{Requests: []string{"DeleteTopics"}, DropAfter: true, Count: 1})
		deleted, err := a.DeleteTopics(within(t, patience), []kafka.TopicID{id})
		// The second request finds no topic: ids are never reused, so the topic is deleted either way.
		if err != nil || !kafka.IsNotFound(deleted[id]) || broken.Hits() != 1 {
			t.Errorf("got %v, %v after %d broken connections", deleted, err, broken.Hits())
		}
	})
	t.Run("during CreateTopics", func(t *testing.T) {
		broken := e.Inject(kafkatest.Fault{Requests: []string{"CreateTopics"}, DropAfter: true, Count: 1})
		results, err := a.CreateTopics(within(t, patience), []kafka.NewTopic{{Name: "maybe", Partitions: 1, ReplicationFactor: 1}}, false)
		if err != nil || kafka.ClassOf(results["maybe"].Err) != kafka.ClassRetriable ||
			!strings.Contains(results["maybe"].Err.Error(), "may have been executed") {
			t.Errorf("got %v, %v", results, err)
		}
		if broken.Hits() != 1 {
			t.Errorf("it was sent %d times", broken.Hits())
		}
		described, err := a.DescribeTopics(within(t, patience), []string{"maybe"})
		if err != nil || described["maybe"].Err != nil {
			t.Errorf("it was carried out, and is not seen: %v, %v", described, err)
		}
	})
	t.Run("during CreatePartitions", func(t *testing.T) {
		e.Inject(kafkatest.Fault{Requests: []string{"CreatePartitions"}, Drop: true, Count: 1})
		errs, err := a.CreatePartitions(within(t, patience), []kafka.PartitionIncrease{{Topic: "maybe", Total: 2}}, false)
		if err != nil || kafka.ClassOf(errs["maybe"]) != kafka.ClassRetriable {
			t.Errorf("got %v, %v", errs, err)
		}
	})
	t.Run("while idle", func(t *testing.T) {
		e.Disconnect()
		works(t, a, "idle-write-first") // begins with a write
		e.Disconnect()
		if _, err := a.ListTopics(within(t, patience)); err != nil {
			t.Error(err)
		}
	})
}

func TestARollingRestartIsNotSeenByReaders(t *testing.T) {
	noLeaks(t)
	e := embed(t, kafkatest.Options{Brokers: 3})
	a := connect(t, quick(e))
	works(t, a, "before")
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := a.DescribeTopics(within(t, patience), []string{"before"}); err != nil {
					t.Errorf("a reader saw %v", err)
					return
				}
			}
		})
	}
	for round := range 2 {
		for id := range int32(3) {
			if err := e.StopNode(id); err != nil {
				t.Fatal(err)
			}
			works(t, a, fmt.Sprintf("without-%d-%d", id, round))
			if err := e.StartNode(id, true); err != nil { // pods come back with other addresses
				t.Fatal(err)
			}
			works(t, a, fmt.Sprintf("with-%d-%d", id, round))
		}
	}
	close(stop)
	readers.Wait()
}

func TestAllBrokersAwayAndBack(t *testing.T) {
	noLeaks(t)
	e := embed(t, kafkatest.Options{Brokers: 3})
	a := connect(t, quick(e))
	works(t, a, "before")
	for id := range int32(3) {
		if err := e.StopNode(id); err != nil {
			t.Fatal(err)
		}
	}
	var message string
	for range 2 {
		for name, call := range kafkatest.Calls(a, "x") {
			start := time.Now()
			err := call(within(t, 200*time.Millisecond))
			var e *kafka.Error
			if !errors.As(err, &e) || e.Class != kafka.ClassRetriable || e.Code != kafka.CodeTransport || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v", name, err)
				continue
			}
			if message != "" && e.Error() != message {
				t.Errorf("the message changes from %q to %q", message, e)
			}
			message = e.Error()
			if took := time.Since(start); took > patience/2 {
				t.Errorf("%s took %s", name, took)
			}
		}
	}
	if want := "TimeoutException: no broker answered (bootstrap " + strings.Join(e.Bootstrap(), ",") + ")"; message != want {
		t.Errorf("got %q, want %q", message, want)
	}
	for id := range int32(3) {
		if err := e.StartNode(id, false); err != nil {
			t.Fatal(err)
		}
	}
	works(t, a, "after")
}

func TestABrokerThatThrottles(t *testing.T) {
	t.Run("others are asked meanwhile", func(t *testing.T) {
		e := embed(t, kafkatest.Options{Brokers: 3})
		a := connect(t, quick(e))
		e.Inject(kafkatest.Fault{Requests: []string{"Metadata"}, Throttle: 12 * time.Hour, Count: 1})
		for range 3 {
			if _, err := a.ListTopics(within(t, patience)); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("it is waited for", func(t *testing.T) {
		e := embed(t, kafkatest.Options{})
		a := connect(t, quick(e))
		const throttle = 300 * time.Millisecond
		e.Inject(kafkatest.Fault{Requests: []string{"Metadata"}, Throttle: throttle, Count: 1})
		start := time.Now()
		for range 2 {
			if _, err := a.ListTopics(within(t, patience)); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took < throttle {
			t.Errorf("the throttle was not honoured: two calls in %s", took)
		}
	})
	t.Run("a call that can't wait is told at once", func(t *testing.T) {
		e := embed(t, kafkatest.Options{})
		a := connect(t, quick(e))
		e.Inject(kafkatest.Fault{Requests: []string{"CreateTopics"}, Throttle: 12 * time.Hour, Count: 1})
		topic := []kafka.NewTopic{{Name: "x", Partitions: 1, ReplicationFactor: 1}}
		if results, err := a.CreateTopics(within(t, patience), topic, false); err != nil || results["x"].Err != nil {
			t.Fatal(results, err)
		}
		const limit = 10 * time.Second // shorter than the longest throttle that the client waits for
		start := time.Now()
		_, err := a.CreateTopics(within(t, limit), topic, false)
		if kafka.ClassOf(err) != kafka.ClassThrottled || time.Since(start) > limit/2 {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		if _, err := a.ListTopics(within(t, patience)); err != nil {
			t.Errorf("a quota for changes stops a read: %v", err)
		}
		a.Close() // must not wait either
	})
}

func TestCancellingReturnsAtOnce(t *testing.T) {
	noLeaks(t)
	e := embed(t, kafkatest.Options{Brokers: 2})
	a := connect(t, quick(e))
	works(t, a, "warm")
	for _, f := range []kafkatest.Fault{{Hang: true}, {HangAfter: true}} {
		fault := e.Inject(f)
		for name, call := range kafkatest.Calls(a, "x") {
			before := fault.Hits()
			ctx, cancel := context.WithCancel(t.Context())
			answer := make(chan error, 1)
			go func() { answer <- call(ctx) }()
			until(t, "a request hangs", func() bool { return fault.Hits() > before })
			cancel()
			select {
			case err := <-answer:
				if !errors.Is(err, context.Canceled) || kafka.ClassOf(err) != kafka.ClassRetriable {
					t.Errorf("%s: got %v", name, err)
				}
			case <-time.After(patience):
				t.Errorf("%s did not return", name)
			}
		}
		fault.Remove()
	}
	works(t, a, "after")
}

func TestASlowCallDoesNotBlockOthers(t *testing.T) {
	e := embed(t, kafkatest.Options{})
	a := connect(t, quick(e))
	works(t, a, "warm")
	slow := e.Inject(kafkatest.Fault{Requests: []string{"CreateTopics"}, Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for i := range 3 {
		calls.Go(func() {
			_, _ = a.CreateTopics(ctx, []kafka.NewTopic{{Name: fmt.Sprint("slow-", i), Partitions: 1, ReplicationFactor: 1}},
				false) // cancelled below
		})
	}
	if err := slow.Wait(within(t, patience), 3); err != nil {
		t.Fatal(err)
	}
	if _, err := a.ListTopics(within(t, patience)); err != nil {
		t.Error(err)
	}
	cancel()
	calls.Wait()
}

func TestABatchThatIsTooLargeIsHalved(t *testing.T) {
	e := embed(t, kafkatest.Options{})
	a := connect(t, quick(e))
	var topics []kafka.NewTopic
	for i := range 10 {
		topics = append(topics, kafka.NewTopic{Name: fmt.Sprint("t", i), Partitions: 1, ReplicationFactor: 1})
	}
	refusal := e.Inject(kafkatest.Fault{
		Requests: []string{"CreateTopics"}, Count: 3,
		Code: kafka.CodePolicyViolation, Message: "Excessively large number of partitions per request.",
	})
	results, err := a.CreateTopics(within(t, patience), topics, false)
	if err != nil || len(results) != 10 || refusal.Hits() != 3 {
		t.Fatal(err, len(results), refusal.Hits())
	}
	for name, r := range results {
		if r.Err != nil {
			t.Errorf("%s: %v", name, r.Err)
		}
	}

	policy := e.Inject(kafkatest.Fault{Requests: []string{"CreateTopics"}, Code: kafka.CodePolicyViolation,
		Message: "Names must begin with a letter of the team."})
	results, err = a.CreateTopics(within(t, patience), topics, false)
	if err != nil || policy.Hits() != 1 {
		t.Errorf("a policy of the cluster was asked %d times: %v", policy.Hits(), err)
	}
	for name, r := range results {
		if r.Err == nil || r.Err.Error() != "PolicyViolationException: Names must begin with a letter of the team." {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
}

// A broker of Kafka 3.9 to 4.1, whose CreateTopicPolicy throws on some topics.
func TestATopicOnWhichAPolicyThrowsHarmsNoOther(t *testing.T) {
	const good = 20
	for bad, requests := range map[int]int{0: 1, 1: 1 + good + 1, 3: 1 + good + 3} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			e := embed(t, kafkatest.Options{PolicyThrows: func(t kafka.NewTopic) bool { return strings.HasPrefix(t.Name, "bad") }})
			a := connect(t, quick(e))
			topics := make([]kafka.NewTopic, 0, good+bad)
			for i := range good {
				topics = append(topics, kafka.NewTopic{Name: fmt.Sprint("good", i), Partitions: 1, ReplicationFactor: 1})
			}
			for i := range bad {
				topics = append(topics, kafka.NewTopic{Name: fmt.Sprint("bad", i), Partitions: 1, ReplicationFactor: 1})
			}
			sent := e.Inject(kafkatest.Fault{Requests: []string{"CreateTopics"}})
			results, err := a.CreateTopics(within(t, patience), topics, false)
			if err != nil || len(results) != len(topics) || sent.Hits() != requests {
				t.Errorf("%d requests, want %d: %d results, %v", sent.Hits(), requests, len(results), err)
			}
			for name, r := range results {
				if strings.HasPrefix(name, "good") != (r.Err == nil) {
					t.Errorf("%s: %v", name, r.Err)
				}
			}
		})
	}
}

// Each request on which the policy throws costs Kafka an election of its controller.
func TestAPolicyThatThrowsOnEachTopicIsNotAskedAboutAll(t *testing.T) {
	e := embed(t, kafkatest.Options{PolicyThrows: func(kafka.NewTopic) bool { return true }})
	a := connect(t, quick(e))
	topics := make([]kafka.NewTopic, 100)
	for i := range topics {
		topics[i] = kafka.NewTopic{Name: fmt.Sprint("bad", i), Partitions: 1, ReplicationFactor: 1}
	}
	sent := e.Inject(kafkatest.Fault{Requests: []string{"CreateTopics"}})
	results, err := a.CreateTopics(within(t, patience), topics, false)
	if err != nil || sent.Hits() != 9 {
		t.Errorf("%d requests: %v", sent.Hits(), err)
	}
	for _, topic := range topics {
		if r := results[topic.Name]; r.Err == nil || !strings.HasPrefix(r.Err.Error(), "UnknownServerException: ") {
			t.Errorf("%s: %v", topic.Name, r.Err)
		}
	}
}

func TestCloseEndsCalls(t *testing.T) {
	noLeaks(t)
	e := embed(t, kafkatest.Options{})
	a, err := saramakafka.New(quick(e))
	if err != nil {
		t.Fatal(err)
	}
	hang := e.Inject(kafkatest.Fault{Requests: []string{"Metadata"}, Hang: true})
	answer := make(chan error, 1)
	go func() {
		_, err := a.ListTopics(t.Context())
		answer <- err
	}()
	if err := hang.Wait(within(t, patience), 1); err != nil {
		t.Fatal(err)
	}
	a.Close()
	if err := <-answer; !kafka.IsRetriable(err) {
		t.Errorf("got %v", err)
	}
	if _, err := a.ListTopics(t.Context()); err == nil {
		t.Error("a closed client answers")
	}
	a.Close()
}
