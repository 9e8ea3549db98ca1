package ownership

import (
	"slices"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// HasFinalizer reports whether the operator's finalizer holds the object.
func HasFinalizer(kt *v1.KafkaTopic) bool {
	return slices.Contains(kt.Finalizers, v1.FinalizerTopicOperator)
}
