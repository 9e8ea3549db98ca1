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
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
)

const historyNamespace = "ns"

// history plays random user edits, accidents and API errors against the reconciler. Its rules do not use the reconciler's code: they
// compare the objects in the API server before and after each write of the operator.
type history struct {
	t    testing.TB
	seed int64
	rand *rand.Rand
	// name is the name of the Kafka.
	name string
	k8s  *inMemory
	r    *Reconciler
	// fail is the number of writes that succeed before one fails. -1 means that no write fails, -2 that all fail from now on.
	fail int
	// once has a single write fail, after which the pass goes on; otherwise all that follow fail too.
	once    bool
	brokers *brokers
	now     time.Time
	step    int
	// formatted is true once a node has formatted the metadata of the Kafka cluster.
	formatted bool
	// logs maps the pod of each controller to the volume that has its metadata log.
	logs map[string]string
	// configured are the hashes of the configurations that pods run with, by the uids of the pods.
	configured map[types.UID]string
	// writing is the Reconciler that writes to the API server now; nil for writes of users and accidents. Only writes of a Reconciler are
	// judged.
	writing *Reconciler
	// window runs before each write of the operator, and makes changes that the operator has not read.
	window func(s *apiServer, key facts.Key)
	// foreign are the objects of other owners. The operator must not change them.
	foreign map[*apiServer]map[facts.Key]client.Object
	// judgeMore checks additional rules of stretched histories; nil for a Kafka in one Kubernetes cluster.
	judgeMore func(s *apiServer, key facts.Key, before, after client.Object)
	// target chooses the Kubernetes cluster of a new pool; nil for a Kafka in one Kubernetes cluster.
	target func(pool string) string
	told   []string
	// spared reports the objects that accidents leave alone; nil for none.
	spared func(facts.Key) bool
	// gone is the machine that is gone; empty for none.
	gone string
	// lost are the StrimziPodSets that accidents hit, as they were before, by name.
	lost map[string]*core.StrimziPodSet
	// volumes is the truth about volumes, and wishes whether users want them to be deleted, by the uids of their claims.
	volumes map[types.UID]*contents
	wishes  map[types.UID]bool
	// hibernates reports whether users also hibernate the Kafka.
	hibernates bool
	// several has the operator see several edits at once.
	several bool
	// jbod has pools of a stretched Kafka have several volumes, as those of others do.
	jbod bool
	// quiet is true while nothing happens that requires a restart of a node.
	quiet bool
	// caught, if set, receives the text of a broken promise and panics, so that the test does not fail.
	caught func(string)
	failed bool
}

var errKilled = errors.New("the operator was killed here, or the write failed")

// refusals are answers of an API server that does not carry out a write; nil for none.
var refusals = func() []error {
	kind, of := schema.GroupKind{Kind: "Object"}, schema.GroupResource{Resource: "objects"}
	return []error{nil,
		apierrors.NewConflict(of, "o", errors.New("somebody else has changed it")),
		apierrors.NewForbidden(of, "o", errors.New("exceeded quota: q")),
		apierrors.NewForbidden(of, "o", errors.New("a webhook denied the request")),
		apierrors.NewInvalid(kind, "o", field.ErrorList{field.Invalid(field.NewPath("spec"), "x", "is wrong")}),
		apierrors.NewTooManyRequests("later", 1),
	}
}()

// keys generates ECDSA keys, also for CAs: RSA keys, which users get there, take long to generate.
var keys = func() func(pki.Use) (crypto.Signer, error) {
	return func(pki.Use) (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader) }
}()

func newHistory(t testing.TB, seed int64) *history {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme, core.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	h := &history{t: t, seed: seed, name: kafkaKey.Name, rand: rand.New(rand.NewSource(seed)), fail: -1,
		brokers: &brokers{metadata: 30},
		now:     time.Unix(1_800_000_000, 0),
		foreign: map[*apiServer]map[facts.Key]client.Object{}, logs: map[string]string{}, configured: map[types.UID]string{},
		lost: map[string]*core.StrimziPodSet{}, volumes: map[types.UID]*contents{}, wishes: map[types.UID]bool{}}
	h.k8s = h.server("central", scheme).client()
	h.r = h.reconciler()
	h.r.Cache, h.r.Live = h.k8s, h.guarded(h.k8s, func() *Reconciler { return h.r }, h.write)
	return h
}

// report logs the steps of a history that failed. Callers defer it: a cleanup of the test would keep all histories in memory.
func (h *history) report() {
	if h.failed {
		h.t.Logf("history of seed %d: %q", h.seed, h.told)
	}
}

// server returns an API server that has each write of the operator judged.
func (h *history) server(id string, scheme *runtime.Scheme) *apiServer {
	s := newAPIServer(id, scheme)
	h.foreign[s] = map[facts.Key]client.Object{}
	s.written = func(key facts.Key, before, after client.Object) {
		if h.writing != nil {
			h.judge(s, key, before, after)
		}
	}
	return s
}

// reconciler returns the Reconciler of a newly started operator.
func (h *history) reconciler() *Reconciler {
	return &Reconciler{
		Events: &world{}, Metrics: metrics.New(prometheus.NewRegistry(), ""), Kafka: h.brokers, DefaultVersion: "4.3.1",
		OperatorVersion: "test", Interval: time.Hour, AddressTimeout: time.Minute, NewKey: keys, Serial: true,
		Settings: model.Settings{KafkaImages: map[string]string{"4.3.1": "kafka:4.3.1"}, TopicOperatorImage: "topic-operator:1",
			DNSDomain:       "cluster.local",
			NetworkPolicies: true, DisruptionBudgets: true, RollerAccount: "a/b"},
		Now: func() time.Time { return h.now }, Rand: cryptorand.Reader,
	}
}

// guarded returns a client for the operator. guard decides whether each write succeeds, and each write is judged.
func (h *history) guarded(k8s *inMemory, who func() *Reconciler, guard func(do func() error) error) client.WithWatch {
	write := func(o any, do func() error) error {
		return guard(func() error {
			if window := h.window; window != nil {
				window(k8s.server, k8s.server.keyOf(o))
			}
			h.writing = who()
			defer func() { h.writing = nil }()
			return do()
		})
	}
	return interceptor.NewClient(k8s, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return write(o, func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return write(o, func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return write(o, func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return write(o, func() error { return c.Apply(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write(o, func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption) error {
			return write(o, func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	})
}

// write carries out a write. The operator may be killed, or the API server be away, before the write, or after it and before the response.
func (h *history) write(do func() error) error {
	switch {
	case h.fail == -2:
		return errKilled
	case h.fail < 0:
		return do()
	case h.fail == 0:
		h.fail = -2
		if h.once {
			h.fail = -1
			if refused := refusals[h.rand.Intn(len(refusals))]; refused != nil {
				return refused
			}
		}
		if h.rand.Intn(2) == 0 {
			_ = do()
		}
		return errKilled
	}
	h.fail--
	return do()
}

func (h *history) failf(format string, args ...any) {
	h.t.Helper()
	text := fmt.Sprintf("seed %d, step %d: %s", h.seed, h.step, fmt.Sprintf(format, args...))
	if h.caught != nil {
		h.caught(text)
	}
	h.failed = true
	h.t.Fatal(text)
}

func (h *history) must(err error) {
	h.t.Helper()
	if err != nil {
		h.failf("%v", err)
	}
}

// all returns all objects of the kinds that the operator may write, by kind and name.
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

// restart starts a new process of the operator: it has nothing in memory of what the last one did.
func (h *history) restart() {
	was := h.r
	h.r = h.reconciler()
	h.r.Cache, h.r.Live, h.r.Kafka, h.r.Settings = was.Cache, was.Live, was.Kafka, was.Settings
	h.r.Stretching = was.Stretching
}

// reconcile runs passes until one changes nothing. With faults, the operator may be killed during the first pass, the API server be away
// from then on until the pass ends, or a single write fail.
func (h *history) reconcile(faults bool) {
	h.t.Helper()
	kill := false
	if faults {
		h.fail, kill = h.rand.Intn(25), h.rand.Intn(3) == 0
		h.once = !kill && h.rand.Intn(2) == 0
	}
	missed := false // a topic that was made after a look
	for range 12 {
		armed := h.fail >= 0
		before, waits := h.k8s.server.version, h.brokers.afterLook != nil
		_, err := h.r.Reconcile(h.t.Context(),
			reconcile.Request{NamespacedName: types.NamespacedName{Namespace: historyNamespace, Name: "my-cluster"}})
		failed := armed && h.fail < 0
		h.fail = -1
		made := waits && h.brokers.afterLook == nil // a topic, which the next pass on time is the first to see
		if missed = missed || made; missed || err == nil && !failed {
			h.judgeLeft(missed)
		}
		if failed && kill {
			h.restart()
		}
		if failed {
			continue
		}
		var refused *Failure
		if err != nil && !errors.As(err, &refused) {
			h.failf("%v", err)
		}
		if before == h.k8s.server.version && !made {
			maps.Copy(h.wishes, h.wish(h.k8s.server))
			return
		}
	}
	h.failf("the passes do not end")
}

// judge checks a write of the operator against the promises. before and after are the object in the API server right before and after the
// write; nil if there is none.
func (h *history) judge(s *apiServer, key facts.Key, before, after client.Object) {
	h.t.Helper()
	if pool, ok := after.(*v1.KafkaNodePool); ok && h.judgeMore == nil {
		h.judgePool(pool)
	}
	if kafka, ok := after.(*v1.Kafka); ok && h.judgeMore == nil {
		h.judgeKafka(s, kafka)
	}
	if set, ok := after.(*core.StrimziPodSet); ok && h.judgeMore == nil {
		h.judgeVersions(set)
	}
	h.judgePairs(s, key, after)
	h.judgeLost(s, key, before, after)
	if before == nil {
		if h.judgeMore != nil {
			h.judgeMore(s, key, nil, after)
		}
		return
	}
	goes := after == nil || after.GetDeletionTimestamp() != nil && before.GetDeletionTimestamp() == nil
	if h.foreign[s][key] != nil {
		h.failf("%s %s in %s is somebody else's and was touched", key.Kind, key.Name, s.id)
	}
	if claim, ok := before.(*corev1.PersistentVolumeClaim); ok && goes && claim.Annotations[v1.AnnotationDeleteClaim] != "true" {
		h.failf("volume %s in %s is deleted", key.Name, s.id)
	}
	if secret, ok := before.(*corev1.Secret); ok && (key.Name == h.name+"-cluster-ca" || key.Name == h.name+"-clients-ca") {
		replaced := secret.Annotations[v1.AnnotationForceReplace] == "true" // the user asks for another key, not for none
		if goes || !replaced && string(after.(*corev1.Secret).Data["ca.key"]) != string(secret.Data["ca.key"]) {
			h.failf("the key in %s is lost", key.Name)
		}
	}
	if set, ok := before.(*core.StrimziPodSet); ok {
		h.judgeNodes(set, after)
		if now, stays := after.(*core.StrimziPodSet); stays {
			h.judgeSleep(s, set, now)
		}
	}
	h.judgeVolumes(s, key, before, after)
	if h.judgeMore != nil {
		h.judgeMore(s, key, before, after)
	}
}

// judgeNodes checks that a StrimziPodSet drops no node that holds replicas, changes no pod of a removed pool except for its certificates,
// and restarts no node while the history is quiet.
func (h *history) judgeNodes(before *core.StrimziPodSet, after client.Object) {
	h.t.Helper()
	var present map[int32]corev1.Pod
	if set, ok := after.(*core.StrimziPodSet); ok {
		present = listedBy(h.t, set)
	}
	name := before.Labels[core.LabelPoolName]
	removed := h.k8s.Get(h.t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: name}, &v1.KafkaNodePool{}) != nil
	for id, pod := range listedBy(h.t, before) {
		now, stays := present[id]
		if !stays {
			h.judgeLeaves(id)
		}
		if stays && removed && h.judgeMore == nil && !equality.Semantic.DeepEqual(withoutCertificates(now), withoutCertificates(pod)) {
			h.failf("node %d of the removed pool %s was changed", id, name)
		}
		if h.quiet && stays && now.Annotations[core.AnnotationRevision] != pod.Annotations[core.AnnotationRevision] {
			h.failf("node %d is restarted, and there is no reason", id)
		}
	}
}

// listedBy returns the pods that a set lists, by the ids of their nodes.
func listedBy(t testing.TB, set *core.StrimziPodSet) map[int32]corev1.Pod {
	t.Helper()
	all := map[int32]corev1.Pod{}
	for _, raw := range set.Spec.Pods {
		pod := &corev1.Pod{}
		if err := json.Unmarshal(raw.Raw, pod); err != nil {
			t.Fatal(err)
		}
		id, ok := core.NodeID(pod.Name)
		if !ok {
			t.Fatalf("pod %s has no node id", pod.Name)
		}
		all[id] = *pod
	}
	return all
}

// edits is the number of kinds of edits. changeHeap is the only kind that requires a restart of nodes.
const edits, changeHeap = 12, 5

// edit carries out a random edit of users, or something that happens to the Kafka, and returns its description.
func (h *history) edit() string {
	name := []string{"a", "b", "c"}[h.rand.Intn(3)]
	return h.carryOut(h.rand.Intn(edits), name)
}

// carryOut carries out one kind of edit and returns its description. name is the pool for edits of a pool.
func (h *history) carryOut(edit int, name string) string {
	ctx := h.t.Context()
	pool := &v1.KafkaNodePool{}
	exists := h.k8s.Get(ctx, client.ObjectKey{Namespace: historyNamespace, Name: name}, pool) == nil
	kafka := &v1.Kafka{}
	h.must(h.k8s.Get(ctx, client.ObjectKey{Namespace: historyNamespace, Name: "my-cluster"}, kafka))
	switch edit {
	case 0, 1:
		if !exists && h.quiet && h.object(facts.Key{Kind: "StrimziPodSet", Name: h.name + "-" + name}) != nil {
			return "nothing" // other storage is a reason to restart its nodes
		}
		if !exists {
			pool = h.pool(name, int32(h.rand.Intn(4)), v1.RoleBroker)
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
		kafka.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.ms": {Raw: fmt.Appendf(nil, `"%d"`, 1000+h.rand.Intn(10))}}
		h.must(h.k8s.Update(ctx, kafka))
		return "change a setting"
	case changeHeap:
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
		h.brokers.replicas, h.brokers.hidden = map[int32]int{}, h.hide()
		for id := range int32(20) {
			if h.rand.Intn(4) > 0 {
				h.brokers.replicas[id] = h.rand.Intn(2)
			}
		}
		return "move replicas"
	case 10:
		return h.upgradeOperator()
	case 11:
		if kafka.Annotations == nil {
			kafka.Annotations = map[string]string{}
		}
		kafka.Annotations[v1.AnnotationPauseReconciliation] = fmt.Sprint(h.rand.Intn(3) == 0)
		h.must(h.k8s.Update(ctx, kafka))
		return "pause or resume"
	}
	return "nothing"
}

// either carries out an edit of the Kafka, or one of its nodes.
func (h *history) either() string {
	if h.hibernates && h.rand.Intn(6) == 0 {
		return h.hibernation()
	}
	if h.rand.Intn(2) == 0 {
		return h.edit()
	}
	return h.editNodes()
}

// upgradeOperator gives the operator the images of another version.
func (h *history) upgradeOperator() string {
	build := h.rand.Intn(3)
	images := map[string]string{}
	for version := range h.r.Settings.KafkaImages {
		images[version] = fmt.Sprintf("kafka:%s-%d", version, build)
	}
	h.r.Settings.KafkaImages = images
	return "upgrade the operator"
}

// pool returns a KafkaNodePool as a user writes it.
func (h *history) pool(name string, replicas int32, roles ...v1.ProcessRole) *v1.KafkaNodePool {
	pool := nodePool(name, replicas, roles...)
	pool.Namespace = historyNamespace
	if (h.target == nil || h.jbod) && h.rand.Intn(2) == 0 {
		pool.Spec.Storage = h.disks()
	}
	if h.target != nil {
		pool.Annotations = map[string]string{v1.AnnotationTargetCluster: h.target(name)}
	}
	return pool
}

// topicBetweenLooks makes all brokers report no replicas at the next request, and replicas of a new topic after it.
func (h *history) topicBetweenLooks() {
	none := map[int32]int{}
	for id := range int32(20) {
		none[id] = 0
	}
	h.brokers.replicas, h.brokers.err = none, nil
	h.brokers.afterLook = func() {
		h.brokers.replicas = maps.Clone(none)
		for id := range h.runningIDs() {
			h.brokers.replicas[id] = 1
		}
	}
}

// runningIDs returns the ids of the nodes that have a pod: one that stopped gets no replica with data.
func (h *history) runningIDs() map[int32]bool {
	ids := map[int32]bool{}
	for s := range h.foreign {
		for key := range s.objects {
			if id, ok := core.NodeID(key.Name); ok && key.Kind == "Pod" && h.foreign[s][key] == nil {
				ids[id] = true
			}
		}
	}
	return ids
}

// accident deletes or edits a random object that the operator made. It spares volumes and the Secrets of CAs: deleting these would be the
// users' own loss.
func (h *history) accident() string {
	objects := h.all()
	made := slices.DeleteFunc(slices.Collect(maps.Keys(objects)), func(k facts.Key) bool {
		return h.spared != nil && h.spared(k) || h.foreign[h.k8s.server][k] != nil || k.Kind == "PersistentVolumeClaim" ||
			k.Kind == "StrimziPodSet" && h.judgeMore != nil || k.Name == "my-cluster-cluster-ca" || k.Name == "my-cluster-clients-ca" ||
			k.Name == "my-cluster-cluster-ca-cert" || k.Name == "my-cluster-clients-ca-cert"
	})
	if len(made) == 0 {
		return "nothing"
	}
	slices.SortFunc(made, func(a, b facts.Key) int { return slices.Compare([]string{a.Kind, a.Name}, []string{b.Kind, b.Name}) })
	key := made[h.rand.Intn(len(made))]
	o := objects[key]
	if set, ok := o.(*core.StrimziPodSet); ok {
		return h.setAccident(set)
	}
	if config, ok := o.(*corev1.ConfigMap); ok && h.rand.Intn(2) == 0 {
		config.Data["server.config"] = "broken"
		h.must(h.k8s.Update(h.t.Context(), config))
		return "edit ConfigMap " + key.Name
	}
	h.must(h.k8s.Delete(h.t.Context(), o))
	return "delete " + key.Kind + " " + key.Name
}

// play plays a history and settles it: once all brokers respond and nothing is paused, the objects are as a newly started operator would
// make them.
func (h *history) play(steps int) {
	defer h.report()
	ctx := h.t.Context()
	k := kafkaWithOwn()
	k.Namespace = historyNamespace
	h.restoreOwn()
	controllers := h.pool("controllers", 3, v1.RoleController)
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: "theirs",
		Labels: map[string]string{v1.LabelCluster: "my-cluster"}}}
	volume := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: "data-my-cluster-d-7",
		Labels:      map[string]string{v1.LabelCluster: "my-cluster", core.LabelPoolName: "d"},
		Annotations: map[string]string{v1.AnnotationDeleteClaim: "true"}}}
	brokers := h.pool("a", int32(h.rand.Intn(3)), v1.RoleBroker)
	for _, o := range []client.Object{k, controllers, brokers} {
		h.must(h.k8s.Create(ctx, o))
	}
	for _, o := range []client.Object{foreign, volume,
		neighbour(core.KindKafka, "entity-operator", "5d4f-2"), neighbour("KafkaConnect", "connect", "0")} {
		h.must(h.k8s.Create(ctx, o))
		key := h.k8s.server.keyOf(o)
		h.foreign[h.k8s.server][key] = h.k8s.server.objects[key].Object
	}
	h.r.Settings.KafkaImages = map[string]string{"4.2.0": "kafka:4.2.0", "4.3.1": "kafka:4.3.1"}
	h.brokers.moving = h.judgeMetadata
	for h.step = range steps {
		h.told = append(h.told, h.either())
		for h.several && h.rand.Intn(3) > 0 {
			h.told = append(h.told, h.either())
		}
		h.now = h.now.Add(time.Minute)
		h.reconcile(h.rand.Intn(2) == 0)
		h.runPods(h.k8s.server, 25*h.rand.Intn(5))
	}
	h.settle()
	h.quietly(steps / 3)
}

// neighbour returns a pod that has the label of the Kafka and is not one of its nodes.
func neighbour(kind, component, suffix string) *corev1.Pod {
	name := "my-cluster-" + component
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: name + "-" + suffix,
		Labels: map[string]string{core.LabelKind: kind, v1.LabelCluster: "my-cluster", core.LabelName: name}}}
}

// rest runs passes and updates pods until nothing changes, and checks that the Kafka then matches its specification.
func (h *history) rest() {
	h.t.Helper()
	last := int64(-1)
	for round := 0; last != h.k8s.server.version; round++ {
		if round == 200 {
			h.failf("in the end, each pass writes something: the last one from version %d to %d", last, h.k8s.server.version)
		}
		last = h.k8s.server.version
		h.reconcile(false)
		h.runPods(h.k8s.server, 100)
	}
	kafka := &v1.Kafka{}
	h.must(h.k8s.Get(h.t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: "my-cluster"}, kafka))
	h.judgeExpiry()
	switch ready := readyOf(kafka); {
	case ready == nil:
		h.failf("in the end, the Kafka has no condition Ready")
	case ready.Status == v1.ConditionTrue:
	case slices.Contains([]string{"InvalidResourceException", "KafkaUpgradeException"}, ready.Reason):
		return // the operator rejects the user's specification
	default:
		h.failf("in the end, the Kafka is not ready: %+v", ready)
	}
	h.poolsAreReady()
	if wanted := wantedMetadata(kafka); h.brokers.metadata != wanted {
		h.failf("in the end, the metadata version is %s, not %s: %+v", h.brokers.metadata, wanted, kafka.Status.Conditions)
	}
	for _, name := range []string{"my-cluster-cluster-ca", "my-cluster-clients-ca"} {
		secret, ok := h.k8s.server.objects[facts.Key{Kind: "Secret", Name: name}].object().(*corev1.Secret)
		if !ok {
			h.failf("in the end, there is no Secret %s", name)
		}
		if keys := slices.Sorted(maps.Keys(secret.Data)); !slices.Equal(keys, []string{"ca.key"}) {
			h.failf("in the end, Secret %s has %v, not only the key in use", name, keys)
		}
	}
}

// settle ends all faults, waits until nothing changes, and checks that a newly started operator changes no object.
func (h *history) settle() {
	h.t.Helper()
	h.emptyAll()
	h.machineReturns()
	h.dropCopies()
	kafka := &v1.Kafka{}
	h.must(h.k8s.Get(h.t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: "my-cluster"}, kafka))
	kafka.Spec.MaintenanceTimeWindows = nil
	maps.DeleteFunc(kafka.Annotations, func(key, _ string) bool { // those of a stretched Kafka stay
		return h.r.Stretching == nil || key == v1.AnnotationPauseReconciliation
	})
	h.must(h.k8s.Update(h.t.Context(), kafka))
	h.restoreOwn()
	h.restoreLost()
	h.rest()
	before := h.all()
	fresh := newHistory(h.t, h.seed)
	fresh.k8s, fresh.r.Cache, fresh.r.Live, fresh.brokers, fresh.r.Kafka, fresh.now = h.k8s, h.k8s, h.k8s, h.brokers, h.brokers, h.now
	fresh.r.Settings, fresh.r.Stretching = h.r.Settings, h.r.Stretching
	fresh.foreign, fresh.formatted, fresh.volumes, fresh.wishes = h.foreign, true, h.volumes, h.wishes
	fresh.reconcile(false)
	for key, o := range fresh.all() {
		if b, existed := before[key]; !existed || !equality.Semantic.DeepEqual(b, o) {
			h.failf("a fresh operator makes %s %s differently", key.Kind, key.Name)
		}
	}
}
