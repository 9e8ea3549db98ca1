package controller

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

func TestTheOperatorsOwnWritesAskForNoPass(t *testing.T) {
	const n = 50
	w := newWorld(t, untimed)
	w.start(w.kafka)
	for i := range n {
		w.create(fmt.Sprint("t", i))
	}
	w.Eventually(w.readyNames).Should(HaveLen(n))
	w.Consistently(func(g Gomega) {
		g.Expect(w.kafka.asks(describeCall, "")()).To(Equal(n), "one pass each")
		g.Expect(w.requests.all()).To(HaveLen(2*n), "a finalizer and a status each")
	}).Should(Succeed())
	w.Expect(w.kafka.asks(createCall, "")()).To(Equal(n))
	w.Expect(w.count("strimzi_reconciliations_total")).To(BeEquivalentTo(n))
	w.Expect(w.count("strimzi_reconciliations_successful_total")).To(BeEquivalentTo(n))
	w.Expect(w.count("strimzi_reconciliations_locked_total")).To(BeZero(), "the operator does not stand in its own way")
	w.Expect(w.logged.took()).To(BeEmpty())
}

func TestWhatAsksForAPass(t *testing.T) {
	w := newWorld(t, untimed)
	w.start(w.kafka)
	w.create("a")
	w.Eventually(w.readyNames).Should(HaveLen(1))
	passes := w.kafka.asks(describeCall, "a")
	want := 1
	for _, c := range []struct {
		name string
		do   func()
		asks bool
	}{
		{"specification", func() { w.update("a", config("k", `1`)) }, true},
		{"label", func() { w.update("a", label("l", "1")) }, true},
		{"annotation", func() { w.update("a", annotation("a", "1")) }, true},
		{"finalizer taken away", func() { w.update("a", finalizers()) }, true},
		{"another's finalizer", func() { w.update("a", finalizers(v1.FinalizerTopicOperator, "example.org/other")) }, false},
		{"status", func() {
			w.status("a", func(s *v1.KafkaTopicStatus) {
				s.ReplicasChange = &v1.ReplicasChangeStatus{State: v1.ReplicasChangePending}
			})
		}, false},
		{"deletion", func() { w.delete("a") }, true},
	} {
		c.do()
		if c.asks {
			want++
		}
		w.Eventually(passes).Should(Equal(want), c.name)
		w.Consistently(passes, 100*time.Millisecond).Should(Equal(want), c.name)
	}
	w.Expect(w.kafka.get("a")).To(BeNil())
	w.update("a", finalizers())
	w.Eventually(func() bool { return w.exists("a") }).Should(BeFalse())
}

func TestTimedPassesAreSpreadAndKeepTheInterval(t *testing.T) {
	const n, every = 30, 1500 * time.Millisecond
	w := newWorld(t, func(s *setup) { s.Interval, s.Now = every, time.Now })
	var mu sync.Mutex
	passes := map[string][]time.Time{}
	w.kafka.hook(func(_ context.Context, call, name string) error {
		mu.Lock()
		defer mu.Unlock()
		if call == describeCall {
			passes[name] = append(passes[name], time.Now())
		}
		return nil
	})
	for i := range n {
		w.create(fmt.Sprint("t", i))
	}
	w.start(w.kafka)
	w.Eventually(w.readyNames).Should(HaveLen(n))
	seen := func(times int) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			for _, p := range passes {
				if len(p) < times {
					return false
				}
			}
			return true
		}
	}
	w.Eventually(seen(2)).Should(BeTrue()) // by now the watch delivered the operator's own writes
	writes := len(w.requests.all())
	w.Eventually(seen(4)).Should(BeTrue())
	w.Expect(w.requests.all()).To(HaveLen(writes), "a converged set writes nothing")

	mu.Lock()
	defer mu.Unlock()
	phases := map[time.Duration]int{}
	for name, times := range passes {
		for i := 1; i < len(times); i++ {
			// The bound leaves room for a busy machine; if a pass were skipped, the time would be two intervals.
			w.Expect(times[i].Sub(times[i-1])).To(BeNumerically("<", every*19/10), name)
		}
		phases[time.Duration(times[3].UnixNano())%every/(every/10)]++
	}
	w.Expect(len(phases)).To(BeNumerically(">=", 5), "of ten parts of the interval: %v", phases)
}

func TestResourcesOfTwoNamespacesOfThree(t *testing.T) {
	a := admin(t)
	one, two, three := newNamespace(t, a), newNamespace(t, a), newNamespace(t, a)
	w := newWorld(t, untimed, func(s *setup) { s.metrics.Namespaces = []string{one, two} })
	w.start(w.kafka, func(o *manager.Options) {
		o.Cache = cache.Options{DefaultNamespaces: map[string]cache.Config{one: {}, two: {}}}
	})
	for _, ns := range []string{one, two, three} {
		w.ns = ns
		w.create("in-" + ns)
	}
	for _, ns := range []string{one, two} {
		w.ns = ns
		w.Eventually(w.readyNames).Should(Equal([]string{"in-" + ns}))
		w.Expect(w.kafka.get("in-" + ns)).NotTo(BeNil())
		w.Expect(w.count("strimzi_resources", "namespace="+ns)).To(BeEquivalentTo(1))
		w.Eventually(func() float64 { return w.count("strimzi_reconciliations_successful_total", "namespace="+ns) }).Should(BeEquivalentTo(1))
	}
	w.ns = three
	w.Consistently(func() any { return w.kafka.get("in-" + three) }).Should(BeNil())
	w.Expect(w.get("in-" + three)).To(And(haveConditions(), claim("", "")))
	w.Expect(w.count("strimzi_resources", "namespace="+three)).To(BeZero())
}

func TestOfTwoOperatorsOneActsAndTheOtherTakesOver(t *testing.T) {
	const n = 10
	first := newWorld(t, untimed)
	second := newWorld(t, untimed)
	second.ns, second.kafka = first.ns, first.kafka
	election := func(o *manager.Options) {
		retry, lease, renew := 200*time.Millisecond, 15*time.Second, 10*time.Second
		o.LeaderElection, o.LeaderElectionID, o.LeaderElectionNamespace, o.LeaderElectionReleaseOnCancel = true, "topic-operator", first.ns, true
		o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = &lease, &renew, &retry
	}
	stop := first.start(first.kafka, election)
	first.Eventually(first.r.elected).Should(BeTrue())
	second.start(second.kafka, election)
	for i := range n {
		first.create(fmt.Sprint("a", i))
	}
	first.Eventually(first.readyNames).Should(HaveLen(n))
	first.Expect(second.requests.all()).To(BeEmpty())
	first.Expect(second.r.elected()).To(BeFalse())
	first.Expect(first.count("strimzi_resources")).To(BeEquivalentTo(n))
	first.Expect(second.count("strimzi_resources")).To(BeZero(), "a standby does not count what the leader counts")

	stop()
	writes := len(first.requests.all())
	for i := range n {
		first.create(fmt.Sprint("b", i))
	}
	first.Eventually(first.readyNames).Should(HaveLen(2 * n))
	first.Expect(first.requests.all()).To(HaveLen(writes))
	first.Expect(writes).To(Equal(2 * n))
	first.Eventually(func() float64 { return second.count("strimzi_reconciliations_total") }).Should(BeEquivalentTo(2*n),
		"it looks at all of them")
	first.Expect(second.count("strimzi_resources")).To(BeEquivalentTo(2 * n))
	first.Expect(second.requests.all()).To(HaveLen(2*n), "and writes for the new ones only")
	first.Expect(first.kafka.asks(createCall, "")()).To(Equal(2*n), "nothing is done twice")
	first.Expect(first.kafka.asks(alterCall, "")()).To(BeZero())
}

// Strimzi's system tests: create-delete-create.
func TestATopicIsMadeAndDeletedManyTimes(t *testing.T) {
	w := newWorld(t, untimed)
	w.start(w.kafka)
	for i := range int64(10) {
		w.create("a", partitions(i+1))
		w.Eventually(w.readyNames).Should(Equal([]string{"a"}))
		w.Expect(w.kafka.partitions("a")).To(BeEquivalentTo(i + 1))
		w.delete("a")
		w.Eventually(func() bool { return w.exists("a") }).Should(BeFalse())
		w.Expect(w.kafka.get("a")).To(BeNil())
	}
	w.Expect(w.kafka.asks(createCall, "")()).To(Equal(10))
	w.Expect(w.logged.took()).To(BeEmpty())
}

// When the operator stops, workers that wait for Kafka return at once.
func TestTheOperatorEndsWhileKafkaHangs(t *testing.T) {
	w := newWorld(t, untimed)
	stop := w.start(w.kafka)
	waiting := w.kafka.hang(describeCall)
	w.create("a")
	w.Eventually(waiting).Should(Receive())
	began := time.Now()
	stop()
	w.Expect(time.Since(began)).To(BeNumerically("<", 5*time.Second))
	w.Expect(w.get("a")).To(haveConditions())
	w.Expect(w.logged.took()).To(BeEmpty())
}

func TestSetupRefusesWhatCannotWork(t *testing.T) {
	w := newWorld(t)
	mgr, err := manager.New(w.config(), manager.Options{Scheme: scheme})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.r.SetupWithManager(t.Context(), mgr, 0)).To(MatchError(ContainSubstring("at least one worker (0)")))
	w.r.options.Interval = 0
	w.Expect(w.r.SetupWithManager(t.Context(), mgr, 1)).To(MatchError(ContainSubstring("a positive interval (0s)")))
}
