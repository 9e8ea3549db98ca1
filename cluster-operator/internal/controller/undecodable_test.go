package controller

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/testserver"
)

// laxWorld is a world on an API server of its own, whose CustomResourceDefinitions allow what Go types can't hold, as Strimzi's do.
func laxWorld(t *testing.T) *world {
	t.Helper()
	testserver.Need(t, missing)
	env, err := testserver.Start(false)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { testserver.Stop(env) })
	g := NewWithT(t)
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "config", "crd", "bases", "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	limits, texts := regexp.MustCompile(`(?m)^ *(format: int32|maximum: \d+)\n`), regexp.MustCompile(`additionalProperties:\n *type: string\n`)
	dir := t.TempDir()
	for _, file := range files {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		text = texts.ReplaceAll(limits.ReplaceAll(text, nil), []byte("x-kubernetes-preserve-unknown-fields: true\n"))
		g.Expect(os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o600)).To(Succeed())
	}
	_, err = envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{Paths: []string{dir}})
	g.Expect(err).NotTo(HaveOccurred())
	return newWorldOn(t, env.Config)
}

// patch changes an object, or its status, to what no Go type can hold.
func (w *world) patch(o client.Object, name, patch string, status bool) {
	w.t.Helper()
	o.SetNamespace(w.namespace)
	o.SetName(name)
	raw := client.RawPatch(types.MergePatchType, []byte(patch))
	if status {
		w.Expect(w.k8s.Status().Patch(w.t.Context(), o, raw)).To(Succeed())
		return
	}
	w.Expect(w.k8s.Patch(w.t.Context(), o, raw)).To(Succeed())
}

// Strimzi's CustomResourceDefinitions accept numbers that the operator can't decode: such an object is like an invalid one, and ends no
// list and no watch.
func TestWhatCannotBeDecodedHoldsUpNothingElse(t *testing.T) {
	w := laxWorld(t)
	w.create(newKafka(), nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	other := newKafka()
	other.Name = "other"
	theirs := nodePool("theirs", 1, v1.RoleBroker, v1.RoleController)
	theirs.Labels[v1.LabelCluster] = "other"
	w.create(other, theirs)
	reconcileOther := func() {
		t.Helper()
		_, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "other"}})
		w.Expect(err).NotTo(HaveOccurred())
	}
	otherGoesOn := func() {
		t.Helper()
		set := &core.StrimziPodSet{}
		w.get(set, "other-theirs")
		w.Expect(w.k8s.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: w.named("other-theirs-0")})).To(Succeed())
		reconcileOther()
		w.get(&corev1.ConfigMap{}, "other-theirs-0")
	}
	kafka := func() *v1.Kafka {
		k := &v1.Kafka{}
		w.get(k, "my-cluster")
		return k
	}
	w.reconcile()
	reconcileOther()
	before, id := w.pods("pool"), kafka().Status.ClusterID
	untouched := func(message string) {
		t.Helper()
		w.reconcile()
		w.Expect(w.pods("pool")).To(Equal(before))
		w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "InvalidResourceException"),
			HaveField("Message", ContainSubstring(message))))
		w.Expect(kafka().Status.ClusterID).To(Equal(id))
		w.Expect(w.pool("pool").Status.Conditions).To(ContainElement(And(HaveField("Type", "Ready"),
			HaveField("Message", ContainSubstring(message)))))
		otherGoesOn()
	}
	mended := func() {
		t.Helper()
		w.reconcile()
		w.Expect(w.pods("pool")).To(Equal(before))
		w.Expect(w.ready().Reason).NotTo(Equal("InvalidResourceException"))
	}

	w.patch(&v1.KafkaNodePool{}, "pool", `{"spec":{"storage":{"id":3000000000}}}`, false)
	untouched(".spec.storage.id is not a value of type int32: number 3000000000")
	w.Expect(w.pool("pool").Invalid).NotTo(BeEmpty(), "nobody overwrote it")
	w.patch(&v1.KafkaNodePool{}, "pool", `{"spec":{"storage":{"id":null}}}`, false)
	mended()

	w.patch(&v1.KafkaNodePool{}, "pool", `{"status":{"nodeIds":[0,1,2,3000000000]}}`, true)
	untouched(".status.nodeIds is not a value of type int32: number 3000000000")
	w.patch(&v1.KafkaNodePool{}, "pool", `{"status":{"nodeIds":[0,1,2]}}`, true)
	mended()

	w.patch(&v1.Kafka{}, "my-cluster",
		`{"spec":{"kafka":{"listeners":[{"name":"a","port":3000000000,"type":"internal","tls":false}]}}}`, false)
	untouched(".spec.kafka.listeners.port is not a value of type int32: number 3000000000")
	w.edit(func(k *v1.Kafka) { k.Spec = newKafka().Spec })
	mended()

	w.patch(&v1.Kafka{}, "my-cluster", `{"status":{"registeredNodeIds":[3000000000]}}`, true)
	w.events = nil
	w.reconcile()
	w.Expect(w.pods("pool")).To(Equal(before))
	message := ".status.registeredNodeIds is not a value of type int32: number 3000000000 (kubectl edit --subresource=status corrects it)"
	shown := kafka()
	w.Expect(shown.Invalid).To(Equal(message))
	w.Expect(readyOf(shown)).To(HaveValue(And(HaveField("Status", "False"), HaveField("Reason", "InvalidResourceException"),
		HaveField("Message", ContainSubstring(message)))))
	w.Expect(w.events).To(ConsistOf(ContainSubstring(message)))
	w.now = w.now.Add(time.Hour)
	w.reconcile()
	w.Expect(kafka().ResourceVersion).To(Equal(shown.ResourceVersion), "it was written again")
	w.Expect(w.events).To(HaveLen(1))
	w.patch(&v1.Kafka{}, "my-cluster", `{"status":{"registeredNodeIds":null}}`, true)
	mended()
	w.Expect(kafka().Status.ClusterID).To(Equal(id))

	w.patch(&core.StrimziPodSet{}, "my-cluster-pool", `{"status":{"pods":3000000000}}`, true)
	mended()

	w.patch(&core.StrimziPodSet{}, "my-cluster-pool", `{"spec":{"selector":{"matchLabels":{"a":7}}}}`, false)
	_, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}})
	w.Expect(err).To(MatchError(ContainSubstring(".spec.selector.matchLabels")))
	w.Expect(w.set("pool").Invalid).NotTo(BeEmpty(), "nobody overwrote it")
	otherGoesOn()
}
