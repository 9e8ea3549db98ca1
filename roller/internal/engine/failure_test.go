package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
)

// teller is told of failures, beside those who are not.
type teller struct{ failures []error }

func (*teller) ReportLook(*roller.Snapshot, roller.Decision, []actuate.Outcome) {}

func (f *teller) Failed(err error) { f.failures = append(f.failures, err) }

func TestALookThatFailsIsTold(t *testing.T) {
	b := newBench(t)
	told := &teller{}
	b.engine.Reports = append(b.engine.Reports, told)
	away, conflict := errors.New("away"), errors.New("conflict")
	b.loadErr = away
	_, err := b.engine.Look(t.Context())
	b.Expect(err).To(MatchError(away))
	b.loadErr, b.saveErr = nil, []error{conflict}
	_, err = b.engine.Look(t.Context())
	b.Expect(err).To(MatchError(conflict))
	b.Expect(told.failures).To(Equal([]error{away, conflict}))
	b.Expect(b.reports).To(BeZero(), "nothing was decided")
	_, err = b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(told.failures).To(HaveLen(2))
	ending, end := context.WithCancel(t.Context())
	end()
	b.loadErr = ending.Err()
	_, err = b.engine.Look(ending)
	b.Expect(err).To(HaveOccurred())
	b.Expect(told.failures).To(HaveLen(2), "an end is no failure")
}

// Where no pod may be listed and Kafka does not answer, nobody is seen. That is not a cluster in which all is done, and what is under way
// is not forgotten.
func TestNobodyToBeSeenIsNoDecision(t *testing.T) {
	b := newBench(t)
	b.snapshot.Nodes = nil
	b.stored = roller.Progress{Restarts: map[roller.NodeID]roller.Restart{1: {Instance: "first", At: noon}}}
	_, err := b.engine.Look(t.Context())
	b.Expect(err).To(MatchError(engine.ErrNoNodes))
	b.Expect(b.saves).To(BeZero())
	b.Expect(b.stored.Restarts).To(HaveLen(1))
}

// A way to Kafka that breaks, or a right that is missing, is no verdict on the configuration: however often it happens, the change is tried
// again.
func TestAChangeThatDidNotReachKafkaIsTriedAgain(t *testing.T) {
	for name, result := range map[string]actuate.Result{"not done": actuate.NotDone, "unclear": actuate.Unclear} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			for i := range b.snapshot.Nodes {
				n := &b.snapshot.Nodes[i]
				n.Revision = roller.Known(roller.Revision{Current: "r", Desired: "r"})
				live := map[string]brokerconfig.Entry{"cordoned.log.dirs": {Value: "/a", Source: brokerconfig.SourceStatic}}
				n.Config = roller.Known(brokerconfig.Config{Desired: map[string]string{"cordoned.log.dirs": "/b"}, Live: live})
			}
			b.result, b.err = result, errors.New("no broker answers")
			for range 10 {
				b.did = nil
				_, err := b.engine.Look(t.Context())
				b.Expect(err).NotTo(HaveOccurred())
				b.Expect(b.did).To(HaveLen(3))
				b.snapshot.At = b.snapshot.At.Add(time.Minute)
			}
			b.result, b.err = actuate.Done, nil // Kafka takes it from now on, and the node never shows it
			tries := 0
			for range 10 {
				b.did = nil
				_, err := b.engine.Look(t.Context())
				b.Expect(err).NotTo(HaveOccurred())
				for _, a := range b.did {
					if a.Kind == roller.ActionReconfigure {
						tries++
					}
				}
				b.snapshot.At = b.snapshot.At.Add(time.Minute)
			}
			b.Expect(tries).To(Equal(9), "three times for each node")
		})
	}
}
