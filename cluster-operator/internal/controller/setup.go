package controller

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/cluster-operator/podset"
)

// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkas;kafkanodepools,verbs=get;list;watch
// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkas,verbs=patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get,resourceNames=kube-system
// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkas/status;kafkanodepools/status,verbs=patch
// +kubebuilder:rbac:groups=core.strimzi.io,resources=strimzipodsets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=core.strimzi.io,resources=strimzipodsets/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services;serviceaccounts;persistentvolumeclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=configmaps;secrets,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumes,verbs=get
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies;ingresses,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// What the topic operators of Kafkas may do, which nobody can grant without having it.
// The same goes for the roller's lease for each Kafka. The KafkaTopics of a topic operator that went are released.
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=update
// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkatopics,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkatopics/status,verbs=patch

// CacheOptions keep objects that belong to no Kafka out of the cache, and the fields of pods that the controller of StrimziPodSets does not
// read, if no other one reads them. StrimziPodSets are cached without the label, too: they say which nodes run, also when somebody removed
// their label.
func CacheOptions(podSetsOnly bool) cache.Options {
	belongs, err := labels.NewRequirement(v1.LabelCluster, selection.Exists, nil)
	utilruntime.Must(err) // the key is a constant
	only := cache.ByObject{Label: labels.NewSelector().Add(*belongs)}
	pods := only
	if podSetsOnly {
		pods.Transform = podset.TrimPod
	}
	by := map[client.Object]cache.ByObject{&corev1.Pod{}: pods}
	for _, kind := range facts.Kinds() {
		if _, is := kind.(*core.StrimziPodSet); !is {
			by[kind] = only
		}
	}
	return cache.Options{ByObject: by}
}

// SetupWithManager watches Kafkas and all objects that belong to them. A change or deletion of any of these requeues the Kafka. Reconcile
// checks whether the Kafka is selected: other objects do not say it, and a Kafka that loses its label has to be forgotten.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) (controller.Controller, error) {
	b := ctrl.NewControllerManagedBy(mgr).Named("kafka").
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: r.retries()}).
		For(&v1.Kafka{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{},
			predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{}))).
		Watches(&v1.KafkaNodePool{}, handler.EnqueueRequestsFromMapFunc(ofCluster),
			builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{},
				predicate.LabelChangedPredicate{}))).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(ofCluster), builder.WithPredicates(placed()))
	for _, kind := range facts.Kinds() {
		b = b.Watches(kind, handler.EnqueueRequestsFromMapFunc(ofCluster), builder.WithPredicates(read()))
	}
	return b.Build(r)
}

// retries says after how long a pass that failed is repeated: never later than one that did not.
func (r *Reconciler) retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return podset.Retries(min(podset.LongestRetry, r.Interval))
}

// ofCluster returns the Kafka that an object's label names.
func ofCluster(_ context.Context, o client.Object) []reconcile.Request {
	cluster := o.GetLabels()[v1.LabelCluster]
	if cluster == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: cluster}}}
}

// placed lets through what matters about pods: that they came, went, were put on a Kubernetes node, or can't run, and that a user asks for
// what is not supported. Their readiness is in the status of their StrimziPodSet.
func placed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Pod)
		after, ok2 := e.ObjectNew.(*corev1.Pod)
		if !ok || !ok2 || status.WaitsFor(after) != "" && status.WaitsFor(after) != status.WaitsFor(before) {
			return true
		}
		asks, asked := v1.IsTrue(after.Annotations, v1.AnnotationDeletePodAndPVC), v1.IsTrue(before.Annotations, v1.AnnotationDeletePodAndPVC)
		return asks != asked || before.Spec.NodeName != after.Spec.NodeName ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
	}}
}

// read lets through all changes but those of the roller's ConfigMap in what no pass reads: the roller's progress, which it writes often.
func read() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.ConfigMap)
		after, ok2 := e.ObjectNew.(*corev1.ConfigMap)
		if !ok || !ok2 || before.Labels[core.LabelManagedBy] != core.ManagedByRoller {
			return true
		}
		was, said := readOf(before)
		is, says := readOf(after)
		return !equality.Semantic.DeepEqual(was, is) || !equality.Semantic.DeepEqual(said, says)
	}}
}

// readOf returns a ConfigMap of the roller with what passes read of it: see findUnconfigured.
func readOf(config *corev1.ConfigMap) (metav1.ObjectMeta, core.RollerStatus) {
	meta, roller := config.ObjectMeta, core.RollerStatusIn(config)
	meta.ResourceVersion, meta.ManagedFields = "", nil
	roller.Conditions = slices.DeleteFunc(roller.Conditions, func(c v1.Condition) bool { return c.Type != core.RollerBlocked })
	return meta, roller
}
