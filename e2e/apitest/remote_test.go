package apitest

import (
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	kafkav1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// TestARemoteClusterRefusesWhatBelongsIntoTheCentralOne applies the component for remote Kubernetes clusters, and creates objects that no
// operator reconciles there.
func TestARemoteClusterRefusesWhatBelongsIntoTheCentralOne(t *testing.T) {
	g := NewWithT(t)
	needServer(t)
	s, err := start([]string{bases, "testdata/strimzi-connect"})
	g.Expect(err).NotTo(HaveOccurred(), "starting an API server")
	t.Cleanup(s.stop)
	namespace := s.namespace(t.Context(), t)
	specs := map[string]map[string]any{
		"Kafka": {"kafka": map[string]any{"listeners": []any{map[string]any{"name": "plain", "port": int64(9092),
			"type": "internal", "tls": false}}}},
		"KafkaNodePool": {"replicas": int64(1), "roles": []any{"broker"}, "storage": map[string]any{"type": "ephemeral"}},
		"KafkaConnect":  {},
		"StrimziPodSet": {"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}, "pods": []any{}},
	}
	object := func(kind schema.GroupVersionKind) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": specs[kind.Kind]}}
		o.SetGroupVersionKind(kind)
		o.SetNamespace(namespace)
		o.SetName("my-object")
		return o
	}
	refused := func(kind string) error {
		return s.client.Create(t.Context(), object(kafkav1.GroupVersion.WithKind(kind)), client.DryRunAll)
	}
	before := object(kafkav1.GroupVersion.WithKind("KafkaConnect"))
	g.Expect(s.client.Create(t.Context(), before)).To(Succeed())
	kubectl(t, s)("apply", "--server-side", "-k", "testdata/remote-cluster")

	const remedy = "create it in the central cluster"
	// The API server enforces a new policy after a while.
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		err := refused("KafkaConnect")
		return err != nil && strings.Contains(err.Error(), remedy), nil
	})
	g.Expect(err).NotTo(HaveOccurred(), "a KafkaConnect is not refused")
	for _, kind := range []string{"Kafka", "KafkaNodePool", "KafkaConnect"} {
		err := refused(kind)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "no operator reconciles a "+kind+": "+remedy) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	// Updates of existing objects, and objects that the operators create, are allowed.
	before.SetLabels(map[string]string{"changed": "true"})
	g.Expect(s.client.Update(t.Context(), before)).To(Succeed())
	g.Expect(s.client.Create(t.Context(), object(core.GroupVersion.WithKind("StrimziPodSet")))).To(Succeed())
}
