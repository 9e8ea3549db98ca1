package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// Kafka 4.3 tells its log directories of a cordon when that changes, and not when it starts.
func TestABrokerThatIgnoresItsCordonSinceItsStartTakesItOverAgain(t *testing.T) {
	w := newWorld(t)
	w.brokers.metadata = 30 // 4.3-IV0
	pool := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
	pool.Spec.Storage = jbod(0, 1)
	w.createAndStart(newKafka(), pool)
	w.reconcile() // the operator learns the metadata version
	const name, cordon = "my-cluster-pool-0", "\ncordoned.log.dirs="
	cordoned := ContainSubstring(cordon + dirOf(0, 1) + "\n")
	w.get(pool, "pool")
	pool.Spec.Storage = jbod(0)
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	reports := func(replicas int, cordoned bool) {
		w.brokers.dirs = map[int32][]kafka.LogDir{0: {{Path: dirOf(0, 0)}, {Path: dirOf(0, 1), Replicas: replicas, Cordoned: cordoned}}}
	}
	applied := func(config string) {
		pod := &corev1.Pod{}
		w.get(pod, name)
		w.reportConfigured(map[string]string{string(pod.UID): core.ConfigHash(config)})
	}

	reports(3, false)
	w.reconcile()
	w.Expect(w.config(name)).To(cordoned)
	w.reconcile()
	w.Expect(w.config(name)).To(cordoned, "the broker has not applied it yet")
	w.start("pool") // with the cordon, which it ignores
	w.reconcile()
	w.Expect(w.config(name)).To(ContainSubstring(cordon + "\n"))
	w.reconcile()
	w.Expect(w.config(name)).To(ContainSubstring(cordon+"\n"), "the broker has not applied it yet")
	applied(w.config(name))
	w.reconcile()
	w.Expect(w.config(name)).To(cordoned)
	w.reconcile()
	w.Expect(w.config(name)).To(cordoned, "the broker has not applied it yet")
	applied(w.config(name))
	reports(3, true)
	w.reconcile()
	w.Expect(w.config(name)).To(cordoned)
	w.Expect(w.conditions()).To(blockedBy("volume 1 of broker 0 holds 3 replicas"))
	reports(0, true)
	w.reconcile()
	w.Expect(w.config(name)).NotTo(ContainSubstring("data-1"))
}
