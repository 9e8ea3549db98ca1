package controller

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// seen returns what kstatus, and the tools that use it, compute for an object: InProgress, Failed or Current.
func seen(kt *v1.KafkaTopic) string {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(kt)
	if err != nil {
		return err.Error()
	}
	result, err := kstatus.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		return err.Error()
	}
	return result.Status.String()
}

func TestToolsThatWaitSeeWhetherATopicIsDoneFailedOrOnItsWay(t *testing.T) {
	w := newWorld(t)
	w.create("a", partitions(3))
	w.Expect(seen(w.get("a"))).To(Equal("InProgress"), "nobody has looked at it")
	w.pass("a")
	w.Expect(seen(w.get("a"))).To(Equal("Current"))
	w.update("a", partitions(1))
	w.Expect(seen(w.get("a"))).To(Equal("InProgress"))
	w.clock.step(settle)
	w.pass("a")
	w.Expect(seen(w.get("a"))).To(Equal("Failed"))
	ready, stalled := w.get("a").Status.Conditions[0], w.get("a").Status.Conditions[1]
	w.Expect([]string{stalled.Type, stalled.Status}).To(Equal([]string{v1.ConditionStalled, v1.ConditionTrue}))
	w.Expect([]string{stalled.Reason, stalled.Message}).To(Equal([]string{ready.Reason, ready.Message}))
	w.update("a", partitions(3))
	w.pass("a")
	w.Expect(seen(w.get("a"))).To(Equal("Current"))
}

func TestWhatIsRememberedBeforeATopicIsMadeDoesNotLookDone(t *testing.T) {
	w := newWorld(t)
	w.create("a", config(throttleKey, `"*"`))
	w.kafka.fails(createCall, kafka.NewError(kafka.CodeNotController, ""))
	w.pass("a")
	w.Expect(seen(w.get("a"))).To(Equal("InProgress"))
}

func TestOnlyWhatDoesNotPassByItselfIsStalled(t *testing.T) {
	for want, failures := range map[string][]error{
		"Failed": {
			kafka.NewError(kafka.CodeInvalidConfig, "no"), kafka.NewError(kafka.CodeTopicAuthorizationFailed, ""),
			kafka.NewError(kafka.CodeSASLAuthenticationFailed, ""),
			kafka.NewError(kafka.CodeUnsupportedVersion, ""),
		},
		"InProgress": {kafka.NewError(kafka.CodeNotController, ""), kafka.NewError(kafka.CodeThrottlingQuotaExceeded, ""),
			errors.New("who knows")},
	} {
		for _, failure := range failures {
			t.Run(failure.Error(), func(t *testing.T) {
				w := newWorld(t)
				w.create("a")
				w.kafka.fails(createCall, failure)
				w.pass("a")
				w.Expect(seen(w.get("a"))).To(Equal(want))
			})
		}
	}
}

func TestARefusedNewcomerMayChooseAnotherName(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.create("b", named("a"))
	w.pass("b")
	w.Expect(seen(w.get("b"))).To(Equal("Failed"))
	w.Expect(w.get("b")).To(claim("", ""))
	w.update("b", named("c"))
	w.pass("b")
	w.Expect(w.get("b")).To(And(beReady(), claim("c", w.kafka.get("c").Topic.ID.String())))
}

// Some services that implement Kafka's protocol do not support DescribeConfigs. Package executor tests the error text.
func TestWithoutDescribeConfigsTopicsAreMadeAndDeleted(t *testing.T) {
	w := newWorld(t)
	w.create("a")
	w.pass("a")
	w.Expect(w.get("a")).To(beReady())
	w.kafka.fails(describeCall, kafka.NewError(kafka.CodeUnsupportedVersion, "The version of API is not supported."))
	w.clock.step(settle)
	w.Expect(w.pass("a").RequeueAfter).To(BeNumerically("<=", interval))
	w.Expect(w.get("a")).To(haveCondition(HavePrefix("Ready=False KafkaError: UnsupportedVersionException: ")))
	w.Expect(seen(w.get("a"))).To(Equal("Failed"))
	w.kafka.hook(nil) // a deletion does not need it: executor.Locate
	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("a")).To(BeNil())
}
