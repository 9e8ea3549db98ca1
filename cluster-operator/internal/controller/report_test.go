package controller

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
)

// misspelled has a Kafka get a warning.
func misspelled(k *v1.Kafka) {
	k.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.hourss": {Raw: []byte("2")}}
}

// warned returns how often Events told of the warning of misspelled.
func (w *world) warned() int {
	others := func(e string) bool { return !strings.Contains(e, "log.retention.hourss") }
	return len(slices.DeleteFunc(slices.Clone(w.events), others))
}

// The pass over an invalid Kafka ends early, and its status has no warnings about what the pass did not come to.
func TestAWarningIsToldOnceThoughAPassBetweenEndedEarly(t *testing.T) {
	w := newReadyWorld(t, "pool", 1)
	w.edit(misspelled)
	w.reconcile()
	w.kubelet("pool")
	w.reconcile()
	w.Expect(w.warned()).To(Equal(1))
	w.edit(func(k *v1.Kafka) { k.Spec = nil })
	w.reconcile()
	w.Expect(w.ready().Reason).To(Equal("InvalidResourceException"))
	w.Expect(w.conditions()).NotTo(ContainElement(HaveField("Message", ContainSubstring("log.retention.hourss"))))
	valid := func(k *v1.Kafka) { k.Spec = newKafka().Spec }
	w.edit(func(k *v1.Kafka) { valid(k); misspelled(k) })
	w.reconcile()
	w.Expect(w.conditions()).To(ContainElement(HaveField("Message", ContainSubstring("log.retention.hourss"))))
	w.Expect(w.warned()).To(Equal(1))

	w.edit(valid)
	w.reconcile()
	w.edit(misspelled)
	w.reconcile()
	w.Expect(w.warned()).To(Equal(2), "it was corrected meanwhile")
}

// A user who creates or changes several objects at once changes some of them during a pass, which is repeated.
func TestAWarningIsToldOnceThoughThePassIsRepeated(t *testing.T) {
	w := newReadyWorld(t, "pool", 1)
	w.edit(misspelled)
	w.brokers.inspecting = func() {
		w.brokers.inspecting = nil
		w.edit(func(k *v1.Kafka) { k.Annotations = map[string]string{"example.com/team": "a"} })
	}
	w.reconcile()
	w.Expect(w.conditions()).NotTo(ContainElement(HaveField("Message", ContainSubstring("log.retention.hourss"))), "a conflict")
	w.reconcile()
	w.Expect(w.conditions()).To(ContainElement(HaveField("Message", ContainSubstring("log.retention.hourss"))))
	w.Expect(w.warned()).To(Equal(1))
}

// While a Kafka is refused or hibernated for long, its warnings may be other ones with each pass.
func TestAWarningOfPassesThatEndEarlyIsForgottenAfterThem(t *testing.T) {
	w := &world{WithT: NewWithT(t)}
	r := &Reconciler{Events: w}
	pass := func(failure *status.Problem, warnings ...string) []string {
		w.events = nil
		p := &pass{Reconciler: r, kafka: newKafka()}
		p.status.Failure = failure
		for _, message := range warnings {
			p.warn("Reason", message)
		}
		p.tell(v1.KafkaStatus{})
		return w.events
	}
	hibernated := &status.Problem{Reason: reasonHibernated}
	w.Expect(pass(nil, "always")).To(HaveLen(1))
	w.Expect(pass(hibernated, "a")).To(HaveLen(1))
	w.Expect(pass(hibernated, "a")).To(BeEmpty())
	w.Expect(pass(hibernated, "b")).To(HaveLen(1))
	w.Expect(pass(hibernated, "a")).To(HaveLen(1))
	w.Expect(pass(nil, "always", "a")).To(BeEmpty())
	w.Expect(pass(nil, "a")).To(BeEmpty())
	w.Expect(pass(nil, "always")).To(HaveLen(1))
}
