package controller

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// snapshot is a reader that returns copies of its objects, as a cache does.
type snapshot struct {
	scheme  *runtime.Scheme
	objects map[string]map[client.ObjectKey]client.Object
}

func (s *snapshot) kind(o runtime.Object) string {
	kinds, _, err := s.scheme.ObjectKinds(o)
	if err != nil {
		panic(err)
	}
	return kinds[0].Kind
}

func (s *snapshot) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found, ok := s.objects[s.kind(into)][key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: s.kind(into)}, key.Name)
	}
	return s.scheme.Convert(found.DeepCopyObject(), into, nil)
}

func (s *snapshot) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	kind := s.kind(into)
	var items []runtime.Object
	for _, o := range s.objects[kind[:len(kind)-len("List")]] {
		items = append(items, o.DeepCopyObject())
	}
	return meta.SetList(into, items)
}

// BenchmarkPass measures a pass over a converged Kafka of 300 nodes, which writes nothing.
func BenchmarkPass(b *testing.B) {
	const nodes = 300
	h := newHistory(b, 1)
	pool := nodePool("controllers", 3, v1.RoleController)
	brokers := nodePool("brokers", nodes-3, v1.RoleBroker)
	kafka := newKafka()
	kafka.SetUID("kafka") // its objects name it as their owner
	for _, o := range []client.Object{kafka, pool, brokers} {
		o.SetNamespace(historyNamespace)
		h.must(h.k8s.Create(b.Context(), o))
	}
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: historyNamespace, Name: kafka.Name}}
	pass := func() {
		b.Helper()
		if _, err := h.r.Reconcile(b.Context(), request); err != nil {
			b.Fatal(err)
		}
	}
	pass()
	s := &snapshot{scheme: h.k8s.Scheme(), objects: map[string]map[client.ObjectKey]client.Object{}}
	keep := func(o client.Object) {
		kind := s.kind(o)
		if s.objects[kind] == nil {
			s.objects[kind] = map[client.ObjectKey]client.Object{}
		}
		s.objects[kind][client.ObjectKeyFromObject(o)] = o
	}
	var sets core.StrimziPodSetList
	h.must(h.k8s.List(b.Context(), &sets))
	for i := range sets.Items {
		set := &sets.Items[i]
		n := int32(len(set.Spec.Pods))
		set.Status = core.StrimziPodSetStatus{ObservedGeneration: set.Generation, Pods: n, CurrentPods: n, ReadyPods: n}
		h.must(h.k8s.Status().Update(b.Context(), set))
		pods, err := set.DesiredPods()
		h.must(err)
		for j := range pods {
			pods[j].Namespace = historyNamespace
			h.must(h.k8s.Create(b.Context(), &pods[j]))
			h.configured[pods[j].UID] = configOf(h.k8s.server, pods[j].Name)
		}
	}
	pass()
	for _, o := range h.all() {
		o.SetManagedFields(nil)
		keep(o)
	}
	var pods corev1.PodList
	h.must(h.k8s.List(b.Context(), &pods))
	for i := range pods.Items {
		keep(&pods.Items[i])
	}
	var pools v1.KafkaNodePoolList
	h.must(h.k8s.List(b.Context(), &pools))
	for i := range pools.Items {
		keep(&pools.Items[i])
	}
	h.must(h.k8s.Get(b.Context(), request.NamespacedName, kafka))
	keep(kafka)
	h.r.Cache = s
	h.fail = 0 // all writes fail
	for b.Loop() {
		pass()
	}
	if h.fail != 0 {
		b.Fatal(fmt.Errorf("a pass over a converged Kafka writes"))
	}
}
