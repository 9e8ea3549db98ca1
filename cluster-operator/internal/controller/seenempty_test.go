package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// A volume that nobody looked into is added again, and removed before the broker was restarted with it: it may have data.
func TestAVolumeThatIsRemovedBeforeItsBrokerLookedIntoItStays(t *testing.T) {
	const claim, node = "data-1-my-cluster-brokers-0", "my-cluster-brokers-0"
	w := newWorld(t)
	w.brokers.metadata = 30
	pool := nodePool("brokers", 1, v1.RoleBroker)
	pool.Spec.Storage = deletable(0, 1)
	w.createAndStart(newKafka(), pool, nodePool("controllers", 1, v1.RoleController))
	w.brokers.dirs = map[int32][]kafka.LogDir{0: {{Path: "/var/lib/kafka/data-0/kafka-log0", Replicas: 1},
		{Path: "/var/lib/kafka/data-1/kafka-log0", Cordoned: true}}}
	remove := func(p *v1.KafkaNodePool) { p.Spec.Storage.Volumes = p.Spec.Storage.Volumes[:1] }
	w.change("brokers", remove)
	w.reconcile()
	kept := &corev1.PersistentVolumeClaim{}
	w.get(kept, claim)
	w.Expect(isEmpty(kept)).To(BeTrue())
	delete(kept.Annotations, model.AnnotationEmpty) // as if the node had left and come back without it
	w.Expect(w.k8s.Update(t.Context(), kept)).To(Succeed())
	w.start("brokers")
	w.brokers.dirs[0] = w.brokers.dirs[0][:1]
	w.reconcile()
	w.reconcile()

	w.change("brokers", func(p *v1.KafkaNodePool) { p.Spec.Storage = deletable(0, 1) })
	w.reconcile()
	w.Expect(w.pods("brokers")[node].Spec.Volumes).To(ContainElement(HaveField("Name", "data-1")))
	w.change("brokers", remove)
	w.reconcile()
	w.start("brokers")
	w.reconcile()
	w.reconcile()
	w.get(kept, claim)
	w.Expect(kept.DeletionTimestamp).To(BeNil(), "nobody knows what it holds")
}

// A broker becomes a controller only, and may have got a replica right before its restart. Then its pool loses the volume.
func TestAVolumeOfAFormerBrokerStays(t *testing.T) {
	w := newWorld(t)
	w.brokers.metadata = 30
	pool := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
	pool.Spec.Storage = deletable(0, 1)
	w.createAndStart(newKafka(), pool, nodePool("z", 1, v1.RoleBroker))
	name := w.podNames("pool")[0]
	w.brokers.replicas = map[int32]int{}
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Roles = []v1.ProcessRole{v1.RoleController} })
	w.reconcile()
	w.start("pool")
	w.reconcile()
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.Volumes = p.Spec.Storage.Volumes[:1] })
	w.reconcile()
	w.start("pool")
	for range 3 {
		w.reconcile()
	}
	w.Expect(w.pods("pool")[name].Spec.Volumes).NotTo(ContainElement(HaveField("Name", "data-1")))
	kept := &corev1.PersistentVolumeClaim{}
	w.get(kept, "data-1-"+name)
	w.Expect(kept.DeletionTimestamp).To(BeNil(), "nobody knows what it holds")
}
