package roller

import (
	"context"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
)

const (
	recordsTopic = "records"
	minISR       = 2
)

// flow is a flow of records that are written and read during a roll, with a watch of the in-sync replicas.
type flow struct {
	records *traffic.Traffic
	end     context.CancelFunc
	ended   sync.WaitGroup
	// lowest maps each topic to the smallest number of in-sync replicas of any partition. looks is the number of checks.
	lowest map[string]int
	looks  int
}

// produce starts the flow.
func (s *scene) produce() *flow {
	GinkgoHelper()
	two := strconv.Itoa(minISR)
	topic := kafka.NewTopic{Name: recordsTopic, Partitions: 6, ReplicationFactor: 3, Configs: map[string]*string{"min.insync.replicas": &two}}
	created, err := s.admin.CreateTopics(ctx, []kafka.NewTopic{topic}, false)
	Expect(err).NotTo(HaveOccurred())
	Expect(created[recordsTopic].Err).NotTo(HaveOccurred())
	f := &flow{lowest: map[string]int{}}
	f.records, err = traffic.Start(ctx, traffic.Options{Bootstrap: s.kafka.Bootstrap(), Topic: recordsTopic, Group: "readers"})
	Expect(err).NotTo(HaveOccurred())
	var during context.Context
	during, f.end = context.WithCancel(ctx)
	f.ended.Go(func() { f.watch(during, s) })
	DeferCleanup(func() {
		f.end()
		f.ended.Wait()
		f.records.Stop(during) // the context has ended
	})
	Eventually(func() int { return f.records.Progress().Read }).Should(BeNumerically(">", 10), "it flows")
	return f
}

// watch checks the in-sync replicas of all topics, including internal ones.
func (f *flow) watch(during context.Context, s *scene) {
	for during.Err() == nil {
		topics, err := s.admin.ListTopics(during)
		if err == nil {
			f.looks++
		}
		for _, topic := range topics {
			for _, p := range topic.Partitions {
				if low, seen := f.lowest[topic.Name]; err == nil && (!seen || len(p.ISR) < low) {
					f.lowest[topic.Name] = len(p.ISR)
				}
			}
		}
		select {
		case <-during.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stop ends the traffic, and checks that no client noticed anything.
func (f *flow) stop() {
	GinkgoHelper()
	f.end()
	f.ended.Wait()
	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	report := f.records.Stop(waiting)
	Expect(report.Err()).NotTo(HaveOccurred())
	Expect(len(report.Acknowledged)).To(BeNumerically(">", 500))
	Expect(f.looks).To(BeNumerically(">", 100), "looks at the replicas in sync")
	Expect(f.lowest).To(HaveKey("__consumer_offsets"))
	for topic, low := range f.lowest {
		Expect(low).To(BeNumerically(">=", minISR), "replicas of %s in sync", topic)
	}
	GinkgoWriter.Printf("%d records were acknowledged and read, none refused, the slowest after %s; lowest replicas in sync %v in %d looks\n",
		len(report.Acknowledged), report.Longest, f.lowest, f.looks)
}
