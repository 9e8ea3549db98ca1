package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// A stretched Kafka is created again with its pool of brokers in another Kubernetes cluster than their volumes.
func TestVolumesElsewhereAreNotLeftUnusedByAKafkaThatIsCreatedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		pools           []*v1.KafkaNodePool
		reason, message string
	}{
		"the pool is elsewhere": {[]*v1.KafkaNodePool{poolIn("west", "b", 1, v1.RoleBroker)}, "TargetClusterChangeForbidden",
			"KafkaNodePool b has its nodes or volumes in cluster 'east'"},
		"a renamed pool is elsewhere": {[]*v1.KafkaNodePool{poolIn("west", "c", 1, v1.RoleBroker)}, "KafkaStorage",
			"PersistentVolumeClaims data-my-cluster-b-1 belong to an earlier Kafka"},
		"a renamed pool is there": {[]*v1.KafkaNodePool{poolIn("east", "c", 1, v1.RoleBroker)}, "KafkaStorage",
			"PersistentVolumeClaims data-my-cluster-b-1 belong to an earlier Kafka"},
		"the pool is missing": {nil, "KafkaStorage", "PersistentVolumeClaims data-my-cluster-b-1 belong to an earlier Kafka"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.formTwo()
			w.loseStretchedKafka("east")

			w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController))
			for _, pool := range c.pools {
				w.create(pool)
			}
			w.pass()
			w.settle()
			w.Expect(w.ready()).To(And(HaveField("Reason", c.reason), HaveField("Message", ContainSubstring(c.message))))
			for _, id := range []string{"central", "east", "west"} {
				sets := &core.StrimziPodSetList{}
				w.Expect(w.members[id].Client.List(t.Context(), sets, client.InNamespace(w.namespace))).To(Succeed())
				w.Expect(sets.Items).To(BeEmpty(), "its nodes would start without their data")
			}
		})
	}
}

// loseStretchedKafka deletes the Kafka and its pools, as a user does, and what it has at home and in these Kubernetes clusters, as garbage
// collectors do. The volumes have data.
func (w *stretchedWorld) loseStretchedKafka(clusters ...string) {
	w.t.Helper()
	for _, m := range w.members {
		claims := &corev1.PersistentVolumeClaimList{}
		w.Expect(m.Client.List(w.t.Context(), claims, client.InNamespace(w.namespace))).To(Succeed())
		for _, claim := range claims.Items {
			claim.Status.Phase = corev1.ClaimBound
			w.Expect(m.Client.Status().Update(w.t.Context(), &claim)).To(Succeed())
		}
	}
	w.Expect(w.k8s.Delete(w.t.Context(), w.kafka())).To(Succeed())
	w.pass()
	for _, id := range clusters {
		w.collect(id)
	}
	w.pass()
	w.Expect(w.k8s.DeleteAllOf(w.t.Context(), &v1.KafkaNodePool{}, client.InNamespace(w.namespace))).To(Succeed())
	w.collectIn(w.k8s)
}

// A node left the volumes elsewhere, and nobody needs them. One of the same name runs here, whether their cluster is away or not.
func TestVolumesElsewhereThatNobodyNeedsStopNothing(t *testing.T) {
	w := newStretchedWorld(t)
	w.formTwo()
	w.brokers.replicas = map[int32]int{0: 1, 1: 0}
	w.Expect(w.k8s.Delete(t.Context(), w.pool("b"))).To(Succeed())
	w.settle()
	w.endPods("east")
	w.settle()
	removed := func() bool {
		claim := &corev1.PersistentVolumeClaim{}
		w.in("east", claim, "data-my-cluster-b-1")
		return isRemoved(claim)
	}
	w.Expect(removed()).To(BeTrue())
	w.create(poolIn("west", "b", 1, v1.RoleBroker))
	w.settle()
	w.Expect(w.ready()).To(And(HaveField("Reason", "TargetClusterChangeForbidden"), HaveField("Message", HaveSuffix(
		"nobody needs its volumes, delete their PersistentVolumeClaims in cluster 'east'"))))

	w.loseStretchedKafka("east")
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), poolIn("west", "b", 1, v1.RoleBroker))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.in("west", &corev1.PersistentVolumeClaim{}, "data-my-cluster-b-1")
	w.create(poolIn("east", "c", 1, v1.RoleBroker))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(removed()).To(BeTrue())
	w.members["east"].lost = true
	w.pass()
	w.Expect(w.ready()).NotTo(HaveField("Reason", "TargetClusterChangeForbidden"))
}
