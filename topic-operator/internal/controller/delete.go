package controller

import (
	"context"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// delete deletes the topic of an object that is being deleted, and lets the object go.
func (r *Reconciler) delete(ctx context.Context, p *pass) (verdict, error) {
	name := topic.ClaimedName(p.kt)
	err := r.deleteTopic(ctx, p.kt)
	switch {
	case err == nil:
		p.log.Info("Deleted topic", "topic", name)
		r.events.Normal(reference(p.kt), "Deleted", "Delete", "Deleted topic '"+name+"'")
	case isGone(err):
		p.log.Info("The topic of a deleted KafkaTopic is gone already", "topic", name)
	case kafka.ClassOf(err) == kafka.ClassDisabled && !r.options.KeepWhenDeletionDisabled:
		logging.Warn(p.log, "Unable to delete topic '"+name+"' from Kafka because topic deletion is disabled on the Kafka controller.")
		r.events.Warning(reference(p.kt), "DeletionDisabled", "Delete",
			"Topic '"+name+"' stays in Kafka, unmanaged: topic deletion is disabled there (delete.topic.enable=false)")
	case kafka.ClassOf(err) == kafka.ClassDisabled:
		return r.failed(nil, err), nil
	default:
		v := r.failed(nil, err)
		v.outcome.Failure.Message = "Deletion failed: " + v.outcome.Failure.Message
		return v, nil
	}
	return verdict{done: true}, r.removeFinalizer(ctx, p)
}

// deleteTopic deletes the topic that the object stands for, by its id. kafka.ClassNotFound means that there is none.
func (r *Reconciler) deleteTopic(ctx context.Context, kt *v1.KafkaTopic) error {
	// By the id that we know to be ours the controller is asked at once: unlike a broker, it is never behind.
	if id, ok := r.knownID(kt); ok {
		if err := r.deleteByID(ctx, id); !kafka.IsNotFound(err) {
			return err
		}
	}
	found, err := r.kafka.Locate(ctx, topic.ClaimedName(kt))
	if err != nil {
		return err
	}
	return r.deleteByID(ctx, found.ID)
}

func (r *Reconciler) deleteByID(ctx context.Context, id kafka.TopicID) error {
	err := r.kafka.Delete(ctx, id)
	if err == nil {
		r.memory.topicDeleted(id)
	}
	return err
}

// knownID returns the id of the object's topic, by what we remember of its creation, else by the status.
func (r *Reconciler) knownID(kt *v1.KafkaTopic) (kafka.TopicID, bool) {
	if id, ok := r.memory.createdFor(kt.UID); ok {
		return id, true
	}
	id, err := kafka.ParseTopicID(kt.Status.TopicID)
	return id, err == nil
}

// isGone reports whether the error says that there is no such topic. For a name that no topic can have, Kafka says it in its own way; the
// KafkaTopic with that name must not be held for ever.
func isGone(err error) bool {
	return kafka.IsNotFound(err) || hasCode(err, kafka.CodeInvalidTopic)
}

// deleteAfterwards deletes the topic of an object that is gone already, as the mode without finalizers has it. There is no object left to
// tell a failure on.
func (r *Reconciler) deleteAfterwards(ctx context.Context, p *pass) verdict {
	name := topic.ClaimedName(p.kt)
	err := r.deleteTopic(ctx, p.kt)
	switch {
	case err == nil:
		p.log.Info("Deleted topic", "topic", name)
	case isGone(err):
		p.log.Info("The topic of a deleted KafkaTopic is gone already", "topic", name)
	case kafka.ClassOf(err) == kafka.ClassDisabled:
		logging.Warn(p.log, "Unable to delete topic '"+name+"' from Kafka because topic deletion is disabled on the Kafka controller.")
	default:
		v := r.failed(nil, err)
		v.done = !v.retry
		v.outcome.Failure.Message = "Unable to delete topic '" + name + "' from Kafka. " + v.outcome.Failure.Message
		return v
	}
	return verdict{done: true}
}
