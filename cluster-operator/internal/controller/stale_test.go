package controller

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// staleStatuses is a cache with all objects, but with earlier versions of the Kafka and its pools.
type staleStatuses struct {
	client.Reader
	kafka v1.Kafka
	pools v1.KafkaNodePoolList
}

func (c *staleStatuses) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if kafka, is := o.(*v1.Kafka); is && c.kafka.Name != "" {
		c.kafka.DeepCopyInto(kafka)
		return nil
	}
	return c.Reader.Get(ctx, key, o, opts...)
}

func (c *staleStatuses) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if pools, is := list.(*v1.KafkaNodePoolList); is && len(c.pools.Items) > 0 {
		c.pools.DeepCopyInto(pools)
		return nil
	}
	return c.Reader.List(ctx, list, opts...)
}

// TestAStatusThatTheCacheLacksIsWaitedFor checks that a pass requeues if the status in the cache equals the wanted one, and the cache lacks
// an earlier pass's write. No event follows when the cache receives that write.
func TestAStatusThatTheCacheLacksIsWaitedFor(t *testing.T) {
	for name, remember := range map[string]func(w *world, c *staleStatuses){
		"of the Kafka": func(w *world, c *staleStatuses) { w.get(&c.kafka, "my-cluster") },
		"of its pools": func(w *world, c *staleStatuses) {
			w.Expect(w.k8s.List(w.t.Context(), &c.pools, client.InNamespace(w.namespace))).To(Succeed())
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
			w.reconcile()
			w.kubelet("pool")
			w.reconcile()
			w.Expect(w.ready().Status).To(Equal("True"))
			ready := func(pods int32) {
				set := &podset.StrimziPodSet{}
				w.get(set, "my-cluster-pool")
				set.Status.ReadyPods = pods
				w.Expect(w.k8s.Status().Update(t.Context(), set)).To(Succeed())
			}
			stale := &staleStatuses{Reader: w.r.Cache}
			remember(w, stale)
			ready(0)
			w.reconcile()
			w.Expect(w.ready().Status).To(Equal("False"))
			ready(1)
			w.r.Cache = stale
			result, err := w.r.Reconcile(t.Context(),
				reconcile.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "my-cluster"}})
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(result.RequeueAfter).To(Equal(conflictDelay))
			w.r.Cache = stale.Reader
			w.reconcile()
			w.Expect(w.ready().Status).To(Equal("True"))
		})
	}
}
