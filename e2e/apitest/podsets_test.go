package apitest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	corev1beta2 "github.com/kafka-operators/kafka-operators/api/core/v1beta2"
)

// podSet is a StrimziPodSet as Strimzi's operator writes it. No field of its pod may be lost.
const podSet = `
apiVersion: core.strimzi.io/v1beta2
kind: StrimziPodSet
metadata:
  name: my-cluster-kafka
  labels: {strimzi.io/cluster: my-cluster, strimzi.io/kind: Kafka}
spec:
  selector:
    matchLabels: {strimzi.io/cluster: my-cluster, strimzi.io/name: my-cluster-kafka}
  pods:
    - apiVersion: v1
      kind: Pod
      metadata:
        name: my-cluster-kafka-0
        annotations: {strimzi.io/revision: "65a2d237"}
        labels: {strimzi.io/cluster: my-cluster, strimzi.io/broker-role: "true"}
      spec:
        containers:
          - name: kafka
            image: docker.io/apache/kafka:4.3.1
            aFieldOfTheFuture: {nested: [1, 2]}
        volumes: [{name: data-0, persistentVolumeClaim: {claimName: data-0-my-cluster-kafka-0}}]
`

// TestStrimziPodSet checks that Strimzi's manifests apply unchanged, are served in both versions, and lose no field of their pods.
func TestStrimziPodSet(t *testing.T) {
	g := NewWithT(t)
	s := needServer(t)
	ctx := t.Context()
	namespace := s.namespace(ctx, t)
	object := decode(t, podSet)
	object.SetNamespace(namespace)
	g.Expect(s.strict().Create(ctx, object.DeepCopy())).To(Succeed(), "create")
	key := types.NamespacedName{Namespace: namespace, Name: "my-cluster-kafka"}
	for _, version := range podSetVersions {
		got := &unstructured.Unstructured{}
		got.SetAPIVersion("core.strimzi.io/" + version)
		got.SetKind("StrimziPodSet")
		g.Expect(s.client.Get(ctx, key, got)).To(Succeed(), "%s", version)
		pods, _, _ := unstructured.NestedSlice(got.Object, "spec", "pods")
		want, _, _ := unstructured.NestedSlice(object.Object, "spec", "pods")
		same(t, version, want, pods)
	}
	typed, older := &core.StrimziPodSet{}, &corev1beta2.StrimziPodSet{}
	for _, o := range []client.Object{typed, older} {
		g.Expect(s.client.Get(ctx, key, o)).To(Succeed())
	}
	pods, err := typed.DesiredPods()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pods).To(HaveLen(1))
	g.Expect(pods[0].Annotations).To(HaveKeyWithValue(core.AnnotationRevision, "65a2d237"))
	g.Expect(pods[0].Labels).To(HaveKeyWithValue(core.LabelBrokerRole, "true"))
	typed.Spec.Pods[0].Raw = []byte(`{"metadata": 7}`)
	_, err = typed.DesiredPods()
	g.Expect(err).To(MatchError(ContainSubstring("spec.pods[0] is not a Pod")))
}

// TestPodSetCRD checks the installed CustomResourceDefinition: names, versions, one schema for both versions, and the columns.
func TestPodSetCRD(t *testing.T) {
	g := NewWithT(t)
	s := needServer(t)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(s.client.Get(t.Context(), client.ObjectKey{Name: "strimzipodsets.core.strimzi.io"}, crd)).To(Succeed())
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.NonStructuralSchema {
			g.Expect(condition.Status).NotTo(Equal(apiextensionsv1.ConditionTrue), "%s", condition.Message)
		}
	}
	g.Expect(crd.Spec.Names.ShortNames).To(Equal([]string{"sps"}))
	g.Expect(crd.Spec.Names.Categories).To(Equal([]string{"strimzi"}))
	g.Expect(crd.Spec.Versions).To(HaveLen(2))
	for _, version := range crd.Spec.Versions {
		g.Expect(version.Served).To(BeTrue(), version.Name)
		g.Expect(version.Storage).To(Equal(version.Name == "v1"), version.Name)
		g.Expect(version.Subresources).To(HaveField("Status", Not(BeNil())), version.Name)
		var columns []string
		for _, c := range version.AdditionalPrinterColumns {
			columns = append(columns, c.Name+" "+c.JSONPath)
		}
		g.Expect(columns).To(Equal([]string{"Pods .status.pods", "Ready Pods .status.readyPods", "Current Pods .status.currentPods",
			"Age .metadata.creationTimestamp"}), version.Name)
		same(t, version.Name, crd.Spec.Versions[0].Schema, version.Schema)
	}
}

// TestInvalidPodSet creates invalid StrimziPodSets. The message has to name the field.
func TestInvalidPodSet(t *testing.T) {
	s := needServer(t)
	cases := map[string]struct{ spec, want string }{
		"no selector":       {spec: `{"pods":[]}`, want: "spec.selector: Required value"},
		"no pods":           {spec: `{"selector":{}}`, want: "spec.pods: Required value"},
		"a pod as text":     {spec: `{"selector":{},"pods":["pod"]}`, want: `spec.pods[0] in body must be of type object: "string"`},
		"pods as an object": {spec: `{"selector":{},"pods":{}}`, want: `spec.pods in body must be of type array: "object"`},
		"unknown field":     {spec: `{"selector":{},"pods":[],"replicas":3}`, want: `unknown field "spec.replicas"`},
	}
	for name, tc := range cases {
		for _, version := range podSetVersions {
			t.Run(name+"/"+version, func(t *testing.T) {
				object := decode(t, fmt.Sprintf(`{"apiVersion":"core.strimzi.io/%s","kind":"StrimziPodSet",
					"metadata":{"name":"a","namespace":"default"},"spec":%s}`, version, tc.spec))
				NewWithT(t).Expect(s.strict().Create(t.Context(), object)).To(MatchError(ContainSubstring(tc.want)))
			})
		}
	}
}

// TestPodSetStatus checks that the status is a subresource, that one version reads what the other wrote, and that it keeps the fields that
// Strimzi wrote.
func TestPodSetStatus(t *testing.T) {
	g := NewWithT(t)
	s := needServer(t)
	ctx := t.Context()
	object := decode(t, podSet)
	object.SetNamespace(s.namespace(ctx, t))
	status := map[string]any{
		"observedGeneration": int64(1), "pods": int64(3), "readyPods": int64(2), "currentPods": int64(1),
		"conditions": []any{map[string]any{"type": "Error", "status": "true", "reason": "KubernetesClientException", "message": "no",
			"lastTransitionTime": "2024-01-01T00:00:00.123456789Z"}},
	}
	object.Object["status"] = map[string]any{"pods": int64(9)}
	g.Expect(s.strict().Create(ctx, object)).To(Succeed())
	g.Expect(object.Object).NotTo(HaveKey("status"))
	object.Object["status"] = status
	g.Expect(s.strict().Status().Update(ctx, object)).To(Succeed())
	typed := &core.StrimziPodSet{}
	g.Expect(s.client.Get(ctx, client.ObjectKeyFromObject(object), typed)).To(Succeed())
	same(t, "through the Go type", status, typed.Status)
	typed.Status.ReadyPods = 0
	g.Expect(s.strict().Status().Update(ctx, typed)).To(Succeed())
	status["readyPods"] = int64(0)
	older := &corev1beta2.StrimziPodSet{}
	g.Expect(s.client.Get(ctx, client.ObjectKeyFromObject(object), older)).To(Succeed())
	same(t, "v1beta2", status, older.Status)
}

// TestPodSetApply applies Strimzi's manifest with kubectl, client-side and server-side. The second apply changes nothing, and the Go type
// writes back what it read.
func TestPodSetApply(t *testing.T) {
	g := NewWithT(t)
	s := needServer(t)
	ctx := t.Context()
	run := kubectl(t, s)
	manifest := filepath.Join(t.TempDir(), "podset.yaml")
	g.Expect(os.WriteFile(manifest, []byte(podSet), 0o600)).To(Succeed())
	for _, mode := range []string{"--server-side=false", "--server-side=true"} {
		namespace := s.namespace(ctx, t)
		key := client.ObjectKey{Namespace: namespace, Name: "my-cluster-kafka"}
		run("apply", mode, "-n", namespace, "-f", manifest)
		first, again := &core.StrimziPodSet{}, &core.StrimziPodSet{}
		g.Expect(s.client.Get(ctx, key, first)).To(Succeed())
		run("apply", mode, "-n", namespace, "-f", manifest)
		g.Expect(s.strict().Update(ctx, first.DeepCopy())).To(Succeed(), "writing back what was read")
		g.Expect(s.client.Get(ctx, key, again)).To(Succeed())
		g.Expect(again.ResourceVersion).To(Equal(first.ResourceVersion),
			"%s: applying the same again, or writing back what was read, changed it:\n%s\n%s", mode, asJSON(t, first), asJSON(t, again))
		g.Expect(run("get", "strimzi,sps", "-n", namespace, "-o", "name")).To(
			ContainSubstring("strimzipodset.core.strimzi.io/my-cluster-kafka\n"))
	}
}

// podSetVersions are the served versions.
var podSetVersions = []string{"v1", "v1beta2"}

func decode(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	NewWithT(t).Expect(yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096).Decode(object)).To(Succeed())
	return object
}

// same compares the object that was sent with the one that was read.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	NewWithT(t).Expect(asJSON(t, got)).To(Equal(asJSON(t, want)), what)
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	g := NewWithT(t)
	data, err := json.Marshal(value)
	g.Expect(err).NotTo(HaveOccurred())
	// Encode once more to sort the keys.
	var plain any
	g.Expect(json.Unmarshal(data, &plain)).To(Succeed())
	data, err = json.Marshal(plain)
	g.Expect(err).NotTo(HaveOccurred())
	return string(data)
}
