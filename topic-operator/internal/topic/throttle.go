package topic

import (
	"slices"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// throttleKeys are set by reassignment tools to throttle the reassignment.
var throttleKeys = []string{"follower.replication.throttled.replicas", "leader.replication.throttled.replicas"}

func isThrottle(key string) bool { return slices.Contains(throttleKeys, key) }

// throttleWarning returns Strimzi's text. In a status it also records that the KafkaTopic named the key (docs/decisions/throttles.md).
func throttleWarning(key string) string {
	return "Property " + key + " may conflict with throttled rebalances"
}

// namedThrottles returns the throttles with a warning in the conditions.
func namedThrottles(conditions []v1.Condition) (keys []string) {
	for _, key := range throttleKeys {
		if slices.ContainsFunc(conditions, func(c v1.Condition) bool {
			return c.Type == v1.ConditionWarning && c.Status == v1.ConditionTrue && c.Message == throttleWarning(key)
		}) {
			keys = append(keys, key)
		}
	}
	return keys
}

// NewThrottles returns warnings for the throttles that the KafkaTopic names and its status does not contain yet. They have to be stored
// before the throttles are set in Kafka.
func (d Desired) NewThrottles() (warnings []Refusal) {
	for _, key := range throttleKeys {
		if _, desired := d.Config[key]; desired && !slices.Contains(d.Named, key) {
			warnings = append(warnings, Refusal{Reason: v1.ReasonInvalidConfig, Message: throttleWarning(key)})
		}
	}
	return warnings
}

// GoneThrottles returns the throttles that the KafkaTopic named once and names no longer, and that the topic no longer has: the change
// deleted them, or the topic was read without them. A read from a broker that may lag behind proves nothing.
func (d Desired) GoneThrottles(a Actual, made *kafka.ConfigChange, behind bool) (keys []string) {
	for _, key := range d.Named {
		_, desired := d.Config[key]
		_, there := a.Config[key]
		if !desired && (!there && !behind || made != nil && slices.Contains(made.Delete, key)) {
			keys = append(keys, key)
		}
	}
	return keys
}

// LeftThrottles returns warnings for the throttles that the KafkaTopic named once and names no longer, and that are not in gone.
func (d Desired) LeftThrottles(gone []string) (warnings []Refusal) {
	for _, key := range d.Named {
		if _, desired := d.Config[key]; !desired && !slices.Contains(gone, key) {
			warnings = append(warnings, Refusal{Reason: v1.ReasonInvalidConfig, Message: throttleWarning(key)})
		}
	}
	return warnings
}
