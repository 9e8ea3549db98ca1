package apitest

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "github.com/kafka-operators/kafka-operators/api/core/v1"
	corev1beta2 "github.com/kafka-operators/kafka-operators/api/core/v1beta2"
)

// podSet is a StrimziPodSet as Strimzi's operator writes it, with a pod in which nothing may get lost.
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

// TestStrimziPodSet: manifests of Strimzi's apply unchanged, are served in both versions, and lose nothing of their pods.
func TestStrimziPodSet(t *testing.T) {
	s := needServer(t)
	ctx := t.Context()
	namespace := s.namespace(ctx, t)
	object := &unstructured.Unstructured{}
	if err := yaml.NewYAMLOrJSONDecoder(strings.NewReader(podSet), 4096).Decode(object); err != nil {
		t.Fatal(err)
	}
	object.SetNamespace(namespace)
	if err := s.strict().Create(ctx, object.DeepCopy()); err != nil {
		t.Fatalf("create: %v", err)
	}
	key := types.NamespacedName{Namespace: namespace, Name: "my-cluster-kafka"}
	for _, version := range []string{"v1", "v1beta2"} {
		got := &unstructured.Unstructured{}
		got.SetAPIVersion("core.strimzi.io/" + version)
		got.SetKind("StrimziPodSet")
		if err := s.client.Get(ctx, key, got); err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		pods, _, _ := unstructured.NestedSlice(got.Object, "spec", "pods")
		want, _, _ := unstructured.NestedSlice(object.Object, "spec", "pods")
		same(t, version, want, pods)
	}
	typed, older := &corev1api.StrimziPodSet{}, &corev1beta2.StrimziPodSet{}
	for _, o := range []client.Object{typed, older} {
		if err := s.client.Get(ctx, key, o); err != nil {
			t.Fatal(err)
		}
	}
	pods, err := typed.DesiredPods()
	if err != nil {
		t.Fatal(err)
	}
	if len(pods) != 1 || pods[0].Annotations[corev1api.AnnotationRevision] != "65a2d237" || pods[0].Labels[corev1api.LabelBrokerRole] != "true" {
		t.Errorf("the pods of the set are %+v", pods)
	}
	typed.Spec.Pods[0].Raw = []byte(`{"metadata": 7}`)
	if _, err := typed.DesiredPods(); err == nil || !strings.Contains(err.Error(), "spec.pods[0] is no pod") {
		t.Errorf("what is no pod is told as: %v", err)
	}
}

// same compares what was sent with what came back.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if w, g := asJSON(t, want), asJSON(t, got); w != g {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
