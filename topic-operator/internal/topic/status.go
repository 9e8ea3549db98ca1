package topic

import (
	"fmt"
	"slices"
	"time"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// State is the result of a pass over a KafkaTopic, as its status shows it.
type State int

// The states.
const (
	// Ready means that the topic is as desired.
	Ready State = iota
	// Failed means that the topic is not as desired, for the reason in Outcome.Failure.
	Failed
	// Paused means that the user paused the reconciliation (docs/decisions/unmanaged-and-paused.md).
	Paused
	// Unmanaged means that the operator does not manage the topic (docs/decisions/unmanaged-and-paused.md).
	Unmanaged
)

// Outcome is the result of one pass over a KafkaTopic.
type Outcome struct {
	State State
	// Failure is set with Failed.
	Failure Refusal
	// Stalled, with Failed, means that the failure is not temporary.
	Stalled bool
	// Warnings accompany Ready. With other outcomes, the throttle warnings of the status stay, except for those in Gone.
	Warnings []Refusal
	// Gone contains throttles that the KafkaTopic named once, and that its topic no longer has.
	Gone []string
	// StillUnmanaged, with Failed, keeps the condition Unmanaged.
	StillUnmanaged bool
	// Why is the reason and message of the condition Unmanaged.
	Why Refusal
	// Claimed is the topic that the pass found or created; nil if neither.
	Claimed *Claim
	// ConditionsOnly leaves everything else in the status alone, because it belongs to another operator
	// (docs/decisions/another-cluster.md).
	ConditionsOnly bool
}

// Claim is the topic that a KafkaTopic owns.
type Claim struct {
	Name string
	ID   kafka.TopicID
	// ClusterID is the Kafka cluster of the topic; empty if its id is unknown (docs/topic-operator/ownership.md).
	ClusterID string
}

// into writes the claim into a status. It keeps the fields that the claim lacks.
func (c Claim) into(status *v1.KafkaTopicStatus) {
	status.TopicName = c.Name
	if !c.ID.IsZero() {
		status.TopicID = c.ID.String()
	}
	if c.ClusterID != "" {
		status.ClusterID = c.ClusterID
	}
}

// StatusWithClaim returns the status of a KafkaTopic with a claim, and otherwise unchanged.
func StatusWithClaim(kt *v1.KafkaTopic, c Claim) v1.KafkaTopicStatus {
	status := *kt.Status.DeepCopy()
	c.into(&status)
	return status
}

// StatusWithWarnings returns the status of a KafkaTopic with additional warnings.
func StatusWithWarnings(kt *v1.KafkaTopic, warnings []Refusal, now time.Time) v1.KafkaTopicStatus {
	status := *kt.Status.DeepCopy()
	for _, w := range warnings {
		c := v1.Condition{Type: v1.ConditionWarning, Status: v1.ConditionTrue, Reason: w.Reason, Message: w.Message}
		c.LastTransitionTime = c.TransitionTime(status.Conditions, now)
		status.Conditions = append(status.Conditions, c)
	}
	return status
}

// Failure returns the outcome of a pass that failed.
func Failure(reason, format string, args ...any) Outcome {
	return Outcome{State: Failed, Failure: Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}}
}

// StatusAfter returns the status of a KafkaTopic after a pass with the given outcome. It keeps what the pass did not find out; in
// particular, no error ever clears the identity of the topic (docs/decisions/deletion.md).
func StatusAfter(kt *v1.KafkaTopic, o Outcome, now time.Time) v1.KafkaTopicStatus {
	status := *kt.Status.DeepCopy()
	status.Conditions = conditions(kt.Status.Conditions, o, now)
	if o.ConditionsOnly {
		return status
	}
	status.ObservedGeneration = kt.Generation
	if o.Claimed != nil {
		o.Claimed.into(&status)
	}
	switch o.State {
	case Paused:
		// The status keeps the name but not the id: the topic may be recreated during the pause (docs/decisions/unmanaged-and-paused.md).
		status.TopicID = ""
	case Unmanaged:
		status.TopicName, status.TopicID, status.ClusterID = "", "", ""
	case Ready, Failed:
	}
	return status
}

func conditions(before []v1.Condition, o Outcome, now time.Time) []v1.Condition {
	var after []v1.Condition
	add := func(kind, status string, why Refusal) {
		c := v1.Condition{Type: kind, Status: status, Reason: why.Reason, Message: why.Message}
		c.LastTransitionTime = c.TransitionTime(before, now)
		after = append(after, c)
	}
	remember := func() {
		for _, w := range o.Warnings {
			add(v1.ConditionWarning, v1.ConditionTrue, w)
		}
		for _, key := range namedThrottles(before) {
			w := Refusal{Reason: v1.ReasonInvalidConfig, Message: throttleWarning(key)}
			if !slices.Contains(o.Gone, key) && !slices.Contains(o.Warnings, w) {
				add(v1.ConditionWarning, v1.ConditionTrue, w)
			}
		}
	}
	switch o.State {
	case Ready:
		add(v1.ConditionReady, v1.ConditionTrue, Refusal{})
		for _, w := range o.Warnings {
			add(v1.ConditionWarning, v1.ConditionTrue, w)
		}
	case Failed:
		add(v1.ConditionReady, v1.ConditionFalse, o.Failure)
		if o.Stalled {
			add(v1.ConditionStalled, v1.ConditionTrue, o.Failure)
		}
		if o.StillUnmanaged {
			add(v1.ConditionUnmanaged, v1.ConditionTrue, o.Why)
		}
		remember()
	case Paused:
		add(v1.ConditionReconciliationPaused, v1.ConditionTrue, Refusal{})
		remember()
	case Unmanaged:
		add(v1.ConditionUnmanaged, v1.ConditionTrue, o.Why)
	}
	return after
}

// IsReady reports whether, according to the status, the topic matches the current specification.
func IsReady(kt *v1.KafkaTopic) bool {
	return kt.Status.ObservedGeneration == kt.Generation && slices.ContainsFunc(kt.Status.Conditions, func(c v1.Condition) bool {
		return c.Type == v1.ConditionReady && c.Status == v1.ConditionTrue
	})
}
