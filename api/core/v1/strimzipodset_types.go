package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kafka-operators/kafka-operators/api/decode"
	kafkav1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// StrimziPodSet declares pods, each of them in full. Whoever follows it makes the pods that are missing and deletes those that are not in
// it any more. A pod that is out of date is left running: the roller restarts it.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
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
	Spec *StrimziPodSetSpec `json:"spec,omitempty"`
	// The status of the StrimziPodSet.
	// +optional
	Status StrimziPodSetStatus `json:"status,omitempty,omitzero"`

	// Invalid is why the specification or the status could not be decoded, and is empty; see UnmarshalJSON.
	Invalid string `json:"-"`
}

// UnmarshalJSON decodes the object as usual. A specification or status that can't be decoded is left empty, except for conditions, and
// Invalid is why: an API server stores such objects under Strimzi's CustomResourceDefinition. Never write one back as a whole.
func (s *StrimziPodSet) UnmarshalJSON(data []byte) (err error) {
	type plain StrimziPodSet // without this method
	s.Invalid, err = decode.Object(data, (*plain)(s), &s.Spec, &s.Status)
	return err
}

// StrimziPodSetSpec is the desired set of pods.
type StrimziPodSetSpec struct {
	// Selector is a label query which matches all the pods managed by this StrimziPodSet. Only matchLabels is supported.
	Selector metav1.LabelSelector `json:"selector"`

	// The pods managed by this StrimziPodSet, each a whole pod.
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +listType=atomic
	Pods []runtime.RawExtension `json:"pods"`
}

// StrimziPodSetStatus is the observed state of a StrimziPodSet.
type StrimziPodSetStatus struct {
	// The conditions of the StrimziPodSet.
	// +optional
	// +listType=atomic
	Conditions []kafkav1.Condition `json:"conditions,omitempty"`

	// The generation that was last dealt with.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Number of pods managed by this StrimziPodSet. Reported even if 0, as Strimzi does, so that kubectl shows it.
	// +optional
	Pods int32 `json:"pods"`

	// Number of these that are ready.
	// +optional
	ReadyPods int32 `json:"readyPods"`

	// Number of these that have the current revision.
	// +optional
	CurrentPods int32 `json:"currentPods"`
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
