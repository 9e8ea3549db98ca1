package controller

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// loseSet does to the StrimziPodSet of a pool what somebody may do by mistake. Its nodes ran.
func (w *world) loseSet(pool, how string) {
	w.t.Helper()
	for key := range w.everything() {
		if key.Kind == "PersistentVolumeClaim" {
			w.bind(key.Name)
		}
	}
	set := &core.StrimziPodSet{}
	w.get(set, "my-cluster-"+pool)
	switch how {
	case "deleted":
		w.Expect(w.k8s.Delete(w.t.Context(), set)).To(Succeed())
		return
	case "unlabelled":
		delete(set.Labels, v1.LabelCluster)
	case "emptied":
		set.Spec.Pods = set.Spec.Pods[:0]
	default:
		set.Spec.Pods = set.Spec.Pods[:len(set.Spec.Pods)-1]
	}
	w.Expect(w.k8s.Update(w.t.Context(), set)).To(Succeed())
}

// A rejected change stays rejected when the StrimziPodSet that lists the nodes is lost.
func TestNodesExistThoughTheirStrimziPodSetIsLost(t *testing.T) {
	holds := func(w *world) {
		w.brokers.replicas = map[int32]int{0: 1, 1: 1, 2: 1, 3: 1, 4: 1}
	}
	for _, how := range []string{"deleted", "unlabelled", "emptied", "shortened"} {
		t.Run(how, func(t *testing.T) {
			t.Run("a broker with partitions is removed", func(t *testing.T) {
				w := newWorld(t)
				w.create(newKafka(), nodePool("controllers", 3, v1.RoleController), nodePool("brokers", 2, v1.RoleBroker))
				w.reconcile()
				holds(w)
				before := w.podNames("brokers")
				w.change("brokers", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 1 })
				w.reconcile()
				w.loseSet("brokers", how)
				w.reconcile()
				w.Expect(w.podNames("brokers")).To(Equal(before))
				w.Expect(w.conditions()).To(ContainElement(HaveField("Reason", "ScaleDownPreventionCheck")))
			})
			t.Run("controllers lose their role to others", func(t *testing.T) {
				w := newWorld(t)
				w.create(newKafka(), nodePool("a", 3, v1.RoleController, v1.RoleBroker))
				w.reconcile()
				holds(w)
				w.change("a", func(p *v1.KafkaNodePool) { p.Spec.Roles = []v1.ProcessRole{v1.RoleBroker} })
				w.create(nodePool("new", 3, v1.RoleController))
				w.reconcile()
				w.loseSet("a", how)
				w.reconcile()
				w.Expect(w.config("my-cluster-a-0")).To(And(ContainSubstring("process.roles=broker,controller"),
					MatchRegexp(`controller\.quorum\.voters=0@[^,]*,1@[^,]*,2@[^,]*\n`)))
				sets := &core.StrimziPodSetList{}
				w.Expect(w.k8s.List(t.Context(), sets, client.InNamespace(w.namespace))).To(Succeed())
				for _, set := range sets.Items {
					w.Expect(set.Name == "my-cluster-a" || len(set.Spec.Pods) == 0).To(BeTrue(), set.Name)
				}
			})
			t.Run("a volume with replicas is removed", func(t *testing.T) {
				w := newWorld(t)
				pool := nodePool("pool", 3, v1.RoleController, v1.RoleBroker)
				pool.Spec.Storage = jbod(0, 1)
				w.create(newKafka(), pool)
				w.reconcile()
				w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.Volumes = p.Spec.Storage.Volumes[:1] })
				w.reconcile() // brokers don't report what is on the volume
				w.Expect(w.conditions()).To(blockedBy("Removal of volumes [1]"))
				w.loseSet("pool", how)
				w.reconcile()
				if how == "deleted" { // with it went what the storage was
					w.Expect(w.conditions()).To(blockedBy("StrimziPodSet " + w.namespace + "/my-cluster-pool was deleted, and node 0 has a volume data-1"))
					w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage = pool.Spec.Storage })
					w.reconcile()
				}
				w.Expect(w.podNames("pool")).To(HaveLen(3))
				for name, pod := range w.pods("pool") {
					w.Expect(pod.Spec.Volumes).To(ContainElement(HaveField("Name", "data-1")), name)
				}
			})
		})
	}
}

// The version that runs counts, not the list of who runs: nodes that start with an older one could not read their metadata.
func TestAVersionIsNotLoweredBelowTheMetadataOfUnlistedNodes(t *testing.T) {
	for name, ready := range map[string]bool{"the Kafka was ready": true, "the Kafka was never ready": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.r.Settings.KafkaImages = map[string]string{"4.2.0": "kafka:4.2.0", "4.3.1": "kafka:4.3.1"}
			w.brokers.metadata = kafkaMetadata(t, "4.3")
			w.create(newKafka(), nodePool("a", 3, v1.RoleController, v1.RoleBroker))
			w.reconcile()
			if ready {
				w.kubelet("a")
				w.reconcile()
			}
			w.loseSet("a", "deleted")
			asks := func(version string) {
				w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = version })
				w.reconcile()
			}
			asks("4.2.0")
			w.Expect(w.ready().Message).To(ContainSubstring("The current metadata version (4.3-IV0) has to be lower"))
			w.brokers.err = errors.New("no broker answers")
			asks("4.2.0")
			w.Expect(w.ready().Message).To(ContainSubstring("The current metadata version is unknown"))
			asks("4.3.1")
			for _, pod := range w.pods("a") {
				w.Expect(pod.Annotations).To(HaveKeyWithValue(v1.AnnotationKafkaVersion, "4.3.1"))
			}
			w.Expect(w.podNames("a")).To(HaveLen(3))
		})
	}
}

// keepsClaims checks that a pool has so many PersistentVolumeClaims, and none of them is being deleted.
func (w *world) keepsClaims(pool string, n int) {
	w.t.Helper()
	claims := &corev1.PersistentVolumeClaimList{}
	w.Expect(w.k8s.List(w.t.Context(), claims, client.InNamespace(w.namespace), client.MatchingLabels{core.LabelPoolName: pool})).
		To(Succeed())
	w.Expect(claims.Items).To(HaveLen(n))
	w.Expect(claims.Items).To(HaveEach(HaveField("DeletionTimestamp", BeNil())))
}

// podNames returns the names of the pods that the set of a pool lists.
func (w *world) podNames(pool string) []string {
	w.t.Helper()
	return slices.Sorted(maps.Keys(w.pods(pool)))
}

func TestTheStrimziPodSetOfARemovedPoolIsLost(t *testing.T) {
	w := newWorld(t)
	pool := nodePool("brokers", 2, v1.RoleBroker)
	pool.Spec.Storage.DeleteClaim = new(true)
	w.create(newKafka(), nodePool("controllers", 3, v1.RoleController), pool)
	w.reconcile()
	w.brokers.replicas = map[int32]int{0: 1, 1: 1}
	w.Expect(w.k8s.Delete(t.Context(), pool)).To(Succeed())
	w.reconcile()
	w.loseSet("brokers", "deleted")
	w.reconcile()
	w.Expect(w.conditions()).To(ContainElement(And(HaveField("Type", "Ready"), HaveField("Status", "False"),
		HaveField("Message", ContainSubstring("create the KafkaNodePool again")))))
	w.keepsClaims("brokers", 2)

	again := nodePool("brokers", 2, v1.RoleBroker)
	again.Spec.Storage.DeleteClaim = new(true)
	w.create(again)
	w.reconcile()
	w.Expect(w.pods("brokers")).To(HaveLen(2))
}

// TestANodeThatWasEmptyInAPassThatFailedIsAskedAgain checks that a node without a StrimziPodSet does not leave because it held nothing when
// the Kafka was invalid: nothing was removed then, and it may have got replicas since.
func TestANodeThatWasEmptyInAPassThatFailedIsAskedAgain(t *testing.T) {
	w := newWorld(t)
	pool := nodePool("brokers", 2, v1.RoleBroker)
	w.create(newKafka(), pool, nodePool("others", 3, v1.RoleController, v1.RoleBroker))
	w.reconcile()
	w.brokers.replicas = map[int32]int{0: 1, 1: 1}
	w.Expect(w.k8s.Delete(t.Context(), pool)).To(Succeed())
	w.reconcile()
	w.loseSet("brokers", "deleted")
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "1.0.0" })
	w.brokers.replicas = map[int32]int{}
	w.reconcile()
	w.Expect(w.ready()).To(HaveField("Message", ContainSubstring("Unsupported Kafka.spec.kafka.version")))

	w.brokers.replicas = map[int32]int{0: 1}
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "" })
	w.reconcile()
	w.Expect(w.ready()).To(HaveField("Message", ContainSubstring("node 0 of the removed KafkaNodePool brokers is still needed")))
	w.Expect(w.config("my-cluster-brokers-0")).NotTo(BeEmpty())

	w.brokers.replicas = map[int32]int{}
	w.reconcile()
	w.Expect(w.k8s.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-brokers-0"}, &corev1.ConfigMap{})).
		To(Satisfy(apierrors.IsNotFound))
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	w.Expect(k.Status.KafkaNodePools).NotTo(ContainElement(HaveField("Name", "brokers")))
}

func TestAVersionIsNotForgottenWithTheSets(t *testing.T) {
	w := newWorld(t)
	w.createAndStart(newKafka(), nodePool("pool", 3, v1.RoleController, v1.RoleBroker))
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	w.Expect(k.Status.KafkaVersion).To(Equal("4.3.1"))
	w.r.Settings.KafkaImages = map[string]string{"4.3.1": "kafka:4.3.1", "4.4.0": "kafka:4.4.0"}
	w.r.DefaultVersion = "4.4.0"
	w.loseSet("pool", "deleted")
	w.reconcile()
	for name, pod := range w.pods("pool") {
		w.Expect(pod.Annotations).To(HaveKeyWithValue(v1.AnnotationKafkaVersion, "4.3.1"), name)
	}
}

// An id that was given to a node that was never made does not become a voter's.
func TestAPoolWithoutNodesGetsTheControllerRole(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("a", 3, v1.RoleController, v1.RoleBroker))
	w.reconcile()
	w.create(nodePool("b", 2, v1.RoleBroker))
	b := w.pool("b")
	b.Status.NodeIDs, b.Status.Roles = []int32{3, 4}, []v1.ProcessRole{v1.RoleBroker}
	b.Status.LabelSelector = "strimzi.io/cluster=my-cluster,strimzi.io/kind=Kafka"
	w.Expect(w.k8s.Status().Update(t.Context(), b)).To(Succeed())
	w.change("b", func(p *v1.KafkaNodePool) { p.Spec.Roles = []v1.ProcessRole{v1.RoleController} })
	w.reconcile()
	w.Expect(w.config("my-cluster-a-0")).To(MatchRegexp(`controller\.quorum\.voters=0@[^,]*,1@[^,]*,2@[^,]*\n`))
	w.Expect(w.conditions()).To(ContainElement(HaveField("Message", ContainSubstring("Scale-up of KafkaNodePool b by 2 is blocked"))))
}

func TestAPoolWithoutSpecIsNotADeletedOne(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("controllers", 3, v1.RoleController), nodePool("brokers", 2, v1.RoleBroker))
	w.reconcile()
	before := w.podNames("brokers")
	w.brokers.replicas = map[int32]int{}
	w.change("brokers", func(p *v1.KafkaNodePool) { p.Spec = nil })
	w.reconcile()
	w.Expect(w.podNames("brokers")).To(Equal(before))
	for _, conditions := range [][]v1.Condition{w.conditions(), w.pool("brokers").Status.Conditions} {
		w.Expect(conditions).To(ContainElement(And(HaveField("Type", "Ready"), HaveField("Status", "False"),
			HaveField("Message", ContainSubstring("brokers has no .spec")))))
	}
}

// The ids in a pool's status are those of the Kafka that its status is about.
func TestAPoolThatIsGivenToAnotherKafkaDoesNotBringItsNodeIDs(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("a", 3, v1.RoleController, v1.RoleBroker), nodePool("b", 1, v1.RoleBroker))
	b := w.pool("b")
	b.Status.NodeIDs, b.Status.LabelSelector = []int32{0}, "strimzi.io/cluster=another,strimzi.io/kind=Kafka"
	w.Expect(w.k8s.Status().Update(t.Context(), b)).To(Succeed())
	w.reconcile()
	w.Expect(w.podNames("a")).To(HaveLen(3))
	w.Expect(w.podNames("b")).To(Equal([]string{"my-cluster-b-3"}))
}

// The last word on deleteClaim counts, also where the node leaves in the same pass.
func TestAVolumeIsKeptIfItsPoolSaysSoByNow(t *testing.T) {
	w := newWorld(t)
	pool := nodePool("brokers", 2, v1.RoleBroker)
	pool.Spec.Storage.DeleteClaim = new(true)
	w.create(newKafka(), nodePool("controllers", 3, v1.RoleController), pool)
	w.reconcile()
	w.brokers.replicas = map[int32]int{}
	w.change("brokers", func(p *v1.KafkaNodePool) { p.Spec.Replicas, p.Spec.Storage.DeleteClaim = 1, new(false) })
	w.reconcile()
	w.reconcile()
	w.Expect(w.podNames("brokers")).To(HaveLen(1))
	w.keepsClaims("brokers", 2)
}

// A Kafka of which no node was ever made is as new: its user may correct what was written for its nodes, such as the voters.
func TestWhatNeverRanCanBeCorrected(t *testing.T) {
	begin := func(t *testing.T, deletesClaims bool) *world {
		w := newWorld(t)
		controllers := nodePool("controllers", 5, v1.RoleController)
		controllers.Spec.Storage.DeleteClaim = &deletesClaims
		w.create(newKafka(), controllers, nodePool("data", 3, v1.RoleBroker))
		w.limitClaims(6)
		w.pass("exceeded quota")
		w.Expect(w.config("my-cluster-controllers-4")).To(ContainSubstring("4@my-cluster-controllers-4"))
		w.change("controllers", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 3 })
		return w
	}
	corrected := func(w *world) {
		w.t.Helper()
		w.reconcile()
		w.Expect(w.podNames("controllers")).To(HaveLen(3))
		w.Expect(w.podNames("data")).To(HaveLen(3))
		w.Expect(w.config("my-cluster-controllers-2")).NotTo(ContainSubstring("3@my-cluster-controllers-3"))
	}
	t.Run("at once", func(t *testing.T) {
		w := begin(t, true)
		corrected(w)
		w.Expect(w.conditions()).NotTo(ContainElement(HaveField("Reason", "VolumesKept")))
	})
	t.Run("after volumes were deleted that stay", func(t *testing.T) {
		w := begin(t, false)
		w.pass("exceeded quota. PersistentVolumeClaims data-my-cluster-controllers-3, data-my-cluster-controllers-4 count too")
		for _, name := range []string{"data-my-cluster-controllers-3", "data-my-cluster-controllers-4"} {
			w.Expect(w.k8s.Delete(t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: w.named(name)})).To(Succeed())
		}
		corrected(w)
	})
	for name, happens := range map[string]func(*world){
		"but not if the cache does not show a StrimziPodSet yet": func(w *world) {
			w.create(&core.StrimziPodSet{ObjectMeta: metav1.ObjectMeta{Name: "my-cluster-controllers",
				Labels: map[string]string{v1.LabelCluster: "my-cluster"}}, Spec: &core.StrimziPodSetSpec{
				Selector: metav1.LabelSelector{}, Pods: []runtime.RawExtension{}}})
			w.r.Cache = withoutSets{w.r.Cache}
		},
		"but not if a volume may have data": func(w *world) { w.bind("data-my-cluster-controllers-4") },
		"but not if a volume is being restored": func(w *world) {
			w.restored(w.claim("data-my-cluster-controllers-4"), selectsRestored)
		},
		"but not if Kafka has reported something": func(w *world) {
			k := &v1.Kafka{}
			w.get(k, "my-cluster")
			k.Status.KafkaMetadataVersion = "4.3-IV0"
			w.Expect(w.k8s.Status().Update(w.t.Context(), k)).To(Succeed())
		},
		"but not if there is a pod": func(w *world) {
			w.create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "my-cluster-controllers-4",
				Labels: map[string]string{v1.LabelCluster: "my-cluster", core.LabelPoolName: "controllers"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "kafka", Image: "kafka"}}}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, true)
			happens(w)
			_, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}})
			t.Log(err) // the caches that are behind make it fail
			w.Expect(w.config("my-cluster-controllers-2")).To(ContainSubstring("4@my-cluster-controllers-4"))
			w.Expect(w.conditions()).To(ContainElement(HaveField("Message",
				ContainSubstring("the voters of the controller quorum can't change while the cluster runs (nodes 3, 4)"))))
			w.keepsClaims("controllers", 5)
		})
	}
}

// limitClaims refuses claims beyond a number, as a ResourceQuota does.
func (w *world) limitClaims(most int) {
	k8s, ok := w.k8s.(client.WithWatch)
	w.Expect(ok).To(BeTrue())
	w.r.Live = interceptor.NewClient(k8s, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			claims := &corev1.PersistentVolumeClaimList{}
			text, err := json.Marshal(o)
			if err := errors.Join(err, c.List(ctx, claims, client.InNamespace(w.namespace))); err != nil {
				return err
			}
			exists := func(claim corev1.PersistentVolumeClaim) bool {
				return strings.Contains(string(text), `"name":"`+claim.Name+`"`)
			}
			going := func(claim corev1.PersistentVolumeClaim) bool { return claim.DeletionTimestamp != nil }
			if strings.Contains(string(text), `"kind":"PersistentVolumeClaim"`) && !slices.ContainsFunc(claims.Items, exists) &&
				len(slices.DeleteFunc(claims.Items, going)) >= most {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, "", errors.New("exceeded quota"))
			}
			return c.Apply(ctx, o, opts...)
		}})
}

// pass runs a pass that fails.
func (w *world) pass(why string) {
	w.t.Helper()
	_, err := w.r.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}})
	w.Expect(err).To(MatchError(ContainSubstring(why)))
}

// bind gives claims a volume, as their provisioner does.
func (w *world) bind(names ...string) {
	w.t.Helper()
	for _, name := range names {
		claim := &corev1.PersistentVolumeClaim{}
		w.get(claim, name)
		claim.Status.Phase = corev1.ClaimBound
		w.Expect(w.k8s.Status().Update(w.t.Context(), claim)).To(Succeed())
	}
}

// bindAll gives all claims volumes.
func (w *world) bindAll() {
	w.t.Helper()
	var claims corev1.PersistentVolumeClaimList
	w.Expect(w.k8s.List(w.t.Context(), &claims, client.InNamespace(w.namespace))).To(Succeed())
	for i := range claims.Items {
		w.bind(claims.Items[i].Name)
	}
}

// withoutSets is a cache that shows no StrimziPodSet.
type withoutSets struct{ client.Reader }

func (w withoutSets) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, sets := list.(*core.StrimziPodSetList); sets {
		return nil
	}
	return w.Reader.List(ctx, list, opts...)
}
