package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// set returns the StrimziPodSet of a pool.
func (w *world) set(pool string) *core.StrimziPodSet {
	w.t.Helper()
	set := &core.StrimziPodSet{}
	w.get(set, "my-cluster-"+pool)
	return set
}

// hold returns why the roller keeps off the nodes of a pool.
func (w *world) hold(pool string) string {
	w.t.Helper()
	return w.set(pool).Annotations[core.AnnotationHold]
}

// deleteVolume deletes the claim of a node, which Kubernetes keeps as long as the pod runs.
func (w *world) deleteVolume(name string) *corev1.PersistentVolumeClaim {
	w.t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	w.get(claim, name)
	claim.Finalizers = []string{"kubernetes.io/pvc-protection"}
	w.Expect(w.k8s.Update(w.t.Context(), claim)).To(Succeed())
	w.Expect(w.k8s.Delete(w.t.Context(), claim)).To(Succeed())
	w.get(claim, name)
	return claim
}

// schedule gives a pod its Kubernetes node, as the scheduler does.
func (w *world) schedule(name string) {
	w.t.Helper()
	pod := &corev1.Pod{}
	w.get(pod, name)
	w.Expect(w.k8s.SubResource("binding").Create(w.t.Context(), pod, &corev1.Binding{
		Target: corev1.ObjectReference{Kind: "Node", Name: "somewhere"}})).To(Succeed())
}

// putOnHold annotates the StrimziPodSet of a pool as a user does.
func (w *world) putOnHold(pool, why string) {
	w.t.Helper()
	set := w.set(pool)
	set.Annotations[core.AnnotationHold] = why
	w.Expect(w.k8s.Update(w.t.Context(), set)).To(Succeed())
}

func TestAPauseHoldsNodesWhoseHoldHasNoEffect(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.putOnHold("pool", "false")
	w.edit(func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"} })
	w.reconcile()
	w.Expect(w.hold("pool")).To(Equal("reconciliation of the Kafka is paused"))
}

// The roller would look for the operator's Lease where it ran before, and restart nothing.
func TestSetsNameTheOperatorsNamespaceInEachPass(t *testing.T) {
	for name, spoil := range map[string]func(*v1.Kafka){
		"valid":   func(*v1.Kafka) {},
		"invalid": func(k *v1.Kafka) { k.Spec.Kafka.Version = "1.0.0" },
		"no spec": func(k *v1.Kafka) { k.Spec = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.r.Settings.OperatorNamespace = "before"
			w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
			w.reconcile()
			w.Expect(w.set("pool").Annotations).To(HaveKeyWithValue(core.AnnotationAgentNamespace, "before"))
			w.r.Settings.OperatorNamespace = "now"
			w.edit(spoil)
			w.reconcile()
			w.Expect(w.set("pool").Annotations).To(HaveKeyWithValue(core.AnnotationAgentNamespace, "now"))
			version := w.set("pool").ResourceVersion
			w.reconcile()
			w.Expect(w.set("pool").ResourceVersion).To(Equal(version))
		})
	}
}

// TestAHoldThatAnotherClusterRefusesOnceIsTriedAgain checks that the pass is repeated with back-off, whatever is wrong with the Kafka.
func TestAHoldThatAnotherClusterRefusesOnceIsTriedAgain(t *testing.T) {
	for name, edit := range map[string]func(*v1.Kafka){
		"valid":   func(*v1.Kafka) {},
		"invalid": func(k *v1.Kafka) { k.Spec.Kafka.Version = "1.0.0" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.form()
			east := w.members["east"]
			inEast := &world{WithT: w.WithT, t: t, k8s: east.Client, namespace: w.namespace}
			inEast.deleteVolume("data-my-cluster-east-1")
			inEast.schedule("my-cluster-east-1")
			w.edit(edit)
			failed := false
			east.Client = interceptor.NewClient(east.Client.(client.WithWatch), interceptor.Funcs{
				Patch: func(ctx context.Context, k8s client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					if _, is := o.(*core.StrimziPodSet); is && !failed {
						failed = true
						return apierrors.NewInternalError(errors.New("failed calling webhook"))
					}
					return k8s.Patch(ctx, o, p, opts...)
				}})
			_, err := w.r.Reconcile(t.Context(), w.request())
			w.Expect(err).To(MatchError(ContainSubstring("failed calling webhook")))
			w.Expect(inEast.hold("east")).To(BeEmpty())
			_, err = w.r.Reconcile(t.Context(), w.request())
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(inEast.hold("east")).To(Equal("a PersistentVolumeClaim of a running node is being deleted"))
		})
	}
}

func TestASetThatIsGoneKeepsNoOtherOnHold(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("a", 1, v1.RoleBroker), nodePool("b", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.edit(func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"} })
	w.reconcile()
	w.Expect(w.hold("b")).NotTo(BeEmpty())
	w.edit(func(k *v1.Kafka) {
		k.Annotations = nil
		k.Spec.Kafka.Version = "1.0" // the pass ends before it writes sets
	})
	live, ok := w.k8s.(client.WithWatch)
	w.Expect(ok).To(BeTrue())
	w.r.Live = interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if key.Name == "my-cluster-a" { // the cache is behind
				return apierrors.NewNotFound(schema.GroupResource{Resource: "strimzipodsets"}, key.Name)
			}
			return c.Get(ctx, key, o, opts...)
		}})
	w.reconcile()
	w.Expect(w.hold("b")).To(BeEmpty())
}

func TestNoNodeIsRestartedThatWouldLoseItsVolume(t *testing.T) {
	const why = "a PersistentVolumeClaim of a running node is being deleted"
	lost := ContainElement(And(HaveField("Reason", "VolumeBeingDeleted"), HaveField("Message", And(
		ContainSubstring("PersistentVolumeClaim data-my-cluster-pool-1 is being deleted while node 1 uses it"),
		ContainSubstring("delete the pod"),
		ContainSubstring("If .spec.persistentVolumeReclaimPolicy of PersistentVolume "),
		ContainSubstring("pause the Kafka, delete the pod, remove .spec.claimRef.uid of the PersistentVolume when the claim is gone")))))
	begin := func(t *testing.T) (*world, *corev1.PersistentVolumeClaim) {
		w := newWorld(t)
		w.create(newKafka(), nodePool("other", 1, v1.RoleBroker), nodePool("pool", 2, v1.RoleBroker, v1.RoleController))
		w.reconcile()
		w.start("pool")
		w.reconcile()
		w.Expect(w.hold("pool")).To(BeEmpty())
		w.schedule("my-cluster-pool-1")
		return w, w.deleteVolume("data-my-cluster-pool-1")
	}
	t.Run("but not if its pod was never scheduled", func(t *testing.T) {
		w := newWorld(t)
		w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
		w.reconcile()
		w.start("pool")
		w.deleteVolume("data-my-cluster-pool-0")
		w.reconcile()
		w.Expect(w.hold("pool")).To(BeEmpty())
	})
	t.Run("until the pod is gone", func(t *testing.T) {
		w, claim := begin(t)
		w.edit(func(k *v1.Kafka) { k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "1g"} })
		w.reconcile()
		w.Expect(w.hold("pool")).To(Equal(why))
		w.Expect(w.hold("other")).To(BeEmpty())
		w.Expect(w.conditions()).To(lost)
		w.Expect(w.pool("pool").Status.Conditions).To(lost)

		pod := &corev1.Pod{}
		w.get(pod, "my-cluster-pool-1")
		w.Expect(w.k8s.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
		claim.Finalizers = nil
		w.Expect(w.k8s.Update(t.Context(), claim)).To(Succeed())
		w.reconcile()
		w.Expect(w.hold("pool")).To(BeEmpty())
		w.Expect(w.conditions()).NotTo(lost)
	})
	t.Run("without a spec as well", func(t *testing.T) {
		w, claim := begin(t)
		w.edit(func(k *v1.Kafka) { k.Spec = nil })
		w.now = w.now.AddDate(0, 0, 363)
		outdated := w.pods("pool")
		w.reconcile()
		w.Expect(w.pods("pool")).NotTo(Equal(outdated), "certificates are renewed")
		w.Expect(w.hold("pool")).To(Equal(why))
		w.Expect(w.conditions()).To(lost)

		pod := &corev1.Pod{}
		w.get(pod, "my-cluster-pool-1")
		w.Expect(w.k8s.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
		claim.Finalizers = nil
		w.Expect(w.k8s.Update(t.Context(), claim)).To(Succeed())
		w.reconcile()
		w.Expect(w.hold("pool")).To(BeEmpty())
	})
	t.Run("and not if a volume can't be protected", func(t *testing.T) {
		w, _ := begin(t)
		w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.DeleteClaim = new(true) })
		w.reconcile()
		w.Expect(w.hold("pool")).To(Equal(why))
		w.edit(func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "false"} })
		w.putOnHold("pool", "false")
		w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.DeleteClaim = new(false) })
		w.r.Live = interceptor.NewClient(w.k8s.(client.WithWatch), interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if _, is := o.(*corev1.PersistentVolumeClaim); is {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, o.GetName(), nil)
				}
				return c.Patch(ctx, o, patch, opts...)
			}})
		_, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}})
		w.Expect(err).To(MatchError(ContainSubstring("protect volumes and CAs")))
		w.Expect(w.hold("pool")).To(Equal(why))
	})
	t.Run("after a pause as well", func(t *testing.T) {
		w, _ := begin(t)
		w.edit(func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"} })
		w.reconcile()
		w.edit(func(k *v1.Kafka) { k.Annotations = nil })
		w.reconcile()
		w.Expect(w.hold("pool")).To(Equal(why))
		w.reconcile()
		w.Expect(w.hold("pool")).To(Equal(why))
	})
	for _, own := range []string{"ann replaces a disk", ""} {
		t.Run(fmt.Sprintf("and the hold %q of a user stays", own), func(t *testing.T) {
			w, _ := begin(t)
			w.putOnHold("pool", own)
			w.reconcile()
			w.Expect(w.set("pool").Annotations).To(HaveKeyWithValue(core.AnnotationHold, own))
		})
	}
	t.Run("also if the user's hold has no effect", func(t *testing.T) {
		w, _ := begin(t)
		w.putOnHold("pool", "false")
		w.reconcile()
		w.Expect(w.hold("pool")).To(Equal(why))
	})
}

// A volume that is to go, and is empty, keeps no node from being restarted, and its hold not the configuration from keeping replicas off.
func TestAnEmptyVolumeGoesThoughItsClaimWasDeletedBefore(t *testing.T) {
	w := newWorld(t)
	w.brokers.metadata = 30 // 4.3-IV0
	pool := nodePool("pool", 2, v1.RoleBroker)
	pool.Spec.Storage = v1.Storage{Type: v1.StorageJBOD, Volumes: []v1.StorageVolume{disk(0, false), disk(1, false)}}
	w.create(newKafka(), pool, nodePool("voters", 1, v1.RoleController))
	w.reconcile()
	w.start("pool")
	w.start("voters")
	w.reconcile() // the operator learns the metadata version
	reports := func(replicas int, cordoned bool) {
		w.brokers.dirs = map[int32][]kafka.LogDir{}
		for id := range int32(2) {
			w.brokers.dirs[id] = []kafka.LogDir{{Path: dirOf(id, 0), Replicas: 5}, {Path: dirOf(id, 1), Replicas: replicas, Cordoned: cordoned}}
		}
	}
	reports(1, false)
	w.schedule("my-cluster-pool-1")
	w.deleteVolume("data-1-my-cluster-pool-1")
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.Volumes = p.Spec.Storage.Volumes[:1] })
	w.reconcile()
	w.Expect(w.hold("pool")).NotTo(BeEmpty())
	reports(0, false)
	w.reconcile()
	w.Expect(w.conditions()).To(blockedBy("it is being cordoned"))
	w.Expect(w.hold("pool")).To(BeEmpty(), "the roller changes no configuration of a node on hold")
	reports(0, true)
	w.reconcile()
	w.reconcile()
	w.Expect(w.pods("pool")["my-cluster-pool-1"].Spec.Volumes).NotTo(ContainElement(HaveField("Name", "data-1")))
	w.Expect(w.hold("pool")).To(BeEmpty())
}
