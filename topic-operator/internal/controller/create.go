package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// create creates the topic. If it already exists, because a broker lagged or another client was faster, the pass decides again.
func (r *Reconciler) create(ctx context.Context, p *pass, d ownership.Decision) (verdict, error) {
	full, refused, err := r.asKafkaCreates(ctx, p.desired)
	if err != nil {
		return r.failed(p, nil, err), nil
	} else if refused != nil {
		return report(topic.Outcome{State: topic.Failed, Failure: *refused, Stalled: true}), nil
	}
	wanted := full.NewTopic()
	if !ownership.HasFinalizer(p.kt) && r.memory.refuses(p.kt.UID) {
		// Kafka refused it the last time. Validate it first: an object gets no finalizer for a topic that Kafka refuses again.
		if err := r.kafka.Validate(ctx, wanted); err != nil && !kafka.IsExists(err) {
			return r.rejected(p, err), nil
		}
	}
	// The finalizer comes before anything that it protects.
	if err := r.adjustFinalizer(ctx, p); err != nil {
		return verdict{}, err
	}
	if err := r.rememberThrottles(ctx, p); err != nil {
		return verdict{}, err
	}
	if p.readsOtherwise() {
		return verdict{then: undecided}, r.gather(ctx, p, nil)
	}
	made, err := r.kafka.Create(ctx, wanted, r.mayCreate(ctx, p, d))
	if v, ok, err := r.notMade(ctx, p, err); ok {
		return v, err
	}
	switch {
	case kafka.IsExists(err):
		v := r.look(ctx, p)
		if p.facts.Observed.View == ownership.Absent {
			p.facts.Observed.View = ownership.Taken // the controller has it, and the broker that answered lags behind
		}
		return v, nil
	case err != nil:
		return r.notCreated(ctx, p, err)
	}
	return r.created(p, full, made), nil
}

// created returns the verdict on a topic that was just created; full is the desired state with all that it was created with.
func (r *Reconciler) created(p *pass, full topic.Desired, made kafka.CreateResult) verdict {
	r.memory.wrote(p.key)
	r.memory.topicCreated(p.kt.UID, ownership.Creation{Name: p.desired.Name, ID: made.ID})
	r.reportCreated(p, p.desired, made)
	warnings := append(topic.Warnings(p.desired, r.options.Rules), p.desired.Kept(full)...)
	if p.facts.Own.ID == "" && p.facts.Object.ClusterID != "" { // this may be another Kafka cluster than that with the KafkaTopic's topic
		warnings = append(warnings, p.desired.LeftThrottles(nil)...)
	}
	return report(topic.Outcome{State: topic.Ready, Warnings: warnings, Claimed: r.claim(p, p.desired.Name, made.ID)})
}

// asKafkaCreates returns the topic to create. An internal topic of Kafka gets what Kafka itself would create it with
// (docs/decisions/internal-topics.md).
func (r *Reconciler) asKafkaCreates(ctx context.Context, desired topic.Desired) (topic.Desired, *topic.Refusal, error) {
	if !topic.IsInternal(desired.Name) {
		return desired, nil, nil
	}
	broker, err := r.kafka.BrokerConfig(ctx, topic.BrokerKeys(desired.Name))
	if err != nil {
		return desired, nil, err
	}
	full, refused := desired.AsKafkaCreates(broker)
	return full, refused, nil
}

// rejected returns the verdict on a topic that Kafka rejected. While Kafka starts, its brokers register one after the other, so too many
// replicas count as a temporary failure at first. What the controller can't process, because a CreateTopicPolicy throws on it, may cost
// Kafka an election of its controller at each attempt, and all others of its request another one: it waits for the timer, at a moment that
// all such topics share.
func (r *Reconciler) rejected(p *pass, err error) verdict {
	v := r.failed(p, nil, err)
	if v.outcome != nil && hasCode(err, kafka.CodeInvalidReplicationFactor) && r.memory.shortFor(p.kt.UID) < r.options.Interval {
		v.then, v.outcome.Stalled = retried, false
	}
	if v.outcome != nil && hasCode(err, kafka.CodeUnknownServer) {
		v.then, v.slot = timed, "UnknownServerException"
	}
	return v
}

// notCreated removes the finalizer of an object that has no topic if Kafka rejected its creation for good, so that users can delete the
// object at once. A finalizer that this operator did not set may guard a topic in another Kafka cluster, and stays.
func (r *Reconciler) notCreated(ctx context.Context, p *pass, err error) (verdict, error) {
	v := r.rejected(p, err)
	s := p.kt.Status
	if definite(err) && s.TopicID == "" && s.ClusterID == "" && p.facts.Object.Made == nil && r.memory.guards(p.kt.UID) {
		r.memory.refuse(p.kt.UID)
		err := r.removeFinalizer(ctx, p)
		if _, is := errors.AsType[*withheld](err); is {
			return v, nil // what Kafka said is what a user has to know
		}
		return v, err
	}
	return v, nil
}

func (r *Reconciler) reportCreated(p *pass, desired topic.Desired, made kafka.CreateResult) {
	shape := "" // Kafka tells it only with the right to read the topic's configuration
	if made.Partitions >= 0 {
		shape = fmt.Sprintf(" with %d partitions and replication factor %d", made.Partitions, made.ReplicationFactor)
	}
	if p.kt.Status.TopicID != "" {
		logging.Warn(p.log, "Recreated a topic that was deleted outside of Kubernetes", "topic", desired.Name, "oldTopicId",
			p.kt.Status.TopicID, "topicId", made.ID.String())
		r.metrics.DriftReverted(p.key.Namespace)
		r.events.Warning(reference(p.kt), "Recreated", "Create",
			"Recreated topic '"+desired.Name+"' (empty)"+shape+": it had been deleted outside of Kubernetes")
		return
	}
	p.log.Info("Created topic", "topic", desired.Name, "topicId", made.ID.String(), "partitions", made.Partitions)
	r.events.Normal(reference(p.kt), "Created", "Create", "Created topic '"+desired.Name+"'"+shape)
}
