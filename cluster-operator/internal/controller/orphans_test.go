package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
)

// orphan deletes the Kafka as kubectl delete --cascade=orphan does: what it owned stays.
func (w *world) orphan() {
	w.t.Helper()
	w.Expect(w.k8s.Delete(w.t.Context(), &v1.Kafka{ObjectMeta: w.named("my-cluster")})).To(Succeed())
	for _, o := range w.everything() {
		if len(o.GetOwnerReferences()) > 0 {
			o.SetOwnerReferences(nil)
			w.Expect(w.k8s.Update(w.t.Context(), o)).To(Succeed())
		}
	}
}

func TestAKafkaThatIsMadeAgainTakesItsOrphansBack(t *testing.T) {
	for name, storage := range map[string]v1.Storage{
		"with volumes": {Type: v1.StoragePersistentClaim, Size: "1Gi"},
		"without":      {Type: v1.StorageEphemeral},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			pool := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
			pool.Spec.Storage = storage
			w.createAndStart(newKafka(), pool)
			before := w.pods("pool")
			w.orphan()
			w.Expect(w.k8s.Delete(t.Context(), w.pool("pool"))).To(Succeed())
			pool = nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
			pool.Spec.Storage = storage
			w.create(newKafka(), pool)
			for range 3 {
				w.reconcile()
			}
			w.Expect(w.pods("pool")).To(Equal(before), "nothing restarts")
			w.Expect(w.ready()).To(HaveField("Status", "True"))
			k := &v1.Kafka{}
			w.get(k, "my-cluster")
			for key, o := range w.everything() {
				switch o.(type) {
				case *corev1.Pod, *corev1.PersistentVolumeClaim:
					continue
				}
				w.Expect(apply.OwnedBy(o, k.UID)).To(BeTrue(), "%s %s", key.Kind, key.Name)
			}
		})
	}
}

// What lacks the mark of its own name may be somebody else's, and nodes may need it.
func TestAnOrphanWithoutAMarkIsNotTakenAndNobodyIsToldToDeleteIt(t *testing.T) {
	w := newReadyWorld(t, "pool", 1)
	w.orphan()
	const name = "my-cluster-kafka-brokers"
	s := &corev1.Service{}
	w.get(s, name)
	delete(s.Annotations, ownership.MarkSelf)
	w.Expect(w.k8s.Update(t.Context(), s)).To(Succeed())
	w.create(newKafka())
	w.pass("exists and does not belong to this Kafka")
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	w.Expect(w.ready()).To(And(HaveField("Reason", "ObjectNotOwned"), HaveField("Message", And(
		ContainSubstring("Service "+w.namespace+"/"+name), ContainSubstring("kind: Kafka, name: my-cluster, uid: "+string(k.UID)),
		Not(ContainSubstring("Delete"))))))
	w.Expect(w.k8s.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
	w.Expect(s.OwnerReferences).To(BeEmpty())
}
