package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// Broker 2 leaves, and a topic that is created while it stops has a replica on its volume 1. Then the pool loses volume 1, which is empty
// on the brokers that stayed, and gets its third broker again.
func TestAVolumeOfANodeThatLeftKeepsItsReplica(t *testing.T) {
	const claim, node = "data-1-my-cluster-brokers-2", "my-cluster-brokers-2"
	for name, c := range map[string]struct {
		ids    string
		pods   []string
		reason string
	}{
		"the new node gets another id": {"", []string{"my-cluster-brokers-0", "my-cluster-brokers-1", "my-cluster-brokers-4"},
			"node 2 are not deleted yet"},
		"the user names its id": {"[2]", []string{"my-cluster-brokers-0", "my-cluster-brokers-1", node},
			"PersistentVolumeClaim " + claim + " is not deleted: its node runs without it"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.brokers.metadata = 30
			pool := nodePool("brokers", 3, v1.RoleBroker)
			pool.Spec.Storage = deletable(0, 1)
			w.createAndStart(newKafka(), pool, nodePool("controllers", 1, v1.RoleController))
			w.brokers.replicas, w.brokers.dirs = map[int32]int{0: 1, 1: 1, 2: 0}, map[int32][]kafka.LogDir{}
			for id, replicas := range w.brokers.replicas {
				for volume, replicas := range []int{replicas, 0} {
					w.brokers.dirs[id] = append(w.brokers.dirs[id], kafka.LogDir{Cordoned: volume == 1, Replicas: replicas,
						Path: fmt.Sprintf("/var/lib/kafka/data-%d/kafka-log%d", volume, id)})
				}
			}

			w.change("brokers", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 2 })
			w.reconcile()
			w.Expect(w.pods("brokers")).To(HaveLen(2))
			w.brokers.replicas[2] = 1
			delete(w.brokers.dirs, 2)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: node}}
			w.Expect(w.k8s.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
			w.reconcile()
			w.Expect(w.conditions()).To(ContainElement(HaveField("Reason", "VolumesKept")))

			w.change("brokers", func(p *v1.KafkaNodePool) {
				p.Spec.Replicas, p.Spec.Storage.Volumes = 3, p.Spec.Storage.Volumes[:1]
				p.Annotations = map[string]string{v1.AnnotationNextNodeIDs: c.ids}
			})
			for range 3 {
				w.reconcile()
				w.start("brokers")
			}
			w.reconcile()
			w.Expect(w.podNames("brokers")).To(ConsistOf(c.pods))
			w.Expect(w.conditions()).To(ContainElement(And(HaveField("Reason", "VolumesKept"), HaveField("Message", ContainSubstring(c.reason)))))
			kept := &corev1.PersistentVolumeClaim{}
			w.get(kept, claim)
			w.Expect(kept.DeletionTimestamp).To(BeNil())
		})
	}
}

// A note that a volume is empty goes before a pod mounts the volume again.
func TestAVolumeThatIsUsedAgainIsNotNotedAsEmpty(t *testing.T) {
	w := newWorld(t)
	w.brokers.metadata = 30
	pool := nodePool("pool", 1, v1.RoleBroker)
	pool.Spec.Storage = jbod(0, 1)
	w.createAndStart(newKafka(), pool, nodePool("controllers", 1, v1.RoleController))
	w.brokers.dirs = map[int32][]kafka.LogDir{}
	for _, l := range w.podNames("pool") {
		var id int32
		_, err := fmt.Sscanf(l, "my-cluster-pool-%d", &id)
		w.Expect(err).NotTo(HaveOccurred())
		w.brokers.dirs[id] = []kafka.LogDir{{Path: fmt.Sprintf("/var/lib/kafka/data-0/kafka-log%d", id)},
			{Path: fmt.Sprintf("/var/lib/kafka/data-1/kafka-log%d", id), Cordoned: true}}
	}
	claim := func() *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{}
		w.get(c, "data-1-"+w.podNames("pool")[0])
		return c
	}
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage = jbod(0) })
	w.reconcile()
	w.Expect(isEmpty(claim())).To(BeTrue())
	w.start("pool")
	w.reconcile()
	w.Expect(isEmpty(claim())).To(BeTrue())
	w.Expect(isRemoved(claim())).To(BeTrue())

	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage = jbod(0, 1) })
	w.reconcile()
	w.Expect(isEmpty(claim())).To(BeFalse())
}

// A volume that could not be cordoned may get a replica after it was taken from its node, and before that restarts. It stays when Kafka can
// cordon volumes later.
func TestAVolumeThatWasNotCordonedStaysAfterAnUpgrade(t *testing.T) {
	w := newWorld(t)
	w.brokers.metadata = 29
	pool := nodePool("pool", 1, v1.RoleBroker)
	pool.Spec.Storage = deletable(0, 1)
	k := newKafka()
	k.Spec.Kafka.MetadataVersion = "4.2-IV1"
	w.createAndStart(k, pool, nodePool("controllers", 1, v1.RoleController))
	claim := "data-1-" + w.podNames("pool")[0]
	id, _ := core.NodeID(claim)
	w.brokers.dirs = map[int32][]kafka.LogDir{id: {{Path: fmt.Sprintf("/var/lib/kafka/data-0/kafka-log%d", id)},
		{Path: fmt.Sprintf("/var/lib/kafka/data-1/kafka-log%d", id)}}}
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.Volumes = p.Spec.Storage.Volumes[:1] })
	w.reconcile()
	w.start("pool")
	w.reconcile()

	w.get(k, "my-cluster")
	k.Spec.Kafka.MetadataVersion = "4.3-IV0"
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	for range 3 {
		w.reconcile()
	}
	w.get(k, "my-cluster")
	w.Expect(k.Status.KafkaMetadataVersion).To(Equal("4.3-IV0"))
	kept := &corev1.PersistentVolumeClaim{}
	w.get(kept, claim)
	w.Expect(kept.DeletionTimestamp).To(BeNil())
	w.Expect(w.conditions()).To(ContainElement(And(HaveField("Reason", "VolumesKept"), HaveField("Message", ContainSubstring(claim)))))
}

// The last node of a pool leaves, and the pass ends before it marks the volumes. Then the pool loses one of them, and gets a node again.
func TestAVolumeThatWasNotMarkedIsNotForgotten(t *testing.T) {
	w := newWorld(t)
	pool := nodePool("pool", 1, v1.RoleBroker)
	pool.Spec.Storage = jbod(0, 1)
	w.createAndStart(newKafka(), pool, nodePool("others", 1, v1.RoleController, v1.RoleBroker))
	node := w.podNames("pool")[0]
	w.brokers.replicas = map[int32]int{}
	live := w.r.Live
	w.r.Live = interceptor.NewClient(w.k8s.(client.WithWatch), interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch,
		o client.Object, patch client.Patch, opts ...client.PatchOption) error {
		if _, is := o.(*corev1.PersistentVolumeClaim); is {
			return errors.New("the operator stops")
		}
		return c.Patch(ctx, o, patch, opts...)
	}})
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 0 })
	w.pass("the operator stops")
	w.Expect(w.pods("pool")).To(BeEmpty())
	w.r.Live = live
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: node}}
	w.Expect(w.k8s.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
	w.reconcile()
	w.Expect(w.removed("data-1-" + node)).To(BeFalse())

	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Replicas, p.Spec.Storage = 1, jbod(0) })
	w.reconcile()
	w.Expect(w.podNames("pool")).To(And(HaveLen(1), Not(ContainElement(node))), "it would start without its volume 1")
}
