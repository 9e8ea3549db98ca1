package podset

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/placement"
)

// place annotates the pods of a set with the properties of their Kubernetes node that they wait for. It happens here because a pod may be
// recreated at any time, even if its Kafka is invalid.
//
// problems describe missing properties; wait is after how long to requeue, 0 for no requeue.
func (r *Reconciler) place(ctx context.Context, set *core.StrimziPodSet, pods []corev1.Pod) (problems []string, wait time.Duration,
	err error,
) {
	var errs []error
	for i := range pods {
		pod := &pods[i]
		if !owns(set, pod) || pod.DeletionTimestamp != nil || pod.Spec.NodeName == "" {
			continue
		}
		waiting, err := r.placePod(ctx, pod)
		switch {
		case apierrors.IsConflict(err): // the cache lags behind
			wait = soonest(wait, soon)
		case apierrors.IsNotFound(err): // the Kubernetes node, or the pod, is gone
			wait = soonest(wait, recheck)
		default:
			errs = append(errs, err)
			problems = append(problems, waiting...)
		}
	}
	if len(problems) > 0 {
		wait = soonest(wait, recheck) // Kubernetes nodes are not watched
	}
	return problems, wait, errors.Join(errs...)
}

// +kubebuilder:rbac:groups="",resources=nodes,verbs=get

func (r *Reconciler) placePod(ctx context.Context, pod *corev1.Pod) (waiting []string, err error) {
	missing, err := placement.Missing(pod)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	var node corev1.Node
	if err := r.Live.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, &node); err != nil {
		return nil, fmt.Errorf("get node %s: %w", pod.Spec.NodeName, err)
	}
	placed := pod.DeepCopy()
	for _, f := range missing {
		if value := f.Of(&node); value != "" {
			placed.Annotations[f.Annotation] = value
		} else {
			waiting = append(waiting, placement.Waiting(pod, f))
		}
	}
	if len(waiting) == len(missing) {
		return waiting, nil
	}
	if err := r.Client.Patch(ctx, placed, client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{})); err != nil {
		return waiting, fmt.Errorf("annotate pod %s: %w", pod.Name, err)
	}
	return waiting, nil
}
