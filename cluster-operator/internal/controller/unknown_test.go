package controller

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// preserve makes the API server keep unknown fields of spec.kafka, as the CustomResourceDefinition of a newer operator does.
func (w *world) preserve(keep bool) {
	w.t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	w.Expect(w.k8s.Get(w.t.Context(), client.ObjectKey{Name: "kafkas.kafka.strimzi.io"}, crd)).To(Succeed())
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	w.Expect(err).NotTo(HaveOccurred())
	var patch []map[string]any
	for i := range versions {
		path := "/spec/versions/" + string(rune('0'+i)) +
			"/schema/openAPIV3Schema/properties/spec/properties/kafka/x-kubernetes-preserve-unknown-fields"
		if keep {
			patch = append(patch, map[string]any{"op": "add", "path": path, "value": true})
		} else {
			patch = append(patch, map[string]any{"op": "remove", "path": path})
		}
	}
	text, err := json.Marshal(patch)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.k8s.Patch(w.t.Context(), crd, client.RawPatch(types.JSONPatchType, text))).To(Succeed())
}

func TestAFieldThatNobodyKnowsIsNamed(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	w.Expect(k.Status.Conditions).NotTo(ContainElement(HaveField("Reason", v1.ReasonUnknownFields)))

	w.preserve(true)
	restored := false
	restore := func() {
		if !restored {
			restored = true
			w.preserve(false)
		}
	}
	defer restore()
	raw := &unstructured.Unstructured{}
	raw.SetGroupVersionKind(v1.GroupVersion.WithKind("Kafka"))
	w.Eventually(func(g Gomega) { // until the API server serves the new schema
		w.get(raw, "my-cluster")
		g.Expect(unstructured.SetNestedField(raw.Object, "yes", "spec", "kafka", "fromTheFuture")).To(Succeed())
		g.Expect(w.k8s.Update(t.Context(), raw)).To(Succeed())
		_, kept, _ := unstructured.NestedString(raw.Object, "spec", "kafka", "fromTheFuture")
		g.Expect(kept).To(BeTrue())
	}, time.Minute).Should(Succeed())
	w.reconcile()
	w.get(k, "my-cluster")
	w.Expect(k.Status.Conditions).To(ContainElement(And(HaveField("Reason", v1.ReasonUnknownFields), HaveField("Message",
		"Resource Kafka("+w.namespace+"/my-cluster) contains object at path spec.kafka with an unknown property: fromTheFuture"))))
	w.reconcile() // the condition is kept
	w.get(k, "my-cluster")
	w.Expect(k.Status.Conditions).To(ContainElement(HaveField("Reason", v1.ReasonUnknownFields)))

	w.get(raw, "my-cluster")
	unstructured.RemoveNestedField(raw.Object, "spec", "kafka", "fromTheFuture")
	w.Expect(w.k8s.Update(t.Context(), raw)).To(Succeed())
	restore()
	w.reconcile()
	w.get(k, "my-cluster")
	w.Expect(k.Status.Conditions).NotTo(ContainElement(HaveField("Reason", v1.ReasonUnknownFields)))
}
