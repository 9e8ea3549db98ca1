package apply

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
)

func TestAStrimziPodSetIsNotToBeDeleted(t *testing.T) {
	wanted := &unstructured.Unstructured{}
	wanted.SetKind("StrimziPodSet")
	advice := (&Applier{Kafka: "my-cluster"}).advice(wanted, &core.StrimziPodSet{})
	NewWithT(t).Expect(advice).To(And(HavePrefix("Its pods stop if it is deleted"), Not(ContainSubstring("Delete"))))
}
