package ownership

import (
	"fmt"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// Action is the next action.
type Action int

// The actions. Only Create, Align and Delete change anything in Kafka.
const (
	// Ignore: the object must not be changed.
	Ignore Action = iota
	// Release: remove the finalizer, and change nothing in Kafka.
	Release
	// MarkUnmanaged and MarkPaused: write only the status (docs/decisions/unmanaged-and-paused.md).
	MarkUnmanaged
	MarkPaused
	// Refuse: change nothing in Kafka, for the reason in Decision.Refusal.
	Refuse
	// Look: read the topic from a broker, then decide again.
	Look
	// Confirm: ask the controller whether the name is free, then decide again.
	Confirm
	// Wait: the observation is inconclusive. Requeue.
	Wait
	// Create: create the topic.
	Create
	// Align: change the existing topic as the object requests.
	Align
	// Delete: delete the topic with Decision.ID, by that id.
	Delete
)

// String names the action for logs.
func (a Action) String() string {
	return [...]string{"ignore", "release", "mark-unmanaged", "mark-paused", "refuse", "look", "confirm", "wait", "create", "align",
		"delete"}[a]
}

// Decision is the result of Decide.
type Decision struct {
	Action Action
	// Topic is the name of the topic.
	Topic string
	// ID is the topic's id, with Align and Delete.
	ID kafka.TopicID
	// Claim, with Align: the object has no claim yet, so the claim must be stored before the first change. Of two operators that see the
	// same object, one fails to store it, and changes nothing (docs/topic-operator/ownership.md). With Delete: only the topic's name proves
	// that the object owns it (the fallback), so the id has to be stored before. The write fails if the operator's version of the object is
	// old. The name proves one topic only: a topic that has the name after an incomplete deletion is another one.
	Claim bool
	// Refusal is set with Refuse.
	Refusal topic.Refusal
	// Note explains, with Release, why the topic stays, as the Reason and Message of an Event; empty if there is no Event.
	Note topic.Refusal
}

// String prints the decision for logs and tests.
func (d Decision) String() string {
	switch d.Action {
	case Refuse:
		return fmt.Sprintf("refuse %s (%s)", d.Topic, d.Refusal.Reason)
	case Release:
		return fmt.Sprintf("release %s (%s)", d.Topic, d.Note.Reason)
	case Align:
		return fmt.Sprintf("align %s %s claim=%t", d.Topic, d.ID, d.Claim)
	case Delete:
		return fmt.Sprintf("delete %s %s claim=%t", d.Topic, d.ID, d.Claim)
	case Ignore, MarkUnmanaged, MarkPaused, Look, Confirm, Wait, Create:
	}
	return d.Action.String() + " " + d.Topic
}

// Decide returns the next action. It returns a change in Kafka only if the facts prove that the object owns the topic.
func Decide(f Facts) Decision {
	d := decide(f)
	d.Topic = f.Object.Topic()
	return d
}

func decide(f Facts) Decision {
	o := f.Object
	switch {
	case !o.Selected:
		return Decision{Action: Ignore}
	case o.Deleting || o.Vanished:
		return decideDeletion(f)
	case !o.Managed || o.Doubtful:
		return Decision{Action: MarkUnmanaged}
	case o.Paused:
		return Decision{Action: MarkPaused}
	}
	if why, ok := f.obstacle(); ok {
		return refuse(why)
	}
	return f.reconcileByObservation()
}

func (f Facts) reconcileByObservation() Decision {
	o, id := f.Object, f.Observed.ID
	switch {
	case f.Observed.View == NotAsked:
		return Decision{Action: Look}
	case f.Observed.View == Absent && f.unplaced():
		return Decision{Action: Confirm}
	case f.Observed.View == Free && f.unplaced():
		return refuse(topicElsewhere(o))
	case f.Observed.View == Absent || f.Observed.View == Free:
		return Decision{Action: Create}
	case f.Observed.View != Present || f.Observed.Outdated:
		return Decision{Action: Wait}
	case f.unplaced() && o.TopicID != id.String():
		return refuse(topicOfAnotherID(o, id))
	}
	return Decision{Action: Align, ID: id, Claim: f.Own.protects() && o.ClusterID == ""}
}

// unplaced reports whether the object has a topic id but no cluster id: another operator, without cluster ids, wrote the status. A cluster
// without this topic is most likely the wrong one.
func (f Facts) unplaced() bool {
	o := f.Object
	return f.Own.protects() && o.ClusterID == "" && o.TopicID != "" && o.Made == nil
}

// obstacle returns the reason why the operator must not change the topic, independent of its state in Kafka. A mismatch comes first: the
// operator does not judge an object of another cluster.
func (f Facts) obstacle() (topic.Refusal, bool) {
	o := f.Object
	switch {
	case f.Own.Answering != "":
		return f.anotherCluster(), true
	case f.mismatches():
		return mismatch(o, f.Own.ID), true
	case o.Asks != o.Topic():
		return retargeted(o), true
	case f.Violation != "":
		return violation(f.Violation), true
	}
	if rivals := f.rivals(); len(rivals) > 0 && !f.wins(rivals) {
		return conflict(rivals), true
	}
	return topic.Refusal{}, false
}

func refuse(why topic.Refusal) Decision { return Decision{Action: Refuse, Refusal: why} }

// mismatches reports whether the object belongs to another cluster than the operator's.
func (f Facts) mismatches() bool {
	return f.Own.ID != "" && f.Object.ClusterID != "" && f.Own.ID != f.Object.ClusterID
}
