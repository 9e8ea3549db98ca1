package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

func TestAPassThatHangsIsNotHealthy(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1_000_000, 0)
	r := &Reconciler{busy: newBusyKeys(), options: Options{Now: func() time.Time { return now }}}
	g.Expect(r.Healthy(t.Context())).To(Succeed())

	end := r.busy.start(types.NamespacedName{Namespace: "ns", Name: "slow"}, now)
	now = now.Add(hungAfter)
	r.busy.start(types.NamespacedName{Namespace: "ns", Name: "other"}, now)
	g.Expect(r.Healthy(t.Context())).To(Succeed(), "its context ended, and it may be about to return")
	now = now.Add(time.Second)
	g.Expect(r.Healthy(t.Context())).To(MatchError("the reconciliation of KafkaTopic ns/slow has been running for 4m1s, and must not " +
		"take longer than 2m0s"))
	end()
	g.Expect(r.Healthy(t.Context())).To(Succeed())
}

// Two writers that conflict each time, such as an operator of an older version, must not keep a core busy.
func TestConflictsBackOff(t *testing.T) {
	g := NewWithT(t)
	r := &Reconciler{memory: newMemory(time.Now), options: Options{Now: time.Now}}
	p := &pass{key: types.NamespacedName{Namespace: "ns", Name: "a"}, kt: &v1.KafkaTopic{}}
	var waits []time.Duration
	for range 8 {
		result, err := r.conclude(t.Context(), p, verdict{}, apierrors.NewConflict(schema.GroupResource{Resource: "kafkatopics"}, "a", nil))
		g.Expect(err).NotTo(HaveOccurred())
		waits = append(waits, result.RequeueAfter)
	}
	g.Expect(waits[0]).To(BeNumerically("<=", 2*firstRetry))
	g.Expect(waits[7]).To(BeNumerically(">=", lastRetry/2))
	r.memory.succeeded(p.key)
	result, err := r.conclude(t.Context(), p, verdict{}, apierrors.NewConflict(schema.GroupResource{Resource: "kafkatopics"}, "a", nil))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(BeNumerically("<=", 2*firstRetry))
}
