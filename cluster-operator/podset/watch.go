package podset

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	kafka "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
)

// listedIndex finds the sets that list a pod, by the pod's name.
const listedIndex = "spec.pods.name"

// SetupWithManager makes the manager run the reconciler. It watches StrimziPodSets and pods.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	options.RateLimiter = Retries(LongestRetry)
	if err := mgr.GetFieldIndexer().IndexField(ctx, &core.StrimziPodSet{}, listedIndex, listedNames); err != nil {
		return fmt.Errorf("index StrimziPodSets by their pods: %w", err)
	}
	return builder.ControllerManagedBy(mgr).Named("strimzipodset").WithOptions(options).
		For(&core.StrimziPodSet{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{},
			stateChanged()))).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.setsOf), builder.WithPredicates(podChanged())).
		Complete(r)
}

// LongestRetry bounds the pause before what failed is tried again: no event reports that a quota has room again, or that a webhook answers.
const LongestRetry = 30 * time.Second

// Retries says after how long what failed is tried again: soon, and then ever later, but not later than after longest.
func Retries(longest time.Duration) workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, longest)
}

// listedNames are the names of the pods that a set lists.
func listedNames(object client.Object) []string {
	set, ok := object.(*core.StrimziPodSet)
	if !ok {
		return nil
	}
	pods, err := listed(set)
	if err != nil {
		return nil // the reconciler reports it
	}
	names := make([]string, len(pods))
	for i := range pods {
		names[i] = pods[i].Name
	}
	return names
}

// setsOf are the sets that a pod concerns: the one that owns it, and those that list its name.
func (r *Reconciler) setsOf(ctx context.Context, pod client.Object) []reconcile.Request {
	keys := map[types.NamespacedName]bool{}
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == kind &&
		strings.HasPrefix(owner.APIVersion, core.GroupVersion.Group+"/") {
		keys[types.NamespacedName{Namespace: pod.GetNamespace(), Name: owner.Name}] = true
	}
	var sets core.StrimziPodSetList
	// The cache answers as long as the manager runs.
	if err := r.Client.List(ctx, &sets, client.InNamespace(pod.GetNamespace()),
		client.MatchingFields{listedIndex: pod.GetName()}); err == nil {
		for i := range sets.Items {
			keys[client.ObjectKeyFromObject(&sets.Items[i])] = true
		}
	}
	sorted := slices.SortedFunc(maps.Keys(keys), func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
	requests := make([]reconcile.Request, len(sorted))
	for i, key := range sorted {
		requests[i].NamespacedName = key
	}
	return requests
}

// stateChanged lets the updates of annotations through by which a set is paused or resumed, put to sleep or woken, or ceases to be
// a copy.
func stateChanged() predicate.Predicate {
	paused := func(o client.Object) bool {
		return kafka.IsTrue(o.GetAnnotations(), kafka.AnnotationPauseReconciliation)
	}
	asleep := func(o client.Object) bool { return kafka.IsTrue(o.GetAnnotations(), core.AnnotationHibernate) }
	self := func(o client.Object) string { return o.GetAnnotations()[ownership.MarkSelf] }
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return paused(e.ObjectOld) != paused(e.ObjectNew) || asleep(e.ObjectOld) != asleep(e.ObjectNew) ||
				self(e.ObjectOld) != self(e.ObjectNew)
		},
	}
}

// podChanged drops the updates of pods that change nothing that is decided by: the kubelet writes more than that.
func podChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		a, ok := e.ObjectOld.(*corev1.Pod)
		b, also := e.ObjectNew.(*corev1.Pod)
		if !ok || !also {
			return true
		}
		return a.UID != b.UID || a.Spec.NodeName != b.Spec.NodeName || !a.DeletionTimestamp.Equal(b.DeletionTimestamp) ||
			a.Status.Phase != b.Status.Phase || core.IsReady(a) != core.IsReady(b) ||
			core.Outdated(a, b) || !maps.Equal(a.Labels, b.Labels) || !equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences)
	}}
}

// TrimPod is a transform for caches: it drops the fields of a pod that this package does not read, which are most of them. Other readers of
// pods from the same cache must not need more.
func TrimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	pod.ManagedFields = nil
	pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName}
	pod.Status = corev1.PodStatus{Phase: pod.Status.Phase, Reason: pod.Status.Reason, Conditions: pod.Status.Conditions}
	return pod, nil
}
