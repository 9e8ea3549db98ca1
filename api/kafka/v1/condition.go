package v1

import "time"

// Condition is one observation about an object. It is Strimzi's shape, not metav1.Condition: every field is
// optional, several conditions may share a type (Warning), and the time is a string, so that conditions which Strimzi wrote are read and
// written back unchanged.
type Condition struct {
	// The type of the condition, such as Ready or Warning.
	// +optional
	Type string `json:"type,omitempty"`

	// The status of the condition: True, False or Unknown.
	// +optional
	Status string `json:"status,omitempty"`

	// When the condition last changed its status, as an RFC 3339 time in UTC.
	// +optional
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`

	// The reason for the last transition, one word in CamelCase.
	// +optional
	Reason string `json:"reason,omitempty"`

	// The details of the last transition, for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// TransitionTime returns when a condition last changed its status: the time that it has among those before, or now. Its reason and message
// may change meanwhile. Warnings share their type, so only the message distinguishes them.
func (c Condition) TransitionTime(before []Condition, now time.Time) string {
	for _, old := range before {
		if old.Type == c.Type && old.Status == c.Status && (c.Type != ConditionWarning || old.Message == c.Message) &&
			old.LastTransitionTime != "" {
			return old.LastTransitionTime
		}
	}
	return now.UTC().Format(time.RFC3339Nano)
}

// The values of Condition.Status.
const (
	// ConditionTrue means that the condition applies.
	ConditionTrue = "True"
	// ConditionFalse means that it does not hold.
	ConditionFalse = "False"
	// ConditionUnknown means that it could not be found out. Strimzi never writes it for topics.
	ConditionUnknown = "Unknown"
)

// The types of conditions on a KafkaTopic. On success exactly one of Ready, Unmanaged and ReconciliationPaused is True,
// possibly with Warnings; on failure there is Ready=False, and also Stalled if the operator alone can't make progress.
const (
	// ConditionReady reports whether Kafka follows the resource. True is good. The topic operator sets it on every pass
	// over a managed topic that is not paused. `kubectl wait --for=condition=Ready` and users' alerts rely on it.
	// Source: Strimzi; docs/topic-operator/ownership.md.
	ConditionReady = "Ready"

	// ConditionUnmanaged means that the topic is not managed through this resource: Kafka is left alone and deleting the
	// resource leaves the topic in place. It is only ever True and neither good nor bad. The topic operator sets it
	// instead of Ready. Source: Strimzi (the annotation); docs/decisions/unmanaged-and-paused.md.
	ConditionUnmanaged = "Unmanaged"

	// ConditionReconciliationPaused means that the user has paused reconciliation by annotation. It is only ever True and
	// neither good nor bad. The topic operator sets it instead of Ready. Source: Strimzi; docs/decisions/unmanaged-and-paused.md.
	ConditionReconciliationPaused = "ReconciliationPaused"

	// ConditionStalled means that the topic is not Ready and that a user must change something: the specification, a permission, or what the
	// message suggests. It is only ever True, with the reason and message of Ready. Without it, Ready=False is temporary. Tools that wait for
	// objects (kstatus, GitOps) take a resource with it for failed, and others that are not Ready for not done yet.
	ConditionStalled = "Stalled"

	// ConditionWarning reports a problem of a topic that is Ready. It is only ever True; True
	// is bad but not a failure. The topic operator sets one for each finding, next to Ready. Source: Strimzi.
	ConditionWarning = "Warning"
)

// The reasons of conditions on a KafkaTopic. Each belongs to Ready=False unless it says otherwise. The topic operator
// sets them all.
const (
	// ReasonResourceConflict means that another KafkaTopic claims the same topic. Nothing is changed in Kafka until
	// one of the claimants goes. The message names the others. Source: docs/decisions/claims.md.
	ReasonResourceConflict = "ResourceConflict"

	// ReasonNotSupported means that the spec asks for what Kafka or the operator cannot do to an existing topic: fewer
	// partitions, another replication factor, another name. Source: Strimzi; docs/decisions/what-is-changed.md.
	ReasonNotSupported = "NotSupported"

	// ReasonKafkaError means that Kafka refused or failed to answer. The message carries Kafka's exception name and text,
	// as users' alerts expect. Source: Strimzi; docs/decisions/deletion.md; docs/decisions/kafkas-words.md.
	ReasonKafkaError = "KafkaError"

	// ReasonInternalError means that the operator itself failed, that it can't read what it has to check before a change, or that a
	// configuration value has no form that Kafka could be given. Source: Strimzi.
	ReasonInternalError = "InternalError"

	// ReasonInvalidConfig means that a configuration key was ignored or is questionable. It belongs to Warning=True.
	// Source: Strimzi.
	ReasonInvalidConfig = "InvalidConfig"

	// ReasonUnmanagedBySpec means that spec.managed unmanages the topic, or did when the API server last kept that field. It belongs to
	// Unmanaged=True, which has no reason if the annotation alone unmanages. Source: docs/decisions/pruned-fields.md.
	ReasonUnmanagedBySpec = "UnmanagedBySpec"

	// ReasonClusterMismatch means that status.clusterId names another Kafka cluster than the operator's. Neither the
	// topic nor the rest of the status is touched, and deletion is blocked. Source: docs/decisions/another-cluster.md;
	// docs/decisions/deletion.md.
	ReasonClusterMismatch = "ClusterMismatch"

	// ReasonTopicIDMismatch means that the topic of this name has another id than status.topicId, or does not exist. On deletion an existing
	// topic belongs to another owner, and deletion is blocked. Otherwise the reason is given only where status.clusterId is missing, so that
	// the cluster is unknown. Source: docs/decisions/deletion.md.
	ReasonTopicIDMismatch = "TopicIdMismatch"

	// ReasonNotReadyForDeletion means that the resource is being deleted but was never claimed for a Kafka cluster, so
	// that deleting the topic could hit another owner's. Deletion is blocked; the message says how to get out.
	// Source: docs/decisions/deletion.md.
	ReasonNotReadyForDeletion = "NotReadyForDeletion"

	// ReasonPolicyViolation means that the namespace policy gives the topic to another namespace. Source:
	// docs/decisions/namespace-policy.md.
	ReasonPolicyViolation = "PolicyViolation"

	// ReasonNotSelected means, in an Event and in figures only, that the resource is being deleted and holds the operator's finalizer, that
	// the operator's selector does not match it, and that no other operator has reconciled it since.
	ReasonNotSelected = "NotSelected"

	// ReasonClusterIDUnknown means that the resource is being deleted while the id of the operator's Kafka cluster could not be
	// retrieved, and that the operator is set to block such deletions. Source: docs/decisions/deletion.md.
	ReasonClusterIDUnknown = "ClusterIdUnknown"
)
