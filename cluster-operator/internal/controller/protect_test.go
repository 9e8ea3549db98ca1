package controller

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
)

// owners returns how many owners an object has.
func (w *world) owners(o client.Object, name string) int {
	w.t.Helper()
	w.get(o, name)
	return len(o.GetOwnerReferences())
}

// What a user wants to outlive the Kafka is out of reach of the garbage collector in the next pass, whatever else is wrong.
func TestWhatIsToOutliveTheKafkaIsProtectedAtOnce(t *testing.T) {
	const claim = "data-my-cluster-pool-0"
	begin := func(t *testing.T) *world {
		w := newWorld(t)
		pool := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
		pool.Spec.Storage.DeleteClaim = new(true)
		w.create(newKafka(), pool)
		w.reconcile()
		w.Expect(w.owners(&corev1.PersistentVolumeClaim{}, claim)).To(Equal(1))
		w.Expect(w.owners(&corev1.Secret{}, pki.ClusterCAKeySecret("my-cluster"))).To(Equal(1))
		return w
	}
	protected := func(w *world) {
		w.t.Helper()
		volume := &corev1.PersistentVolumeClaim{}
		w.Expect(w.owners(volume, claim)).To(BeZero())
		w.Expect(volume.Annotations).To(HaveKeyWithValue(v1.AnnotationDeleteClaim, "false"))
	}
	keep := func(p *v1.KafkaNodePool) { p.Spec.Storage.DeleteClaim = nil }
	t.Run("of an invalid Kafka", func(t *testing.T) {
		w := begin(t)
		w.edit(func(k *v1.Kafka) {
			k.Spec.Kafka.Version = "1.0.0"
			k.Spec.ClusterCa = &v1.CertificateAuthority{GenerateSecretOwnerReference: new(false)}
		})
		w.change("pool", keep)
		w.reconcile()
		w.Expect(w.ready().Status).To(Equal("False"))
		protected(w)
		w.Expect(w.owners(&corev1.Secret{}, pki.ClusterCAKeySecret("my-cluster"))).To(BeZero())
		w.Expect(w.owners(&corev1.Secret{}, pki.ClusterCACertSecret("my-cluster"))).To(BeZero())
		w.Expect(w.owners(&corev1.Secret{}, pki.ClientsCAKeySecret("my-cluster"))).To(Equal(1))
	})
	t.Run("of a Kafka without a spec", func(t *testing.T) {
		w := begin(t)
		w.edit(func(k *v1.Kafka) { k.Spec = nil })
		w.change("pool", keep)
		w.reconcile()
		protected(w)
		w.Expect(w.owners(&corev1.Secret{}, pki.ClusterCAKeySecret("my-cluster"))).To(Equal(1), "nothing says that its user wants it")
	})
	t.Run("of a paused Kafka", func(t *testing.T) {
		w := begin(t)
		w.edit(func(k *v1.Kafka) {
			k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"}
			k.Spec.ClientsCa = &v1.CertificateAuthority{GenerateSecretOwnerReference: new(false)}
		})
		w.change("pool", keep)
		w.reconcile()
		protected(w)
		w.Expect(w.owners(&corev1.Secret{}, pki.ClientsCAKeySecret("my-cluster"))).To(BeZero())
	})
	t.Run("of a paused Kafka without a spec", func(t *testing.T) {
		w := begin(t)
		w.edit(func(k *v1.Kafka) {
			k.Spec, k.Annotations = nil, map[string]string{v1.AnnotationPauseReconciliation: "true"}
		})
		w.change("pool", keep)
		w.reconcile()
		protected(w)
	})
	t.Run("and a CA that the user supplies from now on", func(t *testing.T) {
		w := begin(t)
		w.edit(func(k *v1.Kafka) {
			k.Spec.ClusterCa = &v1.CertificateAuthority{GenerateCertificateAuthority: new(false)}
		})
		w.reconcile()
		w.Expect(w.owners(&corev1.Secret{}, pki.ClusterCAKeySecret("my-cluster"))).To(BeZero())
		w.Expect(w.owners(&corev1.Secret{}, pki.ClusterCACertSecret("my-cluster"))).To(BeZero())
		w.Expect(w.owners(&corev1.Secret{}, pki.ClientsCACertSecret("my-cluster"))).To(Equal(1))
	})
	t.Run("and stays so when its volume is removed next", func(t *testing.T) {
		w := newWorld(t)
		pool := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
		pool.Spec.Storage = deletable(0, 1)
		w.create(newKafka(), pool)
		w.reconcile()
		w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "1.0.0" })
		w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.Volumes[0].DeleteClaim = new(false) })
		w.reconcile()
		w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "" })
		w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.Volumes = p.Spec.Storage.Volumes[1:] })
		w.reconcile()
		w.Expect(w.conditions()).To(blockedBy("Removal of volumes [0]"))
		volumes := &corev1.PersistentVolumeClaim{}
		w.Expect(w.owners(volumes, "data-0-my-cluster-pool-0")).To(BeZero())
		w.Expect(volumes.Annotations).To(HaveKeyWithValue(v1.AnnotationDeleteClaim, "false"))
		w.Expect(w.owners(volumes, "data-1-my-cluster-pool-0")).To(Equal(1))
	})
	t.Run("and stays so when other storage is refused next", func(t *testing.T) {
		w := begin(t)
		w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "1.0.0" })
		w.change("pool", keep)
		w.reconcile()
		w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "" })
		w.change("pool", func(p *v1.KafkaNodePool) {
			p.Spec.Storage = v1.Storage{Type: v1.StorageJBOD, Volumes: []v1.StorageVolume{
				{Type: v1.StoragePersistentClaim, ID: new(int32(1)), Size: "1Gi", DeleteClaim: new(true)}}}
		})
		w.reconcile()
		w.Expect(w.conditions()).To(blockedBy("the type can't change"))
		protected(w)
	})
	t.Run("together with a change that is refused", func(t *testing.T) {
		w := begin(t)
		w.bindAll()
		w.change("pool", func(p *v1.KafkaNodePool) { keep(p); p.Spec.Storage.Size = "500Mi" })
		w.reconcile()
		w.Expect(w.conditions()).To(blockedBy(`the size of volume 0 can't change`))
		protected(w)
		w.reconcile()
		protected(w)
	})
	t.Run("with a type that can't change", func(t *testing.T) {
		w := begin(t)
		w.change("pool", func(p *v1.KafkaNodePool) {
			p.Spec.Storage = v1.Storage{Type: v1.StorageJBOD, Volumes: []v1.StorageVolume{
				{Type: v1.StoragePersistentClaim, ID: new(int32(0)), Size: "1Gi"}}}
		})
		w.reconcile()
		protected(w)
		w.reconcile()
		protected(w)
	})
	t.Run("and back", func(t *testing.T) {
		w := begin(t)
		w.change("pool", keep)
		w.reconcile()
		protected(w)
		w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.DeleteClaim = new(true) })
		w.reconcile()
		w.Expect(w.owners(&corev1.PersistentVolumeClaim{}, claim)).To(Equal(1))
	})
}

// What the user decides to keep in the central cluster is out of reach of its garbage collector before the deletion goes on.
func TestWhatIsKeptWhileADeletionWaitsOutlivesItsStretchedKafka(t *testing.T) {
	for name, c := range map[string]struct {
		hinder func(*stretchedWorld)
		reason string
	}{
		"for a cluster that is away": {func(w *stretchedWorld) { w.members["east"].lost = true }, "ConnectivityError"},
		"for settings":               {func(w *stretchedWorld) { w.r.Stretching = nil }, "OperatorNotConfigured"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			a := poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController)
			a.Spec.Storage.DeleteClaim = new(true)
			w.create(stretchedKafka(), a, poolIn("east", "b", 1, v1.RoleBroker))
			w.settle()
			const claim = "data-my-cluster-a-0"
			ca := pki.ClusterCAKeySecret("my-cluster")
			w.Expect(w.owners(&corev1.PersistentVolumeClaim{}, claim)).To(Equal(1))
			w.Expect(w.owners(&corev1.Secret{}, ca)).To(Equal(1))
			c.hinder(w)
			w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
			w.pass()
			w.Expect(w.ready()).To(HaveField("Reason", c.reason))
			w.Expect(w.owners(&corev1.PersistentVolumeClaim{}, claim)).To(Equal(1))
			w.change("a", func(p *v1.KafkaNodePool) { p.Spec.Storage.DeleteClaim = nil })
			w.edit(func(k *v1.Kafka) {
				k.Spec.ClusterCa = &v1.CertificateAuthority{GenerateSecretOwnerReference: new(false)}
			})
			w.pass()
			w.Expect(w.owners(&corev1.PersistentVolumeClaim{}, claim)).To(BeZero())
			w.Expect(w.owners(&corev1.Secret{}, ca)).To(BeZero())
		})
	}
}

// Whose the Secrets of a CA that the user supplies are is told by what Helm, Kustomize and Argo CD leave alone: a key that is kept without
// need does no harm.
func TestWhichSecretsOfAUsersCAGoWithTheKafka(t *testing.T) {
	label := func(value string) func(*corev1.Secret, *metav1.OwnerReference) {
		return func(s *corev1.Secret, _ *metav1.OwnerReference) { s.Labels[core.LabelManagedBy] = value }
	}
	unmarked := func(change func(*metav1.OwnerReference)) func(*corev1.Secret, *metav1.OwnerReference) {
		return func(s *corev1.Secret, ref *metav1.OwnerReference) {
			delete(s.Labels, core.LabelManagedBy)
			delete(s.Annotations, ownership.MarkSelf)
			change(ref)
		}
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Secret, *metav1.OwnerReference)
		goes   bool
	}{
		"made here":                    {change: func(*corev1.Secret, *metav1.OwnerReference) {}},
		"made here, Helm's by now":     {change: label("Helm")},
		"made here, without a label":   {change: func(s *corev1.Secret, _ *metav1.OwnerReference) { delete(s.Labels, core.LabelManagedBy) }},
		"made here, without any label": {change: func(s *corev1.Secret, _ *metav1.OwnerReference) { s.Labels = nil }},
		"made here, with another reference by now": {change: func(_ *corev1.Secret, ref *metav1.OwnerReference) {
			ref.BlockOwnerDeletion = new(true)
		}},
		"with this operator's reference alone": {change: unmarked(func(*metav1.OwnerReference) {})},
		"made by Strimzi, Helm's by now": {change: unmarked(func(ref *metav1.OwnerReference) {
			ref.APIVersion, ref.Controller, ref.BlockOwnerDeletion = "kafka.strimzi.io/v1beta2", new(false), new(false)
		})},
		"the user's own, with a reference that blocks": {goes: true, change: unmarked(func(ref *metav1.OwnerReference) {
			ref.BlockOwnerDeletion = new(true)
		})},
		"the user's own, with a controller": {goes: true, change: unmarked(func(ref *metav1.OwnerReference) { ref.Controller = new(true) })},
		"the user's own, with a label of this operator": {goes: true, change: func(s *corev1.Secret, ref *metav1.OwnerReference) {
			delete(s.Annotations, ownership.MarkSelf)
			ref.BlockOwnerDeletion = new(true)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
			w.reconcile()
			secrets := []string{pki.ClusterCAKeySecret("my-cluster"), pki.ClusterCACertSecret("my-cluster")}
			for _, name := range secrets {
				ca := &corev1.Secret{}
				w.Expect(w.owners(ca, name)).To(Equal(1))
				tc.change(ca, &ca.OwnerReferences[0])
				w.Expect(w.k8s.Update(t.Context(), ca)).To(Succeed())
			}
			w.edit(func(k *v1.Kafka) {
				k.Spec.ClusterCa = &v1.CertificateAuthority{GenerateCertificateAuthority: new(false)}
			})
			w.reconcile()
			want := map[bool]int{true: 1}[tc.goes]
			for _, name := range secrets {
				w.Expect(w.owners(&corev1.Secret{}, name)).To(Equal(want), name)
			}
		})
	}
}

// Each Secret of a user's CA that the cache lacks is read once in a pass.
func TestUnlabelledSecretsAreReadOnce(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.edit(func(k *v1.Kafka) {
		k.Spec.ClusterCa = &v1.CertificateAuthority{GenerateCertificateAuthority: new(false)}
	})
	names := []string{pki.ClusterCAKeySecret("my-cluster"), pki.ClusterCACertSecret("my-cluster")}
	for _, name := range names {
		ca := &corev1.Secret{}
		w.get(ca, name)
		ca.Labels = nil
		w.Expect(w.k8s.Update(t.Context(), ca)).To(Succeed())
	}
	reads := map[string]int{}
	w.r.Live = interceptor.NewClient(w.k8s.(client.WithWatch), interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch,
		key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if _, ok := o.(*corev1.Secret); ok && slices.Contains(names, key.Name) {
			reads[key.Name]++
		}
		return c.Get(ctx, key, o, opts...)
	}})
	w.reconcile()
	for _, name := range names {
		w.Expect(w.owners(&corev1.Secret{}, name)).To(BeZero())
	}
	clear(reads)
	w.reconcile()
	w.Expect(w.ready().Reason).To(Equal("Creating"), w.ready().Message)
	w.Expect(reads).To(And(HaveLen(2), HaveEach(1)))
}

// A webhook or a quota may refuse to take an owner off a volume.
func TestAPauseIsShownThoughAVolumeCantBeProtected(t *testing.T) {
	const claim = "data-my-cluster-pool-0"
	w := newWorld(t)
	pool := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
	pool.Spec.Storage.DeleteClaim = new(true)
	w.create(newKafka(), pool)
	w.reconcile()
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.DeleteClaim = nil })
	w.edit(func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"} })
	var refused error
	w.r.Live = interceptor.NewClient(w.k8s.(client.WithWatch), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if o.GetName() == claim {
				return refused
			}
			return c.Patch(ctx, o, patch, opts...)
		}})
	claims := schema.GroupResource{Resource: "persistentvolumeclaims"}
	pass := func() reconcile.Result {
		key := types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}
		result, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
		w.Expect(err).NotTo(HaveOccurred())
		return result
	}
	isPaused := ContainElement(HaveField("Type", "ReconciliationPaused"))

	refused = apierrors.NewConflict(claims, claim, nil)
	w.Expect(pass()).To(Equal(reconcile.Result{RequeueAfter: conflictDelay}))
	refused = apierrors.NewForbidden(claims, claim, nil)
	w.Expect(pass()).To(Equal(reconcile.Result{RequeueAfter: pausedRetry}))
	w.Expect(w.conditions()).To(isPaused)
	w.Expect(w.hold("pool")).To(Equal(model.HoldPaused))
	w.Expect(w.events).To(ContainElement(And(HavePrefix("NotProtected"), ContainSubstring("is forbidden"))))
}

// The cache does not have such a Secret.
func TestAUsersCAMayLackTheLabelOfItsKafka(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.edit(func(k *v1.Kafka) {
		k.Spec.ClusterCa = &v1.CertificateAuthority{GenerateCertificateAuthority: new(false)}
	})
	ca := &corev1.Secret{}
	for _, name := range []string{pki.ClusterCAKeySecret("my-cluster"), pki.ClusterCACertSecret("my-cluster")} {
		w.get(ca, name)
		ca.Labels = nil
		w.Expect(w.k8s.Update(t.Context(), ca)).To(Succeed())
	}
	w.start("pool")
	w.reconcile()
	w.Expect(w.ready().Status).To(Equal("True"))
	w.Expect(w.brokers.trusted).To(Equal(string(ca.Data["ca.crt"])))
}

func TestOtherClustersGetAUsersCAWithoutLabel(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.edit(func(k *v1.Kafka) {
		k.Spec.ClientsCa = &v1.CertificateAuthority{GenerateCertificateAuthority: new(false)}
	})
	ca := &corev1.Secret{}
	w.get(ca, pki.ClientsCACertSecret("my-cluster"))
	ca.Labels, ca.Data["note"] = nil, []byte("mine")
	w.Expect(w.k8s.Update(t.Context(), ca)).To(Succeed())
	w.settle()
	w.in("east", ca, ca.Name)
	w.Expect(ca.Data).To(HaveKey("note"))
}

func TestAVolumeThatCantGrowIsTakenBack(t *testing.T) {
	w := newWorld(t)
	pool := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
	w.create(newKafka(), pool)
	w.reconcile()
	claim := &corev1.PersistentVolumeClaim{}
	w.get(claim, "data-my-cluster-pool-0")
	claim.Status.Phase = corev1.ClaimBound
	claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]}
	w.Expect(w.k8s.Status().Update(t.Context(), claim)).To(Succeed())
	w.change("pool", func(p *v1.KafkaNodePool) {
		p.Spec.Storage.Size = "2Gi" // without a StorageClass that allows it
		p.Spec.Template = &v1.KafkaNodePoolTemplate{PersistentVolumeClaim: &v1.ResourceTemplate{
			Metadata: &v1.MetadataTemplate{Labels: map[string]string{"team": "a"}}}}
	})
	w.reconcile()
	refused := ContainElement(And(HaveField("Reason", "PvcResizingWarning"),
		HaveField("Message", HavePrefix("PVC data-my-cluster-pool-0 cannot be resized: "))))
	w.Expect(w.conditions()).To(refused)
	w.kubelet("pool")
	w.reconcile()
	isStalled := ContainElement(And(HaveField("Type", "Stalled"), HaveField("Status", "True")))
	w.Expect(w.pool("pool").Status.Conditions).To(isStalled, "its StorageClass has to be changed")
	w.get(claim, "data-my-cluster-pool-0")
	w.Expect(claim.Labels).To(HaveKeyWithValue("team", "a"), "the rest of the change is made")
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.Size = "1Gi" })
	w.reconcile()
	w.Expect(w.conditions()).NotTo(Or(refused, blockedBy("size")))
	w.Expect(w.pool("pool").Status.Conditions).NotTo(isStalled)
}

func TestAMessageNamesWhatAVolumeCantGet(t *testing.T) {
	claim := func(size, class string) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{}
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
		if class != "" {
			c.Spec.VolumeAttributesClassName = &class
		}
		return c
	}
	g := NewWithT(t)
	g.Expect(changeOf(claim("1Gi", "a"), claim("2Gi", "a"))).To(Equal("be resized"))
	g.Expect(changeOf(claim("1Gi", "a"), claim("1Gi", "b"))).To(Equal("get the volumeAttributesClass b"))
	g.Expect(changeOf(claim("1Gi", ""), claim("2Gi", "b"))).To(Equal("be resized, or get the volumeAttributesClass b"))
	g.Expect(changeOf(claim("1Gi", "a"), claim("1Gi", ""))).To(Equal("be changed"))
}

func TestAVolumeThatWaitsForAQuotaIsNotStalled(t *testing.T) {
	claims := schema.GroupResource{Resource: "persistentvolumeclaims"}
	g := NewWithT(t)
	g.Expect(exceedsQuota(apierrors.NewForbidden(claims, "data", errors.New("exceeded quota: storage, requested: 1Gi")))).To(BeTrue())
	g.Expect(exceedsQuota(apierrors.NewForbidden(claims, "data", errors.New("only dynamically provisioned pvc can be resized")))).To(BeFalse())
	g.Expect(exceedsQuota(apierrors.NewForbidden(claims, "data-quota-0", errors.New("not allowed")))).To(BeFalse())
	g.Expect(exceedsQuota(apierrors.NewForbidden(claims, "data", errors.New("status unknown for quota: storage")))).To(BeTrue())
	g.Expect(exceedsQuota(apierrors.NewInvalid(schema.GroupKind{Kind: "PersistentVolumeClaim"}, "quota", nil))).To(BeFalse())
}

// loseKafka deletes the Kafka and pools of it, as a user does, and everything but volumes, as the garbage collector does. The volumes have
// data.
func (w *world) loseKafka(pools ...string) {
	w.t.Helper()
	for _, name := range pools {
		w.Expect(w.k8s.Delete(w.t.Context(), w.pool(name))).To(Succeed())
	}
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	w.Expect(w.k8s.Delete(w.t.Context(), k)).To(Succeed())
	for key, o := range w.everything() {
		if key.Kind == "PersistentVolumeClaim" {
			w.bind(key.Name)
		} else {
			w.Expect(client.IgnoreNotFound(w.k8s.Delete(w.t.Context(), o))).To(Succeed())
		}
	}
}

func TestVolumesOfAnEarlierKafkaAreNotPassedOver(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 2, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	id := k.Status.ClusterID
	w.loseKafka("pool")
	other := nodePool("pool", 2, v1.RoleBroker, v1.RoleController)
	other.Spec.Storage = v1.Storage{Type: v1.StorageJBOD, Volumes: []v1.StorageVolume{
		{Type: v1.StoragePersistentClaim, ID: new(int32(0)), Size: "1Gi"}}}
	w.create(newKafka(), other)
	w.reconcile()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "KafkaStorage"), HaveField("Message",
		HavePrefix("PersistentVolumeClaims data-my-cluster-pool-0, data-my-cluster-pool-1 belong to an earlier Kafka "+w.namespace))))
	w.keepsClaims("pool", 2)

	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage = v1.Storage{Type: v1.StoragePersistentClaim, Size: "1Gi"} })
	w.reconcile()
	w.kubelet("pool")
	w.reconcile()
	w.Expect(w.ready().Status).To(Equal("True"))
	w.get(k, "my-cluster")
	w.Expect(k.Status.ClusterID).To(Equal(id))
}

// awaitNextSecond waits until new objects are younger than all others: their times have whole seconds.
func (w *world) awaitNextSecond() {
	w.t.Helper()
	made := func() time.Time {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "clock-"}}
		w.Expect(w.k8s.Create(w.t.Context(), o)).To(Succeed())
		return o.CreationTimestamp.Time
	}
	first := made()
	w.Eventually(made).WithTimeout(10 * time.Second).Should(BeTemporally(">", first))
}

// A pool that was kept, or is there earlier than another one, says nothing about the volumes of the other.
func TestVolumesOfAnEarlierKafkaAreNotPassedOverBesideAnotherPool(t *testing.T) {
	begin := func(t *testing.T) *world {
		w := newWorld(t)
		w.create(newKafka(), nodePool("controllers", 1, v1.RoleController, v1.RoleBroker), nodePool("brokers", 2, v1.RoleBroker))
		w.reconcile()
		return w
	}
	refused := func(w *world) {
		w.reconcile()
		w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "KafkaStorage"), HaveField("Message",
			ContainSubstring("data-my-cluster-brokers-0, data-my-cluster-brokers-1 belong to an earlier Kafka"))))
		w.keepsClaims("brokers", 2)
	}
	other := func() *v1.KafkaNodePool {
		pool := nodePool("brokers", 2, v1.RoleBroker)
		pool.Spec.Storage = v1.Storage{Type: v1.StorageEphemeral}
		return pool
	}
	t.Run("that was kept", func(t *testing.T) {
		w := begin(t)
		w.loseKafka("brokers")
		w.create(newKafka(), other())
		refused(w)
	})
	t.Run("whose nodes run already", func(t *testing.T) {
		w := begin(t)
		w.loseKafka("brokers", "controllers")
		w.awaitNextSecond()
		w.markAll("true")
		w.create(newKafka(), nodePool("controllers", 1, v1.RoleController, v1.RoleBroker))
		w.reconcile()
		w.Expect(w.podNames("controllers")).To(HaveLen(1))
		w.markAll("") // as earlier versions left them
		w.create(other())
		refused(w)
	})
}

// markAll marks all claims as those of volumes that nobody needs, or takes the mark off.
func (w *world) markAll(removed string) {
	w.t.Helper()
	list := &corev1.PersistentVolumeClaimList{}
	w.Expect(w.k8s.List(w.t.Context(), list, client.InNamespace(w.namespace))).To(Succeed())
	for i := range list.Items {
		metav1.SetMetaDataAnnotation(&list.Items[i].ObjectMeta, model.AnnotationRemoved, removed)
		w.Expect(w.k8s.Update(w.t.Context(), &list.Items[i])).To(Succeed())
	}
}

// The nodes of a renamed pool would start empty: controllers without metadata have brokers discard their partitions as stray.
func TestVolumesOfAnEarlierKafkaAreNotPassedOverByARenamedPool(t *testing.T) {
	begin := func(t *testing.T, controllers *v1.KafkaNodePool) *world {
		w := newWorld(t)
		w.create(newKafka(), nodePool("controller", 1, v1.RoleController), nodePool("brokers", 2, v1.RoleBroker))
		w.reconcile()
		w.loseKafka("controller", "brokers")
		w.create(newKafka(), controllers, nodePool("brokers", 2, v1.RoleBroker))
		w.reconcile()
		w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "KafkaStorage"), HaveField("Message", HavePrefix(
			"PersistentVolumeClaims data-my-cluster-controller-2 belong to an earlier Kafka "+w.namespace+"/my-cluster, and there is no "+
				"KafkaNodePool controller to use them"))))
		sets := &core.StrimziPodSetList{}
		w.Expect(w.k8s.List(t.Context(), sets, client.InNamespace(w.namespace))).To(Succeed())
		w.Expect(sets.Items).To(BeEmpty())
		return w
	}
	renamed := func() *v1.KafkaNodePool { return nodePool("controllers", 1, v1.RoleController) }
	t.Run("until it has its name again", func(t *testing.T) {
		w := begin(t, renamed())
		w.Expect(w.k8s.Delete(t.Context(), w.pool("controllers"))).To(Succeed())
		w.create(nodePool("controller", 1, v1.RoleController))
		w.reconcile()
		w.Expect(w.podNames("controller")).To(Equal([]string{"my-cluster-controller-2"}))
	})
	t.Run("with other storage", func(t *testing.T) {
		pool := renamed()
		pool.Spec.Storage = v1.Storage{Type: v1.StorageEphemeral}
		begin(t, pool)
	})
	t.Run("until the claims are marked", func(t *testing.T) {
		w := begin(t, renamed())
		w.markAll("true")
		w.reconcile()
		w.Expect(w.podNames("controllers")).To(HaveLen(1))
	})
}

// A pool that is removed while the Kafka runs leaves volumes that nobody needs.
func TestVolumesOfARemovedPoolStopNothing(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 1, v1.RoleController, v1.RoleBroker), nodePool("brokers", 1, v1.RoleBroker))
	w.reconcile()
	w.brokers.replicas = map[int32]int{0: 0, 1: 1}
	w.Expect(w.k8s.Delete(t.Context(), w.pool("brokers"))).To(Succeed())
	w.reconcile()
	w.Expect(w.removed("data-my-cluster-brokers-0")).To(BeTrue())
	w.loseKafka("pool")
	w.create(newKafka(), nodePool("pool", 1, v1.RoleController, v1.RoleBroker))
	w.reconcile()
	w.Expect(w.podNames("pool")).To(HaveLen(1))
}

// A node that leaves is empty, so that its volume is not needed by one that its user gives its id later.
func TestAVolumeOfANodeThatLeftIsOnlyReported(t *testing.T) {
	w := newWorld(t)
	pool := nodePool("pool", 2, v1.RoleBroker)
	pool.Spec.Storage = jbod(0, 1)
	w.create(newKafka(), nodePool("controllers", 1, v1.RoleController), pool)
	w.reconcile()
	w.edit(func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationSkipScaleDownCheck: "true"} })
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 1 })
	w.reconcile()
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Storage.Volumes = p.Spec.Storage.Volumes[:1] })
	w.reconcile()
	for _, name := range []string{"data-0-my-cluster-pool-2", "data-1-my-cluster-pool-2"} { // as earlier versions left them
		claim := &corev1.PersistentVolumeClaim{}
		w.get(claim, name)
		delete(claim.Annotations, model.AnnotationRemoved)
		w.Expect(w.k8s.Update(t.Context(), claim)).To(Succeed())
	}
	w.change("pool", func(p *v1.KafkaNodePool) {
		p.Spec.Replicas, p.Annotations = 2, map[string]string{v1.AnnotationNextNodeIDs: "[2]"}
	})
	w.reconcile()
	w.Expect(w.podNames("pool")).To(HaveLen(2))
	w.Expect(w.conditions()).To(blockedBy("Nodes do not use PersistentVolumeClaims data-1-my-cluster-pool-2 of earlier nodes"))
}
