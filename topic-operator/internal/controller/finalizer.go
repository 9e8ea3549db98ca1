package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// adjustFinalizer adds the finalizer, or removes it in the mode without finalizers.
func (r *Reconciler) adjustFinalizer(ctx context.Context, p *pass) error {
	switch has := ownership.HasFinalizer(p.kt); {
	case has == r.options.UseFinalizers:
		return nil
	case has:
		return r.removeFinalizer(ctx, p)
	}
	err := r.patchFinalizers(ctx, p, metrics.TimerAddFinalizer, append(slices.Clone(p.kt.Finalizers), v1.FinalizerTopicOperator))
	if err == nil && !ownership.HasFinalizer(p.kt) {
		err = errNotStored
	}
	if err == nil {
		r.memory.guard(p.kt.UID)
	}
	return refusedWrite(err, "Nothing is changed in Kafka", "the finalizer can't be added to the KafkaTopic")
}

// removeFinalizer removes the operator's finalizer, if the object exists and has it.
func (r *Reconciler) removeFinalizer(ctx context.Context, p *pass) error {
	if p.facts.Object.Vanished || !ownership.HasFinalizer(p.kt) {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(p.kt.Finalizers), func(f string) bool { return f == v1.FinalizerTopicOperator })
	err := r.patchFinalizers(ctx, p, metrics.TimerRemoveFinalizer, rest)
	if err == nil && ownership.HasFinalizer(p.kt) {
		err = errNotStored
	}
	return refusedWrite(err, "The KafkaTopic is held", "the finalizer can't be removed from it")
}

// errNotStored is the error of finalizers that the API server accepted, and an admission webhook changed.
var errNotStored = errors.New("an admission webhook changes the finalizers back")

// refusedWrite returns withheld for a write to a KafkaTopic that the API server, or an admission webhook, rejects for its content: a user
// has to see that. Any other error it returns as it is.
func refusedWrite(err error, outcome, what string) error {
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || errors.Is(err, errNotStored) {
		return &withheld{outcome: outcome, what: what, cause: err,
			advice: "Look for admission webhooks and policies for kafkatopics, and for the operator's right to patch them"}
	}
	return err
}

// patchFinalizers replaces the whole list of finalizers. So it fails if another client changed the object meanwhile.
func (r *Reconciler) patchFinalizers(ctx context.Context, p *pass, timer string, finalizers []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": p.kt.ResourceVersion, "finalizers": finalizers}})
	if err != nil {
		return fmt.Errorf("encode the finalizers: %w", err)
	}
	began := r.options.Now()
	err = r.client.Patch(ctx, p.kt, client.RawPatch(types.MergePatchType, patch))
	r.metrics.Timed(timer, r.options.Now().Sub(began))
	if err == nil {
		p.bound = began
	}
	return orGone(err)
}

// errGone is the error of a request for a KafkaTopic that the API server did not find.
var errGone = errors.New("the KafkaTopic does not exist any more")

// orGone returns the error of a write to a KafkaTopic, which is errGone if it was not found. What else was not found, such as the
// operator's Lease, says nothing about the KafkaTopic.
func orGone(err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return err
}
