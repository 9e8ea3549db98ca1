package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// change edits an object of a history as a user does.
func change[T client.Object](h *history, o T, name string, edit func(T)) {
	h.t.Helper()
	h.must(h.k8s.Get(h.t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: name}, o))
	edit(o)
	h.must(h.k8s.Update(h.t.Context(), o))
}

// passOver reconciles a Kafka once. It ignores the error: the status shows why the operator rejects a Kafka.
func (h *history) passOver(name string) {
	h.t.Helper()
	_, _ = h.r.Reconcile(h.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: historyNamespace, Name: name}})
}

func (h *history) kafka(name string) *v1.Kafka {
	return h.object(facts.Key{Kind: "Kafka", Name: name}).(*v1.Kafka)
}

// isReady matches the condition Ready of a Kafka.
func isReady(status, reason, message string) gomegatypes.GomegaMatcher {
	return WithTransform(func(k *v1.Kafka) v1.Condition { return *readyOf(k) },
		And(HaveField("Status", status), HaveField("Reason", reason), HaveField("Message", ContainSubstring(message))))
}

func disk(id int32, shared bool) v1.StorageVolume {
	volume := v1.StorageVolume{Type: v1.StoragePersistentClaim, ID: &id, Size: "1Gi", DeleteClaim: new(true)}
	if shared {
		volume.KraftMetadata = v1.KraftMetadataShared
	}
	return volume
}

// TestTheMetadataLogMovesBeforeItsVolumeGoes checks that a volume with a metadata log, which may be the only copy of a controller's data,
// is removed only after the node moved the log while it had both volumes. startController checks that.
func TestTheMetadataLogMovesBeforeItsVolumeGoes(t *testing.T) {
	for name, c := range map[string]struct{ before, after []v1.StorageVolume }{
		"the first volume goes":                    {[]v1.StorageVolume{disk(0, false), disk(1, false)}, []v1.StorageVolume{disk(1, false)}},
		"the log's volume goes":                    {[]v1.StorageVolume{disk(0, false), disk(1, true)}, []v1.StorageVolume{disk(0, false)}},
		"the log is to move, and its volume to go": {[]v1.StorageVolume{disk(0, true), disk(1, false)}, []v1.StorageVolume{disk(1, true)}},
		"a volume is exchanged":                    {[]v1.StorageVolume{disk(1, false)}, []v1.StorageVolume{disk(0, false)}},
	} {
		for _, roles := range [][]v1.ProcessRole{{v1.RoleController}, {v1.RoleController, v1.RoleBroker}} {
			t.Run(fmt.Sprint(name, roles), func(t *testing.T) {
				g := NewWithT(t)
				h := newHistory(t, 1)
				pool := nodePool("pool", 3, roles...)
				pool.Spec.Storage = v1.Storage{Type: v1.StorageJBOD, Volumes: c.before}
				h.runs(newKafka(), pool, nodePool("brokers", 1, v1.RoleBroker))
				change(h, pool, "pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.Volumes = c.after })
				h.passOver("my-cluster")
				g.Expect(h.kafka("my-cluster").Status.Conditions).To(blockedBy("has the metadata log of controller"))
				h.comeUp()
				for _, key := range sortedKeys(h.k8s.server.objects) {
					if pod, ok := h.object(key).(*corev1.Pod); ok && strings.HasPrefix(pod.Name, "my-cluster-pool") {
						g.Expect(claims(pod)).To(HaveLen(len(c.after)), pod.Name)
						g.Expect(h.logs).To(HaveKeyWithValue(pod.Name, fmt.Sprintf("data-%d", *c.after[0].ID)))
					}
				}
				g.Expect(h.kafka("my-cluster")).To(isReady("True", "", ""))
			})
		}
	}
}

func TestTheMetadataLogMovesOffAVolumeWithReplicas(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	pool := nodePool("pool", 1, v1.RoleController, v1.RoleBroker)
	pool.Spec.Storage = v1.Storage{Type: v1.StorageJBOD, Volumes: []v1.StorageVolume{disk(0, true), disk(1, false)}}
	h.runs(newKafka(), pool)
	change(h, pool, "pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.Volumes = []v1.StorageVolume{disk(1, true)} })
	for range 5 {
		h.brokers.dirs = map[int32][]kafka.LogDir{0: {{Path: dirOf(0, 0), Replicas: 3, Cordoned: true}, {Path: dirOf(0, 1)}}}
		h.passOver("my-cluster")
		h.runPods(h.k8s.server, 100)
	}
	g.Expect(h.logs).To(HaveKeyWithValue("my-cluster-pool-0", "data-1"))
	g.Expect(h.kafka("my-cluster").Status.Conditions).To(blockedBy("volume 0 of broker 0 holds 3 replicas"))
	g.Expect(h.kafka("my-cluster")).To(isReady("True", "", ""))
}

// Of a broker without the controller role, the log is a copy that it fetches again.
func TestAVolumeWithReplicasAndMetadataLogStays(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	pool := nodePool("brokers", 1, v1.RoleBroker)
	pool.Spec.Storage = v1.Storage{Type: v1.StorageJBOD, Volumes: []v1.StorageVolume{disk(0, false), disk(1, false)}}
	h.runs(newKafka(), pool, nodePool("controllers", 1, v1.RoleController))
	set := facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-brokers"}
	before := h.object(set).(*core.StrimziPodSet).Spec.Pods
	change(h, pool, "brokers", func(p *v1.KafkaNodePool) { p.Spec.Storage.Volumes = []v1.StorageVolume{disk(1, false)} })
	revision := func(pods []runtime.RawExtension) string {
		pod := &corev1.Pod{}
		h.must(json.Unmarshal(pods[0].Raw, pod))
		return pod.Annotations[core.AnnotationRevision]
	}
	for range 2 {
		h.brokers.dirs = map[int32][]kafka.LogDir{0: {{Path: dirOf(0, 0), Replicas: 3, Cordoned: true}, {Path: dirOf(0, 1)}}}
		h.passOver("my-cluster")
	}
	g.Expect(h.kafka("my-cluster").Status.Conditions).To(blockedBy("volume 0 of broker 0 holds 3 replicas"))
	g.Expect(revision(h.object(set).(*core.StrimziPodSet).Spec.Pods)).To(Equal(revision(before)))
	h.brokers.dirs = map[int32][]kafka.LogDir{0: {{Path: dirOf(0, 0), Cordoned: true}, {Path: dirOf(0, 1)}}}
	h.passOver("my-cluster")
	h.comeUp()
	g.Expect(claims(h.object(facts.Key{Kind: "Pod", Name: "my-cluster-brokers-0"}).(*corev1.Pod))).To(HaveLen(1))
	g.Expect(h.kafka("my-cluster")).To(isReady("True", "", ""))
}

func TestAPodSetOfAnotherKindWithAPoolsNameIsNamed(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	theirs := &core.StrimziPodSet{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: "my-cluster-connect",
		Labels:          map[string]string{v1.LabelCluster: "my-cluster", core.LabelKind: "KafkaConnect"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "kafka.strimzi.io/v1", Kind: "KafkaConnect", Name: "my-cluster", UID: "theirs"}}},
		Spec: &core.StrimziPodSetSpec{}}
	for _, o := range []client.Object{newKafka(), nodePool("connect", 1, v1.RoleController, v1.RoleBroker), theirs} {
		o.SetNamespace(historyNamespace)
		h.must(h.k8s.Create(t.Context(), o))
	}
	before := h.object(facts.Key{Kind: "StrimziPodSet", Name: theirs.Name})
	h.passOver("my-cluster")
	g.Expect(h.kafka("my-cluster")).To(isReady("False", "ObjectNotOwned", "StrimziPodSet ns/my-cluster-connect"))
	g.Expect(h.object(facts.Key{Kind: "StrimziPodSet", Name: theirs.Name})).To(Equal(before))
}

func TestABrokerThatNeverRegisteredLeaves(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	brokers := nodePool("brokers", 1, v1.RoleBroker)
	h.runs(newKafka(), nodePool("controllers", 1, v1.RoleController), brokers)
	scale := func(n int32) {
		change(h, brokers, "brokers", func(p *v1.KafkaNodePool) { p.Spec.Replicas = n })
		h.brokers.replicas = map[int32]int{0: 3}
		h.passOver("my-cluster")
		h.passOver("my-cluster")
	}
	scale(2) // the new node's pod can't be scheduled
	g.Expect(h.object(facts.Key{Kind: "KafkaNodePool", Name: "brokers"}).(*v1.KafkaNodePool).Status.NodeIDs).To(Equal([]int32{0, 2}))
	scale(1)
	g.Expect(h.object(facts.Key{Kind: "KafkaNodePool", Name: "brokers"}).(*v1.KafkaNodePool).Status.NodeIDs).To(Equal([]int32{0}))
	h.comeUp()
	g.Expect(h.kafka("my-cluster")).To(isReady("True", "", ""))
}

func TestReadySaysWhyPodsAreNotMade(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	pool := nodePool("pool", 1, v1.RoleController, v1.RoleBroker)
	for _, o := range []client.Object{newKafka(), pool, neighbour("KafkaConnect", "connect", "0")} {
		o.SetNamespace(historyNamespace)
		h.must(h.k8s.Create(t.Context(), o))
	}
	h.passOver("my-cluster")
	change(h, &corev1.Pod{}, "my-cluster-connect-0", func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable"}}
		h.must(h.k8s.Status().Update(t.Context(), p))
	})
	set := &core.StrimziPodSet{}
	h.must(h.k8s.Get(t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: "my-cluster-pool"}, set))
	set.Status.Conditions = []v1.Condition{{Type: "Error", Status: "true", Message: "create pod my-cluster-pool-0: exceeded quota"}}
	h.must(h.k8s.Status().Update(t.Context(), set))
	h.passOver("my-cluster")
	g.Expect(h.kafka("my-cluster")).To(And(isReady("False", "Creating", "my-cluster-pool-0: exceeded quota"),
		Not(isReady("False", "Creating", "connect"))))
	change(h, set, set.Name, func(s *core.StrimziPodSet) { s.Annotations[v1.AnnotationPauseReconciliation] = "true" })
	h.passOver("my-cluster")
	g.Expect(h.kafka("my-cluster")).To(isReady("False", "Creating", "StrimziPodSet my-cluster-pool (it is annotated with strimzi.io/pause-"))
}

func TestTooManyNodesAreRefusedAtOnce(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	pool := nodePool("pool", 1, v1.RoleController, v1.RoleBroker)
	h.runs(newKafka(), pool)
	change(h, pool, "pool", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 30_000 })
	h.passOver("my-cluster")
	g.Expect(h.kafka("my-cluster")).To(isReady("False", "InvalidResourceException", "30000 replicas together, and a Kafka can"))
}

func TestATooLargePoolIsRefusedBeforeAnyWrite(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	pool := nodePool("pool", 700, v1.RoleBroker)
	const refusal = "the StrimziPodSet my-cluster-pool of KafkaNodePool pool would have "
	written := func() (kinds []string) {
		for key := range h.k8s.server.objects {
			kinds = append(kinds, key.Kind)
		}
		slices.Sort(kinds)
		return slices.Compact(kinds)
	}
	for _, o := range []client.Object{newKafka(), nodePool("controllers", 3, v1.RoleController), pool} {
		o.SetNamespace(historyNamespace)
		h.must(h.k8s.Create(t.Context(), o))
	}
	before := written()
	h.passOver("my-cluster")
	g.Expect(h.kafka("my-cluster")).To(isReady("False", "InvalidResourceException", refusal))
	g.Expect(written()).To(Equal(before))

	change(h, pool, "pool", func(p *v1.KafkaNodePool) {
		g.Expect(p.Status.NodeIDs).To(BeEmpty())
		p.Spec.Replicas = 3
	})
	h.comeUp()
	running := maps.Clone(h.k8s.server.objects)
	change(h, pool, "pool", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 700 })
	h.passOver("my-cluster")
	g.Expect(h.kafka("my-cluster")).To(isReady("False", "InvalidResourceException", refusal))
	for key, o := range h.k8s.server.objects {
		if key.Kind != "Kafka" && key.Kind != "KafkaNodePool" {
			g.Expect(o).To(BeIdenticalTo(running[key]), key.Kind+" "+key.Name)
		}
	}
	g.Expect(h.k8s.server.objects).To(HaveLen(len(running)))
}

func TestAPoolThatIsGivenToAnotherKafkaDoesNotBringItsClusterID(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	pool, other := nodePool("pool", 1, v1.RoleController, v1.RoleBroker), newKafka()
	other.Name = "other"
	h.runs(newKafka(), pool, other)
	change(h, pool, "pool", func(p *v1.KafkaNodePool) { p.Labels[v1.LabelCluster] = "other" })
	h.passOver("other")
	g.Expect(h.kafka("other").Status.ClusterID).NotTo(Or(BeEmpty(), Equal(h.kafka("my-cluster").Status.ClusterID)))
}

func TestATopicOperatorThatDoesNotRunHoldsUpNoUpgrade(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	kafka := newKafka()
	kafka.Spec.EntityOperator = &v1.EntityOperatorSpec{TopicOperator: &v1.EntityTopicOperatorSpec{}}
	h.runs(kafka, nodePool("pool", 1, v1.RoleController, v1.RoleBroker))
	operator := &appsv1.Deployment{}
	h.must(h.k8s.Get(t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: "my-cluster-entity-operator"}, operator))
	operator.Status.ReadyReplicas = 0
	h.must(h.k8s.Status().Update(t.Context(), operator))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: "my-cluster-entity-operator-1",
		Labels: operator.Spec.Template.Labels}}
	h.must(h.k8s.Create(t.Context(), pod))
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
	h.must(h.k8s.Status().Update(t.Context(), pod))
	h.brokers.metadata = metadataOf["4.2.0"]
	h.passOver("my-cluster")
	g.Expect(h.kafka("my-cluster")).To(isReady("False", "TopicOperatorNotReady", ". Waiting: pod my-cluster-entity-operator-1 "+
		"(CrashLoopBackOff)"))
	g.Expect(h.brokers.metadata).To(Equal(metadataOf["4.3.1"]))
	g.Expect(h.kafka("my-cluster").Status.KafkaMetadataVersion).To(Equal("4.3-IV0"))
}

func TestTheNoteOfAPodSetsStorageComesBack(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	pool := nodePool("pool", 1, v1.RoleController, v1.RoleBroker)
	h.runs(newKafka(), pool)
	lose := func() {
		change(h, &core.StrimziPodSet{}, "my-cluster-pool", func(s *core.StrimziPodSet) { delete(s.Annotations, v1.AnnotationStorage) })
		h.passOver("my-cluster")
	}
	lose()
	h.comeUp()
	set := h.object(facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-pool"})
	g.Expect(set.GetAnnotations()[v1.AnnotationStorage]).To(ContainSubstring(`"persistent-claim"`))
	g.Expect(h.kafka("my-cluster")).To(isReady("True", "", ""))

	change(h, pool, "pool", func(p *v1.KafkaNodePool) { p.Spec.Storage = v1.Storage{Type: v1.StorageEphemeral} })
	lose()
	g.Expect(h.kafka("my-cluster")).To(isReady("False", "KafkaStorage", "set .spec.storage to the storage of the existing nodes"))
}
