package controller

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/heartbeat"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

func TestAStretchedKafkaIsDeletedEverywhere(t *testing.T) {
	w := newStretchedWorld(t)
	registry := prometheus.NewRegistry()
	w.r.Metrics = metrics.New(registry, "")
	w.form()
	w.Expect(gaugeIn(registry, "kafka_operators_kafka_ready")).To(Equal(1.0))
	w.members["east"].lost, w.members["west"].lost = true, true
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.r.conflicts.meet(client.ObjectKeyFromObject(w.kafka()), topology.Home, errBehind, w.now)
	w.pass()
	w.Expect(w.r.conflicts.met).To(BeEmpty(), "a later conflict does not count as one in a row")
	w.Expect(w.ready()).To(HaveField("Message", And(HavePrefix("The deletion waits for cluster 'east'"),
		ContainSubstring("It waits for cluster 'west'"))))
	w.members["east"].lost = false
	w.pass()
	w.Expect(gaugeIn(registry, "kafka_operators_kafka_ready")).To(Equal(0.0))
	w.Expect(w.events).To(ContainElement(ContainSubstring("The deletion waits for cluster 'west'")))
	k := w.kafka()
	w.Expect(k.Finalizers).To(ContainElement(v1.FinalizerStretch))
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Message", ContainSubstring("The deletion waits for cluster 'west'"))))
	gone := &corev1.ConfigMap{}
	w.Expect(w.members["east"].Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-kafka-gc"}, gone)).
		To(MatchError(apierrors.IsNotFound, "NotFound"))
	w.members["west"].lost = false
	w.pass()
	w.Expect(w.members["west"].Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-kafka-gc"}, gone)).
		To(MatchError(apierrors.IsNotFound, "NotFound"))
	w.Expect(w.ready()).To(And(HaveField("Reason", "DeletionPending"), HaveField("Message", HavePrefix("The deletion waits until Kubernetes "+
		"has deleted the objects in cluster 'east' (ConfigMap my-cluster-east-1"))), "no garbage collector runs")
	w.collect("east")
	w.pass()
	inWest := HaveField("Message", HavePrefix("The deletion waits until Kubernetes has deleted the objects in cluster 'west' ("))
	w.Expect(w.ready()).To(inWest)
	record := &corev1.ConfigMap{}
	w.get(record, model.RecordName("my-cluster"))
	record.Data[recordKey] = ""
	w.Expect(w.k8s.Update(t.Context(), record)).To(Succeed())
	k = w.kafka()
	k.Annotations = nil
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(inWest, "nothing but these objects tells where the Kafka was")
	w.collect("west")
	w.pass()
	w.Expect(w.k8s.Get(t.Context(), client.ObjectKeyFromObject(k), k)).To(MatchError(apierrors.IsNotFound, "NotFound"))
}

func TestADeletionThatKeepsObjectsKeepsThemElsewhere(t *testing.T) {
	// orphaned does what Kubernetes' garbage collector does before the operator comes to it.
	orphaned := func(w *stretchedWorld) {
		record := &corev1.ConfigMap{}
		w.get(record, model.RecordName("my-cluster"))
		record.OwnerReferences = nil
		w.Expect(w.k8s.Update(t.Context(), record)).To(Succeed())
		k := w.kafka()
		k.Finalizers = []string{v1.FinalizerStretch}
		w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	}
	for name, before := range map[string]func(*stretchedWorld){
		"the garbage collector works": func(*stretchedWorld) {}, "the garbage collector is done": orphaned,
		"a cluster was away meanwhile": func(w *stretchedWorld) {
			w.members["east"].lost = true
			w.members["west"].lost = true
			w.pass()
			w.Expect(w.ready()).To(HaveField("Message", ContainSubstring("The deletion waits for cluster 'east'")))
			w.members["east"].lost = false
			w.members["west"].lost = false
			orphaned(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.form()
			w.Expect(w.k8s.Delete(t.Context(), w.kafka(), client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
			w.Expect(w.kafka().Finalizers).To(ContainElement(metav1.FinalizerOrphanDependents))
			before(w)
			w.pass()
			for _, id := range []string{"east", "west"} {
				anchor := &corev1.ConfigMap{}
				w.in(id, anchor, "my-cluster-kafka-gc")
				w.Expect(anchor.DeletionTimestamp).NotTo(BeNil())
				w.Expect(anchor.Finalizers).To(ConsistOf(metav1.FinalizerOrphanDependents), "what it owns is kept in cluster "+id)
			}
			k := &v1.Kafka{}
			err := w.k8s.Get(t.Context(), w.request().NamespacedName, k)
			w.Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
			w.Expect(k.Finalizers).NotTo(ContainElement(v1.FinalizerStretch))
		})
	}
}

func TestADeletionSaysHowToLeaveWhatSomebodyElseTook(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	anchor := &corev1.ConfigMap{}
	w.in("east", anchor, "my-cluster-kafka-gc")
	ownership.Mark(anchor, "ConfigMap", ownership.Owner{ID: string(uuid.NewUUID()), Epoch: 1,
		Holder: ownership.Holder{Central: "elsewhere", Cluster: "a", Object: "b"}})
	w.Expect(w.members["east"].Update(t.Context(), anchor)).To(Succeed())
	before := w.all()
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "OwnershipConflict"),
		HaveField("Message", And(ContainSubstring("remove the finalizer strimzi.io/stretch-cluster from it"),
			ContainSubstring("To keep them, delete ConfigMap my-cluster-kafka-gc there first")))))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	w.Expect(w.all()["west"]).To(Equal(before["west"]))
}

func TestADeletionSaysWhatIsNotDeletedWithoutItsFinalizer(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	delete(w.members, "west")
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(HaveField("Message", And(ContainSubstring("after that cluster can be reached"), HaveSuffix(
		". Those in cluster 'west' stay until STRIMZI_REMOTE_KUBE_CONFIG lists it again, or you delete ConfigMap my-cluster-kafka-gc there. "+
			"To wait for it no longer, annotate the Kafka kafka-operators.io/given-up-clusters: west"))))
	w.r.Stretching = nil
	w.pass()
	w.Expect(w.ready()).To(HaveField("Message", HaveSuffix("To delete the Kafka without waiting, remove the finalizer "+
		"strimzi.io/stretch-cluster from it: its objects in other Kubernetes clusters stay until the operator is configured for these again, "+
		"or you delete ConfigMap my-cluster-kafka-gc there")))
}

func TestADeletionNeedsNoOperatorElsewhere(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	lease := &coordinationv1.Lease{}
	w.in("east", lease, heartbeat.LeaseName)
	lease.Annotations["kafka-operators.io/contract"] = "0" // an operator left it that was uninstalled long ago
	w.Expect(w.members["east"].Update(t.Context(), lease)).To(Succeed())
	k := w.kafka()
	w.Expect(w.k8s.Delete(t.Context(), k)).To(Succeed())
	w.collected()
	w.Expect(w.k8s.Get(t.Context(), client.ObjectKeyFromObject(k), k)).To(MatchError(apierrors.IsNotFound, "NotFound"))
}

// TestAConflictInADeletionIsNoFailure checks that a conflict elsewhere counts as one that the cache will end, until it lasts.
func TestAConflictInADeletionIsNoFailure(t *testing.T) {
	w := newStretchedWorld(t)
	w.createDeletable(poolIn("west", "c", 1, v1.RoleBroker))
	w.settle()
	w.change("b", func(p *v1.KafkaNodePool) { p.Spec.Storage.DeleteClaim = nil })
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	east := w.members["east"]
	k8s, ok := east.Client.(client.WithWatch)
	w.Expect(ok).To(BeTrue())
	east.Client = interceptor.NewClient(k8s, interceptor.Funcs{
		Patch: func(ctx context.Context, k8s client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if _, is := o.(*corev1.PersistentVolumeClaim); is {
				return apierrors.NewConflict(corev1.Resource("persistentvolumeclaims"), o.GetName(), errors.New("it was changed"))
			}
			return k8s.Patch(ctx, o, p, opts...)
		}})
	before := w.kafka().Status
	for range 2 {
		w.Expect(w.pass().RequeueAfter).To(Equal(conflictDelay))
		w.Expect(w.kafka().Status).To(Equal(before))
		w.Expect(w.anchored("west")).To(BeFalse(), "no cluster waits for another")
		w.now = w.now.Add(conflictTimeout)
	}
	w.now = w.now.Add(-conflictTimeout)
	w.pass()
	w.Expect(w.ready()).To(HaveField("Message", And(HavePrefix("The deletion waits for cluster 'east'"),
		ContainSubstring("writes keep conflicting"))))
	east.Client = k8s
	w.now = w.now.Add(conflictTimeout)
	w.pass()
	w.Expect(w.anchored("east")).To(BeFalse())
}

// TestADeletionEndsWithItsKafka checks that an operator whose cache shows an earlier Kafka as being deleted takes nothing from the next.
func TestADeletionEndsWithItsKafka(t *testing.T) {
	w := newStretchedWorld(t)
	pool := w.createDeletable()
	w.settle()
	earlier := w.kafka()
	w.deleteWithoutFinalizer()
	now := metav1.Now()
	earlier.DeletionTimestamp = &now
	w.r.Cache = &staleStatuses{Reader: w.r.Cache, kafka: *earlier}
	w.Expect(w.pass().RequeueAfter).To(Equal(conflictDelay), "no Kafka")
	w.create(stretchedKafka())
	w.Expect(w.pass().RequeueAfter).To(Equal(conflictDelay), "another Kafka")
	w.Expect(w.anchored("east")).To(BeTrue())
	w.in("east", &corev1.PersistentVolumeClaim{}, "data-my-cluster-"+pool.Name+"-1")
}
