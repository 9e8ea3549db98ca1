package memory_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
)

func TestContract(t *testing.T) {
	c := memory.New(memory.Options{Brokers: 3, Authorize: func(principal string, _ memory.Operation, _ string) bool {
		return principal == "User:admin"
	}})
	kept := memory.New(memory.Options{DeletionDisabled: true})
	kafkatest.RunContract(t, kafkatest.Target{
		Admin: func(_ testing.TB, observe func(string, time.Duration, error)) kafka.Admin {
			return c.Client("User:admin", observe)
		},
		Restricted:       func(testing.TB) kafka.Admin { return c.Client("User:nobody", nil) },
		DeletionDisabled: func(testing.TB) kafka.Admin { return kept.Client("User:admin", nil) },
		ClusterID:        c.ClusterID(), Brokers: 3,
	})
}

func TestNodeContract(t *testing.T) {
	c := memory.New(memory.Options{Brokers: 2, Controllers: 3})
	kafkatest.RunNodeContract(t, kafkatest.NodeTarget{
		Admin:       func(testing.TB, time.Duration) kafka.Admin { return c.Client("User:test", nil) },
		Controllers: func(testing.TB, time.Duration) kafka.Controllers { return c.Controllers("User:test", nil) },
		ClusterID:   c.ClusterID(), Brokers: []int32{0, 1}, ControllerIDs: []int32{2, 3, 4},
		Stop:  func(_ testing.TB, id int32) { c.StopNode(id) },
		Start: func(_ testing.TB, id int32) { c.StartNode(id) },
		Prefer: func(t testing.TB, topic string, replicas []int32) {
			if err := c.ChangePartition(topic, 0, func(p *kafka.Partition) { p.Replicas = replicas }); err != nil {
				t.Error(err)
			}
		},
	})
}

func create(t testing.TB, c *memory.Cluster, names ...string) map[string]kafka.CreateResult {
	t.Helper()
	var topics []kafka.NewTopic
	for _, name := range names {
		topics = append(topics, kafka.NewTopic{Name: name, Partitions: 1, ReplicationFactor: -1})
	}
	results, err := c.Client("User:test", nil).CreateTopics(t.Context(), topics, false)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func names(s *memory.Snapshot) []string {
	var out []string
	for _, topic := range s.Topics() {
		out = append(out, topic.Name)
	}
	return out
}

func TestAFailureBeforeOrAfterTheEffect(t *testing.T) {
	lost := errors.New("lost")
	fail := func(context.Context, memory.Call) error { return lost }
	for _, c := range []struct {
		name string
		set  func(*memory.Cluster)
		want []string
	}{
		{"before", func(c *memory.Cluster) { c.Before(fail) }, nil},
		{"after", func(c *memory.Cluster) { c.After(fail) }, []string{"x"}},
	} {
		cluster := memory.New(memory.Options{})
		c.set(cluster)
		results, err := cluster.Client("User:test", nil).CreateTopics(t.Context(),
			[]kafka.NewTopic{{Name: "x", Partitions: 1, ReplicationFactor: 1}}, false)
		if !errors.Is(err, lost) || results != nil {
			t.Errorf("%s: got %v, %v", c.name, results, err)
		}
		if got := names(cluster.Snapshot()); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: topics are %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAHangEndsWithItsContext(t *testing.T) {
	c := memory.New(memory.Options{})
	c.Before(func(ctx context.Context, _ memory.Call) error { <-ctx.Done(); return nil })
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := c.Client("User:test", nil).ListTopics(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || kafka.ClassOf(err) != kafka.ClassRetriable {
		t.Errorf("got %v", err)
	}
}

func TestOneItemIsRefused(t *testing.T) {
	c := memory.New(memory.Options{})
	c.Refuse(func(_ memory.Call, item string) error {
		if item == "b" {
			return kafka.NewError(kafka.CodePolicyViolation, "not b")
		}
		return nil
	})
	results := create(t, c, "a", "b", "c")
	if results["a"].Err != nil || results["b"].Err == nil || results["c"].Err != nil {
		t.Errorf("got %v", results)
	}
}

func TestSnapshotsDoNotChange(t *testing.T) {
	c := memory.New(memory.Options{Brokers: 3})
	create(t, c, "a", "b")
	before := c.Snapshot()
	want := before.Topics()
	a := c.Client("User:test", nil)
	ids := create(t, c, "c")
	if _, err := a.CreatePartitions(t.Context(), []kafka.PartitionIncrease{{Topic: "a", Total: 5}}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := a.AlterConfigs(t.Context(), []kafka.ConfigChange{{Resource: kafka.TopicResource("b"),
		Set: map[string]string{"retention.ms": "1"}}}, false); err != nil {
		t.Fatal(err)
	}
	if got := before.Topics(); !reflect.DeepEqual(got, want) {
		t.Errorf("the snapshot changed to %v", got)
	}
	after := c.Snapshot().Topics()
	if reflect.DeepEqual(after, want) {
		t.Error("nothing changed")
	}

	// A lagging broker reports the old topics, while changes apply to the new ones.
	c.Lag(before)
	if described, err := a.DescribeTopics(t.Context(), []string{"c"}); err != nil || !kafka.IsNotFound(described["c"].Err) {
		t.Errorf("got %v, %v", described, err)
	}
	if again := create(t, c, "c"); !kafka.IsExists(again["c"].Err) {
		t.Errorf("got %v", again)
	}
	c.Lag(nil)
	if described, err := a.DescribeTopics(t.Context(), []string{"c"}); err != nil || described["c"].Topic.ID != ids["c"].ID {
		t.Errorf("got %v, %v", described, err)
	}

	c.Restore(before)
	if got := c.Snapshot().Topics(); !reflect.DeepEqual(got, want) {
		t.Errorf("restored %v", got)
	}
}

func TestTheSameCallsGiveTheSameState(t *testing.T) {
	run := func() []memory.Topic {
		c := memory.New(memory.Options{Brokers: 3, DefaultReplicationFactor: 2})
		create(t, c, "a", "b", "c")
		return c.Snapshot().Topics()
	}
	if first, second := run(), run(); !reflect.DeepEqual(first, second) {
		t.Errorf("%v differs from %v", first, second)
	}
}

func TestAClientIsLedToAnotherCluster(t *testing.T) {
	mine, theirs := memory.New(memory.Options{ClusterID: "mine"}), memory.New(memory.Options{ClusterID: "theirs", KeepCalls: 100})
	create(t, mine, "x")
	create(t, theirs, "x")
	calls := len(theirs.Calls())
	bound, free := mine.Client("User:test", nil), mine.Client("User:test", nil)
	if err := bound.Pin("mine"); err != nil {
		t.Fatal(err)
	}
	bound.Redirect(theirs)
	free.Redirect(theirs)
	for method, call := range kafkatest.Calls(bound, "x") {
		err := call(t.Context())
		if answering, ok := kafka.WrongCluster(err); method == "DescribeCluster" && err != nil || method != "DescribeCluster" &&
			(!ok || answering != "theirs") {
			t.Errorf("%s: got %v", method, err)
		}
	}
	if cluster, err := bound.DescribeCluster(t.Context()); err != nil || cluster.ID != "theirs" {
		t.Errorf("got %v, %v", cluster, err)
	}
	if got := len(theirs.Calls()) - calls; got != 2 { // DescribeCluster
		t.Errorf("%d calls reached the other cluster", got)
	}
	if _, err := free.ListTopics(t.Context()); err != nil || len(theirs.Calls())-calls != 3 {
		t.Errorf("a client that is bound to none: %v", err)
	}
	bound.Redirect(mine)
	if _, err := bound.ListTopics(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestACallEndsWhereItBegan checks that a redirect applies from the next call.
func TestACallEndsWhereItBegan(t *testing.T) {
	mine, theirs := memory.New(memory.Options{ClusterID: "mine"}), memory.New(memory.Options{ClusterID: "theirs"})
	client := mine.Client("User:test", nil)
	mine.Before(func(context.Context, memory.Call) error { client.Redirect(theirs); return nil })
	for range 2 {
		results, err := client.CreateTopics(t.Context(), []kafka.NewTopic{{Name: "x", Partitions: 1, ReplicationFactor: 1}}, false)
		if err != nil || results["x"].Err != nil {
			t.Fatal(results, err)
		}
	}
	if !reflect.DeepEqual(names(mine.Snapshot()), []string{"x"}) || !reflect.DeepEqual(names(theirs.Snapshot()), []string{"x"}) {
		t.Errorf("got %v and %v", names(mine.Snapshot()), names(theirs.Snapshot()))
	}
}

func TestTheLogOfCalls(t *testing.T) {
	c := memory.New(memory.Options{KeepCalls: 2})
	create(t, c, "a")
	create(t, c, "b")
	if _, err := c.Client("User:other", nil).DescribeTopics(t.Context(), []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	want := []memory.Call{
		{Method: "CreateTopics", Principal: "User:test", Items: []string{"b"}},
		{Method: "DescribeTopics", Principal: "User:other", Items: []string{"a", "b"}},
	}
	if got := c.Calls(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func BenchmarkStep(b *testing.B) {
	c := memory.New(memory.Options{Brokers: 3})
	a := c.Client("User:test", nil)
	ctx := b.Context()
	for i := 0; b.Loop(); i++ {
		name := fmt.Sprint("t", i%100)
		results, err := a.CreateTopics(ctx, []kafka.NewTopic{{Name: name, Partitions: 3, ReplicationFactor: 3}}, false)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := a.DescribeTopics(ctx, []string{name}); err != nil {
			b.Fatal(err)
		}
		if _, err := a.DeleteTopics(ctx, []kafka.TopicID{results[name].ID}); err != nil {
			b.Fatal(err)
		}
	}
}
