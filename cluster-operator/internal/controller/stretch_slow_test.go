package controller

import (
	"context"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

func TestASlowKubernetesClusterHoldsUpNoOtherOne(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	east := w.members["east"]
	answers := make(chan struct{})
	east.answers = answers
	w.configure("log.retention.hours", "1")
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.pass()
	}()
	for cluster, node := range map[string]string{"central": "my-cluster-central-0", "west": "my-cluster-west-2"} {
		w.Eventually(func() string { return w.setting(cluster, node, "log.retention.hours") }).WithTimeout(answerTimeout).
			Should(Equal("1"), cluster)
	}
	w.Expect(w.setting("east", "my-cluster-east-1", "log.retention.hours")).NotTo(Equal("1"))
	w.Expect(done).NotTo(BeClosed())
	close(answers)
	w.Eventually(done).WithTimeout(answerTimeout).Should(BeClosed())
	w.Expect(w.setting("east", "my-cluster-east-1", "log.retention.hours")).To(Equal("1"))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

func TestASlowKubernetesClusterIsNotAskedWhenNothingChanges(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.members["east"].answers = make(chan struct{}) // it never responds
	w.pass()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

func TestANewKafkaAsksAllKubernetesClustersAtOnce(t *testing.T) {
	for name, objects := range map[string][]client.Object{
		"in one Kubernetes cluster": {newKafka(), nodePool("a", 1, v1.RoleBroker, v1.RoleController)},
		"stretched": {stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker),
			poolIn("west", "c", 1, v1.RoleBroker)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			asked := make(chan struct{})
			w.members["east"].answers = asked // it responds only after a request to west
			west := w.members["west"]
			k8s, is := west.Client.(client.WithWatch)
			w.Expect(is).To(BeTrue())
			var once sync.Once
			west.cache = west.Client
			west.Client = interceptor.NewClient(k8s, interceptor.Funcs{
				Get: func(ctx context.Context, k8s client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					once.Do(func() { close(asked) })
					return k8s.Get(ctx, key, o, opts...)
				},
			})
			w.create(objects...)
			w.pass()
			w.Expect(w.ready()).To(HaveField("Reason", "Creating"))
			w.Expect(w.kafka().Status.ClusterID).NotTo(BeEmpty())
		})
	}
}

// earlier is a cache that holds an earlier version of the anchor.
type earlier struct {
	client.Reader
	anchor *corev1.ConfigMap
}

func (e earlier) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if into, is := o.(*corev1.ConfigMap); is && key.Name == e.anchor.Name {
		e.anchor.DeepCopyInto(into)
		return nil
	}
	return e.Reader.Get(ctx, key, o, opts...)
}

func TestAChangedAnchorIsSeenBeforeTheFirstWrite(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(w *stretchedWorld, anchor *corev1.ConfigMap)
		message string
	}{
		"made again": {func(w *stretchedWorld, anchor *corev1.ConfigMap) {
			w.Expect(w.members["east"].Delete(w.t.Context(), anchor.DeepCopy())).To(Succeed())
			again := anchor.DeepCopy()
			again.UID, again.ResourceVersion = "", ""
			w.Expect(w.members["east"].Create(w.t.Context(), again)).To(Succeed())
		}, "was deleted or recreated"},
		"gone": {func(w *stretchedWorld, anchor *corev1.ConfigMap) {
			w.Expect(w.members["east"].Delete(w.t.Context(), anchor.DeepCopy())).To(Succeed())
		}, "was deleted or recreated"},
		"another cluster's": {func(w *stretchedWorld, anchor *corev1.ConfigMap) {
			other := anchor.DeepCopy()
			other.Data[anchorCluster] = "north"
			w.Expect(w.members["east"].Update(w.t.Context(), other)).To(Succeed())
		}, "its credentials point to cluster 'north'"},
		"followed": {func(w *stretchedWorld, _ *corev1.ConfigMap) {
			w.follow("east")
		}, "is now managed by another central cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.form()
			anchor := &corev1.ConfigMap{}
			w.in("east", anchor, model.AnchorName("my-cluster"))
			c.change(w, anchor)
			w.members["east"].cache = earlier{w.members["east"].reader(), anchor}
			w.configure("log.retention.hours", "1")
			before := w.all()["east"]
			w.pass()
			w.Expect(w.all()["east"]).To(Equal(before))
			w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Message", ContainSubstring(c.message))))
		})
	}
}

// frozen is a cache whose Services stay as they were.
type frozen struct {
	client.Reader
	services corev1.ServiceList
}

func (f frozen) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if into, is := list.(*corev1.ServiceList); is {
		f.services.DeepCopyInto(into)
		return nil
	}
	return f.Reader.List(ctx, list, opts...)
}

func TestACacheThatStaysBehindHoldsUpNoOtherKubernetesCluster(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	east := w.members["east"]
	cache := frozen{Reader: east.reader()}
	w.Expect(east.List(t.Context(), &cache.services, client.InNamespace(w.namespace))).To(Succeed())
	for i := range cache.services.Items {
		service := cache.services.Items[i].DeepCopy()
		service.Annotations["example.com/changed"] = "true"
		w.Expect(east.Update(t.Context(), service)).To(Succeed())
	}
	east.cache = cache
	k := w.kafka()
	k.Spec.Kafka.Template = &v1.KafkaClusterTemplate{BrokersService: &v1.InternalServiceTemplate{
		Metadata: &v1.MetadataTemplate{Labels: map[string]string{"a": "b"}}}}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.configure("log.retention.hours", "1")
	behind := func() {
		t.Helper()
		w.Expect(w.pass().RequeueAfter).To(Equal(conflictDelay))
	}
	behind()
	w.now = w.now.Add(conflictTimeout - time.Second)
	behind()
	w.Expect(w.setting("west", "my-cluster-west-2", "log.retention.hours")).To(BeEmpty())
	w.now = w.now.Add(time.Second)
	for range 2 { // it is tried again
		behind()
		w.Expect(w.pass().RequeueAfter).To(BeNumerically("<=", conflictTimeout))
		w.Expect(w.ready()).To(And(HaveField("Reason", "ClusterFailed"),
			HaveField("Message", ContainSubstring("In cluster 'east': writes keep conflicting"))))
		w.Expect(w.setting("central", "my-cluster-central-0", "log.retention.hours")).To(Equal("1"))
		w.Expect(w.setting("west", "my-cluster-west-2", "log.retention.hours")).To(Equal("1"))
		w.now = w.now.Add(conflictTimeout)
	}
	east.cache = nil
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.setting("east", "my-cluster-east-1", "log.retention.hours")).To(Equal("1"))
	w.Expect(w.r.conflicts.met).To(BeEmpty())
}
