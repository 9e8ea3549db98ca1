package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// GroupVersion is the group and version of all kinds in this package.
var GroupVersion = schema.GroupVersion{Group: v1.GroupName, Version: "v1beta2"}

// SchemeBuilder collects the functions that register this package's kinds.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers this package's kinds with a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Kafka{}, &KafkaList{}, &KafkaNodePool{}, &KafkaNodePoolList{}, &KafkaTopic{}, &KafkaTopicList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
