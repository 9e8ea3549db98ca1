package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// hibernate annotates the Kafka as a user does; with an empty value, it removes the annotation.
func (w *world) hibernate(value string) {
	w.t.Helper()
	w.edit(func(k *v1.Kafka) {
		delete(k.Annotations, v1.AnnotationHibernate)
		if value != "" {
			metav1.SetMetaDataAnnotation(&k.ObjectMeta, v1.AnnotationHibernate, value)
		}
	})
	w.reconcile()
}

// run creates the pods of a pool, as the StrimziPodSet controller does.
func (w *world) run(pool string) {
	w.t.Helper()
	w.start(pool)
	set := w.set(pool)
	for name := range w.pods(pool) {
		pod := &corev1.Pod{}
		w.get(pod, name)
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: core.GroupVersion.String(), Kind: "StrimziPodSet", Name: set.Name,
			UID: set.UID, Controller: new(true)}}
		w.Expect(w.k8s.Update(w.t.Context(), pod)).To(Succeed())
	}
}

// stop ends the pods of a pool, as the StrimziPodSet controller and the kubelet do.
func (w *world) stop(pool string) {
	w.t.Helper()
	for name := range w.pods(pool) {
		pod := &corev1.Pod{ObjectMeta: w.named(name)}
		w.Expect(w.k8s.Delete(w.t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
	}
}

// asleep returns whether the sets of pools are hibernated.
func (w *world) asleep(pools ...string) (asleep []bool) {
	w.t.Helper()
	for _, pool := range pools {
		asleep = append(asleep, w.set(pool).IsHibernated())
	}
	return asleep
}

func (w *world) claims() (uids []string) {
	w.t.Helper()
	list := &corev1.PersistentVolumeClaimList{}
	w.Expect(w.k8s.List(w.t.Context(), list, client.InNamespace(w.namespace))).To(Succeed())
	for _, claim := range list.Items {
		w.Expect(claim.DeletionTimestamp).To(BeNil())
		uids = append(uids, claim.Name+" "+string(claim.UID))
	}
	return uids
}

func newRunning(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	kafka := newKafka()
	kafka.Spec.EntityOperator = &v1.EntityOperatorSpec{TopicOperator: &v1.EntityTopicOperatorSpec{}}
	w.create(kafka, nodePool("brokers", 2, v1.RoleBroker), nodePool("controllers", 1, v1.RoleController))
	w.reconcile()
	w.run("brokers")
	w.run("controllers")
	w.reconcile()
	return w
}

func TestAHibernatedKafkaStopsItsControllersLastAndKeepsTheRest(t *testing.T) {
	w := newRunning(t)
	claims, brokers, controllers := w.claims(), w.pods("brokers"), w.pods("controllers")
	w.Expect(claims).To(HaveLen(3))
	w.hibernate("true")
	w.Expect(w.asleep("brokers", "controllers")).To(Equal([]bool{true, false}), "brokers need controllers to stop cleanly")
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "Hibernated"),
		HaveField("Message", HavePrefix("nodes stop: my-cluster-brokers-0, my-cluster-brokers-1, my-cluster-controllers-"))))
	w.reconcile()
	w.Expect(w.asleep("controllers")).To(Equal([]bool{false}))
	w.stop("brokers")
	w.reconcile()
	w.Expect(w.asleep("brokers", "controllers")).To(Equal([]bool{true, true}))
	w.stop("controllers")
	w.reconcile()
	w.Expect(w.ready().Message).To(HavePrefix("no node runs"))
	w.Expect(w.claims()).To(Equal(claims))
	deployment := &appsv1.Deployment{}
	w.get(deployment, "my-cluster-entity-operator")
	w.Expect(deployment.Spec.Replicas).To(HaveValue(BeZero()))
	versions := w.versions()
	w.reconcile()
	w.Expect(w.versions()).To(Equal(versions), "nothing is written while it sleeps")

	w.hibernate("")
	w.Expect(w.asleep("brokers", "controllers")).To(Equal([]bool{false, false}))
	w.Expect(w.claims()).To(Equal(claims))
	w.Expect(w.pods("brokers")).To(Equal(brokers))
	w.Expect(w.pods("controllers")).To(Equal(controllers))
	w.get(deployment, "my-cluster-entity-operator")
	w.Expect(deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
	w.run("brokers")
	w.run("controllers")
	w.reconcile()
	w.Expect(w.ready().Reason).NotTo(Equal("Hibernated"))
	w.Expect(w.events).To(ContainElements("Hibernating: Stopping the nodes of StrimziPodSet my-cluster-brokers",
		"Waking: Starting the nodes of StrimziPodSet my-cluster-brokers"))
	w.Expect(w.events).NotTo(ContainElement(HavePrefix("Hibernated:")), "it is no failure")
}

// Most changes need answers of brokers.
func TestChangesWaitWhileAKafkaIsHibernated(t *testing.T) {
	w := newRunning(t)
	w.hibernate("true")
	w.stop("brokers")
	w.reconcile()
	w.stop("controllers")
	w.change("brokers", func(pool *v1.KafkaNodePool) { pool.Spec.Replicas = 1 })
	w.reconcile()
	w.Expect(w.pods("brokers")).To(HaveLen(2))
	w.hibernate("")
	w.Expect(w.pods("brokers")).To(HaveLen(2), "no broker says that it is empty")
	w.Expect(w.asleep("brokers", "controllers")).To(Equal([]bool{false, false}))
}

func TestAHibernatedKafkaWakesThoughItIsInvalid(t *testing.T) {
	w := newRunning(t)
	w.hibernate("true")
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "1.0.0" })
	w.hibernate("")
	w.Expect(w.asleep("brokers", "controllers")).To(Equal([]bool{false, false}))
}

func TestCertificatesAreRenewedWhileAKafkaIsHibernated(t *testing.T) {
	w := newRunning(t)
	w.hibernate("true")
	w.stop("brokers")
	w.reconcile()
	w.stop("controllers")
	secret := &corev1.Secret{}
	w.get(secret, "my-cluster-brokers-0")
	before := certificate(w.WithT, secret)
	w.now = before.NotAfter.Add(-24 * time.Hour)
	w.reconcile()
	w.reconcile()
	w.get(secret, "my-cluster-brokers-0")
	w.Expect(certificate(w.WithT, secret).NotAfter).To(BeTemporally(">", before.NotAfter))
	w.Expect(w.asleep("brokers", "controllers")).To(Equal([]bool{true, true}))
}

func TestAPauseComesBeforeHibernation(t *testing.T) {
	w := newRunning(t)
	w.edit(func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"} })
	w.hibernate("true")
	w.Expect(w.asleep("brokers")).To(Equal([]bool{false}))
	w.edit(func(k *v1.Kafka) { delete(k.Annotations, v1.AnnotationPauseReconciliation) })
	w.reconcile()
	w.Expect(w.asleep("brokers")).To(Equal([]bool{true}))
	w.edit(func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"} })
	w.reconcile()
	w.Expect(w.asleep("brokers")).To(Equal([]bool{true}), "it sleeps on")
}

// Kubernetes keeps a claim that somebody deleted only as long as a pod uses it.
func TestNodesWhoseVolumesAreBeingDeletedDoNotStop(t *testing.T) {
	w := newRunning(t)
	w.schedule("my-cluster-brokers-0")
	w.deleteVolume("data-my-cluster-brokers-0")
	w.hibernate("true")
	w.Expect(w.asleep("brokers", "controllers")).To(Equal([]bool{false, false}))
	w.Expect(w.conditions()).To(ContainElements(HaveField("Reason", "VolumeBeingDeleted"), HaveField("Reason", "NotHibernated")))
}

func TestNodesWithDataInTheirPodsDoNotStop(t *testing.T) {
	w := newWorld(t)
	kafka, pool := newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
	pool.Spec.Storage = v1.Storage{Type: v1.StorageJBOD, Volumes: []v1.StorageVolume{
		{ID: new(int32(0)), Type: v1.StoragePersistentClaim, Size: "1Gi"}, {ID: new(int32(1)), Type: v1.StorageEphemeral}}}
	w.create(kafka, pool)
	w.reconcile()
	w.run("pool")
	w.hibernate("true")
	w.Expect(w.asleep("pool")).To(Equal([]bool{false}))
	w.Expect(w.conditions()).To(ContainElement(And(HaveField("Reason", "NotHibernated"),
		HaveField("Message", ContainSubstring("ephemeral")))))
}

// It would start without the role, and its replicas would be missed.
func TestAFormerBrokerDoesNotStop(t *testing.T) {
	w := newRunning(t)
	pod := &corev1.Pod{}
	w.get(pod, "my-cluster-controllers-2")
	pod.Labels[core.LabelBrokerRole] = "true"
	w.Expect(w.k8s.Update(t.Context(), pod)).To(Succeed())
	w.hibernate("true")
	w.Expect(w.asleep("brokers", "controllers")).To(Equal([]bool{false, false}))
	w.Expect(w.conditions()).To(ContainElement(And(HaveField("Reason", "NotHibernated"),
		HaveField("Message", ContainSubstring("until the roller restarts it")))))
	w.get(pod, "my-cluster-controllers-2")
	pod.Labels[core.LabelBrokerRole] = "false"
	w.Expect(w.k8s.Update(t.Context(), pod)).To(Succeed())
	w.reconcile()
	w.Expect(w.asleep("brokers", "controllers")).To(Equal([]bool{true, false}))
}

func TestAKafkaThatIsHibernatedFromTheStartHasNothing(t *testing.T) {
	w := newWorld(t)
	kafka := newKafka()
	kafka.Annotations = map[string]string{v1.AnnotationHibernate: "true"}
	w.create(kafka, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.Expect(w.ready().Reason).To(Equal("Hibernated"))
	w.Expect(w.claims()).To(BeEmpty())
	w.hibernate("")
	w.Expect(w.asleep("pool")).To(Equal([]bool{false}))
}

func TestWhatHibernates(t *testing.T) {
	set := func(value string) *core.StrimziPodSet {
		return &core.StrimziPodSet{ObjectMeta: metav1.ObjectMeta{Name: "set", Annotations: map[string]string{core.AnnotationHibernate: value}},
			Spec: &core.StrimziPodSetSpec{}}
	}
	for _, c := range []struct {
		name, value       string
		asleep, stretched bool
		hibernates, warns bool
	}{
		{name: "nothing"},
		{name: "true", value: "true", hibernates: true},
		{name: "True", value: "True", hibernates: true},
		{name: "false", value: "false"},
		{name: "false, asleep", value: "false", asleep: true},
		{name: "removed, asleep", asleep: true},
		{name: "wrong", value: "yes", warns: true},
		{name: "wrong, asleep", value: "yes", asleep: true, hibernates: true, warns: true},
		{name: "stretched", value: "true", stretched: true, warns: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			kafka := newKafka()
			kafka.Annotations = map[string]string{}
			if c.value != "" {
				kafka.Annotations[v1.AnnotationHibernate] = c.value
			}
			if c.stretched {
				kafka.Annotations[v1.AnnotationStretch] = "true"
			}
			state := "false"
			if c.asleep {
				state = "true"
			}
			p := &pass{Reconciler: &Reconciler{}, kafka: kafka, sites: []*site{{cluster: topology.Home,
				facts: facts.Cluster{Objects: map[facts.Key]client.Object{{Kind: "StrimziPodSet", Name: "set"}: set(state)}}}}}
			g.Expect(p.hibernates()).To(Equal(c.hibernates))
			p.warnOfHibernation()
			g.Expect(p.status.Warnings).To(HaveLen(map[bool]int{true: 1}[c.warns]))
		})
	}
}

// A paused Kafka is not looked at by the step that hibernates it.
func TestNoTopicOperatorIsExpectedOfAHibernatedKafka(t *testing.T) {
	g := NewWithT(t)
	kafka := newKafka()
	kafka.Spec.EntityOperator = &v1.EntityOperatorSpec{TopicOperator: &v1.EntityTopicOperatorSpec{}}
	for _, asleep := range []string{"false", "true"} {
		set := &core.StrimziPodSet{Spec: &core.StrimziPodSetSpec{}, ObjectMeta: metav1.ObjectMeta{Name: "set",
			Annotations: map[string]string{core.AnnotationHibernate: asleep}}}
		f := facts.Cluster{Objects: map[facts.Key]client.Object{{Kind: "StrimziPodSet", Name: "set"}: set}}
		g.Expect(figuresOf(f, kafka).TopicOperator).To(Equal(asleep == "false"))
	}
}

// All controllers start at once when the Kafka wakes: no other one has what the log of each had.
func TestControllersThatWakeKeepTheirMetadataWhateverTheUserAllows(t *testing.T) {
	w := newWorld(t)
	pool := nodePool("controllers", 3, v1.RoleController)
	pool.Spec.Storage = jbod(0, 1)
	w.create(newKafka(), pool, nodePool("brokers", 1, v1.RoleBroker))
	w.reconcile()
	w.run("controllers")
	w.run("brokers")
	w.reconcile()
	w.hibernate("true")
	w.stop("brokers")
	w.reconcile()
	w.stop("controllers")
	w.get(pool, "controllers")
	pool.Spec.Storage.Volumes = pool.Spec.Storage.Volumes[1:]
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.edit(func(k *v1.Kafka) {
		metav1.SetMetaDataAnnotation(&k.ObjectMeta, v1.AnnotationSkipScaleDownCheck, "true")
	})
	w.hibernate("")
	w.Expect(w.asleep("controllers", "brokers")).To(Equal([]bool{false, false}))
	w.Expect(w.pods("controllers")).To(HaveLen(3))
	for name, pod := range w.pods("controllers") {
		w.Expect(pod.Spec.Volumes).To(ContainElement(HaveField("PersistentVolumeClaim", HaveValue(HaveField("ClaimName", "data-0-"+name)))))
	}
}
