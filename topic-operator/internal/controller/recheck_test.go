package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// meanwhile runs f once, while a change of this kind waits to be sent to Kafka.
func (w *world) meanwhile(call string, f func()) {
	w.kafka.waiting(func(c, _ string) {
		if c == call {
			w.kafka.waiting(nil)
			f()
		}
	})
}

// The check right before the call uses the newest object of the API server, however long the call waited
// (docs/decisions/facts-at-the-call.md).
func TestADeletionThatIsNotWantedAnyMoreWhenKafkaIsThereIsNotMade(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(w *world)
		stays bool
	}{
		"unmanaged by annotation": {do: func(w *world) { w.update("a", annotation(v1.AnnotationManaged, "false")) }},
		"unmanaged by spec":       {do: func(w *world) { w.update("a", abandon) }},
		"a new claimant":          {do: func(w *world) { w.create("b", named("a")) }},
		"not selected any more":   {do: func(w *world) { w.update("a", noLabel(v1.LabelCluster)) }, stays: true},
		"of another cluster":      {do: func(w *world) { w.status("a", func(s *v1.KafkaTopicStatus) { s.ClusterID = otherID }) }, stays: true},
		"let go by hand":          {do: func(w *world) { w.update("a", finalizers()) }},
		"forbidden by the policy": {do: func(w *world) { w.r.options.Violation = func(string, string) string { return "theirs" } }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, onlySelected)
			w.ready("a", selected)
			w.r.options.Selects = func(labels map[string]string) bool { return labels[v1.LabelCluster] != "" || labels["b"] != "" }
			w.delete("a")
			w.meanwhile(deleteCall, func() {
				c.do(w)
				if name == "a new claimant" {
					w.update("b", label("b", "yes"))
				}
			})
			w.pass("a")
			w.Expect(w.kafka.get("a")).NotTo(BeNil())
			w.Expect(w.kafka.asks(deleteCall, "")()).To(BeZero())
			w.Expect(w.exists("a")).To(Equal(c.stays))
			if c.stays {
				w.update("a", finalizers())
			}
		})
	}
}

func TestAChangeThatIsNotWantedAnyMoreWhenKafkaIsThereIsNotMade(t *testing.T) {
	for name, do := range map[string]func(w *world){
		"unmanaged": func(w *world) { w.update("a", abandon) },
		"paused":    func(w *world) { w.update("a", pause) },
		"deleted":   func(w *world) { w.delete("a") },
		"claimed":   func(w *world) { w.create("b", named("a")) },
	} {
		for call, change := range map[string]change{alterCall: config("k", `1`), increaseCall: partitions(3)} {
			t.Run(name+" before "+call, func(t *testing.T) {
				w := newWorld(t)
				w.ready("a", partitions(1))
				w.update("a", change)
				w.meanwhile(call, func() { do(w) })
				w.pass("a")
				w.Expect(w.kafka.asks(call, "")()).To(BeZero())
				if t := w.kafka.get("a"); t != nil {
					w.Expect(t.Config).NotTo(HaveKey("k"))
				}
			})
		}
	}
}

func TestWhatIsChangedIsWhatIsWantedWhenKafkaIsThere(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.update("a", config("k", `1`))
	w.meanwhile(alterCall, func() { w.update("a", config("k", `2`)) })
	w.pass("a")
	w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"k": "2"}))
	w.Expect(w.kafka.asks(alterCall, "")()).To(Equal(1))
	w.Expect(w.get("a")).To(beReady())
}

func TestAReplicaThatLeadsNoMoreChangesNothing(t *testing.T) {
	var leads error
	w := newWorld(t, func(s *setup) { s.Leads = func(context.Context) error { return leads } })
	w.ready("a")
	w.ready("b")
	w.update("b", config("k", `1`))
	w.delete("a")
	noLease := fmt.Errorf("read the Lease: %w", apierrors.NewNotFound(coordinationv1.Resource("leases"), "l"))
	for _, why := range []error{ErrNotLeader, errors.New("no answer"), noLease} {
		leads = why
		for _, name := range []string{"a", "b"} {
			result, err := w.tryPass(t.Context(), name)
			w.Expect(err != nil || result.RequeueAfter > 0).To(BeTrue(), "the pass is repeated")
		}
		w.Expect(w.kafka.get("a")).NotTo(BeNil())
		w.Expect(w.kafka.config("b")).To(BeEmpty())
	}
	leads = fmt.Errorf("%w: nobody holds the Lease", ErrNotLeader)
	w.logged.took()
	w.pass("b")
	w.Expect(w.logged.took()).To(ContainElement(And(ContainSubstring("This replica is not the leader and makes no changes"),
		ContainSubstring("nobody holds the Lease"))))
	leads = nil
	w.pass("a")
	w.pass("b")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.config("b")).To(Equal(map[string]string{"k": "1"}))
}

func TestWithoutFinalizersADeletionWaitsForTheLease(t *testing.T) {
	var leads error
	w := newWorld(t, withoutFinalizers, func(s *setup) { s.Leads = func(context.Context) error { return leads } })
	w.create("a")
	w.pass("a")
	w.vanish("a")
	leads = apierrors.NewNotFound(coordinationv1.Resource("leases"), "l")
	w.withholds("a", "the Lease of this operator can't be read")
	leads = nil
	w.pass("a")
	w.Expect(w.kafka.get("a")).To(BeNil())
}

func TestAChangeWhoseCallerLeftIsNotMade(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.delete("a")
	ctx, leave := context.WithCancel(t.Context())
	w.meanwhile(deleteCall, leave)
	_, err := w.tryPass(ctx, "a")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
}

// The object is deleted already, so the operator reports the kept topic only in the log and as an Event.
func TestATopicClaimedMeanwhileStaysWithoutFinalizers(t *testing.T) {
	w := newWorld(t, withoutFinalizers)
	w.create("a")
	w.pass("a")
	w.clock.step(settle)
	w.vanish("a")
	w.meanwhile(deleteCall, func() { w.create("b", named("a")) })
	w.pass("a")
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
	w.Expect(w.logged.took()).To(ContainElement(ContainSubstring("Topic 'a' stays in Kafka: it is also managed by " + w.ns + "/b")))
	w.pass("a")
	w.Expect(w.kafka.asks(deleteCall, "")()).To(BeZero())
}

// suspended stands for an operator that is suspended right after the API server's answer.
type suspended struct {
	Claims
	clock *clock
}

func (s *suspended) Now(ctx context.Context, key types.NamespacedName, topic string) (*v1.KafkaTopic, []v1.KafkaTopic, error) {
	object, claimants, err := s.Claims.Now(ctx, key, topic)
	s.clock.step(maxAgeOfFacts + time.Second)
	return object, claimants, err
}

// slow stands for an API server that takes long to answer whether it keeps spec.managed.
type slow struct {
	keepsAll
	clock *clock
}

func (s *slow) KeepsManaged(context.Context, *v1.KafkaTopic) (bool, error) {
	s.clock.step(maxAgeOfFacts + time.Second)
	return false, nil
}

func TestAnAnswerThatGotOldAllowsNothing(t *testing.T) {
	w := newWorld(t)
	w.ready("a", named("t"))
	w.create("b", named("t"), managed(false))
	w.pass("b")
	w.update("b", func(kt *v1.KafkaTopic) { kt.Spec.Managed = nil })
	w.r.options.Schema = &slow{clock: w.clock}
	w.delete("a")
	w.withholds("a", "the API server's answer is 6s old")
	w.Expect(w.kafka.get("t")).NotTo(BeNil())
}

func TestAnAnswerThatIsOldAllowsNothing(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.ready("b")
	w.delete("a")
	w.update("b", config("k", `1`))
	claims := w.r.options.Claims
	w.r.options.Claims = &suspended{claims, w.clock}
	for _, name := range []string{"a", "b"} {
		w.withholds(name, "the API server's answer is 6s old")
	}
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
	w.Expect(w.kafka.config("b")).To(BeEmpty())
	w.r.options.Claims = claims
	w.pass("a")
	w.pass("b")
	w.Expect(w.kafka.get("a")).To(BeNil())
	w.Expect(w.kafka.config("b")).To(Equal(map[string]string{"k": "1"}))
}
