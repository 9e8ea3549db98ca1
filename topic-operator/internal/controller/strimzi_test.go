package controller

import (
	"math"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/schema"
)

func TestATopicIsUnmanagedAndManagedAgainByTheAnnotation(t *testing.T) {
	w := newWorld(t, strimziServer(t))
	w.r.options.Schema = schema.New(schema.Options{Client: w.admin, Changed: func(bool) {}, Log: logr.Discard()})
	w.ready("a")
	w.update("a", abandon)
	w.pass("a")
	w.Expect(w.get("a")).To(haveConditions("Unmanaged=True"))
	w.update("a", manage)
	w.pass("a")
	w.Expect(w.get("a")).To(beReady())

	w.status("a", func(s *v1.KafkaTopicStatus) { // written while another CustomResourceDefinition kept spec.managed
		s.Conditions = []v1.Condition{{Type: v1.ConditionUnmanaged, Status: v1.ConditionTrue, Reason: v1.ReasonUnmanagedBySpec}}
	})
	w.pass("a")
	w.Expect(w.get("a").Status.Conditions).To(HaveExactElements(staysUnmanaged))
	w.update("a", annotation(v1.AnnotationManaged, "true"))
	w.pass("a")
	w.Expect(w.get("a")).To(beReady())
}

// Strimzi's CustomResourceDefinition accepts numbers of 64 bits. One that the operator could not decode would end its list and its watch.
func TestNumbersThatKafkaDoesNotHaveHoldUpNoOtherTopic(t *testing.T) {
	w := newWorld(t, untimed, strimziServer(t))
	huge := &unstructured.Unstructured{}
	huge.SetGroupVersionKind(v1.GroupVersion.WithKind("KafkaTopic"))
	huge.SetNamespace(w.ns)
	huge.SetName("huge")
	w.Expect(unstructured.SetNestedField(huge.Object, int64(math.MaxInt64), "spec", "partitions")).To(Succeed())
	w.Expect(w.admin.Create(t.Context(), huge)).To(Succeed())
	status := client.RawPatch(types.MergePatchType, []byte(`{"status":{"replicasChange":{"targetReplicas":9223372036854775807}}}`))
	w.Expect(w.admin.Status().Patch(t.Context(), huge, status)).To(Succeed())
	w.start(w.kafka)

	w.create("good", partitions(2))
	w.Eventually(w.readyNames).Should(Equal([]string{"good"}))
	w.Eventually(func() []v1.Condition { return w.get("huge").Status.Conditions }).Should(ContainElement(And(
		HaveField("Reason", v1.ReasonKafkaError), HaveField("Message", ContainSubstring("spec.partitions")))))
	w.delete("good")
	w.Eventually(w.exists).WithArguments("good").Should(BeFalse())
	w.Expect(w.kafka.get("good")).To(BeNil())
	w.delete("huge")
	w.Eventually(w.exists).WithArguments("huge").Should(BeFalse())
}
