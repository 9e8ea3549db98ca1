package executor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	kafkamemory "github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// together makes n calls at once, and returns their errors.
func together(n int, call func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = call(i) })
	}
	wg.Wait()
	return errs
}

func name(i int) string { return fmt.Sprint("t", i) }

// newExecutor returns an executor whose batches wait for n calls of a kind.
func newExecutor(t *testing.T, a Admin, n int) (*Executor, *observer) {
	o := newObserver()
	return New(t.Context(), a, o, Options{MaxBatch: n, Linger: time.Minute, PatientLinger: time.Minute, CallTimeout: time.Minute}), o
}

// Strimzi: shouldDescribeTopics, shouldCreateTopics, shouldAlterConfigs, shouldCreatePartitions, shouldFilterByReassignmentTargetReplicas,
// shouldDeleteTopics: one Admin call for the batch, with the named subset only.
func TestCallsAtTheSameTimeAreOneRequest(t *testing.T) {
	const n = 20
	for _, c := range []struct {
		operation string
		call      func(e *Executor, i int) error
		want      map[string]int
	}{
		{OperationDescribeTopics, func(e *Executor, i int) error { _, err := e.Describe(t.Context(), name(i), i%2 == 0); return err },
			map[string]int{OperationDescribeTopics: n, OperationDescribeConfigs: n}},
		{OperationDescribeTopics, func(e *Executor, i int) error { _, err := e.Locate(t.Context(), name(i)); return err },
			map[string]int{OperationDescribeTopics: n}},
		{OperationCreateTopics, func(e *Executor, i int) error {
			_, err := e.Create(t.Context(), kafka.NewTopic{Name: "new" + name(i)}, nil)
			return err
		}, map[string]int{OperationCreateTopics: n}},
		{OperationAlterConfigs, func(e *Executor, i int) error {
			return e.Alter(t.Context(), kafka.ConfigChange{Resource: kafka.TopicResource(name(i)), Set: map[string]string{"k": "v"}}, nil)
		}, map[string]int{OperationAlterConfigs: n}},
		{OperationCreatePartitions, func(e *Executor, i int) error {
			return e.Increase(t.Context(), kafka.PartitionIncrease{Topic: name(i), Total: 3}, nil)
		}, map[string]int{OperationCreatePartitions: n}},
		{OperationListReassignments, func(e *Executor, i int) error { _, err := e.Reassignments(t.Context(), name(i)); return err },
			map[string]int{OperationListReassignments: n}},
		{OperationDeleteTopics, func(e *Executor, i int) error { return e.Delete(t.Context(), topicID(i), nil) },
			map[string]int{OperationDeleteTopics: n}},
	} {
		t.Run(c.operation, func(t *testing.T) {
			g := NewWithT(t)
			a := newPort(n + 5) // only n of them are named
			e, o := newExecutor(t, a, n)
			g.Expect(together(n, func(i int) error { return c.call(e, i) })).To(HaveEach(BeNil()))
			g.Expect(a.took()).To(Equal(c.want), "the size of each request")
			g.Expect(o.sizes).To(Equal(map[string][]int{c.operation: {n}}))
			g.Expect(o.done).To(HaveLen(len(c.want)))
		})
	}
}

func TestEachCallGetsTheAnswerOfItsOwnItem(t *testing.T) {
	g := NewWithT(t)
	a := newPort(4)
	a.moves = map[kafka.TopicPartition]kafka.Reassignment{
		{Topic: "t1", Partition: 2}:       {Replicas: []int32{1, 2}, Adding: []int32{2}},
		{Topic: "stranger", Partition: 0}: {Replicas: []int32{9}},
	}
	e, _ := newExecutor(t, a, 4)
	described := make([]topic.Actual, 4)
	moves := make([]map[int32]kafka.Reassignment, 4)
	made := make([]kafka.CreateResult, 4)
	together(12, func(i int) (err error) {
		switch k := i / 3; i % 3 {
		case 0:
			described[k], err = e.Describe(t.Context(), name(k), false)
		case 1:
			moves[k], err = e.Reassignments(t.Context(), name(k))
		case 2:
			made[k], err = e.Create(t.Context(), kafka.NewTopic{Name: fmt.Sprint("new", k), Partitions: int32(k)}, nil) // small
		}
		return err
	})
	for i := range 4 {
		g.Expect(described[i].Topic.Name).To(Equal(name(i)))
		g.Expect(described[i].Topic.ID).To(Equal(topicID(i)))
		g.Expect(described[i].Config).To(HaveKeyWithValue("name", kafka.ConfigEntry{Value: name(i)}))
		g.Expect(made[i].Partitions).To(BeEquivalentTo(i))
	}
	g.Expect(moves).To(Equal([]map[int32]kafka.Reassignment{{}, {2: {Replicas: []int32{1, 2}, Adding: []int32{2}}}, {}, {}}))
}

func TestConfigurationsAreAskedForExistingTopicsOnly(t *testing.T) {
	g := NewWithT(t)
	a := newPort(2)
	e, _ := newExecutor(t, a, 4)
	errs := together(4, func(i int) error { _, err := e.Describe(t.Context(), name(i), false); return err })
	g.Expect(errs[0]).NotTo(HaveOccurred())
	g.Expect(errs[1]).NotTo(HaveOccurred())
	g.Expect(kafka.IsNotFound(errs[2])).To(BeTrue())
	g.Expect(kafka.IsNotFound(errs[3])).To(BeTrue())
	g.Expect(a.took()).To(Equal(map[string]int{OperationDescribeTopics: 4, OperationDescribeConfigs: 2}))

	e, _ = newExecutor(t, a, 1)
	_, err := e.Describe(t.Context(), "none", false)
	g.Expect(kafka.IsNotFound(err)).To(BeTrue())
	g.Expect(a.took()).To(Equal(map[string]int{OperationDescribeTopics: 1}))
}

func TestTheErrorOfAnItemStaysWithIt(t *testing.T) {
	forbidden := kafka.NewError(29, "")
	for operation, call := range everyCall {
		if operation == OperationListReassignments {
			continue // Kafka answers it for the whole request only
		}
		t.Run(operation, func(t *testing.T) {
			g := NewWithT(t)
			a := newPort(3)
			a.itemError = func(item string) error {
				if item == name(1) {
					return forbidden
				}
				return nil
			}
			e, _ := newExecutor(t, a, 3)
			errs := together(3, func(i int) error { return call(t.Context(), e, i) })
			g.Expect(errs).To(Equal([]error{nil, forbidden, nil}))
		})
	}
}

func TestTheErrorOfARequestIsThatOfEachItem(t *testing.T) {
	away := kafka.NewTransportError("no broker", nil)
	for operation, call := range everyCall {
		t.Run(operation, func(t *testing.T) {
			g := NewWithT(t)
			a := newPort(3)
			a.requestError = func(o string) error {
				if o == operation {
					return away
				}
				return nil
			}
			e, _ := newExecutor(t, a, 3)
			errs := together(3, func(i int) error { return call(t.Context(), e, i) })
			g.Expect(errs).To(HaveEach(MatchError(away)))
		})
	}
}

func TestUnreadConfigurationsDoNotHideAMissingTopic(t *testing.T) {
	g := NewWithT(t)
	a := newPort(1)
	a.requestError = func(o string) error {
		if o == OperationDescribeConfigs {
			return kafka.NewTransportError("no broker", nil)
		}
		return nil
	}
	e, _ := newExecutor(t, a, 2)
	errs := together(2, func(i int) error { _, err := e.Describe(t.Context(), name(i), false); return err })
	g.Expect(kafka.ClassOf(errs[0])).To(Equal(kafka.ClassRetriable))
	g.Expect(kafka.IsNotFound(errs[1])).To(BeTrue())
}

// A missing answer must never count as "the topic does not exist": the operator would create a topic or remove a finalizer.
func TestAMissingAnswerIsAnErrorAndNotNotFound(t *testing.T) {
	for operation, call := range everyCall {
		if operation == OperationListReassignments {
			continue // no entry means that no reassignment runs
		}
		t.Run(operation, func(t *testing.T) {
			g := NewWithT(t)
			a := newPort(2)
			a.forgets = name(1)
			a.forgetsIn = operation
			e, _ := newExecutor(t, a, 2)
			errs := together(2, func(i int) error { return call(t.Context(), e, i) })
			g.Expect(errs[0]).NotTo(HaveOccurred())
			g.Expect(errs[1]).To(MatchError(errUnanswered))
			g.Expect(kafka.IsNotFound(errs[1])).To(BeFalse())
			g.Expect(kafka.IsRetriable(errs[1])).To(BeTrue())
		})
	}
}

func TestARequestEndsAtItsTimeLimit(t *testing.T) {
	for operation, call := range everyCall {
		t.Run(operation, func(t *testing.T) {
			g := NewWithT(t)
			a := newPort(1)
			a.hangs = operation
			e := New(t.Context(), a, newObserver(), Options{MaxBatch: 10, CallTimeout: 20 * time.Millisecond})
			err := call(t.Context(), e, 0)
			g.Expect(err).To(MatchError(context.DeadlineExceeded))
			g.Expect(kafka.ClassOf(err)).To(Equal(kafka.ClassRetriable))
			a.set(func() { a.hangs = "" })
			g.Expect(call(t.Context(), e, 0)).To(Succeed(), "the next request is not held up")
		})
	}
}

func TestACallerWhoLeavesHoldsNobodyUp(t *testing.T) {
	g := NewWithT(t)
	a := newPort(2)
	a.hangs = OperationDescribeTopics
	e := New(t.Context(), a, newObserver(), Options{MaxBatch: 10, CallTimeout: time.Minute})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("shutting down"))
	_, err := e.Describe(ctx, name(0), false)
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(kafka.ClassOf(err)).To(Equal(kafka.ClassRetriable))
}

func TestTheEndOfTheExecutorEndsItsRequests(t *testing.T) {
	g := NewWithT(t)
	a := newPort(1)
	a.hangs = OperationDeleteTopics
	ctx, cancel := context.WithCancel(t.Context())
	e := New(ctx, a, newObserver(), Options{MaxBatch: 10, CallTimeout: time.Minute})
	ended := make(chan error, 1)
	go func() { ended <- e.Delete(t.Context(), topicID(0), nil) }()
	g.Consistently(ended, 20*time.Millisecond).ShouldNot(Receive())
	cancel()
	g.Eventually(ended).Should(Receive(MatchError(context.Canceled)))
}

func TestLargeBatchesAreSplit(t *testing.T) {
	g := NewWithT(t)
	a := newPort(25)
	o := newObserver()
	e := New(t.Context(), a, o, Options{MaxBatch: 10, Linger: 10 * time.Millisecond, CallTimeout: time.Minute})
	g.Expect(together(25, func(i int) error { return e.Delete(t.Context(), topicID(i), nil) })).To(HaveEach(BeNil()))
	o.mu.Lock()
	defer o.mu.Unlock()
	total := 0
	for _, size := range o.sizes[OperationDeleteTopics] {
		g.Expect(size).To(BeNumerically("<=", 10))
		total += size
	}
	g.Expect(total).To(Equal(25))
}

func TestManyCallersOfAllKinds(t *testing.T) {
	g := NewWithT(t)
	a := newPort(50)
	o := newObserver()
	e := New(t.Context(), a, o, Options{MaxBatch: 7, PatientLinger: time.Millisecond, CallTimeout: time.Minute})
	var wg sync.WaitGroup
	var failed atomic.Int32
	for range 10 {
		for _, call := range everyCall {
			wg.Go(func() {
				for i := range 50 {
					if call(t.Context(), e, i) != nil {
						failed.Add(1)
					}
				}
			})
		}
	}
	wg.Wait()
	g.Expect(failed.Load()).To(BeZero())
}

func TestAChangeThatIsNotAllowedAnyMoreHoldsNoOtherUp(t *testing.T) {
	withdrawn := errors.New("withdrawn")
	for operation, call := range map[string]func(e *Executor, i int, allowed Check) error{
		OperationCreateTopics: func(e *Executor, i int, allowed Check) error {
			_, err := e.Create(t.Context(), kafka.NewTopic{Name: name(i), Partitions: 1, ReplicationFactor: 1}, allowed)
			return err
		},
		OperationAlterConfigs: func(e *Executor, i int, allowed Check) error {
			return e.Alter(t.Context(), kafka.ConfigChange{Resource: kafka.TopicResource(name(i)),
				Set: map[string]string{"retention.ms": "1"}}, allowed)
		},
		OperationCreatePartitions: func(e *Executor, i int, allowed Check) error {
			return e.Increase(t.Context(), kafka.PartitionIncrease{Topic: name(i), Total: 5}, allowed)
		},
	} {
		t.Run(operation, func(t *testing.T) {
			g := NewWithT(t)
			cluster := kafkamemory.New(kafkamemory.Options{})
			admin := cluster.Client("User:operator", nil)
			if operation != OperationCreateTopics {
				for i := range 3 {
					_, err := admin.CreateTopics(t.Context(), []kafka.NewTopic{{Name: name(i), Partitions: 1, ReplicationFactor: 1}}, false)
					g.Expect(err).NotTo(HaveOccurred())
				}
			}
			e, _ := newExecutor(t, admin, 3)
			errs := together(3, func(i int) error {
				return call(e, i, func(context.Context) error {
					if i == 1 {
						return withdrawn
					}
					return nil
				})
			})
			g.Expect(errs).To(Equal([]error{nil, withdrawn, nil}))
		})
	}
}
