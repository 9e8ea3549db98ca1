package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of all kinds in this package. It is Strimzi's, so that existing manifests apply unchanged.
const GroupName = "kafka.strimzi.io"

// GroupVersion is the group and version of all kinds in this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1"}

// SchemeBuilder collects the functions that register this package's kinds.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers this package's kinds with a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Kafka{}, &KafkaList{}, &KafkaNodePool{}, &KafkaNodePoolList{}, &KafkaTopic{}, &KafkaTopicList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
