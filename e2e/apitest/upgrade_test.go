package apitest

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kafkav1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	kafkav1beta2 "github.com/kafka-operators/kafka-operators/api/kafka/v1beta2"
)

// TestUpgradeFromStrimzi replaces a CRD that stores v1beta2, as Strimzi's did, by ours, while topics exist. The topics stay unchanged in
// both versions, and an update stores a topic as v1.
func TestUpgradeFromStrimzi(t *testing.T) {
	g := NewWithT(t)
	needServer(t)
	s, err := start([]string{"testdata/strimzi-crd"})
	g.Expect(err).NotTo(HaveOccurred(), "starting an API server")
	t.Cleanup(s.stop)
	ctx := t.Context()
	namespace := s.namespace(ctx, t)
	var stored []manifest
	for _, m := range append(read(t, "testdata/strimzi-examples.yaml"), read(t, "testdata/strimzi-status.yaml")...) {
		object := m.object.DeepCopy()
		object.SetAPIVersion(kafkav1beta2.GroupVersion.String())
		object.SetNamespace(namespace)
		g.Expect(s.strict().Create(ctx, object)).To(Succeed(), "%s: create under Strimzi's CRD", m)
		if status, found := m.object.Object["status"]; found {
			object.Object["status"] = status
			g.Expect(s.strict().Status().Update(ctx, object)).To(Succeed(), "%s: status under Strimzi's CRD", m)
		}
		stored = append(stored, m)
	}

	replaceCRD(t, s, shared.crd(t, crdName))

	for _, m := range stored {
		for _, version := range versions {
			compare(t, m.String()+" "+version.Version, m.object, get(t, s, version.WithKind("KafkaTopic"), namespace, m.object.GetName()))
		}
		object := get(t, s, kafkav1.GroupVersion.WithKind("KafkaTopic"), namespace, m.object.GetName())
		object.SetLabels(map[string]string{"written": "again"})
		g.Expect(s.strict().Update(ctx, object)).To(Succeed(), "%s: writing it again", m)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(s.client.Get(ctx, client.ObjectKey{Name: crdName}, crd)).To(Succeed())
	if got := crd.Status.StoredVersions; !slices.Equal(got, []string{"v1beta2", "v1"}) {
		t.Errorf("stored versions = %v, want [v1beta2 v1]", got)
	}
}

// eventually polls until done returns true, for at most half a minute.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline, tick := time.After(30*time.Second), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("after 30 s it is not so that %s", what)
		}
	}
}

// replaceCRD replaces the installed CRD with ours, and waits until the API server serves it.
func replaceCRD(t *testing.T, s *server, ours *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	g := NewWithT(t)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(s.client.Get(t.Context(), client.ObjectKey{Name: crdName}, crd)).To(Succeed())
	crd.Spec = *ours.Spec.DeepCopy()
	g.Expect(s.client.Update(t.Context(), crd)).To(Succeed(), "replacing the CRD")
	eventually(t, "v1 is served", func() bool {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kafkav1.GroupVersion.WithKind("KafkaTopicList"))
		return s.client.List(t.Context(), list) == nil && len(list.Items) > 0
	})
}
