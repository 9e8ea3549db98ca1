package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// quorumOf is a quorum of voters with ids from 0, each so long behind the leader, which is the last one.
func quorumOf(behind ...time.Duration) *kafka.Quorum {
	q := &kafka.Quorum{Leader: int32(len(behind)) - 1}
	for id, b := range behind {
		q.Voters = append(q.Voters, kafka.Replica{ID: int32(id), LastCaughtUp: 1e9 - b.Milliseconds()})
	}
	return q
}

// loseClaim deletes a claim that no scheduled pod uses. Nobody takes the finalizer off here that Kubernetes adds.
func (w *world) loseClaim(name string) {
	w.t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	w.get(claim, name)
	claim.Finalizers = nil
	w.Expect(w.k8s.Update(w.t.Context(), claim)).To(Succeed())
	w.Expect(w.k8s.Delete(w.t.Context(), claim)).To(Succeed())
}

func (w *world) hasClaim(name string) bool {
	w.t.Helper()
	err := w.k8s.Get(w.t.Context(), types.NamespacedName{Namespace: w.namespace, Name: name}, &corev1.PersistentVolumeClaim{})
	w.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return !apierrors.IsNotFound(err)
}

func TestNoMajorityOfControllersStartsEmpty(t *testing.T) {
	const first, second = "data-my-cluster-pool-0", "data-my-cluster-pool-1"
	begin := func(t *testing.T, replicas int32) *world {
		w := newWorld(t)
		w.create(newKafka(), nodePool("pool", replicas, v1.RoleBroker, v1.RoleController))
		w.reconcile()
		for name := range w.pods("pool") {
			w.bind("data-" + name)
		}
		w.now = w.now.Add(time.Hour)
		w.loseClaim(first)
		return w
	}
	gone := func(w *world, name, why string) {
		w.t.Helper()
		w.reconcile()
		w.Expect(w.hasClaim(name)).To(BeFalse())
		w.Expect(w.conditions()).To(blockedBy(why))
	}
	t.Run("of three", func(t *testing.T) {
		w := begin(t, 3)
		gone(w, first, "PersistentVolumeClaims data-my-cluster-pool-0 of node 0 are gone, and are not made again yet, because the node would "+
			"start without metadata: it is unknown")
		w.brokers.quorum = &kafka.Quorum{Leader: -1}
		gone(w, first, "it is unknown")
		w.brokers.quorum = quorumOf(time.Hour, 2*time.Second, 0)
		gone(w, first, "other controllers may lack metadata as well (1)")

		w.brokers.quorum = quorumOf(time.Hour, 1999*time.Millisecond, 0)
		w.reconcile()
		w.Expect(w.hasClaim(first)).To(BeTrue())
		w.Expect(w.conditions()).NotTo(blockedBy("are gone"))

		// The leader may not have noticed yet that node 0 has lost everything. All volumes here are new.
		w.now = time.Now()
		w.brokers.quorum = quorumOf(0, time.Hour, 0)
		w.loseClaim(second)
		gone(w, second, "other controllers may lack metadata as well (0, 2)")
		w.now = w.now.Add(2 * time.Minute)
		w.reconcile()
		w.Expect(w.hasClaim(second)).To(BeTrue())
	})
	t.Run("of two that are lost at once", func(t *testing.T) {
		w := begin(t, 3)
		w.brokers.quorum = quorumOf(0, 0, 0)
		w.loseClaim(second)
		gone(w, first, "(1)")
		gone(w, second, "(0)")
	})
	t.Run("the only one", func(t *testing.T) {
		w := begin(t, 1)
		w.brokers.quorum = quorumOf(0)
		k := &v1.Kafka{}
		w.get(k, "my-cluster")
		k.Status.KafkaMetadataVersion = "4.3-IV0"
		w.Expect(w.k8s.Status().Update(t.Context(), k)).To(Succeed())
		gone(w, first, "controller 0 is the only one")
	})
	t.Run("unless the user allows it", func(t *testing.T) {
		w := begin(t, 3)
		w.edit(func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationSkipScaleDownCheck: "true"} })
		w.reconcile()
		w.Expect(w.hasClaim(first)).To(BeTrue())
	})
}

// A user may delete volumes that can't be provisioned, to correct their class.
func TestControllersThatNeverRanGetTheirClaimsAgain(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	for name := range w.pods("pool") {
		w.loseClaim("data-" + name)
	}
	w.reconcile()
	w.keepsClaims("pool", 3)
}

func TestACaughtUpVoterHasAllMetadata(t *testing.T) {
	g := NewWithT(t)
	g.Expect(caughtUp(*quorumOf(time.Second, 2*time.Second, 0))).To(Equal(map[int32]bool{0: true, 2: true}))
	unknown := quorumOf(0, 0, 0)
	unknown.Voters[0].LastCaughtUp = -1
	g.Expect(caughtUp(*unknown)).To(Equal(map[int32]bool{1: true, 2: true}))
	unknown.Voters[2].LastCaughtUp = -1
	g.Expect(caughtUp(*unknown)).To(BeNil())
	unknown.Leader = 7
	g.Expect(caughtUp(*unknown)).To(BeNil())
	g.Expect(caughtUp(kafka.Quorum{Leader: -1})).To(BeNil())
}
