package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

func TestAKafkaInOneKubernetesClusterIsStretched(t *testing.T) {
	w := newStretchedWorld(t)
	w.create(newKafka(), nodePool("a", 3, v1.RoleBroker, v1.RoleController))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	inside := w.setting("central", "my-cluster-a-0", "controller.quorum.voters")
	w.Expect(inside).To(ContainSubstring(".svc.cluster.local:9090"))

	k := w.kafka()
	k.Annotations = map[string]string{v1.AnnotationStretch: "true"}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	pool := &v1.KafkaNodePool{}
	w.get(pool, "a")
	pool.Annotations = map[string]string{v1.AnnotationTargetCluster: "central"}
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.create(poolIn("east", "b", 1, v1.RoleBroker))

	// As long as a node's certificate lacks its new address, no node's configuration has that address.
	for range 4 {
		w.pass()
	}
	w.Expect(w.setting("central", "my-cluster-a-0", "controller.quorum.voters")).To(Equal(inside))
	set := &core.StrimziPodSet{}
	w.in("east", set, "my-cluster-b")
	w.Expect(set.Spec.Pods).To(BeEmpty(), "a node elsewhere could not reach the controllers")

	// The active controller tells nodes its address: none starts elsewhere before all controllers run with their new ones.
	for w.setting("central", "my-cluster-a-0", "controller.quorum.voters") == inside {
		w.pods()
		w.pass()
	}
	w.pass()
	w.in("east", set, "my-cluster-b")
	w.Expect(set.Spec.Pods).To(BeEmpty(), "the controllers are not restarted yet")
	w.settle()
	w.Expect(w.setting("central", "my-cluster-a-0", "controller.quorum.voters")).To(MatchRegexp(`^0@192\.0\.2\.1:3`))
	w.in("east", set, "my-cluster-b")
	w.Expect(set.Spec.Pods).To(HaveLen(1))
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

func TestNodesAreReachedWhereTheyWereUntilAllAreRestarted(t *testing.T) {
	w := newStretchedWorld(t)
	w.create(stretchedKafka(), poolIn("central", "a", 3, v1.RoleBroker, v1.RoleController))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.setting("central", "my-cluster-a-0", "controller.quorum.voters")).To(ContainSubstring("192.0.2.1"))
	secret := &corev1.Secret{}
	w.get(secret, "my-cluster-a-0")
	certificate := secret.Data["my-cluster-a-0.crt"]
	w.unstretch("a")
	for range 4 {
		w.pass() // and no pod is restarted
	}
	w.Expect(w.setting("central", "my-cluster-a-0", "controller.quorum.voters")).To(ContainSubstring("my-cluster-a-0.my-"))
	w.get(&corev1.Service{}, "my-cluster-a-0-nodeport")
	w.get(secret, "my-cluster-a-0")
	w.Expect(secret.Data["my-cluster-a-0.crt"]).To(Equal(certificate))
	w.Expect(w.kafka().Finalizers).To(ContainElement(v1.FinalizerStretch))

	w.settle()
	w.Expect(w.kafka().Finalizers).To(BeEmpty())
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.k8s.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-a-0-nodeport"}, &corev1.Service{})).
		To(MatchError(apierrors.IsNotFound, "NotFound"))
}

func TestAStretchedKafkaMayBeInTheCentralKubernetesClusterAlone(t *testing.T) {
	w := newStretchedWorld(t)
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.kafka().Status.Conditions).To(ContainElement(And(HaveField("Type", "StretchCluster"),
		HaveField("Message", "Stretch cluster active: provider=nodeport, central=central, clusters=central"))))
}

func TestAStretchedKafkaIsInOneKubernetesClusterAgain(t *testing.T) {
	w := newStretchedWorld(t)
	w.formTwo()
	pool := &v1.KafkaNodePool{}
	w.get(pool, "b")
	w.Expect(w.k8s.Delete(t.Context(), pool)).To(Succeed())
	w.brokers.replicas = map[int32]int{0: 1, 1: 1}
	w.settle()
	set := &core.StrimziPodSet{}
	w.in("east", set, "my-cluster-b")
	w.Expect(set.Spec.Pods).To(HaveLen(1), "its broker holds replicas")
	w.brokers.replicas = map[int32]int{0: 1, 1: 0}
	w.settle()
	w.Expect(w.members["east"].Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-kafka-gc"}, &corev1.ConfigMap{})).
		To(MatchError(apierrors.IsNotFound, "NotFound"))
	w.unstretch("a")
	w.settle()
	w.Expect(w.kafka().Finalizers).To(BeEmpty())
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.k8s.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: model.RecordName("my-cluster")}, &corev1.ConfigMap{})).
		To(MatchError(apierrors.IsNotFound, "NotFound"))
}

func TestAnOutageOnTheWayBackRestartsNoNode(t *testing.T) {
	w := newStretchedWorld(t)
	w.formTwo()
	w.brokers.replicas = map[int32]int{0: 1, 1: 0}
	w.Expect(w.k8s.Delete(t.Context(), w.pool("b"))).To(Succeed())
	w.settle()
	w.in("east", &corev1.PersistentVolumeClaim{}, "data-my-cluster-b-1")
	stretched := w.setting("central", "my-cluster-a-0", "controller.quorum.voters")
	w.unstretch("a")
	w.pass()
	voters := w.setting("central", "my-cluster-a-0", "controller.quorum.voters")
	w.Expect(voters).NotTo(Equal(stretched))
	w.members["east"].lost = true
	w.settle()
	w.Expect(w.setting("central", "my-cluster-a-0", "controller.quorum.voters")).To(Equal(voters))
	w.Expect(w.kafka().Finalizers).NotTo(BeEmpty(), "what is in east is unknown")
	w.members["east"].lost = false
	w.settle()
	w.Expect(w.kafka().Finalizers).To(BeEmpty())
}
