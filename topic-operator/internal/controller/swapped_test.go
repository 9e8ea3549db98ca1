package controller

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/schema"
)

// swaps applies other CustomResourceDefinitions to the world's own API server, and waits until it stores, or drops, the clusterId of a
// KafkaTopic.
func (w *world) swaps(name string, keeps bool, folder ...string) {
	w.t.Helper()
	root, err := assets.Root()
	w.Expect(err).NotTo(HaveOccurred())
	_, err = envtest.InstallCRDs(w.setup.server.Config, envtest.CRDInstallOptions{
		Paths: []string{filepath.Join(append([]string{root}, folder...)...)}, ErrorIfPathMissing: true, MaxTime: time.Minute})
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(func() string {
		kt := w.get(name)
		patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"clusterId":"x"}}`))
		w.Expect(w.admin.Status().Patch(w.t.Context(), kt, patch, client.DryRunAll)).To(Succeed())
		return kt.Status.ClusterID
	}).Should(Equal(map[bool]string{true: "x"}[keeps]))
}

// Strimzi's CustomResourceDefinition is applied and replaced between two looks at the schema, and in between a first claim is written.
func TestTheProtectionIsArmedAgainAfterAShortSwap(t *testing.T) {
	w := newWorld(t, anotherServer(t, ourCRD...))
	clients, err := kubernetes.NewForConfig(w.setup.server.Config)
	w.Expect(err).NotTo(HaveOccurred())
	var index []byte // it stays, as the index of a real API server is behind for a while
	get := func(ctx context.Context, path string) (data []byte, err error) {
		if path == "/openapi/v3" && index != nil {
			return index, nil
		}
		if path == "/openapi/v3" {
			defer func() { index = data }()
		}
		return clients.Discovery().RESTClient().Get().RequestURI(path).SetHeader("Accept", "application/json").DoRaw(ctx)
	}
	published := func() string {
		data, _ := get(t.Context(), "/openapi/v3/apis/kafka.strimzi.io/v1")
		return string(data)
	}
	ours := ContainSubstring("An operator connected to another cluster leaves the resource")
	fields := schema.New(schema.Options{Get: get, Client: w.admin, Changed: func(bool) {}, Log: logr.Discard()})
	w.r.options.Schema = fields
	w.create("a")
	w.Eventually(published).Should(ours)
	fields.Look(t.Context())

	w.swaps("a", false, strimziCRD...)
	w.pass("a")
	w.Expect(w.get("a").Status.ClusterID).To(BeEmpty())
	w.Expect(fields.KeepsClusterID()).To(BeFalse())
	w.Eventually(published).ShouldNot(ours)
	w.swaps("a", true, ourCRD...)
	w.Eventually(published).Should(ours)
	w.Eventually(func() bool {
		fields.Look(t.Context())
		return fields.KeepsClusterID()
	}).Should(BeTrue())
	w.pass("a")
	w.Expect(w.get("a").Status.ClusterID).To(Equal(ownID))
}
