package v1

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

const (
	// RollerStatusKey is the entry of the roller's ConfigMap (RollerStatusName) that has its RollerStatus in JSON.
	RollerStatusKey = "status"
	// ManagedByRoller is the value of LabelManagedBy on objects that the roller created. It writes to no others.
	ManagedByRoller = "kafka-operators-roller"
	// RollerBlocked is the type of the condition that is present while a node waits for something that does not end with time.
	RollerBlocked = "Blocked"
)

// RollerStatusName returns the name of the ConfigMap in which the roller stores its progress with a Kafka cluster and its RollerStatus, in
// the namespace of the Kafka cluster.
func RollerStatusName(cluster string) string { return cluster + "-roller" }

// RollerStatus is what the roller reports of a Kafka cluster. Source: docs/decisions/who-rolls.md.
// +kubebuilder:object:generate=false
type RollerStatus struct {
	Conditions []v1.Condition `json:"conditions"`
	// Configurations has the hash (ConfigHash) of the configuration that a pod runs with, by uid, where it differs from the pod's
	// AnnotationConfigHash: the configuration was changed while the pod ran. It is empty if the pod runs with a configuration that it should
	// not have, or not yet.
	Configurations map[string]string `json:"configurations,omitempty"`
}

// RollerStatusIn returns the status in the roller's ConfigMap; an empty one if there is none, or somebody else made the ConfigMap.
func RollerStatusIn(config *corev1.ConfigMap) (s RollerStatus) {
	if config == nil || config.Labels[LabelManagedBy] != ManagedByRoller ||
		json.Unmarshal([]byte(config.Data[RollerStatusKey]), &s) != nil {
		return RollerStatus{}
	}
	return s
}

// ConfigurationOf returns the hash of the configuration that a running pod has; empty if it is unknown, or none that was ever desired.
func (s RollerStatus) ConfigurationOf(pod *corev1.Pod) string {
	if applied, reported := s.Configurations[string(pod.UID)]; reported {
		return applied
	}
	return pod.Annotations[AnnotationConfigHash]
}
