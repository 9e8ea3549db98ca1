package controller

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// start recreates the pods of a pool as their StrimziPodSet lists them.
func (w *world) start(pool string) {
	w.t.Helper()
	for name, listed := range w.pods(pool) {
		old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
		w.Expect(client.IgnoreNotFound(w.k8s.Delete(w.t.Context(), old, client.GracePeriodSeconds(0)))).To(Succeed())
		pod := listed.DeepCopy()
		pod.ResourceVersion, pod.Spec.ServiceAccountName = "", ""
		w.Expect(w.k8s.Create(w.t.Context(), pod)).To(Succeed())
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		w.Expect(w.k8s.Status().Update(w.t.Context(), pod)).To(Succeed())
	}
	w.kubelet(pool)
}

// createAndStart creates a Kafka with pools, and starts the pods of all of them.
func (w *world) createAndStart(objects ...client.Object) {
	w.t.Helper()
	w.create(objects...)
	w.reconcile()
	for _, o := range objects {
		if _, is := o.(*v1.KafkaNodePool); is {
			w.start(o.GetName())
		}
	}
	w.reconcile()
}

func (w *world) conditions() []v1.Condition {
	w.t.Helper()
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	return k.Status.Conditions
}

func blockedBy(reason string) gomegatypes.GomegaMatcher {
	return ContainElement(And(HaveField("Reason", "KafkaStorage"), HaveField("Message", ContainSubstring(reason))))
}

// config returns the configuration of a node.
func (w *world) config(pod string) string {
	w.t.Helper()
	c := &corev1.ConfigMap{}
	w.get(c, pod)
	return c.Data["server.config"]
}

func TestAVolumeGoesWhenItIsEmpty(t *testing.T) {
	w := newWorld(t)
	w.brokers.metadata = 30 // 4.3-IV0
	disk := func(id int32) v1.StorageVolume {
		return v1.StorageVolume{Type: v1.StoragePersistentClaim, ID: &id, Size: "1Gi", DeleteClaim: new(true)}
	}
	pool := nodePool("pool", 2, v1.RoleBroker, v1.RoleController)
	pool.Spec.Storage = v1.Storage{Type: v1.StorageJBOD, Volumes: []v1.StorageVolume{disk(0), disk(1)}}
	w.create(newKafka(), pool)
	w.reconcile()
	w.start("pool")
	w.reconcile() // the operator learns the metadata version
	reports := func(replicas int, cordoned bool) map[int32][]kafka.LogDir {
		dirs := map[int32][]kafka.LogDir{}
		for id := range int32(2) {
			for v := range 2 {
				dirs[id] = append(dirs[id], kafka.LogDir{Path: fmt.Sprintf("/var/lib/kafka/data-%d/kafka-log%d", v, id), Replicas: replicas,
					Cordoned: cordoned && v == 1})
			}
		}
		return dirs
	}
	const claim = "data-1-my-cluster-pool-1"
	volumes := func() []corev1.Volume { return w.pods("pool")["my-cluster-pool-1"].Spec.Volumes }
	mounted := ContainElement(HaveField("Name", "data-1"))

	w.get(pool, "pool")
	pool.Spec.Storage.Volumes = []v1.StorageVolume{disk(0), disk(2)}
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.reconcile()
	w.Expect(w.conditions()).To(blockedBy("volume 1 of broker 0 are unknown, because the broker did not answer"))
	w.Expect(volumes()).To(And(mounted, ContainElement(HaveField("Name", "data-2"))), "the new volume does not wait for the old one")
	w.Expect(w.config("my-cluster-pool-1")).To(And(ContainSubstring("cordoned.log.dirs=/var/lib/kafka/data-1/kafka-log1\n"),
		ContainSubstring("log.dirs=/var/lib/kafka/data-0/kafka-log1,/var/lib/kafka/data-1/kafka-log1,/var/lib/kafka/data-2/kafka-log1\n")))
	w.start("pool")

	w.brokers.dirs = reports(3, true)
	w.reconcile()
	w.Expect(w.conditions()).To(blockedBy("volume 1 of broker 1 holds 3 replicas of partitions: move them to other volumes or brokers first"))
	w.brokers.dirs = reports(0, false)
	w.reconcile()
	w.Expect(w.conditions()).To(blockedBy("is empty, but may still get new replicas"))
	w.brokers.err = errors.New("no broker answers")
	w.reconcile()
	w.brokers.err = nil
	w.Expect(volumes()).To(mounted)

	w.brokers.dirs = reports(0, true)
	w.reconcile()
	w.Expect(w.conditions()).NotTo(blockedBy("volume 1"))
	w.Expect(volumes()).NotTo(mounted)
	w.Expect(w.config("my-cluster-pool-1")).NotTo(ContainSubstring("data-1"))
	w.reconcile()
	w.get(&corev1.PersistentVolumeClaim{}, claim) // the node still runs with it

	w.start("pool")
	w.reconcile()
	gone := &corev1.PersistentVolumeClaim{}
	err := w.k8s.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: claim}, gone)
	w.Expect(apierrors.IsNotFound(err) || gone.DeletionTimestamp != nil).
		To(BeTrue(), "it was to be deleted with its node, and nothing uses it: %v", err)
	w.get(&corev1.PersistentVolumeClaim{}, "data-0-my-cluster-pool-1")
}

func TestAVolumeThatMustGoGoesByAnnotation(t *testing.T) {
	w := newWorld(t)
	pool := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
	pool.Spec.Storage = jbod(0, 1)
	w.create(newKafka(), pool)
	w.reconcile()
	w.brokers.dirs = map[int32][]kafka.LogDir{0: {{Path: "/var/lib/kafka/data-1/kafka-log0", Failed: true}}}
	w.get(pool, "pool")
	pool.Spec.Storage.Volumes = pool.Spec.Storage.Volumes[:1]
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.reconcile()
	w.Expect(w.conditions()).To(blockedBy("volume 1 of broker 0 is offline"))
	w.Expect(w.config("my-cluster-pool-0")).NotTo(ContainSubstring("cordoned"), "Kafka did not say that it can")
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	k.Annotations = map[string]string{v1.AnnotationSkipScaleDownCheck: "True"}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.reconcile()
	w.Expect(w.config("my-cluster-pool-0")).NotTo(ContainSubstring("data-1"))
	w.start("pool")
	w.reconcile()
	w.get(&corev1.PersistentVolumeClaim{}, "data-1-my-cluster-pool-0") // deleteClaim was never set
}

func TestBrokersThatAreToLeaveGetNoNewReplicas(t *testing.T) {
	w := newWorld(t)
	w.brokers.metadata = 30
	brokers, both := nodePool("brokers", 2, v1.RoleBroker), nodePool("both", 1, v1.RoleBroker, v1.RoleController)
	w.createAndStart(newKafka(), brokers, both)
	w.brokers.replicas = map[int32]int{0: 1, 1: 1, 2: 1}
	w.get(brokers, "brokers")
	brokers.Spec.Replicas = 1
	w.Expect(w.k8s.Update(t.Context(), brokers)).To(Succeed())
	w.reconcile()
	cordoned := ContainSubstring("cordoned.log.dirs=*\n")
	leaves := w.pods("brokers")
	w.Expect(leaves).To(HaveLen(2))
	highest := ""
	for name := range leaves {
		highest = max(highest, name)
	}
	w.Expect(w.config(highest)).To(cordoned)
	for name := range w.pods("both") {
		w.Expect(w.config(name)).NotTo(cordoned)
	}
	w.get(brokers, "brokers")
	brokers.Spec.Replicas = 2
	w.Expect(w.k8s.Update(t.Context(), brokers)).To(Succeed())
	w.reconcile()
	w.Expect(w.config(highest)).NotTo(cordoned)
}

func TestAFileSystemThatDoesNotGrowWhileItsPodRunsGetsARestart(t *testing.T) {
	t.Run("of a pool", func(t *testing.T) { fileSystemGrowsByRestart(t, false) })
	t.Run("but not in a removed pool, whose nodes stay as they are", func(t *testing.T) { fileSystemGrowsByRestart(t, true) })
}

func fileSystemGrowsByRestart(t *testing.T, removed bool) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker), nodePool("voters", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.start("pool")
	const name = "my-cluster-pool-0"
	revision := func() string { return w.pods("pool")[name].Annotations[core.AnnotationRevision] }
	before := revision()
	claim := &corev1.PersistentVolumeClaim{}
	w.get(claim, "data-"+name)
	since := metav1.NewTime(time.Now().Add(time.Second).Truncate(time.Second))
	claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{
		Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: since,
	}}
	w.Expect(w.k8s.Status().Update(t.Context(), claim)).To(Succeed())
	if removed {
		w.Expect(w.k8s.Delete(t.Context(), w.pool("pool"))).To(Succeed())
	}
	w.now = since.Add(onlineResize - time.Second)
	w.reconcile()
	w.Expect(revision()).To(Equal(before), "it may still grow")
	w.now = since.Add(onlineResize + time.Second)
	w.reconcile()
	after := revision()
	if removed {
		w.Expect(after).To(Equal(before))
		return
	}
	w.Expect(after).NotTo(Equal(before))
	pod := &corev1.Pod{}
	w.get(pod, name)
	w.Expect(w.pods("pool")[name].Annotations[model.AnnotationRestartedAt]).To(Equal(string(pod.UID)))
	w.reconcile()
	w.Expect(revision()).To(Equal(after), "one restart is enough")
}

func TestAnAnnotationThatDeletesDataIsAnsweredAndNotCarriedOut(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.start("pool")
	pod := &corev1.Pod{}
	w.get(pod, "my-cluster-pool-0")
	pod.Annotations[v1.AnnotationDeletePodAndPVC] = "true"
	w.Expect(w.k8s.Update(t.Context(), pod)).To(Succeed())
	w.reconcile()
	w.Expect(w.conditions()).
		To(ContainElement(HaveField("Message",
			HavePrefix("Pod my-cluster-pool-0 has the annotation strimzi.io/delete-pod-and-pvc, which is not supported"))))
	w.get(pod, "my-cluster-pool-0")
	w.get(&corev1.PersistentVolumeClaim{}, "data-my-cluster-pool-0")
}

func TestAPodThatWaitsForAFactOfItsKubernetesNodeIsNamed(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.Kafka.Rack = &v1.Rack{TopologyKey: "topology.kubernetes.io/zone"}
	w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	w.Expect(w.k8s.Create(t.Context(), node)).To(Succeed())
	set := &core.StrimziPodSet{}
	w.get(set, "my-cluster-pool")
	pod := w.pods("pool")["my-cluster-pool-0"]
	pod.Spec.ServiceAccountName, pod.Spec.NodeName = "", node.Name
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, core.GroupVersion.WithKind("StrimziPodSet"))}
	w.Expect(w.k8s.Create(t.Context(), &pod)).To(Succeed())
	w.reconcile()
	waits := HaveField("Message", "Pod my-cluster-pool-0 waits: Kubernetes node "+node.Name+" has no label topology.kubernetes.io/zone")
	w.get(k, k.Name)
	w.Expect(k.Status.Conditions).To(ContainElement(waits))

	node.Labels = map[string]string{"topology.kubernetes.io/zone": "a"}
	w.Expect(w.k8s.Update(t.Context(), node)).To(Succeed())
	w.reconcile()
	w.get(k, k.Name)
	w.Expect(k.Status.Conditions).NotTo(ContainElement(waits))
}

func TestAPodWhoseVolumeIsNotMadeIsNamed(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	set := &core.StrimziPodSet{}
	w.get(set, "my-cluster-pool")
	pod := w.pods("pool")["my-cluster-pool-0"]
	pod.Spec.ServiceAccountName = ""
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, core.GroupVersion.WithKind("StrimziPodSet"))}
	w.Expect(w.k8s.Create(t.Context(), &pod)).To(Succeed())
	w.reconcile()
	w.Expect(w.ready().Message).To(HaveSuffix("0 of 1 nodes are ready"), "most volumes are made in less than a minute")

	w.now = w.now.Add(2 * time.Minute)
	w.reconcile()
	w.Expect(w.ready().Message).To(HaveSuffix("0 of 1 nodes are ready. Waiting: pod my-cluster-pool-0 (PersistentVolumeClaim " +
		"data-my-cluster-pool-0 has no volume yet)"))

	claim := &corev1.PersistentVolumeClaim{}
	w.get(claim, "data-my-cluster-pool-0")
	claim.Status.Phase = corev1.ClaimBound
	w.Expect(w.k8s.Status().Update(t.Context(), claim)).To(Succeed())
	w.reconcile()
	w.Expect(w.ready().Message).To(HaveSuffix("0 of 1 nodes are ready"))
}

func TestAVolumeThatIsNotEnlargedIsNamed(t *testing.T) {
	w := newReadyWorld(t, "pool", 1)
	pool := &v1.KafkaNodePool{}
	w.get(pool, "pool")
	claim := &corev1.PersistentVolumeClaim{}
	w.get(claim, "data-my-cluster-pool-0")
	claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimControllerResizeError,
		Status: corev1.ConditionTrue, Message: "RequestID 4711: not again within six hours"}}
	w.Expect(w.k8s.Status().Update(t.Context(), claim)).To(Succeed())
	w.reconcile()
	failed := And(HaveField("Reason", "PvcResizingWarning"), HaveField("Message", Equal(fmt.Sprintf("PVC data-my-cluster-pool-0 has 1Gi of "+
		"the %s that it asks for, and could not be resized yet: kubectl describe pvc -n %s data-my-cluster-pool-0 says why",
		claim.Spec.Resources.Requests.Storage(), w.namespace))))
	w.Expect(w.conditions()).To(ContainElement(failed))
	w.get(pool, "pool")
	w.Expect(pool.Status.Conditions).To(ContainElement(failed))
	w.Expect(w.ready().Status).To(Equal("True"))

	claim.Status.Conditions = nil
	w.Expect(w.k8s.Status().Update(t.Context(), claim)).To(Succeed())
	w.reconcile()
	w.Expect(w.conditions()).NotTo(ContainElement(HaveField("Reason", "PvcResizingWarning")))
}
