//go:build linux

package rollernodes

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/IBM/sarama" //nolint:depguard // the port has no records, and whether clients notice a roll shows by writing some
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// labDialer is the lab's way in for sarama.
type labDialer struct{}

func (labDialer) Dial(network, address string) (net.Conn, error) {
	return lab.DialContext(ctx, network, address)
}

// traffic is records that are written to all partitions, with the acknowledgement of all replicas in sync, and the replicas meanwhile.
type traffic struct {
	end   context.CancelFunc
	ended sync.WaitGroup
	// written and refused count records, and problem is what the last refused one met. lowest is how few replicas any partition had in sync.
	written, refused int
	problem          error
	mu               sync.Mutex
	lowest           int
}

// produce begins to write, and to watch.
func (k *kafkaCluster) produce() *traffic {
	GinkgoHelper()
	config := sarama.NewConfig()
	config.Net.Proxy.Enable, config.Net.Proxy.Dialer = true, labDialer{}
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Retry.Max, config.Producer.Retry.Backoff = 1000, 100*time.Millisecond // as Kafka's own clients try for two minutes
	producer, err := sarama.NewSyncProducer(k.addresses(k.clientPort), config)
	Expect(err).NotTo(HaveOccurred())
	flowCtx, cancel := context.WithCancel(ctx)
	flow := &traffic{end: cancel, lowest: 3}
	flow.ended.Go(func() {
		for i := int32(0); flowCtx.Err() == nil; i++ {
			_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Partition: i % partitions, Value: sarama.StringEncoder("hello")})
			if err != nil {
				flow.refused, flow.problem = flow.refused+1, err
			} else {
				flow.written++
			}
			pause(flowCtx, 20*time.Millisecond)
		}
		flow.problem = errors.Join(flow.problem, producer.Close())
	})
	for _, view := range k.views {
		flow.ended.Go(func() {
			for flowCtx.Err() == nil {
				if n, err := lowestISR(flowCtx, view); err == nil { // who can't be asked does not tell
					flow.saw(n)
				}
				pause(flowCtx, 200*time.Millisecond)
			}
		})
	}
	DeferCleanup(flow.stop) // also when a spec fails before it
	return flow
}

func (f *traffic) saw(inSync int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lowest = min(f.lowest, inSync)
}

// stop ends it, and proves that nobody noticed anything.
func (f *traffic) stop() {
	GinkgoHelper()
	f.end()
	f.ended.Wait()
	Expect(f.problem).NotTo(HaveOccurred())
	Expect(f.refused).To(BeZero(), "records that were refused")
	Expect(f.written).To(BeNumerically(">", 100), "records that were acknowledged")
	Expect(f.lowest).To(BeNumerically(">=", 2), "replicas in sync")
}

// pause waits so long, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
