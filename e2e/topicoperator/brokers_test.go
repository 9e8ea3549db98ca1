package topicoperator

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// Specs that need several brokers. They share a cluster of three, and restore it.
var _ = Describe("With three brokers", Ordered, func() {
	var three *broker
	BeforeAll(func() {
		three = startBrokers(realkafka.Options{Brokers: 3, Config: map[string]string{
			"auto.create.topics.enable": "false",
			// How long a broker waits for a controller that hangs before it tries the next one. Changes cannot be faster; the default of 30 s would
			// only make the spec longer.
			"controller.socket.timeout.ms": "5000",
		}})
	})

	stageThree := func(name string, env settings) *scene {
		GinkgoHelper()
		namespace := newNamespace()
		return stageIn(startOperator(setup{name: name, namespaces: namespace, kafka: three, env: env}), namespace)
	}
	// controller returns the broker that is the active controller: its loss has the largest effect.
	controller := func() int32 {
		GinkgoHelper()
		var leader int32
		Eventually(func(g Gomega) {
			quorum, err := three.admin.DescribeQuorum(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			leader = quorum.Leader
			g.Expect(leader).To(BeNumerically(">=", 0))
		}).Should(Succeed())
		return leader
	}
	// whole waits until all brokers are unfenced.
	whole := func() {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			cluster, err := three.admin.DescribeCluster(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			serving := slices.DeleteFunc(cluster.Brokers, func(n kafka.Node) bool { return n.Fenced })
			g.Expect(serving).To(HaveLen(3))
		}).WithPolling(slowly).Should(Succeed())
	}

	It("more replicas than brokers are refused until the object asks for what there is", func() {
		s := stageThree("too-many", nil)
		kt := s.create("t", replicas(4))
		s.refused(kt, "KafkaError", "InvalidReplicationFactorException: ")
		s.update(kt, replicas(3))
		s.ready(kt)
		Expect(three.topic(kt.Name).Partitions[0].Replicas).To(HaveLen(3))
	})

	It("shouldAccountForReassigningPartitionsNoRfChange: ready during a reassignment and after it", func() {
		s := stageThree("reassigning", settings{"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "500"})
		kt := s.created("t", replicas(2))
		here := three.topic(kt.Name).Partitions[0].Replicas
		other := slices.DeleteFunc(three.BrokerIDs(), func(id int32) bool { return slices.Contains(here, id) })[0]
		// Enough data, and a sufficiently low throttle, for the move to last until the spec ends it.
		_, err := three.Tool(ctx, "ProducerPerformance", "--bootstrap-server", strings.Join(three.Bootstrap(), ","),
			"--topic", kt.Name, "--num-records", "2000", "--record-size", "10000", "--throughput", "-1")
		Expect(err).NotTo(HaveOccurred())
		plan := filepath.Join(GinkgoT().TempDir(), "plan.json")
		text := fmt.Sprintf(`{"version":1,"partitions":[{"topic":%q,"partition":0,"replicas":[%d,%d]}]}`, kt.Name, other, here[0])
		Expect(os.WriteFile(plan, []byte(text), 0o600)).To(Succeed())
		move := func(args ...string) {
			GinkgoHelper()
			_, err := three.Tool(ctx, "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
				append([]string{"--bootstrap-server", strings.Join(three.Bootstrap(), ","), "--reassignment-json-file", plan}, args...)...)
			Expect(err).NotTo(HaveOccurred())
		}
		moving := func() int {
			GinkgoHelper()
			moves, err := three.admin.ListReassignments(ctx, []string{kt.Name})
			Expect(err).NotTo(HaveOccurred())
			return len(moves)
		}
		where := func() []int32 { GinkgoHelper(); return three.topic(kt.Name).Partitions[0].Replicas }
		passes := func() float64 { return s.metric("strimzi_reconciliations_total") }

		move("--execute", "--throttle", "10000")
		// Brokers receive the change one after the other.
		Eventually(moving).Should(Equal(1))
		Eventually(where).Should(HaveLen(3))
		Eventually(three.settings).WithArguments(kt.Name).Should(HaveKey("leader.replication.throttled.replicas"))
		since, before := s.requests("ListPartitionReassignments"), passes()
		Eventually(passes).Should(BeNumerically(">=", before+3))
		Expect(s.requests("ListPartitionReassignments")).To(BeNumerically(">", since), "the operator asked what moves")
		Expect(moving()).To(Equal(1), "it still moves")
		s.ready(kt)
		Expect(three.settings(kt.Name)).To(HaveKey("leader.replication.throttled.replicas"), "the throttle of whoever moves partitions")

		move("--execute", "--additional", "--throttle", "1000000000")
		Eventually(moving).Should(BeZero())
		Eventually(where).Should(ConsistOf(here[0], other))
		move("--verify") // removes the throttle
		before = passes()
		Eventually(passes).Should(BeNumerically(">=", before+3))
		s.ready(kt)
		Expect(s.metric("strimzi_reconciliations_failed_total")).To(BeZero())
		Expect(s.events(kt)).To(HaveLen(1), "the creation's")
	})

	It("a broker that hangs, the active controller, does not hold changes up for long", func() {
		const n = 20
		s := stageThree("hung", nil)
		s.createAll(n, replicas(3))
		s.allReady(n, time.Minute)
		deleted := s.topic("t0000")
		hung := controller()
		func() {
			Expect(three.Suspend(hung)).To(Succeed())
			defer func() { Expect(three.Resume(hung)).To(Succeed()) }()
			each(n-1, func(i int) {
				defer GinkgoRecover()
				s.update(s.topic(name("t", i+1)), config("retention.ms", `1000000`), partitions(2))
			})
			each(n, func(i int) {
				defer GinkgoRecover()
				s.create(name("new", i), replicas(2))
			})
			s.delete(deleted)
			s.allReady(2*n-1, time.Minute)
		}()
		whole()
		for i := range n - 1 {
			kt := s.topic(name("t", i+1))
			Eventually(three.partitions).WithArguments(kt.Name).Should(Equal(2))
			Eventually(three.settings).WithArguments(kt.Name).Should(Equal(map[string]string{"retention.ms": "1000000"}))
		}
		s.inStep()
	})

	It("kill -9 of the active controller during 500 creations, and its return: all are ready, none is there twice, none is lost", func() {
		const n = 500
		s := stageThree("killed", nil)
		victim := controller()
		var progress int
		done := make(chan struct{})
		go func() {
			defer GinkgoRecover()
			defer close(done)
			s.createAll(n/2, replicas(1))
			each(n/2, func(i int) {
				defer GinkgoRecover()
				s.create(name("two", i), replicas(2))
			})
		}()
		Eventually(func() int {
			progress = 0
			for _, kt := range s.list() {
				if isReady(&kt) {
					progress++
				}
			}
			return progress
		}).Should(BeNumerically(">=", 50))
		Expect(three.Kill(victim)).To(Succeed())
		Expect(progress).To(BeNumerically("<", n), "the crash came in the midst of it")
		Eventually(done).Should(BeClosed())
		Expect(three.StartNode(ctx, victim)).To(Succeed())
		whole()
		s.allReady(n, 2*time.Minute)
		s.inStep()
		for _, kt := range s.list() {
			Expect(kt.Finalizers).To(Equal([]string{v1.FinalizerTopicOperator}))
		}
	})
})
