package controller

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// writeStatus writes the status if it changes, and records an Event for a change for the worse.
func (r *Reconciler) writeStatus(ctx context.Context, p *pass, o topic.Outcome) error {
	if o.State == topic.Failed && o.Claimed == nil {
		o.Claimed = r.unreportedClaim(p)
	}
	after := topic.StatusAfter(p.kt, o, r.options.Now())
	before := p.kt.Status
	ref := reference(p.kt)
	if written, err := r.storeStatus(ctx, p, after); err != nil || !written {
		return err
	}
	r.noteDropped(p, after)
	if o.ConditionsOnly && p.facts.Own.Answering == "" {
		r.memory.noteMismatch(p.kt.UID, p.kt.Generation)
	} else {
		r.memory.forgetMismatch(p.kt.UID) // the reported status was overwritten
	}
	// A paused object gets only the name, and one of another cluster gets no claim.
	if o.Claimed != nil && after.TopicID == o.Claimed.ID.String() {
		r.memory.claimStored(p.kt.UID)
	}
	r.reportTransition(p, ref, before, o)
	return nil
}

// writeClaim stores, before the first change, that the object belongs to the operator's cluster. It fails if another client wrote since.
func (r *Reconciler) writeClaim(ctx context.Context, p *pass, c topic.Claim) error {
	after := topic.StatusWithClaim(p.kt, c)
	if written, err := r.storeStatus(ctx, p, after); err != nil || !written {
		return err
	}
	r.noteDropped(p, after)
	return nil
}

// claim returns the status fields of a topic that the operator saw or created in its cluster.
func (r *Reconciler) claim(p *pass, name string, id kafka.TopicID) *topic.Claim {
	c := &topic.Claim{Name: name, ID: id, ClusterID: p.facts.Own.ID}
	if p.facts.Own.Unstorable {
		c.ClusterID = "" // otherwise each pass would write it in vain
	}
	if c.ClusterID == "" && p.kt.Status.ClusterID != "" && p.kt.Status.TopicID != "" {
		c.ID = kafka.TopicID{} // this may not be the cluster of the status: keep its id
	}
	return c
}

// unreportedClaim returns the claim of the topic that the operator created for the object, if the status lacks its id; otherwise nil. The
// status may have the name: that of a paused object stays. The failure that the status reports may rest on this topic, and has to hold
// after the operator ends, because only its memory has the id: the fallback uses the name.
func (r *Reconciler) unreportedClaim(p *pass) *topic.Claim {
	made := p.facts.Object.Made
	if made == nil || p.kt.Status.TopicID != "" {
		return nil
	}
	return r.claim(p, made.Name, made.ID)
}

// rememberThrottles stores which throttles the object names, before they are set in Kafka: the operator removes no others.
func (r *Reconciler) rememberThrottles(ctx context.Context, p *pass) error {
	warnings := p.desired.NewThrottles()
	if len(warnings) == 0 {
		return nil
	}
	_, err := r.storeStatus(ctx, p, topic.StatusWithWarnings(p.kt, warnings, r.options.Now()))
	return err
}

// errHidden is the error of a claim that was not stored: the object may have a clusterId that the pass's version does not show.
var errHidden = errors.New("the KafkaTopic may belong to a Kafka cluster already")

// storeStatus writes a status if it differs. The first claim is stored only if the API server, too, has no clusterId:
// docs/decisions/pruned-fields.md.
func (r *Reconciler) storeStatus(ctx context.Context, p *pass, after v1.KafkaTopicStatus) (written bool, _ error) {
	before, version := p.kt.Status, p.kt.ResourceVersion
	switch {
	case after.ClusterID == before.ClusterID || after.ClusterID == "":
		patch, err := topic.StatusPatch(version, before, after)
		if err != nil || patch == nil {
			return false, err
		}
		return true, r.patchStatus(ctx, p, types.MergePatchType, patch)
	case before.ClusterID != "":
		return false, errHidden // an earlier answer showed it
	}
	patches, err := topic.ClaimPatches(version, before, after)
	if err != nil {
		return false, err
	}
	for _, patch := range patches {
		if err = r.patchStatus(ctx, p, types.JSONPatchType, patch); !apierrors.IsInvalid(err) {
			return true, err
		}
	}
	if p.uncached {
		return false, err // there is no clusterId; the request failed for another reason
	}
	r.memory.disbelieve(p.kt.UID, version)
	return false, errHidden
}

func (r *Reconciler) patchStatus(ctx context.Context, p *pass, kind types.PatchType, patch []byte) error {
	began := r.options.Now()
	err := r.client.Status().Patch(ctx, p.kt, client.RawPatch(kind, patch))
	r.metrics.Timed(metrics.TimerUpdateStatus, r.options.Now().Sub(began))
	return orGone(err)
}

// reportTransition records an Event for a new state. Successful changes have recorded their own Events.
func (r *Reconciler) reportTransition(p *pass, ref *corev1.ObjectReference, before v1.KafkaTopicStatus, o topic.Outcome) {
	switch {
	case o.State == topic.Failed && !hasCondition(before, v1.ConditionReady, v1.ConditionFalse, o.Failure):
		r.events.Warning(ref, o.Failure.Reason, "Reconcile", withAdvice(o.Failure))
	case o.State == topic.Paused && !hasCondition(before, v1.ConditionReconciliationPaused, v1.ConditionTrue, topic.Refusal{}):
		r.events.Normal(ref, v1.ConditionReconciliationPaused, "Pause",
			"Reconciliation is paused by the annotation "+v1.AnnotationPauseReconciliation)
	case o.State == topic.Unmanaged && hasCondition(before, v1.ConditionUnmanaged, v1.ConditionTrue, o.Why):
	case o.State == topic.Unmanaged && p.facts.Object.Managed:
		logging.Warn(p.log, "The KafkaTopic stays unmanaged", "topic", p.facts.Object.Topic(), "message", o.Why.Message)
		r.events.Warning(ref, v1.ConditionUnmanaged, "Unmanage", "The KafkaTopic stays unmanaged: "+o.Why.Message)
	case o.State == topic.Unmanaged:
		r.events.Normal(ref, v1.ConditionUnmanaged, "Unmanage", "The topic is not managed by this KafkaTopic and stays as it is in Kafka")
	case o.State == topic.Ready && before.TopicID == "" && o.Claimed != nil:
		p.log.V(1).Info("The KafkaTopic is ready", "topic", o.Claimed.Name, "topicId", o.Claimed.ID.String())
	}
	// All in one Event, as they were found together.
	added := slices.DeleteFunc(slices.Clone(o.Warnings), func(w topic.Refusal) bool {
		return hasCondition(before, v1.ConditionWarning, v1.ConditionTrue, w)
	})
	if len(added) > 0 {
		all := joined(added)
		r.events.Warning(ref, all.Reason, "Reconcile", all.Message)
	}
}

// withAdvice returns the message of an Event, which includes the advice.
func withAdvice(why topic.Refusal) string {
	if why.Advice == "" {
		return why.Message
	}
	return strings.TrimSuffix(why.Message, ".") + ". " + why.Advice
}

func joined(refusals []topic.Refusal) topic.Refusal {
	messages := make([]string, len(refusals))
	for i, refusal := range refusals {
		messages[i] = refusal.Message
	}
	return topic.Refusal{Reason: refusals[0].Reason, Message: strings.Join(messages, "; ")}
}

func hasCondition(s v1.KafkaTopicStatus, kind, status string, why topic.Refusal) bool {
	return slices.ContainsFunc(s.Conditions, func(c v1.Condition) bool {
		return c.Type == kind && c.Status == status && c.Reason == why.Reason && c.Message == why.Message
	})
}

// reference returns the reference to the object in Events. It is small, since many Events may wait.
func reference(kt *v1.KafkaTopic) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: v1.GroupVersion.String(), Kind: "KafkaTopic",
		Namespace: kt.Namespace, Name: kt.Name, UID: kt.UID, ResourceVersion: kt.ResourceVersion,
	}
}
