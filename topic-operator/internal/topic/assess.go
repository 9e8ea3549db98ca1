package topic

import (
	"slices"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// Verdict is what a KafkaTopic alone, without a look at Kafka, says about the next step.
type Verdict int

// The verdicts, in the order in which they are checked.
const (
	// Ignore: the KafkaTopic is not selected by the operator's labels; it is left exactly as it is.
	Ignore Verdict = iota
	// Gone: it is being deleted and nothing of it is the operator's any more.
	Gone
	// Release: it is being deleted; the finalizer goes, the topic stays (ruling T3).
	Release
	// Delete: it is being deleted and the topic with it.
	Delete
	// MarkUnmanaged: only the status is written (ruling T3).
	MarkUnmanaged
	// MarkPaused: only the status is written (ruling T4).
	MarkPaused
	// Reject: it asks for what is never done; Reconcile would have to touch Kafka for it.
	Reject
	// Reconcile: Kafka has to be asked.
	Reconcile
)

// String names the verdict for logs.
func (v Verdict) String() string {
	return [...]string{"ignore", "gone", "release", "delete", "mark-unmanaged", "mark-paused", "reject", "reconcile"}[v]
}

// Assess returns the verdict, and with Reject the reason. Selected says whether the operator's label selector matches the object
// (STRIMZI_RESOURCE_LABELS).
func Assess(kt *v1.KafkaTopic, selected bool) (Verdict, Refusal) {
	switch {
	case !selected:
		return Ignore, Refusal{}
	case kt.DeletionTimestamp != nil:
		return assessDeletion(kt), Refusal{}
	case !kt.IsManaged():
		return MarkUnmanaged, Refusal{}
	case kt.IsPaused():
		return MarkPaused, Refusal{}
	case kt.Status.TopicName != "" && kt.Status.TopicName != kt.TopicName():
		return Reject, Refusal{v1.ReasonNotSupported, "Changing spec.topicName is not supported: this KafkaTopic stands for '" + kt.Status.TopicName + "'"}
	}
	return Reconcile, Refusal{}
}

func assessDeletion(kt *v1.KafkaTopic) Verdict {
	switch {
	case !HasFinalizer(kt):
		return Gone
	case !kt.IsManaged():
		return Release
	}
	return Delete
}

// HasFinalizer reports whether the operator's finalizer holds the object.
func HasFinalizer(kt *v1.KafkaTopic) bool {
	return slices.Contains(kt.Finalizers, v1.FinalizerTopicOperator)
}

// ClaimedName returns the name of the topic that a KafkaTopic stands for: the one it has claimed already, whatever its
// specification says now, else the one it asks for. Deletion goes by it, so that a retargeted KafkaTopic can be deleted.
func ClaimedName(kt *v1.KafkaTopic) string {
	if kt.Status.TopicName != "" {
		return kt.Status.TopicName
	}
	return kt.TopicName()
}
