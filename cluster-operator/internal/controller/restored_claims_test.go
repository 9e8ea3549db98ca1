package controller

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// claimsIn returns the claims of the namespace, in the order of their names.
func (w *world) claimsIn(k8s client.Client) []corev1.PersistentVolumeClaim {
	w.t.Helper()
	list := &corev1.PersistentVolumeClaimList{}
	w.Expect(k8s.List(w.t.Context(), list, client.InNamespace(w.namespace))).To(Succeed())
	return list.Items
}

// restoreClaims makes other claims of the same names instead of those of the namespace, as a tool does that restores a backup. All of them,
// or the last one alone, lose something.
func (w *world) restoreClaims(k8s client.Client, all bool, lose func(*corev1.PersistentVolumeClaim)) {
	w.t.Helper()
	claims := w.claimsIn(k8s)
	for i := range claims {
		from := &claims[i]
		from.Finalizers = nil
		w.Expect(k8s.Update(w.t.Context(), from)).To(Succeed())
		w.Expect(client.IgnoreNotFound(k8s.Delete(w.t.Context(), from))).To(Succeed())
		again := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: from.Namespace, Name: from.Name,
			Labels: maps.Clone(from.Labels), Annotations: maps.Clone(from.Annotations)}, Spec: *from.Spec.DeepCopy()}
		if all || i == len(claims)-1 {
			lose(again)
		}
		w.Expect(k8s.Create(w.t.Context(), again)).To(Succeed())
		again.Status.Phase = corev1.ClaimBound
		w.Expect(k8s.Status().Update(w.t.Context(), again)).To(Succeed())
	}
}

// uids returns the uids of the claims of the namespace that are not being deleted.
func (w *world) uids(k8s client.Client) map[string]types.UID {
	w.t.Helper()
	uids := map[string]types.UID{}
	for _, claim := range w.claimsIn(k8s) {
		if claim.DeletionTimestamp == nil {
			uids[claim.Name] = claim.UID
		}
	}
	return uids
}

// attempt runs passes, which may fail.
func (w *world) attempt() {
	for range 3 {
		_, _ = w.r.Reconcile(w.t.Context(), (&stretchedWorld{world: w}).request())
	}
}

// A tool restores the claims of a Kafka that is created again, or of one that is paused, and perhaps without all of their labels and
// annotations. No claim is replaced, and no node starts without its volume; the message says what to do.
func TestClaimsThatAToolRestoresAreUsedOrLeftAlone(t *testing.T) {
	unlabelled := func(label string) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) { delete(c.Labels, label) }
	}
	const adopt = "If it has data of this Kafka, adopt it by the labels"
	for name, c := range map[string]struct {
		all  bool
		lose func(*corev1.PersistentVolumeClaim)
		// again and paused are what the status says, "" if the claims are used.
		again, paused string
		// renew reports that the Kafka that is created again has got another id.
		renew bool
	}{
		"with all labels and annotations": {all: true, lose: func(*corev1.PersistentVolumeClaim) {}},
		"as they are made by hand": {all: true, lose: func(c *corev1.PersistentVolumeClaim) {
			c.Labels = map[string]string{v1.LabelCluster: "my-cluster", core.LabelPoolName: c.Labels[core.LabelPoolName],
				core.LabelManagedBy: model.ManagedBy}
			c.Annotations = map[string]string{model.AnnotationClusterID: c.Annotations[model.AnnotationClusterID]}
		}},
		"one without annotations": {lose: func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil }, again: adopt, paused: adopt},
		"all without annotations": {all: true, lose: func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil },
			again: "delete the Kafka and its KafkaNodePools, and create them again", paused: adopt, renew: true},
		"one without labels":         {lose: func(c *corev1.PersistentVolumeClaim) { c.Labels = nil }, again: adopt, paused: adopt},
		"one of another manager":     {lose: unlabelled(core.LabelManagedBy), again: adopt, paused: adopt},
		"one without a pool's label": {lose: unlabelled(core.LabelPoolName), again: "data-my-cluster-b-2 of Kafka"},
	} {
		objects := func() []client.Object {
			return []client.Object{newKafka(), nodePool("a", 1, v1.RoleController), nodePool("b", 2, v1.RoleBroker)}
		}
		// judge checks that the claims are left alone until they are as they were, and are used then.
		judge := func(w *world, id, message string, renew bool) {
			w.t.Helper()
			restored := w.uids(w.k8s)
			w.attempt()
			if message != "" {
				w.Expect(w.ready()).To(HaveField("Message", ContainSubstring(message)))
				w.Expect(w.uids(w.k8s)).To(Equal(restored))
				for _, claim := range w.claimsIn(w.k8s) {
					claim.Labels = map[string]string{v1.LabelCluster: "my-cluster", core.LabelPoolName: claim.Name[len("data-my-cluster-"):][:1],
						core.LabelManagedBy: model.ManagedBy}
					metav1.SetMetaDataAnnotation(&claim.ObjectMeta, model.AnnotationClusterID, id)
					w.Expect(w.k8s.Update(t.Context(), &claim)).To(Succeed())
				}
				if renew {
					w.loseKafka("a", "b")
					w.create(objects()...)
				}
				w.attempt()
			}
			w.Expect(w.ready()).NotTo(HaveField("Reason", BeElementOf("KafkaStorage", reasonNotOwned)))
			k := &v1.Kafka{}
			w.get(k, "my-cluster")
			w.Expect(k.Status.ClusterID).To(Equal(id))
			w.Expect(w.podNames("b")).To(Equal([]string{"my-cluster-b-1", "my-cluster-b-2"}))
			w.Expect(w.uids(w.k8s)).To(Equal(restored))
		}
		begin := func(t *testing.T) (w *world, id string) {
			w = newWorld(t)
			w.create(objects()...)
			w.reconcile()
			k := &v1.Kafka{}
			w.get(k, "my-cluster")
			return w, k.Status.ClusterID
		}
		t.Run(name, func(t *testing.T) {
			w, id := begin(t)
			w.loseKafka("a", "b")
			w.restoreClaims(w.k8s, c.all, c.lose)
			w.create(objects()...)
			judge(w, id, c.again, c.renew)
		})
		t.Run(name+", while the Kafka is paused", func(t *testing.T) {
			w, id := begin(t)
			w.bindAll()
			w.start("a")
			w.start("b")
			w.reconcile()
			w.edit(func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"} })
			w.reconcile()
			w.restoreClaims(w.k8s, c.all, c.lose)
			w.edit(func(k *v1.Kafka) { k.Annotations = nil })
			judge(w, id, c.paused, false)
		})
	}
}

// In a remote Kubernetes cluster, a claim that is made by hand names the central cluster, too.
func TestClaimsElsewhereThatAreMadeByHandNameTheirCentralCluster(t *testing.T) {
	for name, named := range map[string]bool{"named": true, "not named": false} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.formTwo()
			id := w.kafka().Status.ClusterID
			w.loseStretchedKafka("east")
			east, central := w.members["east"].Client, string(w.members["central"].uid)
			w.restoreClaims(east, true, func(claim *corev1.PersistentVolumeClaim) {
				claim.Labels = map[string]string{v1.LabelCluster: "my-cluster", core.LabelPoolName: "b", core.LabelManagedBy: model.ManagedBy}
				claim.Annotations = map[string]string{model.AnnotationClusterID: id}
				if named {
					claim.Annotations[ownership.MarkCentral] = central
				}
			})
			restored := w.uids(east)
			w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
			w.settle()
			w.Expect(w.uids(east)).To(Equal(restored))
			if !named {
				w.Expect(w.conditions()).To(ContainElement(HaveField("Message", ContainSubstring("the annotation strimzi.io/owner-central: "+central))))
				for _, claim := range w.claimsIn(east) {
					claim.Annotations[ownership.MarkCentral] = central
					w.Expect(east.Update(t.Context(), &claim)).To(Succeed())
				}
				w.settle()
				w.Expect(w.uids(east)).To(Equal(restored))
			}
			w.Expect(w.ready()).To(HaveField("Status", "True"))
			w.Expect(w.kafka().Status.ClusterID).To(Equal(id))
		})
	}
}

// The record that a tool restores beside the claims is that of an earlier Kafka.
func TestARestoredRecordOfAnEarlierKafkaIsTakenOver(t *testing.T) {
	w := newStretchedWorld(t)
	w.formTwo()
	id := w.kafka().Status.ClusterID
	backup := &corev1.ConfigMap{}
	w.get(backup, model.RecordName("my-cluster"))
	w.loseStretchedKafka("east")
	east := w.uids(w.members["east"].Client)
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: backup.Name, Labels: backup.Labels, Annotations: backup.Annotations},
		Data: backup.Data})
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.kafka().Status.ClusterID).To(Equal(id))
	w.Expect(w.uids(w.members["east"].Client)).To(Equal(east))
	record := &corev1.ConfigMap{}
	w.get(record, backup.Name)
	w.Expect(record.OwnerReferences).To(HaveLen(1))
}
