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
	// Release: the finalizer goes, and nothing happens in Kafka.
	Release
	// MarkUnmanaged and MarkPaused: only the status is written (docs/decisions/unmanaged-and-paused.md).
	MarkUnmanaged
	MarkPaused
	// Refuse: nothing happens in Kafka, for the reason in Decision.Refusal.
	Refuse
	// Look: a broker has to be asked for the topic; then decide again.
	Look
	// Confirm: only the controller can tell whether the name is free; ask it, then decide again.
	Confirm
	// Wait: the observation is inconclusive. Requeue.
	Wait
	// Create: the topic should be made.
	Create
	// Align: the topic that is there is to become what the object asks for.
	Align
	// Delete: the topic of Decision.ID should be deleted, by that id.
	Delete
)

// String names the action for logs.
func (a Action) String() string {
	return [...]string{"ignore", "release", "mark-unmanaged", "mark-paused", "refuse", "look", "confirm", "wait", "create", "align",
		"delete"}[a]
}

// Decision is the answer to Facts.
type Decision struct {
	Action Action
	// Topic is the name that the decision is about.
	Topic string
	// ID is the topic's, with Align and Delete.
	ID kafka.TopicID
	// Claim, with Align: the object has no claim yet, so the claim must be stored before the first change. Of two operators
	// that see the same object, one fails to store it, and changes nothing (docs/topic-operator/ownership.md).
	// With Delete: nothing but the topic's name says that it is the object's own (the fallback), so the id has to be stored before. That fails
	// if what is known of the object is old, and proves one topic once: whatever has the name after a deletion that was not finished is
	// another one.
	Claim bool
	// Refusal is set with Refuse.
	Refusal topic.Refusal
	// Note explains, with Release, why the topic stays, as Reason and Message of an Event; empty if there is no Event.
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

// Decide decides. It never answers with a change in Kafka unless the facts prove that the object owns what is changed.
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

// mismatches reports whether the object belongs to another cluster than the operator.
func (f Facts) mismatches() bool {
	return f.Own.ID != "" && f.Object.ClusterID != "" && f.Own.ID != f.Object.ClusterID
}
