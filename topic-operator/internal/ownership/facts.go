package ownership

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// Facts are all inputs of one decision.
type Facts struct {
	Object Object
	Own    Cluster
	// Others are the other KafkaTopics that claim the same topic: managed, and selected by the same operator.
	Others []Claimant
	// Violation describes why the namespace policy forbids the object its topic; empty if it does not (docs/decisions/namespace-policy.md).
	Violation string
	Observed  Observation
	Rules     Rules
}

// Rules are the operator's settings that apply to ownership.
type Rules struct {
	// OldestWins lets the oldest of several claimants of a topic proceed (docs/decisions/claims.md); otherwise none of them does.
	OldestWins bool
	// BlockUnknown blocks deletions while the operator's own cluster id is unknown (docs/decisions/deletion.md); otherwise they proceed
	// (docs/topic-operator/ownership.md).
	BlockUnknown bool
}

// Object contains the facts about a KafkaTopic.
type Object struct {
	Key     types.NamespacedName
	Created time.Time
	// Selected means that the operator's label selector matches it.
	Selected bool
	// Deleting reports whether it has a deletion timestamp, and Held whether it has the operator's finalizer.
	Deleting, Held bool
	// Vanished means that the object no longer exists in Kubernetes, and its topic has to be deleted (the mode without finalizers).
	Vanished        bool
	Managed, Paused bool
	// Doubtful means that it is unknown whether spec.managed is false: it was according to the status, it is missing, and the API server
	// drops it, or may do so.
	Doubtful bool
	// Asks is the name of the topic in the specification.
	Asks string
	// Name, TopicID and ClusterID are from the status: the topic of the object, as last observed.
	Name, TopicID, ClusterID string
	// Settled means that this operator deleted the topic that the object owns, by its id. A topic with the name is now another one.
	Settled bool
	// Made is the topic that this operator created for this object, and that the status may lack; nil if there is none.
	Made *Creation
}

// Creation is a topic that the operator created.
type Creation struct {
	Name string
	ID   kafka.TopicID
}

// ObjectOf returns the facts of a KafkaTopic.
func ObjectOf(kt *v1.KafkaTopic, selected bool) Object {
	return Object{
		Key: types.NamespacedName{Namespace: kt.Namespace, Name: kt.Name}, Created: kt.CreationTimestamp.Time,
		Selected: selected, Deleting: kt.DeletionTimestamp != nil, Held: HasFinalizer(kt),
		Managed: kt.IsManaged(), Paused: kt.IsPaused(), Asks: kt.TopicName(),
		Name: kt.Status.TopicName, TopicID: kt.Status.TopicID, ClusterID: kt.Status.ClusterID,
	}
}

// Topic returns the name of the object's topic: the claimed one, even if the specification has changed, else the requested one. So a
// KafkaTopic whose spec.topicName was changed can still be deleted, or changed back.
func (o Object) Topic() string {
	switch {
	case o.Name != "":
		return o.Name
	case o.Made != nil:
		return o.Made.Name
	}
	return o.Asks
}

// ClaimedName returns the name of a KafkaTopic's topic, from its status or specification.
func ClaimedName(kt *v1.KafkaTopic) string { return cmp.Or(kt.Status.TopicName, kt.TopicName()) }

// Cluster is the Kafka cluster that the operator works for.
type Cluster struct {
	// ID is empty until the operator has read it (protection is disabled).
	ID string
	// Unstorable means that the API server drops status.clusterId, so that no KafkaTopic can record its cluster.
	Unstorable bool
	// Answering is the id of another cluster that answers in its place; empty while none does (docs/decisions/another-cluster.md).
	Answering string
}

// protects reports whether clusters can be distinguished: the own one is known, and the API server stores its id.
func (c Cluster) protects() bool { return c.ID != "" && !c.Unstorable }

// WasUnmanaged reports whether a KafkaTopic has no spec.managed, while its status says that it was false, and the annotation does not
// manage it explicitly. Most likely it is managed again; but it looks the same if the API server drops spec.managed.
func WasUnmanaged(kt *v1.KafkaTopic) bool {
	return (kt.Spec == nil || kt.Spec.Managed == nil) && kt.Annotations[v1.AnnotationManaged] != "true" &&
		slices.ContainsFunc(kt.Status.Conditions, func(c v1.Condition) bool {
			return c.Type == v1.ConditionUnmanaged && c.Status == v1.ConditionTrue && c.Reason == v1.ReasonUnmanagedBySpec
		})
}

// Claimant is another KafkaTopic that claims the same topic.
type Claimant struct {
	Key     types.NamespacedName
	Created time.Time
	// TopicID and ClusterID are from its status.
	TopicID, ClusterID string
	// Violates means that the namespace policy does not allow it to have the topic.
	Violates bool
}

// ClaimantOf returns the facts of another KafkaTopic.
func ClaimantOf(kt *v1.KafkaTopic, violates bool) Claimant {
	return Claimant{Key: types.NamespacedName{Namespace: kt.Namespace, Name: kt.Name}, Created: kt.CreationTimestamp.Time,
		TopicID: kt.Status.TopicID, ClusterID: kt.Status.ClusterID, Violates: violates}
}

// View is the known state of the topic in Kafka.
type View int

// The views.
const (
	// NotAsked: Kafka has not been asked yet.
	NotAsked View = iota
	// Unknown: Kafka did not answer. This is not evidence of anything.
	Unknown
	// Absent: a broker has no topic with the name. It may lag behind.
	Absent
	// Free: the controller, which never lags behind, has no topic with the name.
	Free
	// Taken: the controller has a topic with the name, which the broker that answered does not have.
	Taken
	// Present: a broker has the topic.
	Present
)

// String names the view for logs.
func (v View) String() string {
	return [...]string{"not-asked", "unknown", "absent", "free", "taken", "present"}[v]
}

// Observation is Kafka's report about the topic with the object's name.
type Observation struct {
	View View
	// ID is the topic's id, if View is Present.
	ID kafka.TopicID
	// Outdated means that the operator deleted the topic with this id a moment ago, so that the broker which still shows it lags behind.
	Outdated bool
	// Internal means that Kafka uses the topic for data of its own.
	Internal bool
}
