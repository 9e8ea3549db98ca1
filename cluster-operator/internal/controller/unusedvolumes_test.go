package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// removed reports whether the claim of a volume is marked as that of a volume that nobody needs.
func (w *world) removed(claim string) bool {
	w.t.Helper()
	o := &corev1.PersistentVolumeClaim{}
	w.get(o, claim)
	return o.Annotations[model.AnnotationRemoved] == "true"
}

func jbod(ids ...int32) v1.Storage {
	s := v1.Storage{Type: v1.StorageJBOD}
	for _, id := range ids {
		s.Volumes = append(s.Volumes, v1.StorageVolume{Type: v1.StoragePersistentClaim, ID: &id, Size: "1Gi"})
	}
	return s
}

// deletable is jbod with volumes that are deleted with their nodes.
func deletable(ids ...int32) v1.Storage {
	s := jbod(ids...)
	for i := range s.Volumes {
		s.Volumes[i].DeleteClaim = new(true)
	}
	return s
}

func TestAKafkaIsCreatedAgainAfterAVolumeWasRemoved(t *testing.T) {
	w := newWorld(t)
	pool := func(s v1.Storage) *v1.KafkaNodePool {
		p := nodePool("pool", 2, v1.RoleBroker, v1.RoleController)
		p.Spec.Storage = s
		return p
	}
	forced := func() *v1.Kafka {
		k := newKafka()
		k.Annotations = map[string]string{v1.AnnotationSkipScaleDownCheck: "true"}
		return k
	}
	w.create(forced(), pool(jbod(0, 1)))
	w.reconcile()
	const first, second = "data-0-my-cluster-pool-0", "data-1-my-cluster-pool-0"
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage = jbod(0) })
	w.reconcile()
	w.Expect(w.removed(second)).To(BeFalse(), "the set has just listed it")
	w.reconcile()
	w.Expect(w.removed(second)).To(BeTrue())
	w.Expect(w.removed(first)).To(BeFalse())

	w.loseKafka("pool")
	w.create(forced(), pool(v1.Storage{Type: v1.StoragePersistentClaim, Size: "1Gi"}))
	w.reconcile()
	w.Expect(w.conditions()).To(blockedBy(
		"PersistentVolumeClaims data-0-my-cluster-pool-0, data-0-my-cluster-pool-1 belong to an earlier Kafka"))
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage = jbod(0) })
	w.reconcile()
	w.kubelet("pool")
	w.reconcile()
	w.Expect(w.ready().Status).To(Equal("True"))

	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage = jbod(0, 1) })
	w.reconcile()
	w.reconcile()
	w.Expect(w.removed(second)).To(BeFalse(), "it is used again")
}

// A backup may have restored a StrimziPodSet without its pods, which lists fewer nodes than there are volumes.
func TestARestoredStrimziPodSetDoesNotHideVolumes(t *testing.T) {
	w := newWorld(t)
	pool := func(nodes int32) *v1.KafkaNodePool { return nodePool("pool", nodes, v1.RoleBroker) }
	w.create(newKafka(), pool(2), nodePool("voters", 1, v1.RoleController))
	w.reconcile()
	w.orphan()
	w.Expect(w.k8s.Delete(t.Context(), w.pool("pool"))).To(Succeed())
	w.Expect(w.k8s.Delete(t.Context(), w.pool("voters"))).To(Succeed())
	third := w.claim("data-my-cluster-pool-1")
	third.Name, third.UID, third.ResourceVersion = "data-my-cluster-pool-3", "", ""
	third.Annotations[ownership.MarkSelf] = ownership.Self("PersistentVolumeClaim", w.namespace, third.Name)
	w.create(third)
	w.bindAll()
	w.create(newKafka(), pool(2), nodePool("voters", 1, v1.RoleController))
	for range 2 {
		w.reconcile()
		w.Expect(w.conditions()).To(blockedBy("PersistentVolumeClaims " + third.Name + " belong to an earlier Kafka"))
	}
	w.Expect(w.removed(third.Name)).To(BeFalse())
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 3 })
	w.reconcile()
	w.Expect(w.podNames("pool")).To(ContainElement("my-cluster-pool-3"))
}

func TestAKafkaIsCreatedAgainWithTheNodesThatItHad(t *testing.T) {
	w := newWorld(t)
	brokers := func(n int32) *v1.KafkaNodePool { return nodePool("brokers", n, v1.RoleBroker) }
	w.create(newKafka(), brokers(3), nodePool("controllers", 1, v1.RoleController))
	w.reconcile()
	w.brokers.replicas = map[int32]int{0: 0, 1: 1, 2: 1}
	w.change("brokers", func(p *v1.KafkaNodePool) {
		p.Spec.Replicas, p.Annotations = 2, map[string]string{v1.AnnotationRemoveNodeIDs: "[0]"}
	})
	w.reconcile()
	w.Expect(w.podNames("brokers")).To(Equal([]string{"my-cluster-brokers-1", "my-cluster-brokers-2"}))
	w.Expect(w.removed("data-my-cluster-brokers-0")).To(BeTrue())

	w.loseKafka("brokers", "controllers")
	w.create(newKafka(), brokers(1), nodePool("controllers", 1, v1.RoleController))
	w.reconcile()
	w.Expect(w.conditions()).To(blockedBy("PersistentVolumeClaims data-my-cluster-brokers-2 belong to an earlier Kafka"))
	w.change("brokers", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 2 })
	w.reconcile()
	w.Expect(w.podNames("brokers")).To(Equal([]string{"my-cluster-brokers-1", "my-cluster-brokers-2"}))
	w.change("brokers", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 3 })
	w.reconcile()
	w.reconcile()
	w.Expect(w.podNames("brokers")).To(HaveLen(3))
	w.Expect(w.removed("data-my-cluster-brokers-0")).To(BeFalse(), "its node is back")
}
