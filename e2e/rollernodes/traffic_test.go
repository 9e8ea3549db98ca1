//go:build linux

package rollernodes

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/e2e/traffic"
)

// flow is a flow of records that are written and read, with the smallest number of in-sync replicas of any partition meanwhile.
type flow struct {
	records *traffic.Traffic
	once    sync.Once
	end     context.CancelFunc
	ended   sync.WaitGroup
	mu      sync.Mutex
	lowest  int
}

// produce starts to write, to read, and to watch.
func (k *kafkaCluster) produce() *flow {
	GinkgoHelper()
	records, err := traffic.Start(ctx, traffic.Options{
		Bootstrap: k.addresses(k.clientPort), Dial: lab.DialContext, Topic: topic, Group: "readers", Every: 20 * time.Millisecond,
	})
	Expect(err).NotTo(HaveOccurred())
	watchCtx, cancel := context.WithCancel(ctx)
	f := &flow{records: records, end: cancel, lowest: 3}
	for _, view := range k.views {
		f.ended.Go(func() {
			for watchCtx.Err() == nil {
				if n, err := lowestISR(watchCtx, view); err == nil { // ignore brokers that do not respond
					f.saw(n)
				}
				pause(watchCtx, 200*time.Millisecond)
			}
		})
	}
	DeferCleanup(f.stop) // also if a spec fails earlier
	return f
}

func (f *flow) saw(inSync int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lowest = min(f.lowest, inSync)
}

// stop ends the flow, and checks that no client noticed anything.
func (f *flow) stop() {
	GinkgoHelper()
	stopCtx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	report := f.records.Stop(stopCtx)
	f.end()
	f.ended.Wait()
	f.once.Do(func() { acknowledged += len(report.Acknowledged) })
	Expect(report.Err()).NotTo(HaveOccurred())
	Expect(len(report.Acknowledged)).To(BeNumerically(">", 100), "records that were acknowledged")
	Expect(f.lowest).To(BeNumerically(">=", 2), "replicas in sync")
}

// pause waits for a duration, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
