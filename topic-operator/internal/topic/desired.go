package topic

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// brokerDefault is the number of partitions or replicas that selects the broker's default.
const brokerDefault = -1

// Desired is the desired state of a topic, in Kafka's terms.
type Desired struct {
	Name string
	// Partitions and Replicas are -1 if the KafkaTopic leaves them to Kafka.
	Partitions int32
	Replicas   int16
	// Config contains the values in Kafka's text form.
	Config map[string]string
	// Named contains the throttles that the KafkaTopic named before, according to its status (docs/decisions/throttles.md).
	Named []string
	// reliedOn is the number of partitions that the brokers rely on, for an internal topic of Kafka that is created; otherwise 0.
	reliedOn int32
}

// DesiredOf reads the specification of a KafkaTopic. It returns a Refusal for a specification that can't be expressed in Kafka's terms.
func DesiredOf(kt *v1.KafkaTopic) (Desired, *Refusal) {
	if kt.Spec == nil {
		return Desired{}, &Refusal{Reason: v1.ReasonNotSupported,
			Message: "Topic has no spec: add one (spec: {} takes the defaults of the Kafka cluster)"}
	}
	d := Desired{Name: kt.TopicName(), Partitions: brokerDefault, Replicas: brokerDefault,
		Config: make(map[string]string, len(kt.Spec.Config)), Named: namedThrottles(kt.Status.Conditions)}
	// A topic that no request can contain is rejected here: it must not fail a batch with other topics. Strimzi's schema accepts larger
	// numbers than Kafka's protocol carries.
	if n := kt.Spec.Partitions; n != nil {
		if *n > math.MaxInt32 {
			return Desired{}, &Refusal{Reason: v1.ReasonKafkaError,
				Message: fmt.Sprintf("InvalidPartitionsException: spec.partitions is %d, and Kafka's protocol carries at most %d", *n, math.MaxInt32)}
		}
		d.Partitions = int32(*n)
	}
	if n := kt.Spec.Replicas; n != nil {
		if *n > math.MaxInt16 {
			return Desired{}, &Refusal{Reason: v1.ReasonKafkaError,
				Message: fmt.Sprintf("InvalidReplicationFactorException: spec.replicas is %d, and Kafka's protocol carries at most %d", *n,
					math.MaxInt16)}
		}
		d.Replicas = int16(*n)
	}
	if err := kafka.CheckTopicName(d.Name); err != nil {
		return Desired{}, &Refusal{Reason: v1.ReasonKafkaError, Message: err.Error()}
	}
	for _, key := range slices.Sorted(maps.Keys(kt.Spec.Config)) {
		value := kt.Spec.Config[key]
		text, err := value.Text()
		switch {
		case errors.Is(err, v1.ErrNullConfigValue):
			// The message is Kafka's own for a null value. Without the request, there is no round trip and no half-applied change.
			return Desired{}, &Refusal{Reason: v1.ReasonKafkaError,
				Message: "InvalidConfigurationException: Null value not supported for topic configs: " + kafka.Excerpt(key)}
		case err != nil:
			return Desired{}, &Refusal{Reason: v1.ReasonInternalError,
				Message: fmt.Sprintf("Invalid value for topic config '%s': %s", kafka.Excerpt(key), kafka.Excerpt(value.String()))}
		}
		if err := kafka.CheckConfig(key, text); err != nil {
			return Desired{}, &Refusal{Reason: v1.ReasonKafkaError, Message: err.Error()}
		}
		d.Config[key] = text
	}
	return d, nil
}

// NewTopic returns the request that creates the topic.
func (d Desired) NewTopic() kafka.NewTopic {
	configs := make(map[string]*string, len(d.Config))
	for key, value := range d.Config {
		configs[key] = &value
	}
	return kafka.NewTopic{Name: d.Name, Partitions: d.Partitions, ReplicationFactor: d.Replicas, Configs: configs}
}
