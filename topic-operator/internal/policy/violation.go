package policy

import (
	"fmt"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// Violation describes that a namespace may not manage a topic, which one may, and why.
type Violation struct {
	// Namespace is the namespace that may not manage the topic, Topic the topic's name in Kafka.
	Namespace, Topic string
	// Owner is the only namespace that may; empty if none may.
	Owner string
	// Rule is the rule by which Owner may; RuleNone if none may.
	Rule Rule
	// Entry is the matching prefix or name in the policy; empty with RuleOtherTopics and RuleNone.
	Entry string
}

// Message returns one sentence for the condition: who may manage the topic, by which rule, and what to do. The same violation has the same
// message.
func (v *Violation) Message() string {
	if v.Rule == RuleNone {
		return fmt.Sprintf("Topic '%s' can't be managed from namespace '%s', nor from any other (namespace policy: %s): rename the topic, or "+
			"change the policy",
			kafka.Excerpt(v.Topic), v.Namespace, because(v.Rule, v.Entry))
	}
	return fmt.Sprintf("Topic '%s' can be managed from namespace '%s' only (namespace policy: %s), not from '%s': move the KafkaTopic "+
		"there, rename the topic, or change the policy",
		kafka.Excerpt(v.Topic), v.Owner, because(v.Rule, v.Entry), v.Namespace)
}

// because describes the entry of the policy that decides.
func because(rule Rule, entry string) string {
	switch rule {
	case RuleTopicName:
		return fmt.Sprintf("topic name '%s'", entry)
	case RulePrefix:
		return fmt.Sprintf("prefix '%s'", entry)
	case RuleOtherTopics:
		return "otherTopics"
	case RuleNone:
	}
	return "no topic name and no prefix matches, and no namespace has otherTopics"
}
