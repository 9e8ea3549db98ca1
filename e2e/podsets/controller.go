package podsets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// controller creates the pods of StrimziPodSets.
type controller struct {
	// client reads from a cache. Writes fail if the cache is outdated: pods are created by name and deleted by UID.
	client client.Client
}

func (c *controller) addTo(mgr manager.Manager) error {
	// The controller ignores changes of the status, which it writes itself, and of annotations, which are for the roller.
	return builder.ControllerManagedBy(mgr).Named("strimzipodset").
		For(&core.StrimziPodSet{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(c.setsOf)).
		Complete(c)
}

// setsOf returns the sets that a pod may concern: those that own it, select it, or declare a pod of its name.
func (c *controller) setsOf(ctx context.Context, object client.Object) []reconcile.Request {
	pod, ok := object.(*corev1.Pod)
	var sets core.StrimziPodSetList
	if !ok || c.client.List(ctx, &sets, client.InNamespace(pod.Namespace)) != nil {
		return nil // the cache only fails when the manager stops
	}
	var requests []reconcile.Request
	for i := range sets.Items {
		set := &sets.Items[i]
		declared, err := set.DesiredPods()
		declares := err == nil && slices.ContainsFunc(declared, func(d corev1.Pod) bool { return d.Name == pod.Name })
		if isOwner(set, pod) || selects(set, pod) || declares {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(set)})
		}
	}
	return requests
}

// Reconcile implements reconcile.Reconciler.
func (c *controller) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var set core.StrimziPodSet
	if err := c.client.Get(ctx, request.NamespacedName, &set); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if set.DeletionTimestamp != nil {
		return reconcile.Result{}, nil // the garbage collector deletes its pods
	}
	status := core.StrimziPodSetStatus{ObservedGeneration: set.Generation}
	err := c.follow(ctx, &set, &status)
	if err != nil {
		status.Conditions = []v1.Condition{{
			Type: "Error", Status: "true", Reason: "Error", Message: err.Error(), LastTransitionTime: time.Now().UTC().Format(time.RFC3339),
		}}
	}
	return reconcile.Result{}, errors.Join(err, c.tell(ctx, &set, status))
}

// follow makes the pods match the set, and counts them.
func (c *controller) follow(ctx context.Context, set *core.StrimziPodSet, status *core.StrimziPodSetStatus) error {
	desired, err := set.DesiredPods()
	if err != nil {
		return err
	}
	var pods corev1.PodList
	if err := c.client.List(ctx, &pods, client.InNamespace(set.Namespace)); err != nil {
		return err
	}
	p := makePlan(set, desired, pods.Items)
	status.Pods, status.ReadyPods, status.CurrentPods = p.pods, p.ready, p.current
	return c.carryOut(ctx, set, &p)
}

func (c *controller) carryOut(ctx context.Context, set *core.StrimziPodSet, p *plan) error {
	var errs []error
	for i := range p.create {
		if err := c.client.Create(ctx, &p.create[i]); err != nil && !apierrors.IsAlreadyExists(err) {
			errs = append(errs, fmt.Errorf("make pod %s: %w", p.create[i].Name, err))
		}
	}
	for i := range p.adopt {
		pod := &p.adopt[i]
		patch := client.MergeFromWithOptions(pod.DeepCopy(), client.MergeFromWithOptimisticLock{})
		pod.OwnerReferences = append(pod.OwnerReferences, ownerReference(set))
		if err := c.client.Patch(ctx, pod, patch); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("take over pod %s: %w", pod.Name, err))
		}
	}
	for i := range p.remove {
		pod := &p.remove[i]
		err := c.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if err != nil && !isGone(err) {
			errs = append(errs, fmt.Errorf("delete pod %s: %w", pod.Name, err))
		}
	}
	for i := range p.foreign {
		errs = append(errs, fmt.Errorf("pod %s belongs to %s", p.foreign[i].Name, metav1.GetControllerOf(&p.foreign[i]).Name))
	}
	return errors.Join(errs...)
}

// tell writes the status if it changed.
func (c *controller) tell(ctx context.Context, set *core.StrimziPodSet, status core.StrimziPodSetStatus) error {
	if len(set.Status.Conditions) == 1 && len(status.Conditions) == 1 && set.Status.Conditions[0].Message == status.Conditions[0].Message {
		status.Conditions = set.Status.Conditions // the same error, since then
	}
	if equality.Semantic.DeepEqual(set.Status, status) {
		return nil
	}
	patch := client.MergeFrom(set.DeepCopy())
	set.Status = status
	return client.IgnoreNotFound(c.client.Status().Patch(ctx, set, patch))
}

// isGone reports whether a call for an object with a UID failed because that object no longer exists, though another one may.
func isGone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }
