package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// invalidPods are the pod templates of users that Kubernetes rejects.
var invalidPods = map[string]struct {
	edit    func(*v1.KafkaNodePool)
	message string
}{
	"a skew that can't be": {func(p *v1.KafkaNodePool) {
		p.Spec.Template = &v1.KafkaNodePoolTemplate{Pod: &v1.PodTemplate{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			{MaxSkew: 0, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule}}}}
	}, "spec.topologySpreadConstraints[0].maxSkew"},
	"a toleration with an operator that there is not": {func(p *v1.KafkaNodePool) {
		p.Spec.Template = &v1.KafkaNodePoolTemplate{Pod: &v1.PodTemplate{Tolerations: []corev1.Toleration{{Key: "a", Operator: "Is"}}}}
	}, "spec.tolerations[0].operator"},
}

func TestPodsThatKubernetesWouldRefuseReplaceNone(t *testing.T) {
	for name, c := range invalidPods {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
			w.reconcile()
			w.start("pool") // a pod of the same name exists, and the API server must still validate the new one
			w.reconcile()
			before, versions := w.pods("pool"), w.versions()

			pool := w.pool("pool")
			right := pool.Spec.DeepCopy()
			c.edit(pool)
			w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
			w.reconcile()
			w.Expect(w.pods("pool")).To(Equal(before))
			w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "PodInvalid"),
				HaveField("Message", And(ContainSubstring("KafkaNodePool pool"), ContainSubstring(c.message)))))
			w.Expect(w.conditions()).To(ContainElement(And(HaveField("Type", "Stalled"), HaveField("Status", "True"))))
			for key, version := range w.versions() {
				if key != "*v1.KafkaList/my-cluster" && key != "*v1.KafkaNodePoolList/pool" {
					w.Expect(versions).To(HaveKeyWithValue(key, version))
				}
			}

			pool = w.pool("pool")
			pool.Spec = right
			w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
			w.reconcile()
			w.Expect(w.ready()).To(HaveField("Status", "True"))
		})
	}
}

func TestNothingIsMadeOfPodsThatKubernetesWouldRefuse(t *testing.T) {
	for name, c := range invalidPods {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			pool := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
			c.edit(pool)
			w.create(newKafka(), pool)
			w.reconcile()
			for _, list := range []client.ObjectList{&core.StrimziPodSetList{}, &corev1.PersistentVolumeClaimList{}, &corev1.ServiceList{},
				&corev1.SecretList{}} {
				w.Expect(w.k8s.List(t.Context(), list, client.InNamespace(w.namespace))).To(Succeed())
				w.Expect(meta.LenList(list)).To(BeZero(), "%T", list)
			}
			w.Expect(w.ready()).To(And(HaveField("Reason", "PodInvalid"), HaveField("Message", ContainSubstring(c.message))))
		})
	}
}
