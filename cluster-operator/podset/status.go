package podset

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	kafka "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// maxMessage is how long the message of a condition may be, so that many pods that fail do not make the object too large.
const maxMessage = 4096

// report writes the status if it changed. It is bound to the resourceVersion of the set that was decided on: if the set has changed, the
// error is a conflict. d is nil if the spec could not be read: the counts stay, and its generation is not observed.
func (r *Reconciler) report(ctx context.Context, set *core.StrimziPodSet, d *Decision, failed error) error {
	status := set.Status
	status.Conditions = r.conditions(set, failed)
	if d != nil {
		status.Pods, status.ReadyPods, status.CurrentPods = d.Pods, d.Ready, d.Current
		if !set.IsPaused() {
			status.ObservedGeneration = set.Generation
		}
	}
	if r.written.Behind(set) {
		return apierrors.NewConflict(core.GroupVersion.WithResource("strimzipodsets").GroupResource(), set.Name, errBehind)
	}
	if equality.Semantic.DeepEqual(set.Status, status) {
		return nil
	}
	changed := set.DeepCopy()
	changed.Status = status
	err := r.Client.Status().Patch(ctx, changed, client.MergeFromWithOptions(set, client.MergeFromWithOptimisticLock{}))
	if err == nil {
		r.written.Note(set, changed)
	}
	return client.IgnoreNotFound(err)
}

var errBehind = errors.New("the cache is behind")

// conditions are Error, as Strimzi writes it, and ReconciliationPaused. One that stays keeps its time.
func (r *Reconciler) conditions(set *core.StrimziPodSet, failed error) []kafka.Condition {
	var conditions []kafka.Condition
	add := func(c kafka.Condition) {
		c.LastTransitionTime = c.TransitionTime(set.Status.Conditions, r.Now())
		conditions = append(conditions, c)
	}
	if failed != nil {
		message := failed.Error()
		if len(message) > maxMessage {
			message = message[:maxMessage] + "..."
		}
		add(kafka.Condition{Type: "Error", Status: "true", Reason: "Error", Message: message})
	}
	if set.IsPaused() {
		add(kafka.Condition{Type: "ReconciliationPaused", Status: "True"})
	}
	return conditions
}
