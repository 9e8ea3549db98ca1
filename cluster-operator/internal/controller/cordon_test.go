package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// cordonedWorld is a world with one broker whose volume 1 is to be removed.
type cordonedWorld struct{ *world }

const cordonedPod, cordonLine = "my-cluster-pool-0", "\ncordoned.log.dirs="

func newCordonedWorld(t *testing.T) cordonedWorld {
	w := cordonedWorld{newWorld(t)}
	w.brokers.metadata = 30 // 4.3-IV0
	pool := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
	pool.Spec.Storage = jbod(0, 1)
	w.createAndStart(newKafka(), pool)
	w.reconcile() // the operator learns the metadata version
	w.get(pool, "pool")
	pool.Spec.Storage = jbod(0)
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	return w
}

// said is what the broker says of volume 1.
func said(replicas int, cordoned bool) map[int32][]kafka.LogDir {
	return map[int32][]kafka.LogDir{0: {{Path: dirOf(0, 0)}, {Path: dirOf(0, 1), Replicas: replicas, Cordoned: cordoned}}}
}

// applied has the roller report that a broker runs with its configuration.
func (w *world) applied(name string) {
	w.t.Helper()
	pod := &corev1.Pod{}
	w.get(pod, name)
	w.reportConfigured(map[string]string{string(pod.UID): core.ConfigHash(w.config(name))})
}

// expectCordon reconciles, and checks the cordon in the configuration of the broker.
func (w cordonedWorld) expectCordon(there bool, why ...any) {
	w.t.Helper()
	w.reconcile()
	cordon := ""
	if there {
		cordon = dirOf(0, 1)
	}
	w.Expect(w.config(cordonedPod)).To(ContainSubstring(cordonLine+cordon+"\n"), why...)
}

// Kafka 4.3 tells its log directories of a cordon when that changes, and not when it starts.
func TestABrokerThatIgnoresItsCordonSinceItsStartTakesItOverAgain(t *testing.T) {
	w := newCordonedWorld(t)
	w.brokers.dirs = said(3, false)
	w.expectCordon(true)
	w.expectCordon(true, "the broker has not applied it yet")
	w.start("pool") // with the cordon, which it ignores
	w.expectCordon(false)
	w.expectCordon(false, "the broker has not applied it yet")
	w.applied(cordonedPod)
	w.expectCordon(true)
	w.expectCordon(true, "the broker has not applied it yet")
	w.applied(cordonedPod)
	w.brokers.dirs = said(3, true)
	w.expectCordon(true)
	w.Expect(w.conditions()).To(blockedBy("volume 1 of broker 0 holds 3 replicas"))
	w.brokers.dirs = said(0, true)
	w.reconcile()
	w.Expect(w.config(cordonedPod)).NotTo(ContainSubstring("data-1"))
}

// The answer of a slow broker may be of before it applied its configuration.
func TestACordonIsTakenAwayOnlyIfTheBrokerIgnoresItNow(t *testing.T) {
	w := newCordonedWorld(t)
	w.brokers.earlier, w.brokers.dirs = said(3, false), said(3, true)
	w.expectCordon(true)
	w.applied(cordonedPod)
	w.expectCordon(true)
	w.brokers.dirs = said(3, false)
	w.expectCordon(false)
}

// slowBrokers take longer to answer than a pass waits: a later pass gets the answer.
type slowBrokers struct {
	*brokers
	asked, answered map[string]bool
}

func (b slowBrokers) LogDirs(ctx context.Context, to Connection, ids []int32) (map[int32][]kafka.LogDir, error) {
	what := fmt.Sprint(ids)
	if !to.Anew && !b.answered[what] {
		b.asked[what] = true
		return nil, &SilentError{errors.New("it is slow"), time.Second, false}
	}
	delete(b.answered, what)
	return b.brokers.LogDirs(ctx, to, ids)
}

// The step that asks whether the volume is empty asks the same, and gets the answer first.
func TestASlowBrokerThatIgnoresItsCordonTakesItOverAgain(t *testing.T) {
	w := newCordonedWorld(t)
	w.brokers.dirs = said(3, false)
	slow := slowBrokers{w.brokers, map[string]bool{}, map[string]bool{}}
	w.r.Kafka = slow
	w.expectCordon(true)
	w.applied(cordonedPod)
	for range 3 {
		maps.Copy(slow.answered, slow.asked)
		clear(slow.asked)
		w.reconcile()
	}
	w.Expect(w.config(cordonedPod)).To(ContainSubstring(cordonLine + "\n"))
}

// Where a broker never takes its cordon over, its configuration does not change all the time.
func TestACordonIsNotTakenAwayAgainForAWhile(t *testing.T) {
	w := newCordonedWorld(t)
	w.brokers.dirs = said(3, false)
	w.expectCordon(true)
	w.applied(cordonedPod)
	renewed := func() {
		w.t.Helper()
		w.expectCordon(false)
		w.applied(cordonedPod)
		w.expectCordon(true)
		w.applied(cordonedPod)
	}
	renewed()
	w.expectCordon(true, "it was taken away a moment ago")
	w.now = w.now.Add(renewAgain + time.Second)
	renewed()
	w.expectCordon(true)
	pod := &corev1.Pod{}
	w.get(pod, cordonedPod)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "kafka", RestartCount: 1}}
	w.Expect(w.k8s.Status().Update(t.Context(), pod)).To(Succeed())
	renewed() // a container that started again ignores it for another reason
}

// A broker that leaves ignores its cordon as well after it restarted, and would get new replicas.
func TestABrokerThatLeavesTakesItsCordonOverAgain(t *testing.T) {
	w := newWorld(t)
	w.brokers.metadata = 30 // 4.3-IV0
	pool := nodePool("pool", 2, v1.RoleBroker)
	w.createAndStart(newKafka(), nodePool("controllers", 1, v1.RoleController), pool)
	w.reconcile() // the operator learns the metadata version
	w.brokers.replicas = map[int32]int{0: 1, 1: 1, 2: 1}
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 1 })
	w.reconcile()
	leaves := slices.Max(w.pool("pool").Status.NodeIDs)
	name := fmt.Sprintf("my-cluster-pool-%d", leaves)
	cordon := func(want string) {
		w.t.Helper()
		w.reconcile()
		w.Expect(w.config(name)).To(ContainSubstring(cordonLine + want + "\n"))
	}
	says := func(cordoned bool) {
		w.brokers.dirs = map[int32][]kafka.LogDir{
			leaves: {{Path: "a", Cordoned: true}, {Path: "b", Cordoned: cordoned}, {Path: "c", Failed: true}}}
	}
	cordon("*")
	says(false)
	cordon("*")
	w.start("pool") // with the cordon, which it ignores
	says(true)
	cordon("*")
	says(false)
	cordon("")
	cordon("")
	w.applied(name)
	cordon("*")
	w.applied(name)
	says(true)
	cordon("*")
	w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 2 })
	says(false)
	w.reconcile()
	w.Expect(w.config(name)).NotTo(ContainSubstring(cordonLine))
}
