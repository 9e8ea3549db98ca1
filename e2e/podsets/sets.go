package podsets

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
)

// setController follows StrimziPodSets as Strimzi's StrimziPodSetController does.
type setController struct {
	client client.Client
	// reader asks the API server: a cache may not know a pod yet that was made just now.
	reader client.Reader
	scheme *runtime.Scheme
}

// Reconcile implements reconcile.Reconciler.
func (c *setController) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var set podset.StrimziPodSet
	if err := c.reader.Get(ctx, request.NamespacedName, &set); err != nil || set.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	desired, err := set.DesiredPods()
	if err != nil {
		return ctrl.Result{}, err
	}
	var all corev1.PodList
	if err := c.reader.List(ctx, &all, client.InNamespace(set.Namespace), client.MatchingLabels(set.Spec.Selector.MatchLabels)); err != nil {
		return ctrl.Result{}, err
	}
	there := map[string]*corev1.Pod{}
	for i := range all.Items {
		if metav1.IsControlledBy(&all.Items[i], &set) {
			there[all.Items[i].Name] = &all.Items[i]
		}
	}
	status := podset.StrimziPodSetStatus{Conditions: set.Status.Conditions, ObservedGeneration: set.Generation, Pods: int32(len(desired))}
	for i := range desired {
		pod := there[desired[i].Name]
		delete(there, desired[i].Name)
		if pod == nil {
			if err := c.create(ctx, &set, &desired[i]); err != nil {
				return ctrl.Result{}, err
			}
			continue
		}
		if ready(pod) {
			status.ReadyPods++
		}
		if pod.Annotations[podset.AnnotationRevision] == desired[i].Annotations[podset.AnnotationRevision] {
			status.CurrentPods++
		}
	}
	for _, pod := range there {
		if err := client.IgnoreNotFound(c.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})); err != nil {
			return ctrl.Result{}, err
		}
	}
	set.Status = status
	return ctrl.Result{}, unlessOvertaken(c.client.Status().Update(ctx, &set))
}

// unlessOvertaken drops the error of a write that came too late: what overtook it leads to another one.
func unlessOvertaken(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// create makes a pod of the set.
func (c *setController) create(ctx context.Context, set *podset.StrimziPodSet, pod *corev1.Pod) error {
	pod = pod.DeepCopy()
	pod.Namespace = set.Namespace
	if err := controllerutil.SetControllerReference(set, pod, c.scheme); err != nil {
		return err
	}
	err := c.client.Create(ctx, pod)
	if apierrors.IsAlreadyExists(err) { // made in between, or not of this set
		return nil
	}
	return err
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
