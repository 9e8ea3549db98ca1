package controller

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// wrongManifest is a row of the tables of package validate: see its harness_test.go.
type wrongManifest struct {
	Name, Message string
	Kafka         *v1.Kafka
	Pools         []*v1.KafkaNodePool
	ConfigMaps    map[string]map[string]string
	Secrets       map[string]map[string][]byte
}

// wrongManifests returns the rows of these tables.
func wrongManifests(t *testing.T) (rows []wrongManifest) {
	t.Helper()
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "rows")
	// With the flags of other programs of tests, so that Kubernetes' libraries are compiled already.
	cmd := exec.CommandContext(t.Context(), "go", "test", "-trimpath", "-buildvcs=false", "-vet=off", "-count=1", "-run=^TestWrong",
		"../validate")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "VALIDATE_ROWS="+file)
	output, err := cmd.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
	text, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(text)) {
		row := wrongManifest{}
		g.Expect(json.Unmarshal([]byte(line), &row)).To(Succeed())
		rows = append(rows, row)
	}
	return rows
}

// goodManifest returns a manifest without mistakes, like the one that the rows change.
func goodManifest(t *testing.T) wrongManifest {
	t.Helper()
	good := wrongManifest{Kafka: newKafka()}
	good.Kafka.Name, good.Kafka.Namespace = "c", historyNamespace
	good.Kafka.Spec.Kafka.Version, good.Kafka.Spec.Kafka.MetadataVersion = "4.3.1", "4.3-IV0"
	good.Kafka.Spec.Kafka.Listeners = []v1.Listener{{Name: "tls", Port: 9093, Type: v1.ListenerInternal, TLS: true}}
	good.Kafka.Spec.Kafka.Config = map[string]v1.ConfigValue{
		"default.replication.factor": {Raw: []byte("3")}, "min.insync.replicas": {Raw: []byte("2")}}
	for name, role := range map[string]v1.ProcessRole{"broker": v1.RoleBroker, "controller": v1.RoleController} {
		pool := nodePool(name, 3, role)
		pool.Namespace, pool.Labels = historyNamespace, map[string]string{v1.LabelCluster: "c"}
		pool.Spec.Storage = v1.Storage{Type: v1.StoragePersistentClaim, Size: "10Gi"}
		good.Pools = append(good.Pools, pool)
	}
	return good
}

// objects returns what a user creates.
func (w wrongManifest) objects() (all []client.Object) {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: historyNamespace, Name: name}
	}
	for name, data := range w.ConfigMaps {
		if data != nil {
			all = append(all, &corev1.ConfigMap{ObjectMeta: meta(name), Data: data})
		}
	}
	for name, data := range w.Secrets {
		if data != nil {
			all = append(all, &corev1.Secret{ObjectMeta: meta(name), Data: data})
		}
	}
	all = append(all, w.Kafka.DeepCopy())
	for _, pool := range w.Pools {
		pool = pool.DeepCopy()
		pool.Namespace = historyNamespace
		metav1.SetMetaDataLabel(&pool.ObjectMeta, v1.LabelCluster, w.Kafka.Name)
		all = append(all, pool)
	}
	return all
}

// others returns the versions of all objects but the user's Kafka and KafkaNodePools, and the generations and metadata of those.
func (h *history) others() map[facts.Key]string {
	all := map[facts.Key]string{}
	for key, o := range h.k8s.server.objects {
		all[key] = o.GetResourceVersion()
		if key.Kind == "Kafka" || key.Kind == "KafkaNodePool" {
			all[key] = jsonText([]any{o.GetGeneration(), o.GetLabels(), o.GetAnnotations(), o.GetFinalizers()})
		}
	}
	return all
}

// TestWrongManifestsMakeAndHarmNothing creates each wrong manifest of package validate, and makes each of a Kafka that runs: only statuses
// are written.
func TestWrongManifestsMakeAndHarmNothing(t *testing.T) {
	rows := wrongManifests(t)
	if len(rows) < 100 {
		t.Fatalf("there are %d rows", len(rows))
	}
	made := func(t *testing.T, objects ...client.Object) *history {
		t.Helper()
		h := newHistory(t, 1)
		h.r.Settings.KafkaImages = map[string]string{}
		for _, version := range []string{"3.9.1", "4.2.0", "4.2.1", "4.3.0", "4.3.1"} {
			h.r.Settings.KafkaImages[version] = "kafka:" + version
		}
		for _, o := range objects {
			h.must(h.k8s.Create(t.Context(), o))
		}
		return h
	}
	for _, row := range rows {
		t.Run("first/"+row.Name, func(t *testing.T) {
			g := NewWithT(t)
			h := made(t, row.objects()...)
			before := h.others()
			h.passOver(row.Kafka.Name)
			g.Expect(h.kafka(row.Kafka.Name)).To(WithTransform(readyOf,
				And(HaveField("Status", "False"), HaveField("Message", ContainSubstring(row.Message)))))
			g.Expect(h.others()).To(Equal(before))
		})
	}
	names := func(objects []client.Object) map[facts.Key]bool {
		found := map[facts.Key]bool{}
		for _, o := range objects {
			if _, is := o.(*v1.KafkaNodePool); is {
				found[facts.Key{Kind: "KafkaNodePool", Name: o.GetName()}] = true
			}
		}
		return found
	}
	good := goodManifest(t)
	running := names(good.objects())
	for _, row := range rows {
		if row.Kafka.Name != good.Kafka.Name || !maps.Equal(names(row.objects()), running) {
			continue // a user can't rename what runs
		}
		t.Run("later/"+row.Name, func(t *testing.T) {
			g := NewWithT(t)
			h := made(t, good.objects()...)
			h.name = good.Kafka.Name
			h.comeUpAs(good.Kafka.Name)
			g.Expect(h.kafka(good.Kafka.Name)).To(isReady("True", "", ""))
			for _, o := range row.objects() {
				key := h.k8s.server.keyOf(o)
				if h.object(key) == nil {
					h.must(h.k8s.Create(t.Context(), o))
					continue
				}
				o.SetResourceVersion("")
				h.must(h.k8s.Update(t.Context(), o))
			}
			before := h.others()
			h.passOver(good.Kafka.Name)
			h.passOver(good.Kafka.Name)
			g.Expect(h.others()).To(Equal(before), "%v", h.kafka(good.Kafka.Name).Status.Conditions)
		})
	}
}

// TestWrongNodeIDs gives a second pool an id of the first: the status says so in Strimzi's words.
func TestWrongNodeIDs(t *testing.T) {
	h := newHistory(t, 1)
	good := goodManifest(t)
	for _, o := range good.objects() {
		h.must(h.k8s.Create(t.Context(), o))
	}
	h.name = good.Kafka.Name
	h.comeUpAs(good.Kafka.Name)
	first := h.object(facts.Key{Kind: "KafkaNodePool", Name: "broker"}).(*v1.KafkaNodePool).Status.NodeIDs
	second := copied(h.object(facts.Key{Kind: "KafkaNodePool", Name: "controller"})).(*v1.KafkaNodePool)
	second.Status.NodeIDs = append(second.Status.NodeIDs, first[0])
	h.must(h.k8s.Status().Update(t.Context(), second))
	before := h.others()
	h.passOver(good.Kafka.Name)
	NewWithT(t).Expect(h.kafka(good.Kafka.Name)).To(isReady("False", "InvalidConfigurationException",
		"Found duplicate node ID 0 in node pool "))
	NewWithT(t).Expect(h.others()).To(Equal(before))
}
