package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	kafkamemory "github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/executor"
)

// Strimzi: eventHandlerMetrics.
func TestResourceFiguresFollowTheWatch(t *testing.T) {
	w := newWorld(t, untimed)
	w.start(w.kafka)
	figures := func() []float64 {
		return []float64{w.count("strimzi_resources"), w.count("strimzi_resources_paused")}
	}
	w.create("a")
	w.create("b", pause)
	w.Eventually(figures).Should(Equal([]float64{2, 1}))
	w.Eventually(w.readyNames).Should(Equal([]string{"a"}))
	w.update("a", pause)
	w.Eventually(figures).Should(Equal([]float64{2, 2}))
	w.update("b", resume)
	w.Eventually(figures).Should(Equal([]float64{2, 1}))
	w.delete("a")
	w.Eventually(figures).Should(Equal([]float64{1, 0}))
	w.Eventually(w.readyNames).Should(Equal([]string{"b"}))
	w.delete("b")
	w.Eventually(figures).Should(Equal([]float64{0, 0}))
}

// Strimzi: batchingLoopMetrics.
func TestQueueAndLockFigures(t *testing.T) {
	w := newWorld(t, untimed)
	w.start(w.kafka)
	goOn := make(chan struct{})
	waiting := make(chan struct{}, 10*workers)
	w.kafka.hook(func(context.Context, string, string) error {
		waiting <- struct{}{}
		<-goOn
		return nil
	})
	for i := range workers + 10 {
		w.create(fmt.Sprint("t", i))
	}
	for range workers {
		w.Eventually(waiting).Should(Receive())
	}
	// All workers hold an object. Updates of those objects wait for their locks; the other objects wait for a free worker.
	for i := range workers + 10 {
		w.update(fmt.Sprint("t", i), config("k", `2`))
	}
	w.Eventually(func() float64 { return w.count("strimzi_reconciliations_locked_total") }).Should(BeEquivalentTo(workers))
	w.Eventually(func() float64 { return w.count("strimzi_reconciliations_max_queue_size") }).Should(BeEquivalentTo(workers + 10))
	close(goOn)
	w.Eventually(w.readyNames).Should(HaveLen(workers + 10))
	for i := range workers + 10 {
		w.Expect(w.kafka.config(fmt.Sprint("t", i))).To(Equal(map[string]string{"k": "2"}))
	}
}

// Strimzi: batchingTopicControllerMetrics, batchingLoopMetrics.
func TestPassesBatchesAndTimersAreCounted(t *testing.T) {
	operations := []string{
		executor.OperationDescribeTopics, executor.OperationDescribeConfigs, executor.OperationCreateTopics, executor.OperationAlterConfigs,
		executor.OperationCreatePartitions, executor.OperationListReassignments, executor.OperationDeleteTopics,
	}
	w := newWorld(t, untimed, func(s *setup) { s.metrics.Additional, s.metrics.Operations = true, operations })
	w.start(executor.New(t.Context(), kafkamemory.New(kafkamemory.Options{}).Client("User:operator", nil), w.metrics,
		executor.Options{MaxBatch: 100, Linger: 50 * time.Millisecond, CallTimeout: time.Minute}))
	passes := func() []float64 {
		return []float64{w.count("strimzi_reconciliations_total"), w.count("strimzi_reconciliations_successful_total"),
			w.count("strimzi_reconciliations_failed_total")}
	}
	total, failed := 0.0, 0.0
	step := func(what string, fails bool, do func()) {
		do()
		total++
		if fails {
			failed++
		}
		w.Eventually(passes).Should(Equal([]float64{total, total - failed, failed}), what)
	}
	step("create", false, func() { w.create("a", partitions(1), replicas(1)) })
	step("alter", false, func() { w.update("a", config("retention.ms", `1`)) })
	step("increase", false, func() { w.update("a", partitions(3)) })
	step("decrease", true, func() { w.update("a", partitions(2)) })
	step("back", false, func() { w.update("a", partitions(3)) })
	step("replicas", true, func() { w.update("a", replicas(2)) })
	step("back again", false, func() { w.update("a", replicas(1)) })
	step("unmanage", false, func() { w.update("a", abandon) })
	step("manage", false, func() { w.update("a", manage) })
	step("pause", false, func() { w.update("a", pause) })
	step("resume", false, func() { w.update("a", resume) })
	step("delete", false, func() { w.delete("a") })
	w.Expect(w.count("strimzi_reconciliation_errors_total", "reason="+v1.ReasonNotSupported)).To(BeEquivalentTo(2))
	w.Expect(w.count("strimzi_reconciliations_duration_seconds")).To(Equal(total))
	for _, timer := range append(operations, "add_finalizer", "remove_finalizer", "update_status") {
		w.Expect(w.count("strimzi_"+timer+"_duration_seconds")).To(BeNumerically(">", 0), timer)
	}
	for i := range 10 {
		w.create(fmt.Sprint("t", i))
	}
	w.Eventually(w.readyNames).Should(HaveLen(10))
	w.Expect(w.count("strimzi_reconciliations_max_batch_size")).To(BeNumerically(">", 1))
}

// Without finalizers a deletion is a pass as well, and is counted.
func TestADeletionAfterwardsIsCountedToo(t *testing.T) {
	w := newWorld(t, untimed, withoutFinalizers)
	w.start(w.kafka)
	w.create("a")
	w.Eventually(w.readyNames).Should(HaveLen(1))
	w.delete("a")
	w.Eventually(func() any { return w.kafka.get("a") }).Should(BeNil())
	w.Eventually(func() float64 { return w.count("strimzi_reconciliations_successful_total") }).Should(BeEquivalentTo(2))
}
