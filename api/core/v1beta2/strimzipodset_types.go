package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/core/v1"
)

// StrimziPodSet declares pods, each of them in full. Whoever follows it makes the pods that are missing and deletes those that are not in
// it any more. A pod that is out of date is left running: the roller restarts it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=sps,categories=strimzi
// +kubebuilder:printcolumn:name="Pods",type=integer,JSONPath=`.status.pods`,description="Number of pods managed by the StrimziPodSet"
// +kubebuilder:printcolumn:name="Ready Pods",type=integer,JSONPath=`.status.readyPods`,description="Number of ready pods managed by the StrimziPodSet"
// +kubebuilder:printcolumn:name="Current Pods",type=integer,JSONPath=`.status.currentPods`,description="Number of up-to-date pods managed by the StrimziPodSet"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type StrimziPodSet struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// The specification of the StrimziPodSet.
	// +optional
	Spec *v1.StrimziPodSetSpec `json:"spec,omitempty"`
	// The status of the StrimziPodSet.
	// +optional
	Status v1.StrimziPodSetStatus `json:"status,omitempty,omitzero"`
}

// StrimziPodSetList is a list of StrimziPodSets.
//
// +kubebuilder:object:root=true
type StrimziPodSetList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	metav1.ListMeta `json:"metadata,omitempty"`
	// The items of the list.
	Items []StrimziPodSet `json:"items"`
}
