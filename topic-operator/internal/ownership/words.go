package ownership

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// Advice for Events, logs, and the messages whose text Strimzi does not prescribe.
const (
	unmanageToRelease = `To delete the KafkaTopic and keep the topic, annotate it with strimzi.io/managed="false"`
	moveCluster       = `Point the operator at the cluster it belongs to; or, if the KafkaTopic is to move to this cluster, annotate it ` +
		`with strimzi.io/managed="false", wait for the condition Unmanaged, and remove the annotation`
	oneStays = "Delete all but one of them: the topic stays"
)

// mismatch returns the refusal with the literal message that alerts match.
func mismatch(o Object, current string) topic.Refusal {
	r := topic.Refusal{Reason: v1.ReasonClusterMismatch, Advice: moveCluster,
		Message: fmt.Sprintf("KafkaTopic is owned by cluster '%s', not this cluster '%s'.", o.ClusterID, current)}
	if o.Deleting {
		r.Advice = "Its deletion continues when the operator is pointed at the cluster it belongs to. " + unmanageToRelease
	}
	return r
}

// anotherCluster returns the refusal while a cluster other than the operator's answers (docs/decisions/another-cluster.md).
func (f Facts) anotherCluster() topic.Refusal {
	if stored := f.Object.ClusterID; stored != "" && stored != f.Own.Answering {
		r := mismatch(f.Object, f.Own.Answering)
		r.Advice = "The Kafka cluster behind the bootstrap address changed while the operator was running: repair the address, or restart the " +
			"operator"
		return r
	}
	return topic.Refusal{Reason: v1.ReasonClusterMismatch,
		Message: fmt.Sprintf("Kafka answers as cluster '%s', but this operator works for cluster '%s': nothing is changed "+
			"until that cluster answers again, or the operator is restarted", f.Own.Answering, f.Own.ID)}
}

func (f Facts) unknownCluster() topic.Refusal {
	o := f.Object
	if f.Own.Unstorable {
		return topic.Refusal{Reason: v1.ReasonClusterIDUnknown,
			Message: fmt.Sprintf("The CustomResourceDefinition of KafkaTopics drops status.clusterId, so nothing proves that topic '%s' belongs to "+
				"this KafkaTopic (STRIMZI_CLUSTER_ID_UNKNOWN_POLICY=block-deletion). Apply this operator's CustomResourceDefinition again, and "+
				"the deletion continues. %s", o.Topic(), unmanageToRelease)}
	}
	return topic.Refusal{Reason: v1.ReasonClusterIDUnknown,
		Message: fmt.Sprintf("The id of the Kafka cluster could not be retrieved, so nothing proves that topic '%s' belongs to this "+
			"KafkaTopic (STRIMZI_CLUSTER_ID_UNKNOWN_POLICY=block-deletion). The deletion continues once Kafka reports its id. %s", o.Topic(),
			unmanageToRelease)}
}

// UnmanagedReason returns the reason and message of the condition Unmanaged; both are empty if the annotation alone unmanages, as with
// Strimzi.
func UnmanagedReason(kt *v1.KafkaTopic, o Object) topic.Refusal {
	switch {
	case o.Doubtful:
		return topic.Refusal{Reason: v1.ReasonUnmanagedBySpec,
			Message: "spec.managed was false and is missing now, and the API server drops it, or does not say whether it does. To manage topic '" +
				kafka.Excerpt(o.Topic()) + `', annotate the KafkaTopic with strimzi.io/managed="true", or apply this operator's ` +
				"CustomResourceDefinition again"}
	case kt.Spec != nil && kt.Spec.Managed != nil && !*kt.Spec.Managed:
		return topic.Refusal{Reason: v1.ReasonUnmanagedBySpec, Message: "spec.managed is false"}
	}
	return topic.Refusal{}
}

func doubtful(o Object) topic.Refusal {
	return topic.Refusal{Reason: v1.ReasonNotReadyForDeletion,
		Message: fmt.Sprintf("KafkaTopic is not ready for deletion: it was unmanaged, and the CustomResourceDefinition of KafkaTopics drops "+
			"spec.managed, so the operator does not know whether to keep topic '%s'. %s. To delete the topic as well, annotate the KafkaTopic "+
			"with strimzi.io/managed=\"true\"", kafka.Excerpt(o.Topic()), unmanageToRelease)}
}

func retargeted(o Object) topic.Refusal {
	return topic.Refusal{Reason: v1.ReasonNotSupported, Message: "Changing spec.topicName is not supported: this KafkaTopic manages '" +
		o.Topic() + "'",
		Advice: "Set spec.topicName back to '" + o.Topic() + "', or create another KafkaTopic for '" + o.Asks + "'"}
}

const takeOver = `If it is to take over what is here, annotate it with strimzi.io/managed="false", wait for the condition Unmanaged, and ` +
	`remove the annotation`

func topicElsewhere(o Object) topic.Refusal {
	return topic.Refusal{Reason: v1.ReasonTopicIDMismatch,
		Message: fmt.Sprintf("KafkaTopic owns topicId '%s', which does not exist in this Kafka cluster, and its cluster is not known",
			o.TopicID),
		Advice: "Check that the operator is pointed at the right cluster. " + takeOver}
}

func topicOfAnotherID(o Object, found kafka.TopicID) topic.Refusal {
	return topic.Refusal{Reason: v1.ReasonTopicIDMismatch,
		Message: fmt.Sprintf("KafkaTopic owns topicId '%s', but topic '%s' has topicId '%s' in this Kafka cluster, and the cluster of the other "+
			"one is not known",
			o.TopicID, o.Topic(), found), Advice: "Check that the operator is pointed at the right cluster. " + takeOver}
}

func violation(message string) topic.Refusal {
	return topic.Refusal{Reason: v1.ReasonPolicyViolation, Message: message}
}

// conflict returns the refusal with the literal message that alerts match.
func conflict(rivals []Claimant) topic.Refusal {
	return topic.Refusal{Reason: v1.ReasonResourceConflict, Message: "Also managed by " + names(rivals), Advice: oneStays}
}

func neverClaimed(o Object) topic.Refusal {
	if o.Vanished {
		return topic.Refusal{Reason: v1.ReasonNotReadyForDeletion, Message: "Topic '" + o.Topic() +
			"' stays in Kafka: its KafkaTopic was deleted and had no topicId, so nothing proves that the topic belonged to it"}
	}
	return topic.Refusal{Reason: v1.ReasonNotReadyForDeletion,
		Message: fmt.Sprintf("KafkaTopic is not ready for deletion: it was never reconciled successfully, so nothing proves "+
			"that topic '%s' belongs to it. %s. To delete the topic as well, create the KafkaTopic again, wait until it is Ready, and delete it",
			o.Topic(), unmanageToRelease)}
}

func absentUnclaimed(o Object) topic.Refusal {
	return topic.Refusal{Reason: v1.ReasonNotReadyForDeletion,
		Message: fmt.Sprintf("KafkaTopic is not ready for deletion: this Kafka cluster has no topic '%s', and nothing proves "+
			"that the KafkaTopic belongs to this cluster, so its topic '%s' may be in another one. %s", o.Topic(), o.TopicID,
			unmanageToRelease)}
}

func anotherTopic(o Object, found kafka.TopicID) topic.Refusal {
	known := o.TopicID
	if o.Made != nil {
		known = cmp.Or(known, o.Made.ID.String())
	}
	if o.ClusterID == "" && o.Made == nil {
		return topic.Refusal{Reason: v1.ReasonTopicIDMismatch,
			Message: fmt.Sprintf("Topic '%s' has topicId '%s' in this Kafka cluster, but this KafkaTopic owns topicId '%s' in an "+
				"unknown cluster: the topic is not deleted. %s", o.Topic(), found, known, unmanageToRelease)}
	}
	return topic.Refusal{Reason: v1.ReasonTopicIDMismatch,
		Message: fmt.Sprintf("Topic '%s' has topicId '%s' in Kafka, but this KafkaTopic owns topicId '%s': the topic was deleted and "+
			"recreated outside of Kubernetes, and is not deleted. %s", o.Topic(), found, known, unmanageToRelease)}
}

// The reasons of the Events of an object that is released while its topic stays.
const (
	// EventReleased reports that the topic stays because the KafkaTopic does not manage it.
	EventReleased = "Released"
	// EventLeftToOthers reports that the topic stays because other KafkaTopics claim it.
	EventLeftToOthers = "LeftToOthers"
	// EventLeftToKafka reports that the topic stays because it is an internal one of Kafka.
	EventLeftToKafka = "LeftToKafka"
)

func leftUnmanaged(o Object) topic.Refusal {
	return topic.Refusal{Reason: EventReleased, Message: "The KafkaTopic is not managed: topic '" + o.Topic() + "' stays in Kafka"}
}

func leftToOthers(o Object, rivals []Claimant) topic.Refusal {
	return topic.Refusal{Reason: EventLeftToOthers, Message: "Topic '" + o.Topic() + "' stays in Kafka: it is also managed by " +
		names(rivals)}
}

func leftToKafka(o Object) topic.Refusal {
	return topic.Refusal{Reason: EventLeftToKafka, Message: "Topic '" + o.Topic() + "' stays in Kafka: it is one of Kafka itself, and with " +
		"it all groups or transactions would lose their state. Kafka's Admin API deletes it"}
}

func leftByPolicy(o Object) topic.Refusal {
	return topic.Refusal{Reason: v1.ReasonPolicyViolation,
		Message: "Topic '" + o.Topic() + "' stays in Kafka: the namespace policy does not allow namespace '" + o.Key.Namespace + "' to delete it"}
}

func names(rivals []Claimant) string {
	keys := make([]types.NamespacedName, len(rivals))
	for i, c := range rivals {
		keys[i] = c.Key
	}
	return topic.List(keys)
}
