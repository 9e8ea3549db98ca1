package controller

import (
	"context"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// release removes the finalizer of an object that is being deleted. Its topic, if there is one, stays.
func (r *Reconciler) release(ctx context.Context, p *pass, d ownership.Decision) (verdict, error) {
	switch d.Note.Reason {
	case "":
		p.log.Info("The topic of the deleted KafkaTopic no longer exists", "topic", d.Topic)
	case ownership.EventReleased:
		p.log.Info(d.Note.Message)
		r.events.Normal(reference(p.kt), d.Note.Reason, "Delete", d.Note.Message)
	default:
		logging.Warn(p.log, d.Note.Message)
		r.events.Warning(reference(p.kt), d.Note.Reason, "Delete", d.Note.Message)
	}
	return verdict{then: over}, r.removeFinalizer(ctx, p)
}

// delete deletes the topic of an object that is being deleted, by the id that the decision proved, and removes the object's finalizer.
func (r *Reconciler) delete(ctx context.Context, p *pass, d ownership.Decision) (verdict, error) {
	if d.Claim {
		if err := r.writeClaim(ctx, p, topic.Claim{Name: d.Topic, ID: d.ID}); err != nil {
			return verdict{}, err
		}
		p.facts.Object.Name, p.facts.Object.TopicID = d.Topic, d.ID.String()
	}
	err := r.kafka.Delete(ctx, d.ID, r.stillAllowed(ctx, p, d))
	if v, ok, err := r.notMade(ctx, p, err); ok {
		return v, err
	}
	switch {
	case err == nil:
		r.memory.topicDeleted(d.ID, true)
		p.log.Info("Deleted topic", "topic", d.Topic, "topicId", d.ID.String())
		r.events.Normal(reference(p.kt), "Deleted", "Delete", "Deleted topic '"+d.Topic+"'")
	case kafka.IsNotFound(err):
		// The controller reports that this topic no longer exists, so the broker that described it lags behind.
		r.memory.topicDeleted(d.ID, false)
		p.facts.Observed = ownership.Observation{View: ownership.Present, ID: d.ID, Outdated: true}
		return verdict{then: undecided}, nil
	case kafka.ClassOf(err) == kafka.ClassDisabled && !r.options.KeepWhenDeletionDisabled:
		logging.Warn(p.log, "Unable to delete topic '"+d.Topic+"' from Kafka because topic deletion is disabled on the Kafka controller.")
		r.events.Warning(reference(p.kt), "DeletionDisabled", "Delete",
			"Topic '"+d.Topic+"' stays in Kafka, unmanaged: topic deletion is disabled there (delete.topic.enable=false)")
	case kafka.ClassOf(err) == kafka.ClassDisabled:
		o := topic.Failure(v1.ReasonKafkaError, "%s", messageOf(err))
		o.Stalled = true
		return report(o), nil
	default:
		return r.failed(p, nil, err), nil
	}
	return verdict{then: over}, r.removeFinalizer(ctx, p)
}
