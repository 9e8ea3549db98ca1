package controller

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/loadbalancer"
)

// made returns the resourceVersions of all objects, except for the user's.
func (w *stretchedWorld) made() map[string]map[string]string {
	all := w.all()
	maps.DeleteFunc(all["central"], func(key, _ string) bool {
		return strings.HasPrefix(key, "*v1.KafkaList/") || strings.HasPrefix(key, "*v1.KafkaNodePoolList/")
	})
	return all
}

// TestWhatStopsAStretchedKafka checks obstacles to a stretched Kafka as a whole: the operator changes nothing in any Kubernetes cluster,
// the status names the obstacle, and the operator continues once it is removed.
func TestWhatStopsAStretchedKafka(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	honest := *w.r.Stretching
	record := &corev1.ConfigMap{}
	w.in("central", record, model.RecordName("my-cluster"))
	for _, c := range []struct {
		name            string
		do, undo        func()
		reason, message string
	}{
		{"another network provider",
			func() { w.r.Stretching.ProviderName = "mcs" },
			func() { w.r.Stretching.ProviderName = honest.ProviderName },
			"ProviderChangeForbidden", "use the network provider nodeport, but the operator is configured for mcs"},
		{"a record that can't be read",
			func() {
				broken := record.DeepCopy()
				broken.ResourceVersion, broken.Data = "", map[string]string{recordKey: "{"}
				w.Expect(w.k8s.Update(t.Context(), broken)).To(Succeed())
			},
			func() {
				restored := record.DeepCopy()
				restored.ResourceVersion = ""
				w.Expect(w.k8s.Update(t.Context(), restored)).To(Succeed())
			},
			"StretchRecordInvalid", "can't be read"},
		{"an operator that is not configured for several Kubernetes clusters",
			func() { w.r.Stretching = nil },
			func() { w.r.Stretching = &honest },
			"OperatorNotConfigured", "Stretch mode is enabled for Kafka cluster 'my-cluster', but required environment variables are not properly " +
				"configured. Required: STRIMZI_REMOTE_KUBE_CONFIG, STRIMZI_CENTRAL_CLUSTER_ID, STRIMZI_STRETCH_PLUGIN_CLASS_NAME, " +
				"STRIMZI_STRETCH_PLUGIN_CLASS_PATH. It has objects in several Kubernetes clusters: nothing is changed"},
		{"another network provider, and the record is lost",
			func() {
				w.r.Stretching.ProviderName = "mcs"
				w.Expect(w.k8s.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: w.named(record.Name)})).To(Succeed())
			},
			func() { w.r.Stretching.ProviderName = "nodeport" },
			"ProviderChangeForbidden", "use the network provider nodeport, but the operator is configured for mcs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.configure("log.retention.hours", fmt.Sprint(len(c.name)))
			c.do()
			before := w.made()
			w.pass()
			w.pass()
			ready := w.ready()
			w.Expect(ready).To(And(HaveField("Status", "False"), HaveField("Reason", c.reason), HaveField("Message", ContainSubstring(c.message))))
			w.Expect(w.made()).To(Equal(before))
			c.undo()
			w.settle()
			w.Expect(w.ready()).To(HaveField("Status", "True"))
			w.Expect(w.setting("east", "my-cluster-east-1", "log.retention.hours")).To(Equal(fmt.Sprint(len(c.name))))
		})
	}
}

// Whoever tries one provider after the other has no node yet that could lose its address.
func TestAnotherProviderIsFineBeforeANodeHasAnAddress(t *testing.T) {
	for name, running := range map[string]bool{"a new Kafka": false, "a Kafka that ran in one Kubernetes cluster": true} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			if running {
				w.create(newKafka(), nodePool("central", 1, v1.RoleBroker, v1.RoleController))
				w.settle()
				k, pool := w.kafka(), &v1.KafkaNodePool{}
				k.Annotations = with(k.Annotations, v1.AnnotationStretch, "true")
				w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
				w.get(pool, "central")
				pool.Annotations = with(pool.Annotations, v1.AnnotationTargetCluster, "central")
				w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
			} else {
				w.create(stretchedKafka(), poolIn("central", "central", 1, v1.RoleBroker, v1.RoleController))
			}
			w.create(poolIn("east", "east", 1, v1.RoleBroker))
			honest := *w.r.Stretching
			w.r.Stretching.ProviderName = "loadbalancer" // nobody gives its Services addresses
			w.r.Stretching.Provider, _ = loadbalancer.New(nil)
			for range 3 {
				w.pass()
				w.pods()
			}
			w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Message", ContainSubstring("no load balancer address yet"))))
			w.in("east", &corev1.Service{}, "my-cluster-east-1-lb")

			w.members["east"].lost = true
			*w.r.Stretching = honest
			w.pass()
			w.Expect(w.ready()).To(HaveField("Reason", "ProviderChangeForbidden"), "a node that can't be seen may have an address")
			w.members["east"].lost = false
			w.settle()
			w.Expect(w.ready()).To(HaveField("Status", "True"))
			w.Expect(w.setting("east", "my-cluster-east-1", "advertised.listeners")).To(ContainSubstring("192.0.2.2:3"))
			for id, pod := range map[string]string{"central": "my-cluster-central-0", "east": "my-cluster-east-1"} {
				service := &corev1.Service{ObjectMeta: w.named(pod + "-lb")}
				err := w.members[id].Get(t.Context(), client.ObjectKeyFromObject(service), service)
				w.Expect(err).To(MatchError(apierrors.IsNotFound, "NotFound"), "what the former provider planned")
			}
			w.r.Stretching.ProviderName = "mcs"
			w.pass()
			w.Expect(w.ready()).To(HaveField("Reason", "ProviderChangeForbidden"))
		})
	}
}

func TestAnAnchorThatIsBeingDeletedIsWaitedFor(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	anchor := &corev1.ConfigMap{}
	w.in("east", anchor, model.AnchorName("my-cluster"))
	controllerutil.AddFinalizer(anchor, "example.com/keep")
	w.Expect(w.members["east"].Update(t.Context(), anchor)).To(Succeed())
	w.Expect(w.members["east"].Delete(t.Context(), anchor)).To(Succeed())
	w.configure("log.retention.hours", "1")
	before := w.made()["east"]
	terminating := And(HaveField("Status", "False"), HaveField("Reason", "AnchorTerminating"),
		HaveField("Message", ContainSubstring("in cluster 'east' is being deleted")))

	record := &corev1.ConfigMap{}
	w.get(record, model.RecordName("my-cluster"))
	empty := record.DeepCopy()
	empty.Data = nil
	w.Expect(w.k8s.Update(t.Context(), empty)).To(Succeed())
	all := w.made()
	w.pass()
	w.Expect(w.ready()).To(terminating)
	w.Expect(w.made()).To(Equal(all), "without the record, it is not known what is there")
	record.ResourceVersion = empty.ResourceVersion
	w.Expect(w.k8s.Update(t.Context(), record)).To(Succeed())

	w.pass()
	w.Expect(w.ready()).To(terminating)
	w.Expect(w.made()["east"]).To(Equal(before))
	w.Expect(w.setting("west", "my-cluster-west-2", "log.retention.hours")).To(Equal("1"), "the others go on")

	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(And(terminating, HaveField("Message", And(HavePrefix("The deletion waits for cluster 'east'"),
		ContainSubstring("It waits until Kubernetes has deleted the objects in cluster 'west' (")))))
	w.Expect(w.anchored("west")).To(BeFalse(), "a deletion goes on, too")
}

// lacking is a Kubernetes cluster in which the CustomResourceDefinition of StrimziPodSets is not installed.
type lacking struct{ client.Reader }

func (l lacking) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, is := list.(*core.StrimziPodSetList); is {
		return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "core.strimzi.io", Kind: "StrimziPodSet"},
			SearchedVersions: []string{"v1"}}
	}
	return l.Reader.List(ctx, list, opts...)
}

func TestAMissingCustomResourceDefinitionIsNamed(t *testing.T) {
	w := newStretchedWorld(t)
	w.members["east"].cache = lacking{w.members["east"].reader()}
	w.create(stretchedKafka(), poolIn("central", "a", 1, "broker", "controller"), poolIn("east", "b", 1, "broker"))
	before := w.made()
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "MissingCRD"),
		HaveField("Message", "Required CRD 'strimzipodsets.core.strimzi.io' not found in cluster 'east'. "+
			"Please ensure Strimzi CRDs are installed in all target clusters.")))
	w.Expect(w.made()).To(Equal(before))
	w.members["east"].cache = nil
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

func TestTheEndOfCredentialsIsTold(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	east := w.members["east"]
	for _, c := range []struct {
		left    time.Duration
		message string
	}{
		{8 * 24 * time.Hour, ""},
		{6 * 24 * time.Hour, "The credentials for cluster 'east' expire at"},
		{23 * time.Hour, "The credentials for cluster 'east' expire within 24 hours, at"},
		{-time.Hour, "The credentials for cluster 'east' expired at"},
	} {
		east.expire, east.lost = w.now.Add(c.left), c.left < 0
		w.pass()
		told := ContainElement(And(HaveField("Reason", "CredentialsExpire"), HaveField("Message", HavePrefix(c.message))))
		if c.message == "" {
			told = Not(ContainElement(HaveField("Reason", "CredentialsExpire")))
		}
		w.Expect(w.kafka().Status.Conditions).To(told, c.left.String())
	}
}

// operatorOf returns the world of an operator that knows one Kubernetes cluster alone.
func (w *stretchedWorld) operatorOf(m *member) *world {
	own := &world{WithT: w.WithT, t: w.t, k8s: m.Client, namespace: w.namespace, brokers: w.brokers}
	own.r = &Reconciler{Cache: m.Client, Live: m.Client, Events: w, Metrics: metrics.New(prometheus.NewRegistry(), ""), Kafka: w.brokers,
		DefaultVersion: w.r.DefaultVersion, Settings: w.r.Settings, Interval: w.r.Interval, Now: w.r.Now, Rand: w.r.Rand, NewKey: w.r.NewKey}
	return own
}

func TestAKafkaThatARemoteClusterHasOfItsOwnIsLeftAlone(t *testing.T) {
	w := newStretchedWorld(t)
	east := w.members["east"]
	own := w.operatorOf(east)
	own.create(newKafka(), nodePool("east", 1, v1.RoleBroker, v1.RoleController))
	own.reconcile()
	theirs := w.all()["east"]
	set := &core.StrimziPodSet{}
	w.in("east", set, "my-cluster-east")

	w.create(stretchedKafka(), poolIn("central", "central", 1, v1.RoleBroker, v1.RoleController),
		poolIn("east", "east", 1, v1.RoleBroker, v1.RoleController))
	before := w.made()
	w.pass()
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "OwnershipConflict"),
		HaveField("Message", HavePrefix("cluster 'east' holds a Kafka "+w.namespace+"/my-cluster of its own (ConfigMap my-cluster-east-0 "+
			"belongs to it): nothing is changed anywhere. Rename this Kafka"))))
	w.Expect(w.made()).To(Equal(before), "nothing is made anywhere")
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.pass()
	w.Expect(w.all()["east"]).To(Equal(theirs))
	own.reconcile()
	k := &v1.Kafka{}
	own.get(k, "my-cluster")
	w.Expect(k.Status.Conditions).NotTo(ContainElement(HaveField("Reason", "OwnershipConflict")), "its operator goes on with it")
}

// A conflict about another cluster does not say that the nodes in this one are somebody else's.
func TestAPauseEndsThoughAnotherClusterIsNotTheKafkas(t *testing.T) {
	pause := func(w *world, value string) {
		w.edit(func(k *v1.Kafka) { k.Annotations = with(k.Annotations, v1.AnnotationPauseReconciliation, value) })
	}
	for name, occupy := range map[string]func(*stretchedWorld){
		"a Kafka of its own": func(w *stretchedWorld) {
			own := w.operatorOf(w.members["east"])
			own.create(newKafka(), nodePool("east", 1, v1.RoleBroker, v1.RoleController))
			own.reconcile()
			pause(own, "true")
			own.reconcile()
			own.Expect(own.hold("east")).To(Equal(model.HoldPaused))
		},
		"the anchor of another": func(w *stretchedWorld) { w.anchorOfAnother("east") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.create(newKafka(), nodePool("central", 1, v1.RoleBroker, v1.RoleController))
			w.settle()
			pause(w.world, "true")
			w.pass()
			w.Expect(w.hold("central")).To(Equal(model.HoldPaused))
			occupy(w)
			before := w.all()["east"]
			w.edit(func(k *v1.Kafka) { k.Annotations = with(k.Annotations, v1.AnnotationStretch, "true") })
			w.change("central", func(p *v1.KafkaNodePool) { p.Annotations = with(p.Annotations, v1.AnnotationTargetCluster, "central") })
			w.create(poolIn("east", "east", 1, v1.RoleBroker))
			pause(w.world, "false")
			w.pass()
			w.pass()
			w.Expect(w.ready()).To(HaveField("Reason", "OwnershipConflict"))
			w.Expect(w.hold("central")).To(BeEmpty())
			w.Expect(w.all()["east"]).To(Equal(before))
		})
	}
}

func TestAKafkaOfItsOwnWhereNoPoolIsToBeDoesNotMatter(t *testing.T) {
	w := newStretchedWorld(t)
	west := w.members["west"]
	own := w.operatorOf(west)
	shared := nodePool("east", 2, v1.RoleBroker, v1.RoleController)
	shared.Spec.Storage.DeleteClaim = new(true)
	own.create(newKafka(), shared)
	own.reconcile()
	own.start("east")
	own.reconcile()
	w.create(stretchedKafka(), poolIn("central", "central", 1, v1.RoleBroker, v1.RoleController), poolIn("east", "east", 1, v1.RoleBroker))
	before := w.all()["west"]
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.all()["west"]).To(Equal(before))
	theirs := &v1.Kafka{}
	own.get(theirs, "my-cluster")
	w.Expect(w.kafka().Status.ClusterID).NotTo(Or(BeEmpty(), Equal(theirs.Status.ClusterID)))

	// Nor do the volumes that it leaves when it is deleted: they are unmarked, and no pool may take them.
	own.change("east", func(pool *v1.KafkaNodePool) { pool.Spec.Storage.DeleteClaim = nil })
	own.reconcile()
	w.Expect(west.Delete(t.Context(), theirs)).To(Succeed())
	for _, o := range own.everything() {
		if _, claim := o.(*corev1.PersistentVolumeClaim); !claim {
			w.Expect(client.IgnoreNotFound(west.Delete(t.Context(), o))).To(Succeed())
		}
	}
	before = w.all()["west"]
	w.create(poolIn("west", "west", 1, v1.RoleBroker))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	for name, version := range before {
		if strings.HasPrefix(name, "*v1.PersistentVolumeClaimList/data-my-cluster-east") {
			w.Expect(w.all()["west"]).To(HaveKeyWithValue(name, version))
		}
	}
}

func TestReadySaysWhatHoldsUpTheFirstDeployment(t *testing.T) {
	w := newStretchedWorld(t)
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "my-cluster-kafka-brokers"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	w.Expect(w.members["east"].Create(t.Context(), foreign)).To(Succeed())
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "ObjectNotOwned"),
		HaveField("Message", ContainSubstring("In cluster 'east': Service "+w.namespace+"/my-cluster-kafka-brokers exists and does not belong"))))
	w.Expect(w.kafka().Status.StretchClusters).To(ContainElement(And(HaveField("Name", "east"), HaveField("LastSeenTime", BeNil()))),
		"it answers; the time would differ in each pass")
	w.Expect(w.members["east"].Delete(t.Context(), foreign)).To(Succeed())
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

func TestAPassThatEndsEarlyForgetsNoKubernetesCluster(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	shown := w.kafka().Status.StretchClusters
	active := ContainElement(And(HaveField("Type", "StretchCluster"), HaveField("Message", HaveSuffix("clusters=central,east,west"))))
	pool := &v1.KafkaNodePool{}
	w.get(pool, "east")
	pool.Spec.Replicas = 1_000_000
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	for range 2 {
		w.pass()
		w.Expect(w.ready()).To(HaveField("Reason", "InvalidResourceException"))
		w.Expect(w.kafka().Status.StretchClusters).To(Equal(shown), "before nodes are assigned")
		w.Expect(w.kafka().Status.Conditions).To(active)
	}
	w.get(pool, "east")
	pool.Spec.Replicas = 1
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.follow("east")
	for range 2 {
		w.pass()
		w.Expect(w.ready()).To(HaveField("Reason", "CentralFenced"))
		w.Expect(w.kafka().Status.StretchClusters).To(Equal(shown), "before other clusters are read")
		w.Expect(w.kafka().Status.Conditions).To(active)
	}
}

func TestAKubernetesClusterThatIsAwayIsNamedOnTheWayBack(t *testing.T) {
	w := newStretchedWorld(t)
	w.formTwo()
	pool := &v1.KafkaNodePool{}
	w.get(pool, "b")
	w.Expect(w.k8s.Delete(t.Context(), pool)).To(Succeed())
	w.unstretch("a")
	w.members["east"].lost = true
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "ConnectivityError")))
	w.Expect(w.kafka().Status.Conditions).To(ContainElement(HaveField("Type", "Degraded")))
	w.Expect(w.kafka().Status.StretchClusters).To(ContainElement(And(HaveField("Name", "east"), HaveField("NodeIDs", []int32{1}),
		HaveField("State", v1.StretchClusterUnknown))))
	w.members["east"].lost = false
	w.brokers.replicas = map[int32]int{0: 1, 1: 0}
	w.settle()
	w.Expect(w.kafka().Finalizers).To(BeEmpty())
	w.Expect(w.kafka().Status.StretchClusters).To(BeEmpty())
	w.Expect(w.kafka().Status.Conditions).NotTo(ContainElement(HaveField("Type", "StretchCluster")))
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

// unlistable is a cache that waits for its first list of a kind for ever, because its credentials don't permit that.
type unlistable struct {
	client.Reader
	kind string
}

func (u unlistable) wait(ctx context.Context, o any) error {
	if kind := reflect.TypeOf(o).Elem().Name(); kind != u.kind && kind != u.kind+"List" {
		return nil
	}
	<-ctx.Done()
	return apierrors.NewTimeoutError("failed waiting for *v1."+u.kind+" Informer to sync", 0)
}

func (u unlistable) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := u.wait(ctx, o); err != nil {
		return err
	}
	return u.Reader.Get(ctx, key, o, opts...)
}

func (u unlistable) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := u.wait(ctx, list); err != nil {
		return err
	}
	return u.Reader.List(ctx, list, opts...)
}

func TestAKindThatMayNotBeListedHangsNoPass(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.r.WatchTimeout = time.Second
	for i, kind := range []string{"ConfigMap", "Secret", "Lease"} {
		w.members["east"].cache = unlistable{w.members["east"].reader(), kind}
		hours := fmt.Sprint(i + 1)
		w.configure("log.retention.hours", hours)
		ctx, cancel := context.WithTimeout(t.Context(), watchPatience)
		_, err := w.r.Reconcile(ctx, w.request())
		cancel()
		w.Expect(err).To(MatchError(ContainSubstring("*v1."+kind+" Informer")), "it is tried again")
		w.Expect(w.ready()).To(And(HaveField("Reason", "ClusterFailed"), HaveField("Message", And(ContainSubstring("In cluster 'east'"),
			ContainSubstring("*v1."+kind+" Informer"), ContainSubstring("don't permit to list and watch it")))))
		w.Expect(w.setting("central", "my-cluster-central-0", "log.retention.hours")).To(Equal(hours))
	}
	w.members["east"].cache = nil
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}
