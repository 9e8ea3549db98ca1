package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// interruptible prepares, for each kind of call, a world whose next pass makes that call. repaired asserts the state after a later pass
// succeeded.
var interruptible = map[string]func(w *world) (repaired func()){
	describeCall: func(w *world) func() {
		w.create("a")
		return func() { w.Expect(w.get("a")).To(beReady()) }
	},
	createCall: func(w *world) func() {
		w.create("a")
		return func() { w.Expect(w.get("a")).To(beReady()) }
	},
	alterCall: func(w *world) func() {
		w.ready("a")
		w.update("a", config("k", `1`))
		return func() {
			w.Expect(w.get("a")).To(beReady())
			w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"k": "1"}))
		}
	},
	increaseCall: func(w *world) func() {
		w.ready("a")
		w.update("a", partitions(3))
		return func() {
			w.Expect(w.get("a")).To(beReady())
			w.Expect(w.kafka.partitions("a")).To(Equal(3))
		}
	},
	reassignmentsCall: func(w *world) func() {
		w.ready("a", replicas(1))
		w.update("a", replicas(2))
		return func() { w.Expect(w.get("a")).To(haveCondition(HavePrefix("Ready=False NotSupported: "))) }
	},
	deleteCall: func(w *world) func() {
		w.ready("a")
		w.delete("a")
		return func() { w.Expect(w.exists("a")).To(BeFalse()) }
	},
}

// hang makes calls of one kind block until their context ends, and signals each blocked call on waiting.
func (k *fakeKafka) hang(call string) (waiting chan struct{}) {
	waiting = make(chan struct{}, 10)
	k.hook(func(ctx context.Context, c, _ string) error {
		if c != call {
			return nil
		}
		waiting <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	return waiting
}

// Strimzi: InterruptedExceptionsIT.
func TestAShutdownInTheMiddleOfACallIsClean(t *testing.T) {
	for call, prepare := range interruptible {
		t.Run(call, func(t *testing.T) {
			w := newWorld(t)
			repaired := prepare(w)
			if call == describeCall || call == createCall {
				// The finalizer is written in advance, so that the pass does not patch the object.
				w.update("a", finalizers(v1.FinalizerTopicOperator))
			}
			before := w.get("a")
			w.forget()
			waiting := w.kafka.hang(call)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				result, err := w.tryPass(ctx, "a")
				if result.RequeueAfter != 0 {
					err = errors.Join(err, errors.New("it asks for another pass"))
				}
				ended <- err
			}()
			w.Eventually(waiting).Should(Receive())
			cancel()
			w.Eventually(ended, time.Second).Should(Receive(BeNil()))
			w.Expect(w.get("a").ResourceVersion).To(Equal(before.ResourceVersion))
			w.Expect(w.requests.took()).To(BeEmpty())
			w.Expect(w.logged.took()).To(BeEmpty())
			w.Expect(w.sink.took()).To(BeEmpty())
			w.Expect(w.count("strimzi_reconciliations_failed_total")).To(BeZero())

			w.kafka.hook(nil)
			w.pass("a")
			repaired()
		})
	}
}

// A pass that times out is reported and retried like any other failure.
func TestAPassThatRunsOutOfTimeIsToldAndRepeated(t *testing.T) {
	for call, prepare := range interruptible {
		t.Run(call, func(t *testing.T) {
			w := newWorld(t)
			repaired := prepare(w)
			ctx := expiring{t.Context(), make(chan struct{})}
			waiting := w.kafka.hang(call)
			go func() {
				<-waiting
				close(ctx.done)
			}()
			result, err := w.tryPass(ctx, "a")
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(result.RequeueAfter).To(Equal(firstRetry))
			prefix := ""
			if call == deleteCall {
				prefix = "Deletion failed: "
			}
			w.Expect(w.get("a")).To(failWith(v1.ReasonKafkaError, prefix+"TimeoutException: Kafka did not answer in time"))

			w.kafka.hook(nil)
			w.pass("a")
			repaired()
		})
	}
}

// expiring is a context whose deadline passes when done is closed.
type expiring struct {
	context.Context
	done chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.done }

func (e expiring) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
