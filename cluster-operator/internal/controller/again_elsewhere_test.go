package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// A stretched Kafka is created again with its pool of brokers in another Kubernetes cluster than their volumes.
func TestVolumesElsewhereAreNotLeftUnusedByAKafkaThatIsCreatedAgain(t *testing.T) {
	w := newStretchedWorld(t)
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.pass()
	w.collect("east")
	w.pass()
	w.Expect(w.k8s.DeleteAllOf(t.Context(), &v1.KafkaNodePool{}, client.InNamespace(w.namespace))).To(Succeed())
	w.collectIn(w.k8s)

	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), poolIn("west", "b", 1, v1.RoleBroker))
	w.pass()
	w.settle()
	w.Expect(w.ready()).To(HaveField("Reason", "TargetClusterChangeForbidden"))
	key := client.ObjectKey{Namespace: w.namespace, Name: "data-my-cluster-b-1"}
	err := w.members["west"].Get(t.Context(), key, &corev1.PersistentVolumeClaim{})
	w.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the node would start without its data")
}
