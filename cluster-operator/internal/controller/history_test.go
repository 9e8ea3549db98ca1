package controller

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
)

const historyNamespace = "ns"

// history plays random edits by users, accidents and API errors against the reconciler. Its rules know nothing of the reconciler: they compare
// what is in the API server before and after each pass.
type history struct {
	t    testing.TB
	seed int64
	rand *rand.Rand
	k8s  client.WithWatch
	r    *Reconciler
	// fail is how many writes go through until one fails, and then all until the operator is started again; negative for never.
	fail    int
	brokers *brokers
	now     time.Time
	step    int
	// foreign are the versions of objects of somebody else.
	foreign map[facts.Key]string
}

var errKilled = errors.New("the operator was killed here")

// keys are made once: making them is slow, and which one it is does not matter.
var keys = func() func(pki.Use) (crypto.Signer, error) {
	return func(pki.Use) (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader) }
}()

func newHistory(t testing.TB, seed int64) *history {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme, podset.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	h := &history{t: t, seed: seed, rand: rand.New(rand.NewSource(seed)), fail: -1, brokers: &brokers{metadata: 30}, now: time.Unix(1_800_000_000, 0), foreign: map[facts.Key]string{}}
	h.k8s = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1.Kafka{}, &v1.KafkaNodePool{}, &podset.StrimziPodSet{}).
		WithReturnManagedFields().WithTypeConverters(managedfields.NewDeducedTypeConverter()).Build()
	guarded := interceptor.NewClient(h.k8s, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return h.write(func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return h.write(func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return h.write(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return h.write(func() error { return c.Apply(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return h.write(func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return h.write(func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	})
	h.r = &Reconciler{
		Cache: h.k8s, Live: guarded, Events: &world{}, Metrics: metrics.New(prometheus.NewRegistry(), ""), Kafka: h.brokers, DefaultVersion: "4.3.1",
		OperatorVersion: "test", Interval: time.Hour, AddressTimeout: time.Minute, NewKey: keys,
		Settings: model.Settings{KafkaImages: map[string]string{"4.3.1": "kafka:4.3.1"}, TopicOperatorImage: "topic-operator:1", DNSDomain: "cluster.local",
			NetworkPolicies: true, DisruptionBudgets: true, RollerAccount: "a/b"},
		Now: func() time.Time { return h.now }, Rand: cryptorand.Reader,
	}
	return h
}

// write lets a write through, or kills the operator before it, or after it without an answer.
func (h *history) write(do func() error) error {
	switch {
	case h.fail < 0:
		return do()
	case h.fail == 0:
		if h.rand.Intn(2) == 0 {
			_ = do()
		}
		h.fail = -2
		return errKilled
	}
	h.fail--
	return do()
}

func (h *history) failf(format string, args ...any) {
	h.t.Helper()
	h.t.Fatalf("seed %d, step %d: %s", h.seed, h.step, fmt.Sprintf(format, args...))
}

func (h *history) must(err error) {
	h.t.Helper()
	if err != nil {
		h.failf("%v", err)
	}
}

// all returns everything that the operator may write, by kind and name.
func (h *history) all() map[facts.Key]client.Object {
	h.t.Helper()
	objects := map[facts.Key]client.Object{}
	for _, kind := range facts.Kinds() {
		gvk, err := h.k8s.GroupVersionKindFor(kind)
		h.must(err)
		list, err := h.k8s.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		h.must(err)
		objectList, ok := list.(client.ObjectList)
		if !ok {
			h.failf("%T is no list", list)
		}
		h.must(h.k8s.List(h.t.Context(), objectList))
		h.must(meta.EachListItem(objectList, func(o runtime.Object) error {
			object, ok := o.(client.Object)
			if !ok {
				return fmt.Errorf("%T is no object", o)
			}
			objects[facts.Key{Kind: gvk.Kind, Name: object.GetName()}] = object
			return nil
		}))
	}
	return objects
}

// reconcile carries out passes until one changes nothing; with faults, the operator is killed somewhere in the first one.
func (h *history) reconcile(faults bool) {
	h.t.Helper()
	if faults {
		h.fail = h.rand.Intn(25)
	}
	for range 12 {
		before := h.all()
		_, err := h.r.Reconcile(h.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: historyNamespace, Name: "my-cluster"}})
		killed := h.fail == -2
		h.fail = -1
		after := h.all()
		h.judge(before, after)
		if killed {
			continue
		}
		var refused *Failure
		if err != nil && !errors.As(err, &refused) {
			h.failf("%v", err)
		}
		if maps.EqualFunc(before, after, func(a, b client.Object) bool { return a.GetResourceVersion() == b.GetResourceVersion() }) {
			return
		}
	}
	h.failf("the passes do not end")
}

// judge holds what a pass did against the promises.
func (h *history) judge(before, after map[facts.Key]client.Object) {
	h.t.Helper()
	for key, o := range before {
		n, exists := after[key]
		if version, foreign := h.foreign[key]; foreign && (!exists || n.GetResourceVersion() != version) {
			h.failf("%s %s is somebody else's and was touched", key.Kind, key.Name)
		}
		if claim, ok := o.(*corev1.PersistentVolumeClaim); ok && !exists && claim.Annotations[v1.AnnotationDeleteClaim] != "true" {
			h.failf("volume %s is gone", key.Name)
		}
		if secret, ok := o.(*corev1.Secret); ok && key.Name == "my-cluster-cluster-ca" {
			if !exists || string(n.(*corev1.Secret).Data["ca.key"]) != string(secret.Data["ca.key"]) {
				h.failf("the key of the CA is lost")
			}
		}
		if set, ok := o.(*podset.StrimziPodSet); ok {
			h.judgeNodes(set, n)
		}
	}
}

// judgeNodes checks that no node was dropped that holds replicas, and that no pod of a removed pool was changed.
func (h *history) judgeNodes(before *podset.StrimziPodSet, after client.Object) {
	h.t.Helper()
	var present map[int32]string
	if set, ok := after.(*podset.StrimziPodSet); ok {
		present = revisions(h.t, set)
	}
	pool := &v1.KafkaNodePool{}
	removed := h.k8s.Get(h.t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: before.Labels[podset.LabelPoolName]}, pool) != nil
	for id, revision := range revisions(h.t, before) {
		now, stays := present[id]
		if replicas, known := h.brokers.replicas[id]; !stays && (h.brokers.err != nil || !known || replicas > 0) {
			h.failf("node %d was dropped with %d replicas (known: %v)", id, replicas, known && h.brokers.err == nil)
		}
		if stays && removed && now != revision {
			h.failf("node %d of the removed pool %s was changed", id, pool.Name)
		}
	}
}

// revisions returns the revision of each node that a set lists.
func revisions(t testing.TB, set *podset.StrimziPodSet) map[int32]string {
	t.Helper()
	all := map[int32]string{}
	for _, raw := range set.Spec.Pods {
		pod := &corev1.Pod{}
		if err := json.Unmarshal(raw.Raw, pod); err != nil {
			t.Fatal(err)
		}
		id, err := facts.NodeID(pod.Name)
		if err != nil {
			t.Fatal(err)
		}
		all[id] = pod.Annotations[podset.AnnotationRevision]
	}
	return all
}

// edit is what users do, and what happens to them.
func (h *history) edit() string {
	ctx := h.t.Context()
	name := []string{"a", "b", "c"}[h.rand.Intn(3)]
	pool := &v1.KafkaNodePool{}
	exists := h.k8s.Get(ctx, client.ObjectKey{Namespace: historyNamespace, Name: name}, pool) == nil
	kafka := &v1.Kafka{}
	h.must(h.k8s.Get(ctx, client.ObjectKey{Namespace: historyNamespace, Name: "my-cluster"}, kafka))
	switch h.rand.Intn(12) {
	case 0, 1:
		if !exists {
			pool = nodePool(name, int32(h.rand.Intn(4)), v1.RoleBroker)
			pool.Namespace = historyNamespace
			h.must(h.k8s.Create(ctx, pool))
			return "create pool " + name
		}
		pool.Spec.Replicas = int32(h.rand.Intn(4))
		h.must(h.k8s.Update(ctx, pool))
		if h.rand.Intn(2) == 0 {
			h.topicBetweenLooks()
			return fmt.Sprintf("scale pool %s to %d, and make a topic after the first look", name, pool.Spec.Replicas)
		}
		return fmt.Sprintf("scale pool %s to %d", name, pool.Spec.Replicas)
	case 2:
		if exists {
			h.must(h.k8s.Delete(ctx, pool))
			return "delete pool " + name
		}
	case 3:
		if exists {
			pool.Spec.Storage.DeleteClaim = new(h.rand.Intn(2) == 0)
			h.must(h.k8s.Update(ctx, pool))
			return "deleteClaim of pool " + name
		}
	case 4:
		kafka.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.ms": v1.StringConfigValue(strconv.Itoa(1000 + h.rand.Intn(10)))}
		h.must(h.k8s.Update(ctx, kafka))
		return "change a setting"
	case 5:
		kafka.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: fmt.Sprint(1+h.rand.Intn(3)) + "g"}
		h.must(h.k8s.Update(ctx, kafka))
		return "change the heap"
	case 6, 7:
		return h.accident()
	case 8:
		h.brokers.err = nil
		if h.rand.Intn(2) == 0 {
			h.brokers.err = errors.New("no broker answers")
		}
		return "brokers"
	case 9:
		h.brokers.replicas = map[int32]int{}
		for id := range int32(20) {
			if h.rand.Intn(4) > 0 {
				h.brokers.replicas[id] = h.rand.Intn(2)
			}
		}
		return "move replicas"
	case 10:
		h.r.Settings.KafkaImages = map[string]string{"4.3.1": fmt.Sprintf("kafka:%d", h.rand.Intn(3))}
		return "upgrade the operator"
	case 11:
		kafka.Annotations = map[string]string{v1.AnnotationPauseReconciliation: fmt.Sprint(h.rand.Intn(3) == 0)}
		h.must(h.k8s.Update(ctx, kafka))
		return "pause or resume"
	}
	return "nothing"
}

// topicBetweenLooks lets all brokers be empty, until somebody has seen that.
func (h *history) topicBetweenLooks() {
	fill := func(n int) map[int32]int {
		all := map[int32]int{}
		for id := range int32(20) {
			all[id] = n
		}
		return all
	}
	h.brokers.replicas, h.brokers.err = fill(0), nil
	h.brokers.afterLook = func() { h.brokers.replicas = fill(1) }
}

// accident deletes or edits something that the operator made. Volumes and CA keys are not deleted: that would be the users' own loss.
func (h *history) accident() string {
	objects := h.all()
	made := slices.DeleteFunc(slices.Collect(maps.Keys(objects)), func(k facts.Key) bool {
		_, foreign := h.foreign[k]
		return foreign || k.Kind == "PersistentVolumeClaim" || k.Kind == "StrimziPodSet" || k.Name == "my-cluster-cluster-ca" || k.Name == "my-cluster-clients-ca" ||
			k.Name == "my-cluster-cluster-ca-cert" || k.Name == "my-cluster-clients-ca-cert"
	})
	if len(made) == 0 {
		return "nothing"
	}
	slices.SortFunc(made, func(a, b facts.Key) int { return slices.Compare([]string{a.Kind, a.Name}, []string{b.Kind, b.Name}) })
	key := made[h.rand.Intn(len(made))]
	o := objects[key]
	if config, ok := o.(*corev1.ConfigMap); ok && h.rand.Intn(2) == 0 {
		config.Data["server.config"] = "broken"
		h.must(h.k8s.Update(h.t.Context(), config))
		return "edit ConfigMap " + key.Name
	}
	h.must(h.k8s.Delete(h.t.Context(), o))
	return "delete " + key.Kind + " " + key.Name
}

// play plays a history, and ends it: with everything answered and nothing paused, all is as a fresh start would make it.
func (h *history) play(steps int) {
	ctx := h.t.Context()
	k := newKafka()
	k.Namespace, k.UID = historyNamespace, "kafka-uid"
	controllers := nodePool("controllers", 3, v1.RoleController)
	controllers.Namespace = historyNamespace
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: "theirs", Labels: map[string]string{v1.LabelCluster: "my-cluster"}}}
	volume := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: "data-my-cluster-d-7",
		Labels: map[string]string{v1.LabelCluster: "my-cluster", podset.LabelPoolName: "d"}, Annotations: map[string]string{v1.AnnotationDeleteClaim: "true"}}}
	for _, o := range []client.Object{k, controllers, foreign, volume} {
		h.must(h.k8s.Create(ctx, o))
	}
	for key, o := range h.all() {
		h.foreign[key] = o.GetResourceVersion()
	}
	var told []string
	for h.step = range steps {
		told = append(told, h.edit())
		h.now = h.now.Add(time.Minute)
		h.reconcile(h.rand.Intn(2) == 0)
		h.t.Cleanup(func() {
			if h.t.Failed() && len(told) > 0 {
				h.t.Logf("history: %q", told)
				told = nil
			}
		})
	}
	h.settle()
}

// settle lets everything come to rest, and compares the nodes with what a fresh operator makes of the same objects.
func (h *history) settle() {
	h.t.Helper()
	h.brokers.err = nil
	kafka := &v1.Kafka{}
	h.must(h.k8s.Get(h.t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: "my-cluster"}, kafka))
	kafka.Annotations = nil
	h.must(h.k8s.Update(h.t.Context(), kafka))
	h.reconcile(false)
	before := h.all()
	fresh := newHistory(h.t, h.seed)
	fresh.k8s, fresh.r.Cache, fresh.r.Live, fresh.brokers, fresh.r.Kafka, fresh.now = h.k8s, h.k8s, h.k8s, h.brokers, h.brokers, h.now
	fresh.r.Settings = h.r.Settings
	fresh.foreign = h.foreign
	fresh.reconcile(false)
	for key, o := range fresh.all() {
		if b, existed := before[key]; !existed || !equality.Semantic.DeepEqual(b, o) {
			h.failf("a fresh operator makes %s %s differently", key.Kind, key.Name)
		}
	}
}

// TestRandomHistoriesOfKafkas plays a few histories; PROVE=full plays many. PROVE_SEED repeats them.
func TestRandomHistoriesOfKafkas(t *testing.T) {
	count, steps, first := 4, 30, int64(1)
	if os.Getenv("PROVE") == "full" {
		count, steps, first = 500, 50, time.Now().UnixNano()%1_000_000
	}
	if text := os.Getenv("PROVE_SEED"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first = n
	}
	t.Logf("seed %d", first)
	for seed := first; seed < first+int64(count); seed++ {
		newHistory(t, seed).play(steps)
	}
	fmt.Printf("PROOF {\"name\":\"random histories of Kafkas\",\"count\":%d,\"violations\":0,\"seed\":%d}\n", count*steps, first)
}
