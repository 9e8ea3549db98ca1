package apply

import (
	"context"
	"maps"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/testserver"
)

// server is the API server that the tests share. If it could not be started, missing is the reason.
var (
	server  *rest.Config
	missing error
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	env, err := testserver.Start(false)
	if missing = err; err == nil {
		server = env.Config
		defer testserver.Stop(env)
	}
	return m.Run()
}

// scene is an applier in its own namespace. window runs between a read and the next write of the applier, for the changes of others.
type scene struct {
	*WithT
	t         *testing.T
	k8s       client.Client
	applier   *Applier
	namespace string
	window    func()
	requests  int
}

func newScene(t *testing.T) *scene {
	testserver.Need(t, missing)
	s := &scene{WithT: NewWithT(t), t: t, window: func() {}}
	k8s, err := client.NewWithWatch(server, client.Options{})
	s.Expect(err).NotTo(HaveOccurred())
	s.k8s = k8s
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "apply-"}}
	s.Expect(k8s.Create(t.Context(), ns)).To(Succeed())
	s.namespace = ns.Name
	s.applier = &Applier{Kafka: "my-cluster", UID: "kafka-uid", ClusterID: "id", Client: interceptor.NewClient(k8s, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			s.requests++
			return c.Get(ctx, key, o, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			s.requests++
			s.window()
			return c.Apply(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			s.requests++
			s.window()
			return c.Patch(ctx, o, patch, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			s.requests++
			s.window()
			return c.Delete(ctx, o, opts...)
		},
	})}
	return s
}

// config returns the wanted ConfigMap.
func (s *scene) config(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: data, ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace, Name: "config", Labels: map[string]string{v1.LabelCluster: "my-cluster"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "kafka.strimzi.io/v1", Kind: "Kafka", Name: "my-cluster", UID: "kafka-uid"}}}}
}

// foreign creates the same object as another owner would, without any field that conflicts with an apply.
func (s *scene) foreign() {
	s.t.Helper()
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "config"}, Data: map[string]string{"theirs": "1"}}
	s.Expect(s.k8s.Create(s.t.Context(), o)).To(Succeed())
}

// made has the applier create the config, and returns the result. live returns the present object; nil if there is none.
func (s *scene) made(data map[string]string) *corev1.ConfigMap {
	s.t.Helper()
	s.Expect(s.applier.Apply(s.t.Context(), s.config(data), (*corev1.ConfigMap)(nil))).To(Equal(Created))
	return s.live()
}

func (s *scene) live() *corev1.ConfigMap {
	s.t.Helper()
	o := &corev1.ConfigMap{}
	err := s.k8s.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "config"}, o)
	s.Expect(client.IgnoreNotFound(err)).To(Succeed())
	if err != nil {
		return nil
	}
	return o
}

func (s *scene) edit(change func(*corev1.ConfigMap)) {
	s.t.Helper()
	o := s.live()
	change(o)
	s.Expect(s.k8s.Update(s.t.Context(), o)).To(Succeed())
}

// copy copies an object, as users do with kubectl get, an editor and kubectl apply.
func (s *scene) copy(name, as string) *corev1.ConfigMap {
	s.t.Helper()
	o := &corev1.ConfigMap{}
	s.Expect(s.k8s.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, o)).To(Succeed())
	o.Name, o.UID, o.ResourceVersion, o.ManagedFields = as, "", "", nil
	s.Expect(s.k8s.Create(s.t.Context(), o)).To(Succeed())
	return o
}

func (s *scene) remove() {
	s.t.Helper()
	s.Expect(s.k8s.Delete(s.t.Context(), s.live())).To(Succeed())
}

var (
	one, two = map[string]string{"a": "1", "b": "1"}, map[string]string{"a": "2"}
	conflict = Satisfy(apierrors.IsConflict)
	foreign  = BeAssignableToTypeOf(&ForeignError{})
)

// TestApply applies the same ConfigMap to everything that may exist under its name. "cached" is the object that the pass read, "window" a
// change after the applier's last read.
func TestApply(t *testing.T) {
	for name, c := range map[string]struct {
		cached  func(*scene) *corev1.ConfigMap
		window  func(*scene)
		outcome Outcome
		err     gomegatypes.GomegaMatcher
		// data is the data of the object at the end; nil for no object.
		data     map[string]string
		requests int
	}{
		"nothing there":             {outcome: Created, data: two, requests: 2},
		"ours":                      {cached: func(s *scene) *corev1.ConfigMap { return s.made(one) }, outcome: Changed, data: two, requests: 1},
		"ours, and as it is wanted": {cached: func(s *scene) *corev1.ConfigMap { return s.made(two) }, outcome: Unchanged, data: two},
		"ours, with an annotation of somebody else's": {cached: func(s *scene) *corev1.ConfigMap {
			s.made(two)
			s.edit(func(o *corev1.ConfigMap) { o.Annotations["theirs"] = "1" })
			return s.live()
		}, outcome: Unchanged, data: two},
		"ours, and not in the cache": {cached: func(s *scene) *corev1.ConfigMap { s.made(one); return nil }, outcome: Changed, data: two,
			requests: 2},
		"somebody else's": {cached: func(s *scene) *corev1.ConfigMap { s.foreign(); return s.live() }, err: foreign,
			data: map[string]string{"theirs": "1"}},
		"somebody else's, and not in the cache": {cached: func(s *scene) *corev1.ConfigMap { s.foreign(); return nil }, err: foreign,
			data: map[string]string{"theirs": "1"}, requests: 1},
		"an earlier Kafka's": {cached: func(s *scene) *corev1.ConfigMap {
			s.made(one)
			s.edit(func(o *corev1.ConfigMap) { o.OwnerReferences[0].UID = "earlier" })
			return s.live()
		}, err: And(foreign, MatchError(ContainSubstring("an earlier Kafka of this name"))), data: one},
		"a copy of ours under the wanted name": {cached: func(s *scene) *corev1.ConfigMap {
			s.made(one)
			s.edit(func(o *corev1.ConfigMap) { o.Annotations[ownership.MarkSelf] = "ConfigMap/" + o.Namespace + "/other" })
			return s.live()
		}, err: And(foreign, MatchError(ContainSubstring("its ownership annotations name ConfigMap/"))), data: one},
		"made by an earlier version, and otherwise as it is wanted": {cached: func(s *scene) *corev1.ConfigMap {
			s.made(two)
			s.edit(func(o *corev1.ConfigMap) { delete(o.Annotations, ownership.MarkSelf) })
			return s.live()
		}, outcome: Changed, data: two, requests: 1},
		"somebody else is faster": {window: (*scene).foreign, err: conflict, data: map[string]string{"theirs": "1"}, requests: 2},
		"ours, changed since": {cached: func(s *scene) *corev1.ConfigMap { return s.made(one) },
			window: func(s *scene) { s.edit(func(o *corev1.ConfigMap) { o.Data = map[string]string{"edited": "1"} }) },
			err:    conflict, data: map[string]string{"edited": "1"}, requests: 1},
		"ours, and made again by somebody else since": {cached: func(s *scene) *corev1.ConfigMap { return s.made(one) },
			window: func(s *scene) { s.remove(); s.foreign() }, err: conflict, data: map[string]string{"theirs": "1"}, requests: 1},
		"ours, and deleted since": {cached: func(s *scene) *corev1.ConfigMap { return s.made(one) }, window: (*scene).remove, err: conflict,
			requests: 1},
		"ours, and going": {cached: func(s *scene) *corev1.ConfigMap {
			s.made(one)
			s.edit(func(o *corev1.ConfigMap) { o.Finalizers = []string{"example.com/theirs"} })
			s.remove()
			return s.live()
		}, outcome: Unchanged, data: one},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			var cached *corev1.ConfigMap
			if c.cached != nil {
				cached = c.cached(s)
			}
			s.requests = 0
			if c.window != nil {
				s.window = func() { s.window = func() {}; c.window(s) }
			}
			outcome, err := s.applier.Apply(t.Context(), s.config(two), cached)
			s.Expect(outcome).To(Equal(c.outcome))
			if c.err == nil {
				c.err = Succeed()
			}
			s.Expect(err).To(c.err)
			s.Expect(s.requests).To(Equal(c.requests))
			live := s.live()
			if c.data == nil {
				s.Expect(live).To(BeNil())
				return
			}
			s.Expect(live.Data).To(Equal(c.data))
			if _, theirs := c.data["theirs"]; theirs {
				s.Expect(live.OwnerReferences).To(BeEmpty())
				s.Expect(live.Labels).To(BeEmpty())
			}
		})
	}
}

// An admission webhook may keep an object from becoming what is wanted.
func TestAWriteWithoutEffectIsNoChange(t *testing.T) {
	s := newScene(t)
	live := s.made(two)
	u, err := toUnstructured(s.config(two))
	s.Expect(err).NotTo(HaveOccurred())
	ownership.MarkName(u, u.GetKind())
	s.Expect(mark(u)).To(Succeed())
	s.requests = 0
	s.Expect(s.applier.change(t.Context(), u, live)).To(Equal(Unchanged))
	s.Expect(s.requests).To(Equal(1))
}

// TestDelete deletes the ConfigMap in the same situations.
func TestDelete(t *testing.T) {
	for name, c := range map[string]struct {
		judged  func(*scene) *corev1.ConfigMap
		window  func(*scene)
		outcome Outcome
		err     gomegatypes.GomegaMatcher
		stays   bool
	}{
		"ours":            {judged: func(s *scene) *corev1.ConfigMap { return s.made(one) }, outcome: Deleted},
		"somebody else's": {judged: func(s *scene) *corev1.ConfigMap { s.foreign(); return s.live() }, outcome: Unchanged, stays: true},
		"changed since": {judged: func(s *scene) *corev1.ConfigMap { return s.made(one) },
			window: func(s *scene) { s.edit(func(o *corev1.ConfigMap) { o.Labels["a"] = "b" }) }, err: conflict, stays: true},
		"made again by somebody else since": {judged: func(s *scene) *corev1.ConfigMap { return s.made(one) },
			window: func(s *scene) { s.remove(); s.foreign() }, err: conflict, stays: true},
		"a copy of ours": {judged: func(s *scene) *corev1.ConfigMap {
			s.made(one)
			return s.copy("config", "copy")
		}, outcome: Unchanged, stays: true},
		"a copy of ours, as a tool restores it elsewhere": {judged: func(s *scene) *corev1.ConfigMap {
			s.made(one)
			s.edit(func(o *corev1.ConfigMap) { o.Annotations[ownership.MarkSelf] = "ConfigMap/elsewhere/config" })
			return s.live()
		}, outcome: Unproven, stays: true},
		"what an earlier version made, or a copy of that": {judged: func(s *scene) *corev1.ConfigMap {
			s.made(one)
			s.edit(func(o *corev1.ConfigMap) { delete(o.Annotations, ownership.MarkSelf) })
			return s.live()
		}, outcome: Unproven, stays: true},
		"what an earlier version made, and this one wanted": {judged: func(s *scene) *corev1.ConfigMap {
			s.made(one)
			s.edit(func(o *corev1.ConfigMap) { delete(o.Annotations, ownership.MarkSelf) })
			s.Expect(s.applier.Apply(s.t.Context(), s.config(one), s.live())).To(Equal(Changed))
			return s.live()
		}, outcome: Deleted},
		"gone": {judged: func(s *scene) *corev1.ConfigMap { o := s.made(one); s.remove(); return o }, outcome: Deleted},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			judged := c.judged(s)
			if c.window != nil {
				s.window = func() { s.window = func() {}; c.window(s) }
			}
			outcome, err := s.applier.Delete(t.Context(), judged)
			s.Expect(outcome).To(Equal(c.outcome))
			if c.err == nil {
				c.err = Succeed()
			}
			s.Expect(err).To(c.err)
			o := &corev1.ConfigMap{}
			err = s.k8s.Get(t.Context(), client.ObjectKeyFromObject(judged), o)
			s.Expect(err == nil).To(Equal(c.stays), "%v", err)
		})
	}
}

// TestWhatAnEarlierHolderMadeIsMarkedBeforeItIsDeleted checks that the applier marks objects of an earlier holder of the owner before it
// deletes them, so that a mistake shows before it does damage.
func TestWhatAnEarlierHolderMadeIsMarkedBeforeItIsDeleted(t *testing.T) {
	before := ownership.Owner{ID: "2f4c", Epoch: 1, Holder: ownership.Holder{Central: "central", Cluster: "c", Object: "a"}}
	now := before
	now.Epoch, now.Holder.Object = 2, "b"
	for name, c := range map[string]struct {
		edit    func(*corev1.ConfigMap)
		window  func(*scene)
		outcome Outcome
		err     gomegatypes.GomegaMatcher
		then    Outcome
	}{
		"its own": {outcome: Changed, then: Deleted},
		"without the mark of its name": {edit: func(o *corev1.ConfigMap) { delete(o.Annotations, ownership.MarkSelf) },
			outcome: Unchanged, then: Unchanged},
		"another owner's": {edit: func(o *corev1.ConfigMap) {
			ownership.Mark(o, "ConfigMap", ownership.Owner{ID: "other", Epoch: 1, Holder: before.Holder})
		}, outcome: Unchanged, then: Unchanged},
		"changed since": {window: func(s *scene) { s.edit(func(o *corev1.ConfigMap) { o.Labels["a"] = "b" }) }, err: conflict, then: Changed},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.applier.Owner = &before
			s.made(one)
			if c.edit != nil {
				s.edit(c.edit)
			}
			if c.window != nil {
				s.window = func() { s.window = func() {}; c.window(s) }
			}
			s.applier.Owner = &now
			outcome, err := s.applier.Delete(t.Context(), s.live())
			s.Expect(outcome).To(Equal(c.outcome))
			if c.err == nil {
				c.err = Succeed()
			}
			s.Expect(err).To(c.err)
			s.Expect(s.live().Data).To(Equal(one))
			outcome, err = s.applier.Delete(t.Context(), s.live())
			s.Expect(err).NotTo(HaveOccurred())
			s.Expect(outcome).To(Equal(c.then))
		})
	}
}

// typed is a client that only knows its scheme.
type typed struct{ client.Client }

func (typed) Scheme() *runtime.Scheme { return scheme.Scheme }

// TestAForeignVolumeIsNotToBeDeleted checks what users read about claims that they made by hand for the volumes of an earlier Kafka.
func TestAForeignVolumeIsNotToBeDeleted(t *testing.T) {
	a := &Applier{Kafka: "my-cluster", UID: "kafka-uid", ClusterID: "id", Client: typed{}}
	claim := func(labels, annotations map[string]string, owners ...metav1.OwnerReference) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data-my-cluster-a-0", Labels: labels, Annotations: annotations,
				OwnerReferences: owners}}
	}
	wanted := claim(map[string]string{v1.LabelCluster: "my-cluster", "strimzi.io/pool-name": "a"}, nil)
	const prefix = "PersistentVolumeClaim ns/data-my-cluster-a-0 exists and does not belong to this Kafka ("
	const leave = "): the operator does not change it. It may have data: if somebody needs it, rename the Kafka or its KafkaNodePool"
	for name, c := range map[string]struct {
		live *corev1.PersistentVolumeClaim
		want string
	}{
		"made by hand": {claim(nil, nil), prefix + "its owner references do not name it): the operator does not change it. If it has data of " +
			"this Kafka, adopt it by the labels strimzi.io/cluster: my-cluster, strimzi.io/pool-name: a and app.kubernetes.io/managed-by: " +
			"kafka-operators-cluster-operator and the annotation kafka-operators.io/cluster-id with the cluster.id in meta.properties of its " +
			"data, which must be .status.clusterId of the Kafka (id). If that is another id, and no node of the Kafka ever ran, annotate the " +
			"claims, delete the Kafka and its KafkaNodePools, and create them again. Otherwise, rename the Kafka or its KafkaNodePool"},
		"of an earlier Kafka": {claim(nil, nil, metav1.OwnerReference{Kind: "Kafka", Name: "my-cluster", UID: "earlier"}),
			prefix + "it belongs to an earlier Kafka of this name, and is deleted with it" + leave},
		"a copy": {claim(nil, map[string]string{ownership.MarkSelf: "PersistentVolumeClaim/ns/other"}),
			prefix + "its ownership annotations name PersistentVolumeClaim/ns/other, so it is a copy" + leave},
	} {
		_, err := a.Apply(t.Context(), wanted.DeepCopy(), c.live)
		NewWithT(t).Expect(err).To(MatchError(c.want), name)
	}
}

// TestWhatOutlivesItsKafka checks that a volume, or the Secret of a CA, without an owner belongs to the Kafka if it has the Kafka's marks,
// and that no other object without an owner does. A copy belongs to no Kafka, whatever marks it has.
func TestWhatOutlivesItsKafka(t *testing.T) {
	a := &Applier{Kafka: "my-cluster", UID: "kafka-uid", ClusterID: "id", Client: typed{}}
	marks := func(labels map[string]string, annotations map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Labels: labels, Annotations: annotations}
	}
	ours := map[string]string{v1.LabelCluster: "my-cluster", "app.kubernetes.io/managed-by": FieldManager}
	of := func(id string) map[string]string { return map[string]string{"kafka-operators.io/cluster-id": id} }
	owned := marks(ours, of("id"))
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "theirs", UID: "other"}}
	named := func(mark string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ns", Name: "name", Labels: ours, OwnerReferences: owners,
			Annotations: map[string]string{"kafka-operators.io/cluster-id": "id", ownership.MarkSelf: mark}}
	}
	kafka := metav1.OwnerReference{Kind: "Kafka", Name: "my-cluster", UID: "kafka-uid"}
	other := metav1.OwnerReference{Kind: "Kafka", Name: "other", UID: "other"}
	config := func(pod, cluster string) *corev1.ConfigMap {
		c := &corev1.ConfigMap{ObjectMeta: named("ConfigMap/ns/name"), Data: map[string]string{"cluster.id": cluster}}
		c.Labels = map[string]string{core.LabelPodName: pod}
		maps.Copy(c.Labels, ours)
		return c
	}
	for name, c := range map[string]struct {
		o    client.Object
		ours bool
	}{
		"an object with its own mark":          {&corev1.ConfigMap{ObjectMeta: named("ConfigMap/ns/name", kafka)}, true},
		"a copy under another name":            {&corev1.ConfigMap{ObjectMeta: named("ConfigMap/ns/other", kafka)}, false},
		"a copy as another kind":               {&corev1.Secret{ObjectMeta: named("ConfigMap/ns/name", kafka)}, false},
		"a volume with its own mark":           {&corev1.PersistentVolumeClaim{ObjectMeta: named("PersistentVolumeClaim/ns/name")}, true},
		"a copy of a volume":                   {&corev1.PersistentVolumeClaim{ObjectMeta: named("PersistentVolumeClaim/ns/other")}, false},
		"a volume restored to this namespace":  {&corev1.PersistentVolumeClaim{ObjectMeta: named("PersistentVolumeClaim/elsewhere/name")}, true},
		"a copy of a Secret without its owner": {&corev1.Secret{ObjectMeta: named("Secret/ns/other")}, false},
		"a volume of this cluster":             {&corev1.PersistentVolumeClaim{ObjectMeta: marks(ours, of("id"))}, true},
		"a volume of another cluster":          {&corev1.PersistentVolumeClaim{ObjectMeta: marks(ours, of("other"))}, false},
		"a volume that nobody marked": {&corev1.PersistentVolumeClaim{ObjectMeta: marks(map[string]string{v1.LabelCluster: "my-cluster"},
			of("id"))}, false},
		"a volume with another owner": {&corev1.PersistentVolumeClaim{ObjectMeta: owned}, false},
		"a Secret":                    {&corev1.Secret{ObjectMeta: marks(ours, nil)}, true},
		"a Secret of another Kafka": {&corev1.Secret{ObjectMeta: marks(map[string]string{v1.LabelCluster: "b",
			"app.kubernetes.io/managed-by": FieldManager}, nil)}, false},
		"a Service that lost its owner":          {&corev1.Service{ObjectMeta: named("Service/ns/name")}, true},
		"a Service without a mark":               {&corev1.Service{ObjectMeta: marks(ours, nil)}, false},
		"a Service restored from elsewhere":      {&corev1.Service{ObjectMeta: named("Service/elsewhere/name")}, false},
		"a Service that was given another owner": {&corev1.Service{ObjectMeta: named("Service/ns/name", other)}, false},
		"the ConfigMap of a node":                {config("name", "id"), true},
		"that of a node of another cluster":      {config("name", "other"), false},
		"a ConfigMap that is not a node's":       {config("", "id"), false},
		"the record of a stretched Kafka": {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "my-cluster-kafka-stretch",
			Labels: ours, Annotations: map[string]string{ownership.MarkSelf: "ConfigMap/ns/my-cluster-kafka-stretch"}}}, true},
		"a ConfigMap that lost its owner": {&corev1.ConfigMap{ObjectMeta: marks(ours, nil)}, false},
	} {
		ours := a.WhyForeign(c.o) == ""
		NewWithT(t).Expect(ours).To(Equal(c.ours), name)
	}
}

// TestVolumesElsewhereNameTheirCentralCluster checks of whom a claim in another Kubernetes cluster is that outlived its owner.
func TestVolumesElsewhereNameTheirCentralCluster(t *testing.T) {
	owner := &ownership.Owner{ID: "new", Epoch: 1, Holder: ownership.Holder{Central: "c", Cluster: "us", Object: "kafka-uid"}}
	elsewhere := &Applier{Kafka: "my-cluster", UID: "anchor-uid", ClusterID: "id", Client: typed{}, Owner: owner, Central: "us"}
	home := &Applier{Kafka: "my-cluster", UID: "kafka-uid", ClusterID: "id", Client: typed{}}
	for name, c := range map[string]struct {
		id, central         string
		elsewhere, survives bool
	}{
		"elsewhere, of this central cluster":                     {"old", "us", true, true},
		"elsewhere, of this one, and the id was lost":            {"", "us", true, true},
		"elsewhere, of another central cluster":                  {"old", "them", true, false},
		"elsewhere, of another one, under this owner's id":       {"new", "them", true, false},
		"elsewhere, made by an earlier version":                  {"old", "", true, true},
		"elsewhere, of a Kafka that lives there":                 {"", "", true, false},
		"at home":                                                {"", "", false, true},
		"at home, of a central cluster to which it is elsewhere": {"old", "them", false, false},
	} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "name",
			Labels: map[string]string{v1.LabelCluster: "my-cluster", "app.kubernetes.io/managed-by": FieldManager},
			Annotations: map[string]string{"kafka-operators.io/cluster-id": "id", ownership.MarkID: c.id, ownership.MarkCentral: c.central,
				ownership.MarkTerm: "1.0123456789abcdef"}}}
		a := home
		if c.elsewhere {
			a = elsewhere
		}
		NewWithT(t).Expect(a.Owns(claim)).To(Equal(c.survives), name)
	}
}

// TestWhatAClaimKeepsIsNoDifference applies a claim that is larger than wanted, and of another class: only what can be changed is applied,
// once.
func TestWhatAClaimKeepsIsNoDifference(t *testing.T) {
	s := newScene(t)
	claim := func(size, class, label string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "claim",
				Labels:          map[string]string{v1.LabelCluster: "my-cluster", "a": label},
				OwnerReferences: s.config(nil).OwnerReferences},
			Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}}}}
	}
	live := func() *corev1.PersistentVolumeClaim {
		o := &corev1.PersistentVolumeClaim{}
		s.Expect(s.k8s.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "claim"}, o)).To(Succeed())
		return o
	}
	s.Expect(s.applier.Apply(t.Context(), claim("5Gi", "fast", "1"), (*corev1.PersistentVolumeClaim)(nil))).To(Equal(Created))
	bound := live()
	bound.Status.Phase = corev1.ClaimBound
	s.Expect(s.k8s.Status().Update(t.Context(), bound)).To(Succeed())

	s.Expect(s.applier.Apply(t.Context(), claim("1Gi", "slow", "2"), live())).To(Equal(Changed))
	s.Expect(live()).To(And(HaveField("Labels", HaveKeyWithValue("a", "2")), HaveField("Spec.StorageClassName", HaveValue(Equal("fast")))))
	s.Expect(live().Spec.Resources.Requests.Storage().String()).To(Equal("5Gi"))
	s.requests = 0
	s.Expect(s.applier.Apply(t.Context(), claim("1Gi", "slow", "2"), live())).To(Equal(Unchanged))
	s.Expect(s.requests).To(BeZero())
}

// A claim that has something else than was asked for is somebody else's work, or would get the same again, in other Kubernetes clusters as
// well as at home.
func TestAClaimThatIsNotAsItWasAskedForIsNotMadeAnew(t *testing.T) {
	for name, owner := range map[string]*ownership.Owner{
		"at home":   nil,
		"elsewhere": {ID: "new", Epoch: 1, Holder: ownership.Holder{Central: "c", Cluster: "us", Object: "kafka-uid"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			if owner != nil {
				s.applier.Owner, s.applier.Central = owner, owner.Holder.Cluster
			}
			wanted := func(class *string) *corev1.PersistentVolumeClaim {
				return &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
					ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "claim",
						OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Any", Name: "any", UID: s.applier.UID}}},
					Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
						StorageClassName: class, Resources: corev1.VolumeResourceRequirements{
							Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}
			}
			first, other := wanted(new("first")), wanted(new("other"))
			s.Expect(s.applier.Apply(t.Context(), first, (*corev1.PersistentVolumeClaim)(nil))).To(Equal(Created))
			live := func() *corev1.PersistentVolumeClaim {
				o := &corev1.PersistentVolumeClaim{}
				s.Expect(s.k8s.Get(t.Context(), client.ObjectKeyFromObject(first), o)).To(Succeed())
				return o
			}
			const why = `class "first" instead of "other"`
			s.Expect(WhyAnew(first, live())).To(BeEmpty())
			s.Expect(WhyAnew(other, live())).To(Equal(why))
			s.Expect(WhyAnew(wanted(nil), live())).To(Equal(`class "first" instead of "default"`))
			s.Expect(s.applier.Apply(t.Context(), other, live())).To(Equal(Changed))
			s.Expect(WhyAnew(other, live())).To(Equal(why), "what was asked for stays noted")
			s.requests = 0
			s.Expect(s.applier.Apply(t.Context(), other, live())).To(Equal(Unchanged))
			s.Expect(s.requests).To(BeZero())

			for what, change := range map[string]func(*corev1.PersistentVolumeClaim){
				"another class": func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("of a webhook") },
				"another selector": func(c *corev1.PersistentVolumeClaim) {
					c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"restored": "from"}}
				},
				"another size": func(c *corev1.PersistentVolumeClaim) {
					c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
				},
				"nothing noted": func(c *corev1.PersistentVolumeClaim) { delete(c.Annotations, AnnotationAskedFor) },
				"nonsense":      func(c *corev1.PersistentVolumeClaim) { c.Annotations[AnnotationAskedFor] = "{}" },
			} {
				changed := live()
				change(changed)
				s.Expect(WhyAnew(other, changed)).To(BeEmpty(), what)
			}
			byDefault := live()
			byDefault.Annotations[AnnotationAskedFor] = `{"size":"1Gi"}`
			s.Expect(WhyAnew(wanted(nil), byDefault)).To(BeEmpty(), "the API server chose the class")
			s.Expect(WhyAnew(other, byDefault)).To(Equal(why))

			bare := live()
			delete(bare.Annotations, AnnotationAskedFor)
			s.Expect(s.k8s.Update(t.Context(), bare)).To(Succeed())
			s.Expect(s.applier.Apply(t.Context(), first, live())).To(Equal(Changed))
			s.Expect(live().Annotations).NotTo(HaveKey(AnnotationAskedFor), "who made it is unknown")
		})
	}
}

// TestASecretOfAnotherTypeIsMadeAnew checks what becomes of a copy of a Secret whose type is not the wanted one, which the API server lets
// nobody change: it is made anew if it is certainly the Kafka's.
func TestASecretOfAnotherTypeIsMadeAnew(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*corev1.Secret)
		outcome Outcome
		err     string
		kept    bool
	}{
		"its own": {func(*corev1.Secret) {}, Created, "", false},
		"another owner's": {func(s *corev1.Secret) { s.Annotations[ownership.MarkID] = "other"; s.OwnerReferences = nil }, "",
			"does not belong to this Kafka", true},
		"a user's copy": {func(s *corev1.Secret) { s.Annotations[ownership.MarkSelf] = "Secret/ns/other" }, "",
			"does not belong to this Kafka", true},
		"without marks": {func(s *corev1.Secret) { s.Annotations = nil }, "", "field is immutable", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.applier.Owner = &ownership.Owner{ID: "2f4c", Epoch: 1, Holder: ownership.Holder{Central: "central", Cluster: "c", Object: "a"}}
			wanted := func(kind corev1.SecretType) *corev1.Secret {
				return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: s.config(nil).ObjectMeta, Type: kind,
					Data: map[string][]byte{"ca.crt": {1}, "tls.crt": {}, "tls.key": {}}}
			}
			live := func() *corev1.Secret {
				o := &corev1.Secret{}
				s.Expect(s.k8s.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "config"}, o)).To(Succeed())
				return o
			}
			s.Expect(s.applier.Apply(t.Context(), wanted(corev1.SecretTypeOpaque), (*corev1.Secret)(nil))).To(Equal(Created))
			before := live()
			c.change(before)
			s.Expect(s.k8s.Update(t.Context(), before)).To(Succeed())
			outcome, err := s.applier.Apply(t.Context(), wanted(corev1.SecretTypeTLS), before)
			s.Expect(outcome).To(Equal(c.outcome))
			if c.err == "" {
				s.Expect(err).NotTo(HaveOccurred())
			} else {
				s.Expect(err).To(MatchError(ContainSubstring(c.err)))
			}
			if c.kept {
				s.Expect(live().UID).To(Equal(before.UID))
				return
			}
			s.Expect(live().UID).NotTo(Equal(before.UID))
			s.Expect(live().Type).To(Equal(corev1.SecretTypeTLS))
			s.Expect(s.applier.Apply(t.Context(), wanted(corev1.SecretTypeTLS), live())).To(Equal(Unchanged))
		})
	}
}
