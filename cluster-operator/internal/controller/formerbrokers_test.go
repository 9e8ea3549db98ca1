package controller

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// A topic that is made after a StrimziPodSet was written may get replicas on a broker that the roller has not restarted yet.
func TestAFormerBrokerIsNotRestartedWhileItHoldsReplicas(t *testing.T) {
	const name, other = "my-cluster-both-0", "my-cluster-both-1"
	begin := func(t *testing.T) *world {
		w := newWorld(t)
		w.create(newKafka(), nodePool("both", 2, v1.RoleBroker, v1.RoleController), nodePool("brokers", 1, v1.RoleBroker))
		w.reconcile()
		w.start("both")
		w.start("brokers")
		w.adopt("both")
		w.brokers.replicas = map[int32]int{2: 1}
		w.change("both", func(p *v1.KafkaNodePool) { p.Spec.Roles = []v1.ProcessRole{v1.RoleController} })
		w.reconcile()
		w.Expect(w.pods("both")[name].Labels).To(HaveKeyWithValue(core.LabelBrokerRole, "false"))
		w.reconcile()
		w.Expect(w.holdOf(name)).To(BeEmpty())
		w.brokers.replicas = map[int32]int{0: 1, 2: 1}
		return w
	}
	because := func(why string) OmegaMatcher {
		return ContainElement(And(HaveField("Reason", v1.ReasonScaleDownPrevented), HaveField("Message", And(
			HavePrefix("Node 0 is a broker until it is restarted, and pod my-cluster-both-0 is not restarted yet: "), ContainSubstring(why)))))
	}
	t.Run("until it is empty", func(t *testing.T) {
		w := begin(t)
		result, err := w.r.Reconcile(t.Context(), reconcile.Request{
			NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}})
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(result.RequeueAfter).To(BeNumerically("<=", 30*time.Second))
		w.Expect(w.holdOf(name)).To(Equal(model.HoldFormerBroker))
		w.Expect(w.holdOf(other)).To(BeEmpty())
		w.Expect(w.hold("both")).To(BeEmpty())
		w.Expect(w.conditions()).To(because("broker 0 holds 1 replicas of partitions: move them to other brokers first, or annotate the Kafka"))
		w.Expect(w.pool("both").Status.Conditions).To(because("broker 0 holds 1 replicas"))

		w.brokers.err = errors.New("no broker answers")
		w.reconcile()
		w.Expect(w.holdOf(name)).To(Equal(model.HoldFormerBroker))
		w.Expect(w.holdOf(other)).To(Equal(model.HoldFormerBroker))
		w.Expect(w.conditions()).To(because("because Kafka did not answer (no broker answers): see that brokers run and that the operator " +
			"reaches them, or annotate the Kafka with strimzi.io/skip-broker-scaledown-check"))

		w.brokers.replicas, w.brokers.err = map[int32]int{2: 1}, nil
		w.reconcile()
		w.Expect(w.holdOf(name)).To(BeEmpty())
		w.Expect(w.holdOf(other)).To(BeEmpty())
		w.Expect(w.conditions()).NotTo(because(""))
	})
	t.Run("unless the user allows it", func(t *testing.T) {
		w := begin(t)
		w.reconcile()
		w.edit(func(k *v1.Kafka) { k.Annotations = map[string]string{v1.AnnotationSkipScaleDownCheck: "true"} })
		w.reconcile()
		w.Expect(w.holdOf(name)).To(BeEmpty())
	})
	t.Run("or it is to be a broker again", func(t *testing.T) {
		w := begin(t)
		w.reconcile()
		w.change("both", func(p *v1.KafkaNodePool) { p.Spec.Roles = []v1.ProcessRole{v1.RoleController, v1.RoleBroker} })
		w.reconcile()
		w.reconcile()
		w.Expect(w.holdOf(name)).To(BeEmpty())
		w.Expect(w.conditions()).NotTo(because(""))
	})
	t.Run("also if the pass fails", func(t *testing.T) {
		w := begin(t)
		w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "1.0" })
		w.reconcile()
		w.Expect(w.holdOf(name)).To(Equal(model.HoldFormerBroker))
	})
	t.Run("also if only its log directories show them", func(t *testing.T) {
		w := begin(t)
		w.brokers.replicas, w.brokers.dirs = map[int32]int{2: 1}, map[int32][]kafka.LogDir{0: {{Replicas: 1}}, 1: {{}}, 2: {{}}}
		w.reconcile()
		w.Expect(w.holdOf(name)).To(Equal(model.HoldFormerBroker))
		w.Expect(w.holdOf(other)).To(BeEmpty())
		w.brokers.dirs[0], w.brokers.hidden = nil, map[int32]int{2: 1}
		delete(w.brokers.dirs, 0)
		w.reconcile()
		w.Expect(w.holdOf(name)).To(Equal(model.HoldFormerBroker), "another broker has a topic that is hidden")
		w.brokers.hidden = nil
		w.reconcile()
		w.Expect(w.holdOf(name)).To(BeEmpty(), "a broker that is down for good")
	})
	t.Run("but a pod of somebody else is left alone", func(t *testing.T) {
		w := begin(t)
		pod := &corev1.Pod{}
		w.get(pod, name)
		pod.OwnerReferences = nil
		w.Expect(w.k8s.Update(t.Context(), pod)).To(Succeed())
		w.reconcile()
		w.Expect(w.holdOf(name)).To(BeEmpty())
	})
	t.Run("and the hold of a user stays", func(t *testing.T) {
		w := begin(t)
		pod := &corev1.Pod{}
		w.get(pod, name)
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, core.AnnotationHold, "ann replaces a disk")
		w.Expect(w.k8s.Update(t.Context(), pod)).To(Succeed())
		w.reconcile()
		w.Expect(w.holdOf(name)).To(Equal("ann replaces a disk"))
		w.brokers.replicas = map[int32]int{2: 1}
		w.reconcile()
		w.Expect(w.holdOf(name)).To(Equal("ann replaces a disk"))
	})
}

// adopt makes pods those of the StrimziPodSet that lists them.
func (w *world) adopt(pool string) {
	w.t.Helper()
	set := w.set(pool)
	for name := range w.pods(pool) {
		pod := &corev1.Pod{}
		w.get(pod, name)
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, core.GroupVersion.WithKind("StrimziPodSet"))}
		w.Expect(w.k8s.Update(w.t.Context(), pod)).To(Succeed())
	}
}

// holdOf returns why the roller keeps off a pod.
func (w *world) holdOf(name string) string {
	w.t.Helper()
	pod := &corev1.Pod{}
	w.get(pod, name)
	return pod.Annotations[core.AnnotationHold]
}

func TestWhoIsAFormerBroker(t *testing.T) {
	runs := func(role string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{core.LabelBrokerRole: role}}}
	}
	ends := runs("true")
	ends.DeletionTimestamp = &metav1.Time{}
	for name, c := range map[string]struct {
		running *corev1.Pod
		listed  topology.Roles
		want    bool
	}{
		"a broker that is to be a controller":     {runs("true"), topology.Roles{Controller: true}, true},
		"a broker that stays one":                 {runs("true"), topology.Roles{Broker: true}, false},
		"a broker that is to be a controller too": {runs("true"), topology.Roles{Controller: true, Broker: true}, false},
		"a controller":                            {runs("false"), topology.Roles{Controller: true}, false},
		"a controller that is to be a broker":     {runs("false"), topology.Roles{Controller: true, Broker: true}, false},
		"unknown":                                 {&corev1.Pod{}, topology.Roles{Controller: true}, true},
		"a broker that ends":                      {ends, topology.Roles{Controller: true}, false},
		"no pod":                                  {nil, topology.Roles{Controller: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(isFormerBroker(c.running, topology.Node{Roles: c.listed})).To(Equal(c.want))
		})
	}
}
