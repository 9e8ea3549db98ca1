package controller

import (
	"context"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
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

// TestConflictsAtHomeThatDoNotEndAreFailures checks that the status names the object that the operator can't write because the cache does
// not follow, and that the pass is repeated with back-off then.
func TestConflictsAtHomeThatDoNotEndAreFailures(t *testing.T) {
	w := newReadyWorld(t, "pool", 1)
	cache := frozen{Reader: w.r.Cache}
	w.Expect(w.k8s.List(t.Context(), &cache.services, client.InNamespace(w.namespace))).To(Succeed())
	for i := range cache.services.Items {
		service := cache.services.Items[i].DeepCopy()
		metav1.SetMetaDataAnnotation(&service.ObjectMeta, "example.com/changed", "true")
		w.Expect(w.k8s.Update(t.Context(), service)).To(Succeed())
	}
	kafka := &v1.Kafka{}
	w.get(kafka, "my-cluster")
	kafka.Spec.Kafka.Template = &v1.KafkaClusterTemplate{BrokersService: &v1.InternalServiceTemplate{
		Metadata: &v1.MetadataTemplate{Labels: map[string]string{"a": "b"}}}}
	w.Expect(w.k8s.Update(t.Context(), kafka)).To(Succeed())
	now, follows := time.Now(), w.r.Cache
	w.r.Now, w.r.Cache = func() time.Time { return now }, cache
	pass := func() (reconcile.Result, error) {
		return w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(kafka)})
	}
	for range 2 {
		w.Expect(pass()).To(Equal(reconcile.Result{RequeueAfter: conflictDelay}))
		now = now.Add(conflictTimeout - 1)
	}
	now = now.Add(1)
	for range 2 {
		_, err := pass()
		w.Expect(err).To(MatchError(ContainSubstring("writes keep conflicting")))
		w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Message", ContainSubstring("services \"my-cluster-kafka-brokers\""))))
	}
	w.r.Cache = follows
	w.reconcile()
	w.Expect(w.ready().Status).To(Equal("True"))
	w.Expect(w.r.conflicts.met).To(BeEmpty())
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
			w := newReadyWorld(t, "pool", 1)
			ready := func(pods int32) {
				set := &core.StrimziPodSet{}
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
			now := w.r.Now
			w.r.Now = func() time.Time { return now().Add(conflictTimeout) }
			_, err = w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "my-cluster"}})
			w.Expect(err).To(MatchError(ContainSubstring("the cache is behind")), "it lasts")
			w.r.Now = now
			w.r.Cache = stale.Reader
			w.reconcile()
			w.Expect(w.ready().Status).To(Equal("True"))
		})
	}
}

// withoutPool is a cache that does not show what the nodes of a pool have.
type withoutPool struct {
	client.Reader
	pool string
}

func (c withoutPool) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	all, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	return meta.SetList(list, slices.DeleteFunc(all, func(o runtime.Object) bool {
		object, is := o.(client.Object)
		return is && object.GetLabels()[core.LabelPoolName] == c.pool
	}))
}

// TestAnIDIsNotGivenTwiceWhileTheCacheIsBehind checks that a new node gets no id of a node that the cache does not show, though its pool
// was deleted, or its status is lost.
func TestAnIDIsNotGivenTwiceWhileTheCacheIsBehind(t *testing.T) {
	for name, forget := range map[string]func(*world){
		"the pool was deleted": func(w *world) { w.Expect(w.k8s.Delete(w.t.Context(), w.pool("b"))).To(Succeed()) },
		"the status is lost": func(w *world) {
			pool := w.pool("b")
			pool.Status = v1.KafkaNodePoolStatus{}
			w.Expect(w.k8s.Status().Update(w.t.Context(), pool)).To(Succeed())
			w.change("b", func(pool *v1.KafkaNodePool) { pool.Spec.Replicas = 0 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newReadyWorld(t, "pool", 1)
			w.create(nodePool("b", 1, v1.RoleBroker))
			w.reconcile()
			w.Expect(w.pods("b")).To(HaveKey("my-cluster-b-1"))
			forget(w)
			w.create(nodePool("c", 1, v1.RoleBroker))
			follows := w.r.Cache
			w.r.Cache = withoutPool{follows, "b"}
			result, err := w.r.Reconcile(t.Context(),
				reconcile.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "my-cluster"}})
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(result.RequeueAfter).To(Equal(conflictDelay))
			w.Expect(w.pool("c").Status.NodeIDs).To(BeEmpty())
			w.r.Cache = follows
			w.reconcile()
			w.Expect(w.pool("c").Status.NodeIDs).To(Equal([]int32{2}))
			w.Expect(w.pods("c")).To(HaveKey("my-cluster-c-2"))
		})
	}
}

// TestACacheElsewhereThatStaysBehindStopsNothingAtHome checks that a Kubernetes cluster is left out whose cache does not show a node for
// long that has the id of a new one.
func TestACacheElsewhereThatStaysBehindStopsNothingAtHome(t *testing.T) {
	w := newStretchedWorld(t)
	w.formTwo()
	w.Expect(w.k8s.Delete(t.Context(), w.pool("b"))).To(Succeed())
	w.create(poolIn("central", "c", 1, v1.RoleBroker))
	w.edit(func(k *v1.Kafka) {
		k.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.ms": {Raw: []byte("1234")}}
	})
	east := w.members["east"]
	east.cache = withoutPool{east.Client, "b"}
	w.Expect(w.pass().RequeueAfter).To(Equal(conflictDelay))
	w.now = w.now.Add(conflictTimeout)
	w.pass()
	w.pass()
	w.Expect(w.pool("c").Status.NodeIDs).To(BeEmpty())
	w.Expect(w.config("my-cluster-a-0")).To(ContainSubstring("log.retention.ms=1234"))
}

// TestAClusterThatDoesNotTellItsIDsStopsNothingElsewhere checks that pools wait for new nodes, and nothing else waits, while it is unknown
// which ids a Kubernetes cluster uses.
func TestAClusterThatDoesNotTellItsIDsStopsNothingElsewhere(t *testing.T) {
	w := newStretchedWorld(t)
	w.formTwo()
	w.create(poolIn("central", "c", 1, v1.RoleBroker))
	w.edit(func(k *v1.Kafka) {
		k.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.ms": {Raw: []byte("1234")}}
	})
	east := w.members["east"]
	answers, ok := east.Client.(client.WithWatch)
	w.Expect(ok).To(BeTrue())
	east.cache, east.Client = answers, interceptor.NewClient(answers, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, is := list.(*core.StrimziPodSetList); is {
				return apierrors.NewTooManyRequests("later", 1)
			}
			return c.List(ctx, list, opts...)
		},
	})
	w.pass()
	w.Expect(w.pool("c").Status.NodeIDs).To(BeEmpty())
	w.Expect(w.config("my-cluster-a-0")).To(ContainSubstring("log.retention.ms=1234"))
	east.cache, east.Client = nil, answers
	w.pass()
	w.Expect(w.pool("c").Status.NodeIDs).To(Equal([]int32{2}))
}
