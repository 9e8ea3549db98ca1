package roller

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/twmb/franz-go/pkg/kgo" //nolint:depguard // the port has no records, and a test that none is lost has to write and read some

	"github.com/kafka-operators/kafka-operators/kafka"
)

const (
	recordsTopic = "records"
	minISR       = 2
)

// traffic is a producer as clients have them by default (acks=all, idempotent, two minutes for each record), a consumer in a group, and a watch on the
// replicas in sync, for as long as a roll takes.
type traffic struct {
	end   context.CancelFunc
	ended sync.WaitGroup

	mu sync.Mutex
	// acknowledged is how many records were; refused are the errors of the others.
	acknowledged int
	refused      []error
	// consumed is where each record was read, by its value. A consumer may read it there twice; it must not be in two places.
	consumed map[string]map[string]bool
	failures []error
	// lowest is, by topic, the smallest number of replicas in sync that any partition had; looks is how often they were looked at.
	lowest map[string]int
	looks  int
}

// produce begins.
func (s *scene) produce() *traffic {
	GinkgoHelper()
	two := strconv.Itoa(minISR)
	topic := kafka.NewTopic{Name: recordsTopic, Partitions: 6, ReplicationFactor: 3, Configs: map[string]*string{"min.insync.replicas": &two}}
	created, err := s.admin.CreateTopics(ctx, []kafka.NewTopic{topic}, false)
	Expect(err).NotTo(HaveOccurred())
	Expect(created[recordsTopic].Err).NotTo(HaveOccurred())
	t := &traffic{consumed: map[string]map[string]bool{}, lowest: map[string]int{}}
	var during context.Context
	during, t.end = context.WithCancel(ctx)
	DeferCleanup(func() {
		t.end()
		t.ended.Wait()
	})
	producer, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Bootstrap()...), kgo.DefaultProduceTopic(recordsTopic), kgo.RecordDeliveryTimeout(2*time.Minute))
	Expect(err).NotTo(HaveOccurred())
	consumer, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Bootstrap()...), kgo.ConsumeTopics(recordsTopic), kgo.ConsumerGroup("readers"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(consumer.Close)
	t.ended.Go(func() { t.write(during, producer) })
	go t.read(consumer)
	t.ended.Go(func() { t.watch(during, s) })
	Eventually(func() int { t.mu.Lock(); defer t.mu.Unlock(); return len(t.consumed) }).Should(BeNumerically(">", 10), "it flows")
	return t
}

// write writes until the end, and waits for all answers.
func (t *traffic) write(during context.Context, producer *kgo.Client) {
	defer producer.Close()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for n := 0; during.Err() == nil; n++ {
		producer.Produce(ctx, &kgo.Record{Value: []byte(strconv.Itoa(n))}, func(_ *kgo.Record, err error) {
			t.mu.Lock()
			defer t.mu.Unlock()
			if err != nil {
				t.refused = append(t.refused, err)
			} else {
				t.acknowledged++
			}
		})
		select {
		case <-during.Done():
		case <-tick.C:
		}
	}
	_ = producer.Flush(ctx) // what it could not write it tells by record
}

// read reads until the consumer is closed.
func (t *traffic) read(consumer *kgo.Client) {
	for {
		fetches := consumer.PollFetches(ctx)
		if fetches.IsClientClosed() || ctx.Err() != nil {
			return
		}
		t.mu.Lock()
		fetches.EachError(func(topic string, partition int32, err error) {
			t.failures = append(t.failures, fmt.Errorf("%s-%d: %w", topic, partition, err))
		})
		fetches.EachRecord(func(r *kgo.Record) {
			value := string(r.Value)
			if t.consumed[value] == nil {
				t.consumed[value] = map[string]bool{}
			}
			t.consumed[value][fmt.Sprintf("%d@%d", r.Offset, r.Partition)] = true
		})
		t.mu.Unlock()
	}
}

// watch looks at the replicas in sync of all topics, the internal ones too.
func (t *traffic) watch(during context.Context, s *scene) {
	for during.Err() == nil {
		topics, err := s.admin.ListTopics(during)
		t.mu.Lock()
		if err == nil {
			t.looks++
		}
		for _, topic := range topics {
			for _, p := range topic.Partitions {
				if low, seen := t.lowest[topic.Name]; err == nil && (!seen || len(p.ISR) < low) {
					t.lowest[topic.Name] = len(p.ISR)
				}
			}
		}
		t.mu.Unlock()
		select {
		case <-during.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stop ends the traffic, and proves that nobody noticed anything.
func (t *traffic) stop() {
	GinkgoHelper()
	t.end()
	t.ended.Wait()
	t.mu.Lock()
	acknowledged, lowest := t.acknowledged, t.lowest
	Expect(errors.Join(t.refused...)).NotTo(HaveOccurred(), "records that were refused")
	Expect(t.looks).To(BeNumerically(">", 100), "looks at the replicas in sync")
	t.mu.Unlock()
	Expect(acknowledged).To(BeNumerically(">", 500))
	Eventually(func() int { t.mu.Lock(); defer t.mu.Unlock(); return len(t.consumed) }).Should(Equal(acknowledged), "all records are read")
	t.mu.Lock()
	defer t.mu.Unlock()
	Expect(errors.Join(t.failures...)).NotTo(HaveOccurred(), "the consumer's errors")
	for value, places := range t.consumed {
		Expect(places).To(HaveLen(1), "record %s was written once", value)
	}
	Expect(lowest).To(HaveKey("__consumer_offsets"))
	for topic, low := range lowest {
		Expect(low).To(BeNumerically(">=", minISR), "replicas of %s in sync", topic)
	}
	GinkgoWriter.Printf("%d records were acknowledged and read, none refused; lowest replicas in sync %v in %d looks\n", acknowledged, lowest, t.looks)
}
