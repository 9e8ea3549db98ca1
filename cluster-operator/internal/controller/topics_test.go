package controller

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

const anotherFinalizer = "example.com/another"

// topics creates KafkaTopics as a topic operator keeps them. It deletes one of them, which waits for the topic operator.
func (w *world) topics() {
	w.t.Helper()
	for name, cluster := range map[string]string{"deleted": "my-cluster", "kept": "my-cluster", "foreign": "other"} {
		w.create(&v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelCluster: cluster},
			Finalizers: []string{anotherFinalizer, v1.FinalizerTopicOperator}}, Spec: &v1.KafkaTopicSpec{}})
	}
	w.create(&v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Name: "gone", Labels: map[string]string{v1.LabelCluster: "my-cluster"},
		Finalizers: []string{v1.FinalizerTopicOperator}}, Spec: &v1.KafkaTopicSpec{}})
	for _, name := range []string{"deleted", "gone"} {
		w.Expect(w.k8s.Delete(w.t.Context(), &v1.KafkaTopic{ObjectMeta: w.named(name)})).To(Succeed())
	}
}

// topicsAgain creates another KafkaTopic as a topic operator keeps it.
func (w *world) topicsAgain() {
	w.t.Helper()
	w.create(&v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Name: "again", Labels: map[string]string{v1.LabelCluster: "my-cluster"},
		Finalizers: []string{anotherFinalizer, v1.FinalizerTopicOperator}}, Spec: &v1.KafkaTopicSpec{}})
}

// held returns the KafkaTopics that have the topic operator's finalizer.
func (w *world) held() (names []string) {
	w.t.Helper()
	list := &v1.KafkaTopicList{}
	w.Expect(w.k8s.List(w.t.Context(), list, client.InNamespace(w.namespace))).To(Succeed())
	for _, topic := range list.Items {
		others := 0
		for _, finalizer := range topic.Finalizers {
			if finalizer == v1.FinalizerTopicOperator {
				names = append(names, topic.Name)
			} else {
				others++
			}
		}
		if topic.Name != "gone" {
			w.Expect(others).To(Equal(1), "the finalizer of another program stays")
		}
	}
	return names
}

// asOperator has the reconciler write with the rights of config/cluster-operator.
func (w *world) asOperator() {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "cluster-operator", "rbac", "role.yaml"))
	w.Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.ClusterRole{}
	w.Expect(yaml.Unmarshal(text, role)).To(Succeed())
	role.Name = w.namespace
	w.Expect(w.k8s.Create(w.t.Context(), role)).To(Succeed())
	w.Expect(w.k8s.Create(w.t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: w.namespace},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: w.namespace}}})).To(Succeed())
	config := rest.CopyConfig(server)
	config.Impersonate.UserName = w.namespace
	operator, err := client.NewWithWatch(config, client.Options{Scheme: w.k8s.Scheme()})
	w.Expect(err).NotTo(HaveOccurred())
	w.r.Live = operator
}

// A topic operator that stops has no rights any more: the cluster operator releases its KafkaTopics once it does not run.
func TestKafkaTopicsAreReleasedWithTheirTopicOperator(t *testing.T) {
	all, foreign := []string{"deleted", "foreign", "gone", "kept"}, []string{"foreign"}
	withTopicOperator := func() *v1.Kafka {
		k := newKafka()
		k.Spec.EntityOperator = &v1.EntityOperatorSpec{TopicOperator: &v1.EntityTopicOperatorSpec{}}
		return k
	}
	// begin creates a Kafka whose topic operator runs.
	begin := func(t *testing.T, k *v1.Kafka) (*world, *corev1.Pod) {
		w := newWorld(t)
		w.asOperator()
		w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
		w.reconcile()
		w.topics()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "my-cluster-entity-operator-1",
			Labels: map[string]string{v1.LabelCluster: "my-cluster", core.LabelName: "my-cluster-entity-operator"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "topic-operator", Image: "topic-operator:1"}}}}
		w.create(pod)
		w.reconcile()
		w.Expect(w.held()).To(Equal(all))
		return w, pod
	}
	stop := func(w *world, o client.Object) {
		w.t.Helper()
		w.Expect(w.k8s.Delete(w.t.Context(), o, client.GracePeriodSeconds(0))).To(Succeed())
	}
	deployment := func(w *world) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: w.named("my-cluster-entity-operator")}
	}
	released := func(w *world) {
		w.t.Helper()
		w.reconcile()
		w.Expect(w.held()).To(Equal(foreign))
		w.Expect(client.IgnoreNotFound(w.k8s.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "gone"},
			&v1.KafkaTopic{}))).To(Succeed())
		records := &corev1.ConfigMapList{}
		w.Expect(w.k8s.List(w.t.Context(), records, client.InNamespace(w.namespace))).To(Succeed())
		w.Expect(records.Items).NotTo(ContainElement(HaveField("Name", "my-cluster-kafka-topics")))
		_, remembered := w.r.topicOperators.Load(client.ObjectKey{Namespace: w.namespace, Name: "my-cluster"})
		w.Expect(remembered).To(BeFalse())
	}

	t.Run("when its Kafka is deleted", func(t *testing.T) {
		w, pod := begin(t, withTopicOperator())
		stop(w, &v1.Kafka{ObjectMeta: w.named("my-cluster")})
		w.reconcile()
		w.Expect(w.held()).To(Equal(all), "the Deployment is still there")
		stop(w, deployment(w))
		w.reconcile()
		w.Expect(w.held()).To(Equal(all), "its pod is still there")
		stop(w, pod)
		released(w)
	})
	t.Run("when the deletion of the namespace deletes the record with its Kafka", func(t *testing.T) {
		w, pod := begin(t, withTopicOperator())
		stop(w, &corev1.ConfigMap{ObjectMeta: w.named("my-cluster-kafka-topics")})
		stop(w, &v1.Kafka{ObjectMeta: w.named("my-cluster")})
		w.reconcile()
		w.Expect(w.held()).To(Equal(all), "the Deployment is still there")
		stop(w, deployment(w))
		stop(w, pod)
		released(w)
	})
	t.Run("when the operator restarts while a Kafka waits for another Kubernetes cluster, and the namespace is deleted", func(t *testing.T) {
		w := newStretchedWorld(t)
		k := stretchedKafka()
		k.Spec.EntityOperator = withTopicOperator().Spec.EntityOperator
		w.create(k, poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
		w.settle()
		w.topics()
		w.members["east"].lost = true
		stop(w.world, k)
		for _, name := range []string{"my-cluster-kafka-topics", "my-cluster-kafka-stretch"} {
			stop(w.world, &corev1.ConfigMap{ObjectMeta: w.named(name)})
		}
		stop(w.world, deployment(w.world))
		w.r.topicOperators.Clear()
		w.pass()
		w.Expect(w.ready()).To(HaveField("Message", ContainSubstring("The deletion waits for cluster 'east'")))
		w.Expect(w.held()).To(Equal(all))
		w.members["east"].lost = false
		w.collected()
		w.Expect(apierrors.IsNotFound(w.k8s.Get(t.Context(), client.ObjectKeyFromObject(k), &v1.Kafka{}))).To(BeTrue())
		released(w.world)
	})
	t.Run("when its Kafka asks for none any more", func(t *testing.T) {
		w, pod := begin(t, withTopicOperator())
		w.edit(func(k *v1.Kafka) { k.Spec.EntityOperator = nil })
		w.reconcile()
		w.Expect(client.IgnoreNotFound(w.k8s.Get(t.Context(), client.ObjectKeyFromObject(deployment(w)), deployment(w)))).To(Succeed())
		w.Expect(w.held()).To(Equal(all), "its pod is still there")
		stop(w, pod)
		released(w)
	})
	// refuse has the API server refuse to release a KafkaTopic, until the end of what is returned.
	refuse := func(w *world, name string) (end func()) {
		operator := w.r.Live
		w.r.Live = interceptor.NewClient(operator.(client.WithWatch), interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch,
			o client.Object, patch client.Patch, options ...client.PatchOption) error {
			if o.GetName() == name {
				return errors.New("the policy forbids it")
			}
			return c.Patch(ctx, o, patch, options...)
		}})
		return func() { w.r.Live = operator }
	}
	t.Run("though one of them can't be changed, when its Kafka is deleted", func(t *testing.T) {
		w, pod := begin(t, withTopicOperator())
		stop(w, &v1.Kafka{ObjectMeta: w.named("my-cluster")})
		stop(w, deployment(w))
		stop(w, pod)
		end := refuse(w, "deleted")
		_, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "my-cluster"}})
		w.Expect(err).To(MatchError(ContainSubstring("release KafkaTopic deleted: the policy forbids it")))
		w.Expect(w.held()).To(Equal([]string{"deleted", "foreign"}))
		end()
		released(w)
	})
	t.Run("though one of them can't be changed, when its Kafka asks for none any more", func(t *testing.T) {
		w, pod := begin(t, withTopicOperator())
		w.kubelet("pool")
		stop(w, pod)
		w.edit(func(k *v1.Kafka) { k.Spec.EntityOperator = nil })
		end := refuse(w, "deleted")
		w.reconcile()
		w.Expect(w.held()).To(Equal([]string{"deleted", "foreign"}))
		w.Expect(w.ready().Status).To(Equal("True"), "the steps after it were done")
		w.Expect(w.conditions()).To(ContainElement(And(HaveField("Type", v1.ConditionWarning), HaveField("Reason", "KafkaTopicsNotReleased"),
			HaveField("Message", ContainSubstring("release KafkaTopic deleted: the policy forbids it")))))
		end()
		released(w)
		w.Expect(w.conditions()).NotTo(ContainElement(HaveField("Reason", "KafkaTopicsNotReleased")))
	})
	t.Run("or the kind KafkaTopic is gone", func(t *testing.T) {
		w, pod := begin(t, withTopicOperator())
		stop(w, &v1.Kafka{ObjectMeta: w.named("my-cluster")})
		stop(w, deployment(w))
		stop(w, pod)
		w.r.Live = interceptor.NewClient(w.r.Live.(client.WithWatch), interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch,
			list client.ObjectList, options ...client.ListOption) error {
			if list.GetObjectKind().GroupVersionKind().Kind == "KafkaTopicList" {
				return apierrors.NewNotFound(schema.GroupResource{Resource: "kafkatopics"}, "")
			}
			return c.List(ctx, list, options...)
		}})
		w.reconcile()
		w.Expect(apierrors.IsNotFound(w.k8s.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-kafka-topics"},
			&corev1.ConfigMap{}))).To(BeTrue())
	})
	for name, edit := range map[string]func(*v1.Kafka){
		"is invalid": func(k *v1.Kafka) { k.Spec.Kafka.Version = "1.0.0" },
		"is paused":  func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"} },
	} {
		t.Run("when its Kafka is deleted, which "+name+" since an earlier version of the operator", func(t *testing.T) {
			w, pod := begin(t, withTopicOperator())
			w.edit(edit)
			w.r.topicOperators.Clear()
			stop(w, &corev1.ConfigMap{ObjectMeta: w.named("my-cluster-kafka-topics")})
			w.reconcile()
			w.r.topicOperators.Clear() // the operator starts again
			stop(w, &v1.Kafka{ObjectMeta: w.named("my-cluster")})
			stop(w, deployment(w))
			stop(w, pod)
			released(w)
		})
	}
	t.Run("though the name of the record is taken", func(t *testing.T) {
		w, pod := begin(t, withTopicOperator())
		stop(w, &corev1.ConfigMap{ObjectMeta: w.named("my-cluster-kafka-topics")})
		w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "my-cluster-kafka-topics"}})
		w.reconcile()
		w.Expect(w.conditions()).To(ContainElement(And(HaveField("Type", v1.ConditionWarning), HaveField("Reason", "ObjectNotOwned"),
			HaveField("Message", ContainSubstring("my-cluster-kafka-topics")))))
		stop(w, &v1.Kafka{ObjectMeta: w.named("my-cluster")})
		stop(w, deployment(w))
		stop(w, pod)
		w.reconcile()
		w.Expect(w.held()).To(Equal(foreign))
		w.get(&corev1.ConfigMap{}, "my-cluster-kafka-topics")
	})
	t.Run("but not those of a Kafka that was created again", func(t *testing.T) {
		w, pod := begin(t, withTopicOperator())
		stop(w, &v1.Kafka{ObjectMeta: w.named("my-cluster")})
		w.create(withTopicOperator())
		stop(w, pod)
		_, err := w.r.cleanUp(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster"}) // the cache is behind
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(w.held()).To(Equal(all))
	})
	t.Run("but not those of another topic operator", func(t *testing.T) {
		w, pod := begin(t, newKafka())
		stop(w, pod)
		w.reconcile()
		w.Expect(w.held()).To(Equal(all))
		stop(w, &v1.Kafka{ObjectMeta: w.named("my-cluster")})
		w.reconcile()
		w.Expect(w.held()).To(Equal(all))
	})
	moves := func(w *world) {
		w.t.Helper()
		w.edit(func(k *v1.Kafka) { k.Spec.EntityOperator.TopicOperator.WatchedNamespace = "elsewhere" })
		w.reconcile()
		w.Expect(w.held()).To(Equal(all), "the Deployment's controller may still start one that watches this namespace")
	}
	// follows has the Deployment's controller see the change, and start a pod that is as it says.
	follows := func(w *world) {
		w.t.Helper()
		d := deployment(w)
		w.get(d, d.Name)
		d.Status.ObservedGeneration = d.Generation
		w.Expect(w.k8s.Status().Update(w.t.Context(), d)).To(Succeed())
		next := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: d.Name + "-2", Labels: d.Spec.Template.Labels}, Spec: d.Spec.Template.Spec}
		next.Spec.ServiceAccountName = ""
		w.create(next)
	}
	t.Run("when it is to watch another namespace", func(t *testing.T) {
		w, pod := begin(t, withTopicOperator())
		moves(w)
		follows(w)
		w.reconcile()
		w.Expect(w.held()).To(Equal(all), "its pod is still there")
		stop(w, pod)
		released(w)
		w.topicsAgain()
		w.edit(func(k *v1.Kafka) { k.Spec.EntityOperator.TopicOperator.WatchedNamespace = "" })
		w.reconcile()
		w.reconcile()
		w.Expect(w.held()).To(ContainElement("again"), "it watches this namespace again")
		w.get(&corev1.ConfigMap{}, "my-cluster-kafka-topics")
	})
	t.Run("when the operator restarts after it was to watch another namespace, and the namespace is deleted", func(t *testing.T) {
		w, pod := begin(t, withTopicOperator())
		moves(w)
		w.r.topicOperators.Clear()
		w.reconcile()
		stop(w, &corev1.ConfigMap{ObjectMeta: w.named("my-cluster-kafka-topics")})
		stop(w, &v1.Kafka{ObjectMeta: w.named("my-cluster")})
		stop(w, deployment(w))
		stop(w, pod)
		released(w)
	})
	t.Run("but not those in another namespace, where it has no rights", func(t *testing.T) {
		k := withTopicOperator()
		k.Spec.EntityOperator.TopicOperator.WatchedNamespace = "elsewhere"
		w, pod := begin(t, k)
		w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "1.0.0" })
		w.reconcile()
		stop(w, pod)
		stop(w, deployment(w))
		stop(w, &v1.Kafka{ObjectMeta: w.named("my-cluster")})
		w.reconcile()
		w.Expect(w.held()).To(Equal(all))
	})
}
