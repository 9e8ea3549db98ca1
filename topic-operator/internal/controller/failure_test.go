package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/policy"
)

// attempt returns a transport error like a real client's, which names another address for each attempt.
func attempt(n int) error {
	return kafka.NewTransportError("no broker of kafka:9092 answered", fmt.Errorf("dial 10.0.0.%d: connection refused", n))
}

const noBroker = "TimeoutException: no broker of kafka:9092 answered"

func TestAPassingFailureIsReportedAfterAnInterval(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	n := 0
	w.kafka.hook(func(context.Context, string, string) error { n++; return attempt(n) })
	for elapsed := time.Duration(0); elapsed < interval; elapsed += lastRetry {
		w.Expect(w.pass("a").RequeueAfter).To(And(BeNumerically(">=", firstRetry), BeNumerically("<=", lastRetry)))
		w.clock.step(lastRetry)
	}
	w.Expect(w.requests.took()).To(BeEmpty())
	w.Expect(w.sink.took()).To(BeEmpty())
	w.Expect(w.get("a")).To(beReady())
	w.Expect(w.logged.took()).To(ContainElement(ContainSubstring("dial 10.0.0.1: connection refused")), "the log tells at once")

	w.pass("a")
	w.Expect(w.get("a")).To(failWith(v1.ReasonKafkaError, noBroker))
	for range 3 {
		w.pass("a")
	}
	w.Expect(w.requests.took()).To(Equal([]string{"PATCH a/status"}), "the message is the same each time")
	w.Expect(w.sink.took()).To(Equal([]string{"Warning KafkaError: " + noBroker}))
	w.Expect(w.count("strimzi_reconciliation_errors_total", "reason=Retry")).To(BeNumerically(">", 8))

	w.kafka.hook(nil)
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.moment("a")))
	w.Expect(w.get("a")).To(beReady())
}

func TestAnotherFailureLaterIsAgainGivenAnInterval(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.kafka.hook(func(context.Context, string, string) error { return attempt(1) })
	w.pass("a")
	w.kafka.hook(nil)
	w.pass("a")
	w.clock.step(interval)
	w.kafka.hook(func(context.Context, string, string) error { return attempt(2) })
	w.pass("a")
	w.Expect(w.requests.took()).To(BeEmpty())
}

func TestAPassingFailureOnANewTopicIsToldAtOnceAndOnce(t *testing.T) {
	w := newWorld(t)
	w.create("a")
	n := 0
	w.kafka.hook(func(context.Context, string, string) error { n++; return attempt(n) })
	w.pass("a")
	w.Expect(w.get("a")).To(failWith(v1.ReasonKafkaError, noBroker))
	w.Expect(w.get("a").Finalizers).To(BeEmpty(), "nothing is known of a topic yet")
	w.forget()
	for range 5 {
		w.pass("a")
	}
	w.Expect(w.requests.took()).To(BeEmpty())
	w.Expect(w.sink.took()).To(BeEmpty())
}

func TestAPassingFailureAfterAChangeIsToldAtOnce(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.update("a", config("k", `1`))
	w.kafka.fails(alterCall, attempt(1))
	w.pass("a")
	w.Expect(w.get("a")).To(And(failWith(v1.ReasonKafkaError, noBroker), claim("a", w.kafka.get("a").Topic.ID.String())))
}

// Kafka rejected the change, so a faster retry would not help. The status reports the failure in the same pass.
func TestAFinalFailureIsToldAtOnceOnATopicThatWasInOrder(t *testing.T) {
	w := newWorld(t)
	w.ready("a", config("k", `1`))
	w.kafka.set("a", "k", "2")
	w.kafka.fails(alterCall, kafka.NewError(kafka.CodeTopicAuthorizationFailed, ""))
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.moment("a")))
	w.Expect(w.get("a")).To(failWith(v1.ReasonKafkaError, "TopicAuthorizationException: Topic authorization failed."))
	w.Expect(w.count("strimzi_reconciliation_errors_total", "reason=KafkaError")).To(BeEquivalentTo(1))
}

func TestWhatIsNoAnswerOfKafkaIsAnInternalErrorAndTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.create("a")
	w.kafka.fails(describeCall, errors.New("the batch did not return a result for each of its items"))
	w.Expect(w.pass("a").RequeueAfter).To(Equal(firstRetry))
	w.Expect(w.get("a")).To(failWith(v1.ReasonInternalError, "the batch did not return a result for each of its items"))
	w.Expect(w.kafka.get("a")).To(BeNil(), "no answer is not the answer that there is no topic")
}

func TestTheBackOffGrowsToItsLimitAndBeginsAnew(t *testing.T) {
	w := newWorld(t)
	w.create("a")
	w.create("b")
	w.kafka.hook(func(context.Context, string, string) error { return attempt(1) })
	want := firstRetry
	for range 10 {
		w.Expect(w.pass("a").RequeueAfter).To(Equal(want))
		want = min(2*want, lastRetry)
	}
	w.Expect(want).To(Equal(lastRetry))
	w.Expect(w.pass("b").RequeueAfter).To(Equal(firstRetry), "each object has its own")
	w.kafka.hook(nil)
	w.pass("a")
	w.kafka.hook(func(context.Context, string, string) error { return attempt(1) })
	w.Expect(w.pass("a").RequeueAfter).To(Equal(firstRetry))
}

func TestAnAnswerThatGotLostIsMadeUpFor(t *testing.T) {
	for _, c := range []struct {
		call   string
		change change
	}{{createCall, nil}, {alterCall, config("k", `2`)}, {increaseCall, partitions(3)}} {
		t.Run(c.call, func(t *testing.T) {
			w := newWorld(t)
			if c.change == nil {
				w.create("a", partitions(2))
			} else {
				w.ready("a", partitions(2))
				w.update("a", c.change)
			}
			w.kafka.hookAfter(answers(map[string]error{c.call: attempt(1)}))
			w.Expect(w.pass("a").RequeueAfter).To(Equal(firstRetry))
			w.Expect(w.get("a")).To(failWith(v1.ReasonKafkaError, noBroker))
			w.kafka.hook(nil)
			w.pass("a")
			w.Expect(w.get("a")).To(And(beReady(), claim("a", w.kafka.get("a").Topic.ID.String())))
		})
	}
	t.Run(deleteCall, func(t *testing.T) {
		w := newWorld(t)
		w.ready("a")
		w.delete("a")
		w.kafka.hookAfter(answers(map[string]error{deleteCall: attempt(1)}))
		w.pass("a")
		w.Expect(w.exists("a")).To(BeTrue())
		w.kafka.hook(nil)
		w.pass("a")
		w.Expect(w.exists("a")).To(BeFalse())
	})
}

func TestABrokenObjectHarmsNoOther(t *testing.T) {
	w := newWorld(t)
	w.create("bad")
	w.create("good")
	w.kafka.hook(func(_ context.Context, _, what string) error {
		if what == "bad" {
			return kafka.NewError(kafka.CodeInvalidConfig, "no")
		}
		return nil
	})
	w.pass("bad")
	w.pass("good")
	w.Expect(w.get("bad")).To(failWith(v1.ReasonKafkaError, "InvalidConfigurationException: no"))
	w.Expect(w.get("good")).To(beReady())
}

// The API server stores at most 1.5 MiB of an object.
func TestLongTextsAreReported(t *testing.T) {
	p, err := policy.Parse([]byte("policy: [{namespace: others, topicNamePrefixes: [x]}, {namespace: all, otherTopics: true}]"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	w := newWorld(t, func(s *setup) {
		s.Violation = func(namespace, topic string) string {
			if topic == "b" {
				return ""
			}
			return p.Check(namespace, topic).Message()
		}
	})
	long := strings.Repeat("x", 600_000)
	for name, c := range map[string]change{"a": named(long), "b": config("k", `{"a":"`+long+`"}`)} {
		w.create(name, c)
		w.pass(name)
	}
	w.Expect(w.get("a").Status.Conditions).To(ContainElement(HaveField("Reason", v1.ReasonPolicyViolation)))
	w.Expect(w.get("b").Status.Conditions).To(ContainElement(HaveField("Reason", v1.ReasonInternalError)))
}
