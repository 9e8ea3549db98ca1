package topic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// Refusal is something that the operator or Kafka refuses to do, as the reason and message of a condition.
type Refusal struct {
	Reason  string
	Message string
	// Advice suggests, in Events and logs, a way out if the message does not.
	Advice string
}

// Rules are the operator's settings that apply to a plan.
type Rules struct {
	// Alterable describes which keys may be altered (STRIMZI_ALTERABLE_TOPIC_CONFIG); nil allows all. It does not limit creation.
	Alterable func(key string) bool
}

func (r Rules) alterable(key string) bool { return r.Alterable == nil || r.Alterable(key) }

// Plan lists the changes that bring a topic to its desired state.
type Plan struct {
	// Alter is nil if the configuration is as desired.
	Alter *kafka.ConfigChange
	// Stores is true if Alter changes no value in force: it stores values of the brokers on the topic, so that they stay.
	Stores bool
	// Increase is nil if there are enough partitions.
	Increase *kafka.PartitionIncrease
	// Refusals are the differences that remain. They do not block the changes (docs/decisions/what-is-changed.md).
	Refusals []Refusal
	// Kept contains the settings of an internal topic of Kafka that the KafkaTopic does not name, as key=value.
	Kept []string
}

// Changes reports whether the plan changes anything in Kafka.
func (p Plan) Changes() bool { return p.Alter != nil || p.Increase != nil }

// Differs reports whether the plan changes anything that is in force.
func (p Plan) Differs() bool { return p.Alter != nil && !p.Stores || p.Increase != nil }

// Compare returns the changes from an existing topic to the desired one.
func Compare(d Desired, a Actual, rules Rules) Plan {
	p := Plan{Alter: compareConfig(d, a, rules), Kept: kept(d, a)}
	p.Stores = p.Alter != nil && a.hasInForce(*p.Alter)
	switch have := int32(len(a.Topic.Partitions)); { // Kafka counts partitions in 32 bits
	case d.Partitions == brokerDefault || d.Partitions == have:
	case d.Partitions > have && a.Topic.Internal:
		p.Refusals = append(p.Refusals, Refusal{Reason: v1.ReasonNotSupported, Message: fmt.Sprintf("Increase of spec.partitions is not "+
			"supported for '%s', an internal topic of Kafka: its %d partitions decide where Kafka finds the data of a group or transaction",
			d.Name, have)})
	case d.Partitions > have:
		p.Increase = &kafka.PartitionIncrease{Topic: d.Name, Total: d.Partitions}
	default:
		p.Refusals = append(p.Refusals, Refusal{Reason: v1.ReasonNotSupported, Message: "Decrease of spec.partitions is not supported by Kafka"})
	}
	if differing := a.differingReplicas(d); len(differing) > 0 {
		p.Refusals = append(p.Refusals, Refusal{Reason: v1.ReasonNotSupported, Message: fmt.Sprintf(
			"Changing spec.replicas is not supported by the operator: %s, not %d", a.listReplicas(differing), d.Replicas)})
	}
	return p
}

// compareConfig sets the values that differ or are only inherited, and deletes those that were set on the topic itself and are not desired
// (docs/decisions/what-is-changed.md). It never touches inherited values that are not desired, nor throttles that the KafkaTopic never
// named, which a reassignment tool set and will remove. It deletes nothing of an internal topic of Kafka, whose data might be lost with it.
func compareConfig(d Desired, a Actual, rules Rules) *kafka.ConfigChange {
	change := kafka.ConfigChange{Resource: kafka.TopicResource(d.Name)}
	for key, want := range d.Config {
		have, known := a.Config[key]
		if known && sameValue(want, have.Value) && !inherited(have) || !isThrottle(key) && !rules.alterable(key) {
			continue
		}
		if change.Set == nil {
			change.Set = map[string]string{}
		}
		change.Set[key] = want
	}
	for key, have := range a.Config {
		if _, desired := d.Config[key]; desired || have.Source != kafka.SourceTopic || !deletable(key, d, a, rules) {
			continue
		}
		change.Delete = append(change.Delete, key)
	}
	if len(change.Set) == 0 && len(change.Delete) == 0 {
		return nil
	}
	slices.Sort(change.Delete)
	return &change
}

// inherited reports whether a value is known to be the brokers', which can become another one, and can be stored on the topic.
func inherited(e kafka.ConfigEntry) bool {
	return e.Source != kafka.SourceTopic && e.Source != kafka.SourceUnknown && !e.ReadOnly
}

// hasInForce reports whether a change has no effect on the values in force.
func (a Actual) hasInForce(c kafka.ConfigChange) bool {
	for key, want := range c.Set {
		if have, known := a.Config[key]; !known || !sameValue(want, have.Value) {
			return false
		}
	}
	return len(c.Delete) == 0
}

// deletable reports whether a setting of the topic that the KafkaTopic does not name may be deleted.
func deletable(key string, d Desired, a Actual, rules Rules) bool {
	if isThrottle(key) {
		return slices.Contains(d.Named, key)
	}
	return !a.Topic.Internal && rules.alterable(key)
}

// kept returns the settings of an internal topic of Kafka that the KafkaTopic does not name, sorted.
func kept(d Desired, a Actual) (settings []string) {
	if !a.Topic.Internal {
		return nil
	}
	for key, have := range a.Config {
		if _, desired := d.Config[key]; !desired && have.Source == kafka.SourceTopic && !isThrottle(key) {
			settings = append(settings, key+"="+have.Value)
		}
	}
	slices.Sort(settings)
	return settings
}

// Warnings returns problems of a ready topic: keys that the operator may not alter, and throttles that conflict with rebalances.
func Warnings(d Desired, rules Rules) []Refusal {
	var warnings []Refusal
	for _, key := range slices.Sorted(maps.Keys(d.Config)) {
		switch {
		case isThrottle(key):
			warnings = append(warnings, Refusal{Reason: v1.ReasonInvalidConfig, Message: throttleWarning(key)})
		case !rules.alterable(key):
			warnings = append(warnings, Refusal{Reason: v1.ReasonInvalidConfig,
				Message: fmt.Sprintf("Property %s is ignored according to alterable config", key)})
		}
	}
	return warnings
}

// KeptWarning returns a warning with the settings of an internal topic of Kafka that stay; empty if there are none.
func (p Plan) KeptWarning(name string) []Refusal {
	if len(p.Kept) == 0 {
		return nil
	}
	return []Refusal{{Reason: v1.ReasonInvalidConfig,
		Message: fmt.Sprintf("Topic '%s' is an internal topic of Kafka and keeps settings of Kafka that spec.config does not contain: %s", name,
			strings.Join(p.Kept, ", "))}}
}

// listReplicas formats the numbers of replicas of partitions: it groups partitions with the same number, ordered by the first partition.
func (a Actual) listReplicas(partitions []int32) string {
	var counts []int
	groups := map[int][]int32{}
	for _, index := range partitions {
		n := a.replicas(index)
		if groups[n] == nil {
			counts = append(counts, n)
		}
		groups[n] = append(groups[n], index)
	}
	parts := make([]string, len(counts))
	for i, n := range counts {
		parts[i] = fmt.Sprintf("partitions [%s] have %d replicas", List(groups[n]), n)
	}
	return strings.Join(parts, ", ")
}

// List lists the first of many items for a message, and counts the others; a status must stay small.
func List[T any](items []T) string {
	const most = 20
	var words []string
	for _, item := range items[:min(most, len(items))] {
		words = append(words, fmt.Sprint(item))
	}
	if more := len(items) - most; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}
