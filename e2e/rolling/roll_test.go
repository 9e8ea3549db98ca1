package rolling

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

const minISR = "2"

// traffic is records that are written, and what they meet, for as long as a roll takes.
type traffic struct {
	end   context.CancelFunc
	ended sync.WaitGroup
	// output is the producer's; lowest is the smallest number of replicas in sync that any partition had.
	output string
	lowest int
}

// produce writes records with acks=all, as fast as a small machine likes, and watches the replicas.
func (w *world) produce() *traffic {
	two := minISR
	created, err := w.admin.CreateTopics(w.t.Context(), []kafka.NewTopic{{Name: "records", Partitions: 6, ReplicationFactor: 3, Configs: map[string]*string{"min.insync.replicas": &two}}}, false)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(created["records"].Err).NotTo(HaveOccurred())
	// The tool does not try again by itself, which clients do.
	config := filepath.Join(w.t.TempDir(), "producer.properties")
	w.Expect(os.WriteFile(config, []byte("retries=2147483647\n"), 0o600)).To(Succeed())
	ctx, cancel := context.WithCancel(w.t.Context())
	flow := &traffic{end: cancel, lowest: 3}
	flow.ended.Go(func() {
		flow.output, _ = w.kafka.Tool(ctx, "VerifiableProducer", "--topic", "records", "--acks", "-1", "--throughput", "100", "--max-messages", "-1", "--producer.config", config)
	})
	flow.ended.Go(func() {
		for ctx.Err() == nil {
			topics, err := w.admin.ListTopics(ctx)
			for _, topic := range topics {
				for _, p := range topic.Partitions {
					if err == nil && topic.Name == "records" {
						flow.lowest = min(flow.lowest, len(p.ISR))
					}
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return flow
}

// stop ends it, and proves that nothing was refused or lost.
func (w *world) stop(flow *traffic) {
	flow.end()
	flow.ended.Wait()
	written, failed := strings.Count(flow.output, `"producer_send_success"`), strings.Count(flow.output, `"producer_send_error"`)
	w.Expect(failed).To(BeZero(), "records that were refused: %s", regexp.MustCompile(`.*producer_send_error.*`).FindString(flow.output))
	w.Expect(written).To(BeNumerically(">", 100), "records that were acknowledged")
	out, err := w.kafka.Tool(w.t.Context(), "GetOffsetShell", "--topic", "records")
	w.Expect(err).NotTo(HaveOccurred())
	stored := 0
	for _, m := range regexp.MustCompile(`records:\d+:(\d+)`).FindAllStringSubmatch(out, -1) {
		n, err := strconv.Atoi(m[1])
		w.Expect(err).NotTo(HaveOccurred())
		stored += n
	}
	w.Expect(stored).To(BeNumerically(">=", written), "records that are still there")
	w.Expect(flow.lowest).To(BeNumerically(">=", 2), "replicas in sync")
	w.t.Logf("%d records acknowledged, none refused, %d stored; never fewer than %d replicas in sync", written, stored, flow.lowest)
}

// leader is the active controller.
func (w *world) leader() int32 {
	q, err := w.admin.DescribeQuorum(w.t.Context())
	w.Expect(err).NotTo(HaveOccurred())
	return q.Leader
}

// Seed 002 on real Kafka: followers, the active controller, brokers; each once; and nobody who writes or reads notices (goal G21).
func TestARollOfControllersAndBrokers(t *testing.T) {
	w := newWorld(t, realkafka.Options{Brokers: 3, Controllers: 3})
	flow := w.produce()
	out, exit := w.roller("plan")
	w.Expect(exit).To(Equal(0), out)
	w.Expect(out).To(ContainSubstring("Nothing is to be done: 6 nodes are as they are to be."))

	w.outdate()
	leader := w.leader()
	out, exit = w.roller("plan", "--max-unavailable=3")
	w.Expect(exit).To(Equal(3), out)
	w.Expect(out).To(ContainSubstring("6 of 6 nodes are to be restarted, in 6 batches (at least 6 are needed"), "all brokers have replicas of one partition")
	out, exit = w.roller("roll", "--max-unavailable=3", "--limit=5m")
	w.Expect(exit).To(Equal(0), out)
	order := w.restarted()
	followers := slices.DeleteFunc([]int32{3, 4, 5}, func(id int32) bool { return id == leader })
	w.Expect(order).To(HaveLen(6), out)
	w.Expect(slices.Sorted(slices.Values(order))).To(Equal([]int32{0, 1, 2, 3, 4, 5}), "each once")
	w.Expect(slices.Sorted(slices.Values(order[:3]))).To(Equal([]int32{3, 4, 5}), "controllers first")
	if order[2] == leader { // else another one was elected meanwhile, and went last
		w.Expect(order[:2]).To(Equal(followers))
	}
	w.Expect(order[3:]).To(Equal([]int32{0, 1, 2}))
	out, exit = w.roller("plan")
	w.Expect(exit).To(Equal(0), out)
	w.stop(flow)
}

func TestARollOfCombinedNodes(t *testing.T) {
	w := newWorld(t, realkafka.Options{Brokers: 3})
	flow := w.produce()
	w.outdate()
	out, exit := w.roller("roll", "--limit=5m")
	w.Expect(exit).To(Equal(0), out)
	w.Expect(slices.Sorted(slices.Values(w.restarted()))).To(Equal([]int32{0, 1, 2}), out)
	w.stop(flow)

	t.Run("a pause, a hold and a manual rolling update", func(t *testing.T) {
		w.WithT = NewWithT(t)
		w.annotate(&corev1.ConfigMap{}, cluster+"-roller", v1.AnnotationPauseReconciliation, "true")
		w.annotate(&corev1.Pod{}, name(1), podset.AnnotationManualRollingUpdate, "true")
		out, exit := w.roller("roll", "--limit=1m")
		w.Expect(exit).To(Equal(4), out)
		w.Expect(out).To(ContainSubstring("blocked  Paused: ConfigMap default/my-cluster-roller is annotated"))
		w.annotate(&corev1.ConfigMap{}, cluster+"-roller", v1.AnnotationPauseReconciliation, "false")
		w.annotate(&corev1.Pod{}, name(1), podset.AnnotationHold, "ann replaces a disk")
		out, exit = w.roller("explain", "1")
		w.Expect(exit).To(Equal(4), out)
		w.Expect(out).To(ContainSubstring("blocked  Hold: it is annotated with kafka-operators.io/hold: ann replaces a disk"))
		w.annotate(&corev1.Pod{}, name(1), podset.AnnotationHold, "false")
		out, exit = w.roller("roll", "--limit=2m")
		w.Expect(exit).To(Equal(0), out)
		w.Expect(w.restarted()).To(HaveLen(4))
		w.Expect(w.restarted()[3]).To(BeEquivalentTo(1))
	})

	t.Run("a configuration that is taken up without a restart, and one that is refused", func(t *testing.T) {
		w.WithT = NewWithT(t)
		for id := range int32(3) {
			w.configure(id, "log.cleaner.threads=2")
		}
		out, exit := w.roller("roll", "--limit=2m")
		w.Expect(exit).To(Equal(0), out)
		w.Expect(out).To(ContainSubstring("reconfigured without a restart: log.cleaner.threads of all brokers"))
		for id := range int32(3) {
			w.configure(id, "num.io.threads=1000") // Kafka at most doubles it while it runs
		}
		out, exit = w.roller("roll", "--limit=2m")
		w.Expect(exit).To(Equal(4), out)
		w.Expect(out).To(ContainSubstring("because Kafka refuses it"))
		w.Expect(w.restarted()).To(HaveLen(4), "no node was restarted for either")
	})
}

// What is not the roller's own is left alone, and nothing is done without a journal.
func TestAJournalThatSomebodyElseMade(t *testing.T) {
	w := newWorld(t, realkafka.Options{})
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster + "-roller"}, Data: map[string]string{"a": "b"}}
	w.Expect(w.k8s.Create(t.Context(), foreign)).To(Succeed())
	w.outdate()
	out, exit := w.roller("roll", "--limit=20s")
	w.Expect(exit).To(Equal(1), out)
	w.Expect(out).To(ContainSubstring("ConfigMap default/my-cluster-roller is where the journal would be, and is left alone: it was not made by a roller"))
	w.Expect(w.restarted()).To(BeEmpty())
	w.annotate(foreign, foreign.Name, "x", "y")
	w.Expect(foreign.Data).To(Equal(map[string]string{"a": "b"}))
}
