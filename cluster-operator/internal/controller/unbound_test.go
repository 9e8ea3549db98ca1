package controller

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
)

// settled lets claims go that nobody mounts, as Kubernetes does, and runs passes.
func (w *world) settled() {
	w.t.Helper()
	for range 3 {
		w.reconcile()
		claims := &corev1.PersistentVolumeClaimList{}
		w.Expect(w.k8s.List(w.t.Context(), claims, client.InNamespace(w.namespace))).To(Succeed())
		for _, c := range claims.Items {
			if c.DeletionTimestamp != nil {
				c.Finalizers = nil
				w.Expect(w.k8s.Update(w.t.Context(), &c)).To(Succeed())
			}
		}
	}
}

func (w *world) claim(name string) *corev1.PersistentVolumeClaim {
	w.t.Helper()
	c := &corev1.PersistentVolumeClaim{}
	w.get(c, name)
	return c
}

// restored has the API server have another claim instead, as a tool that restores a backup, or an admission plugin, makes it: with its
// labels and annotations, and without an owner.
func (w *world) restored(from *corev1.PersistentVolumeClaim, change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	w.t.Helper()
	gone := &corev1.PersistentVolumeClaim{}
	if err := w.k8s.Get(w.t.Context(), client.ObjectKeyFromObject(from), gone); err == nil {
		gone.Finalizers = nil
		w.Expect(w.k8s.Update(w.t.Context(), gone)).To(Succeed())
		w.Expect(client.IgnoreNotFound(w.k8s.Delete(w.t.Context(), gone))).To(Succeed())
	} else {
		w.Expect(client.IgnoreNotFound(err)).To(Succeed())
	}
	again := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: from.Namespace, Name: from.Name, Labels: from.Labels,
		Annotations: from.Annotations}, Spec: *from.Spec.DeepCopy()}
	change(again)
	w.Expect(w.k8s.Create(w.t.Context(), again)).To(Succeed())
	return w.claim(from.Name)
}

// selectsRestored has only the volume match into which a tool restores the data.
func selectsRestored(c *corev1.PersistentVolumeClaim) {
	c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"velero.io/dynamic-pv-restore": "ns.claim.x"}}
}

// deleteAll deletes the Kafka, its pool, and what they own.
func (w *world) deleteAll(pool string) {
	w.t.Helper()
	w.Expect(w.k8s.Delete(w.t.Context(), &v1.Kafka{ObjectMeta: w.named("my-cluster")})).To(Succeed())
	w.Expect(w.k8s.Delete(w.t.Context(), w.pool(pool))).To(Succeed())
	for _, o := range w.everything() { // there is no garbage collector here
		if len(o.GetOwnerReferences()) > 0 {
			w.Expect(client.IgnoreNotFound(w.k8s.Delete(w.t.Context(), o))).To(Succeed())
		}
	}
}

func TestVolumesThatNobodyEverHadCanBeCorrected(t *testing.T) {
	for name, c := range map[string]struct {
		wrong, right func(*v1.Storage)
		fixed        func(*corev1.PersistentVolumeClaim) any
		wants        any
		refused      string
	}{
		"class": {func(s *v1.Storage) { s.Class = new("typo") }, func(s *v1.Storage) { s.Class = new("right") },
			func(c *corev1.PersistentVolumeClaim) any { return *c.Spec.StorageClassName }, "right", "the class of volume 0"},
		"selector": {func(s *v1.Storage) { s.Selector = map[string]string{"a": "b"} }, func(s *v1.Storage) { s.Selector = nil },
			func(c *corev1.PersistentVolumeClaim) any { return c.Spec.Selector == nil }, true, "the selector of volume 0"},
		"size": {func(s *v1.Storage) { s.Size = "1000Ti" }, func(s *v1.Storage) { s.Size = "1Gi" },
			func(c *corev1.PersistentVolumeClaim) any { return c.Spec.Resources.Requests.Storage().String() }, "1Gi", "the size of volume 0"},
	} {
		const first, second = "data-my-cluster-pool-0", "data-my-cluster-pool-1"
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			pool := nodePool("pool", 2, v1.RoleBroker, v1.RoleController)
			c.wrong(&pool.Spec.Storage)
			w.create(newKafka(), pool)
			w.settled()
			w.Expect(c.fixed(w.claim(first))).NotTo(Equal(c.wants))
			w.change("pool", func(p *v1.KafkaNodePool) { c.right(&p.Spec.Storage) })
			w.settled()
			for _, claim := range []string{first, second} {
				w.Expect(c.fixed(w.claim(claim))).To(Equal(c.wants))
			}
			w.Expect(w.ready().Reason).NotTo(Equal("KafkaStorage"))
			uid := w.claim(first).UID
			w.settled()
			w.Expect(w.claim(first).UID).To(Equal(uid), "once")
		})
		t.Run(name+", of a volume", func(t *testing.T) {
			w := newWorld(t)
			pool := nodePool("pool", 2, v1.RoleBroker, v1.RoleController)
			c.wrong(&pool.Spec.Storage)
			w.create(newKafka(), pool)
			w.settled()
			w.bind(second)
			w.change("pool", func(p *v1.KafkaNodePool) { c.right(&p.Spec.Storage) })
			uid := w.claim(first).UID
			w.settled()
			w.Expect(w.conditions()).To(blockedBy(c.refused))
			w.Expect(w.claim(first).UID).To(Equal(uid))
		})
	}
}

// oldClaims is a cache with an earlier version of a claim.
type oldClaims struct {
	client.Reader
	claim *corev1.PersistentVolumeClaim
}

func (c oldClaims) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if claims, is := list.(*corev1.PersistentVolumeClaimList); is {
		claims.Items = []corev1.PersistentVolumeClaim{*c.claim.DeepCopy()}
		return nil
	}
	return c.Reader.List(ctx, list, opts...)
}

// The cache shows a claim without a volume that has one by now.
func TestAClaimThatGetsAVolumeMeanwhileIsKept(t *testing.T) {
	const name = "data-my-cluster-pool-0"
	w := newWorld(t)
	pool := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
	pool.Spec.Storage.Class = new("typo")
	w.create(newKafka(), pool)
	w.settled()
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.Class = new("right") })
	before := w.claim(name)
	w.r.Cache = oldClaims{w.r.Cache, w.claim(name)}
	w.bind(name)
	w.reconcile()
	w.Expect(w.claim(name)).To(And(HaveField("UID", before.UID), HaveField("DeletionTimestamp", BeNil())))
}

// Claims of a pool that was deleted and made again may be from before.
func TestAClaimOfBeforeWithoutAVolumeIsMadeAnew(t *testing.T) {
	const name = "data-my-cluster-pool-0"
	for what, own := range map[string]bool{"the operator's": true, "of unknown origin": false} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			pool := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
			pool.Spec.Storage.Class = new("typo")
			w.create(newKafka(), pool)
			w.settled()
			w.deleteAll("pool")
			claim := w.claim(name)
			if !own {
				delete(claim.Annotations, ownership.MarkSelf)
				w.Expect(w.k8s.Update(t.Context(), claim)).To(Succeed())
			}
			pool = nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
			pool.Spec.Storage.Class = new("right")
			w.create(newKafka(), pool)
			w.settled()
			now := w.claim(name)
			w.Expect(w.conditions()).NotTo(ContainElement(HaveField("Message", ContainSubstring(name))))
			if own {
				w.Expect(now.Spec.StorageClassName).To(HaveValue(Equal("right")))
				return
			}
			w.Expect(now.UID).To(Equal(claim.UID))
			w.Expect(now.Spec.Resources.Requests[corev1.ResourceStorage]).To(Equal(resource.MustParse("1Gi")))
		})
	}
}

// A tool may be about to restore data into a claim without a volume, and whoever made one knows why. Nothing is done to it, whatever is
// wanted, and nobody is told to delete it.
func TestAClaimThatSomebodyElseMadeIsKept(t *testing.T) {
	const name = "data-my-cluster-pool-0"
	for what, change := range map[string]func(*corev1.PersistentVolumeClaim){
		"for data that is being restored": selectsRestored,
		"with another class":              func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("other") },
		"with another size": func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
		},
		"or an earlier version": func(c *corev1.PersistentVolumeClaim) {
			delete(c.Annotations, apply.AnnotationAskedFor)
			c.Spec.StorageClassName = new("other")
		},
	} {
		pool := func(class string) *v1.KafkaNodePool {
			p := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
			p.Spec.Storage.Class, p.Spec.Storage.DeleteClaim = &class, new(true)
			return p
		}
		keeps := func(w *world, claim *corev1.PersistentVolumeClaim) {
			w.t.Helper()
			w.settled()
			w.Expect(w.claim(name)).To(And(HaveField("UID", claim.UID), HaveField("DeletionTimestamp", BeNil())))
			w.Expect(w.conditions()).NotTo(ContainElement(HaveField("Message", ContainSubstring(name))), "nobody is told to delete it")
		}
		t.Run(what+", of the same Kafka", func(t *testing.T) {
			w := newWorld(t)
			w.create(newKafka(), pool("first"))
			w.settled()
			claim := w.restored(w.claim(name), change)
			keeps(w, claim)
			w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.Class = new("second") })
			keeps(w, claim)
			w.Expect(w.conditions()).To(blockedBy("the class of volume 0"))
		})
		t.Run(what+", of an earlier Kafka", func(t *testing.T) {
			w := newWorld(t)
			w.create(newKafka(), pool("first"))
			w.settled()
			backup := w.claim(name)
			w.deleteAll("pool")
			claim := w.restored(backup, change)
			w.create(newKafka(), pool("second"))
			keeps(w, claim)
		})
	}
}

// The API server chooses a class where none is asked for.
func TestAClassThatNobodyAskedForIsNoMistake(t *testing.T) {
	const name = "data-my-cluster-pool-0"
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.settled()
	chosen := func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("standard") }
	claim := w.restored(w.claim(name), chosen)
	w.settled()
	w.Expect(w.conditions()).NotTo(ContainElement(HaveField("Reason", "KafkaStorage")))
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.DeleteClaim = new(true) })
	w.settled()
	w.Expect(w.claim(name)).To(And(HaveField("UID", claim.UID), HaveField("Annotations", HaveKeyWithValue(v1.AnnotationDeleteClaim, "true"))))

	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.Class = new("right") })
	w.settled()
	w.Expect(w.claim(name).Spec.StorageClassName).To(HaveValue(Equal("right")), "none of the nodes ever had a volume")
}
