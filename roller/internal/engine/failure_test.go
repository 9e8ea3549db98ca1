package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
)

// teller records failures; other reporters may not implement Failed.
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

// reconfigure has each node need a change of its configuration, and nothing else.
func (b *bench) reconfigure() {
	for i := range b.snapshot.Nodes {
		n := &b.snapshot.Nodes[i]
		n.Revision = roller.Known(roller.Revision{Current: "r", Desired: "r"})
		live := map[string]brokerconfig.Entry{"cordoned.log.dirs": {Value: "/a", Source: brokerconfig.SourceStatic}}
		n.Config = roller.Known(brokerconfig.Config{Desired: map[string]string{"cordoned.log.dirs": "/b"}, Live: live})
	}
}

// A change that was not sent, because its facts were too old or the Lease was lost, is made at the next look: it is not taken for one whose
// result has to be waited for.
func TestAChangeThatWasNotSentIsNotRecorded(t *testing.T) {
	b := newBench(t)
	b.reconfigure()
	b.lost = errors.New("another roller has the Lease")
	_, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.stored.Alterations).To(BeEmpty())

	b.lost, b.verified = nil, 0
	b.now = func() time.Time { return b.snapshot.At.Add(time.Minute) }
	_, err = b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.stored.Alterations).To(BeEmpty())
	b.Expect(b.did).To(BeEmpty())
	b.Expect(b.outcomes).To(HaveLen(1), "the facts of the others are as old")
	b.Expect(b.verified).To(BeZero(), "the Lease is of no interest then")

	b.now = nil
	_, err = b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.did).To(HaveLen(3), "at once")
	b.Expect(b.stored.Alterations).To(HaveLen(3))
}

// A roll that may not write its journal or its Lease can't get far by trying again.
func TestARollWithoutTheRightsEnds(t *testing.T) {
	b := newBench(t)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "my-cluster-roller-leader", errors.New("no"))
	b.held = fmt.Errorf("Lease kafka/my-cluster-roller-leader can't be taken: %w", forbidden)
	b.Expect(b.engine.Run(t.Context(), time.Hour, func(roller.Decision) bool { return false })).To(MatchError(forbidden))
	b.Expect(b.did).To(BeEmpty())
}

// runs runs the engine in virtual time. Each look calls before, and the run ends after three good looks.
func (b *bench) runs(t *testing.T, before func(since time.Duration)) (took time.Duration, err error) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		b.engine.Now, b.now = time.Now, nil
		good := 0
		observe := b.engine.Observe
		b.engine.Observe = func(ctx context.Context) roller.Snapshot {
			before(time.Since(began))
			s := observe(ctx)
			s.At = time.Now()
			return s
		}
		err = b.engine.Run(t.Context(), time.Second, func(roller.Decision) bool { good++; return good == 3 })
		took = time.Since(began)
	})
	return took, err
}

// An API server that has just started rejects requests until it knows its roles.
func TestARejectionInTheMiddleOfARollIsRetried(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "my-cluster-roller-leader", errors.New("no"))
	for name, c := range map[string]struct {
		lasts, away time.Duration
		want        error
	}{
		"a moment":                        {10 * time.Second, 0, nil},
		"a moment, after it was away":     {10 * time.Second, time.Minute, nil},
		"the right was taken away":        {time.Hour, 0, forbidden},
		"it was taken away while it went": {time.Hour, time.Minute, forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			took, err := b.runs(t, func(since time.Duration) {
				switch b.held = nil; {
				case since == 0 || since >= c.away+c.lasts:
				case since < c.away:
					b.held = errors.New("connection refused")
				default:
					b.held = forbidden
				}
			})
			if c.want == nil {
				b.Expect(err).NotTo(HaveOccurred())
			} else {
				b.Expect(err).To(MatchError(c.want))
			}
			b.Expect(took).To(BeNumerically("<", c.away+100*time.Second))
		})
	}
}

// Pods that nobody may list look like a cluster without nodes.
func TestARollThatSeesNobodyForLongEnds(t *testing.T) {
	for lasts, ends := range map[time.Duration]bool{time.Minute: false, time.Hour: true} {
		b := newBench(t)
		all := b.snapshot.Nodes
		took, err := b.runs(t, func(since time.Duration) {
			if b.snapshot.Nodes = all; since > 0 && since < lasts {
				b.snapshot.Nodes = nil
			}
		})
		if ends {
			b.Expect(err).To(MatchError(engine.ErrNoNodes))
			b.Expect(took).To(BeNumerically("~", roller.DefaultPolicy().Patience, time.Minute))
		} else {
			b.Expect(err).NotTo(HaveOccurred())
		}
	}
}

// If pods can't be listed and Kafka does not respond, no node is seen. That is not a finished roll, and restarts under way are not
// forgotten.
func TestNobodyToBeSeenIsNoDecision(t *testing.T) {
	b := newBench(t)
	b.snapshot.Nodes = nil
	b.stored = roller.Progress{Restarts: map[roller.NodeID]roller.Restart{1: {Instance: "first", At: noon}}}
	_, err := b.engine.Look(t.Context())
	b.Expect(err).To(MatchError(engine.ErrNoNodes))
	b.Expect(b.saves).To(BeZero())
	b.Expect(b.stored.Restarts).To(HaveLen(1))
}

// A lost connection to Kafka or a missing right is no rejection of a configuration: the change is retried however often it fails.
func TestAChangeThatDidNotReachKafkaIsTriedAgain(t *testing.T) {
	for name, result := range map[string]actuate.Result{"not done": actuate.NotDone, "unclear": actuate.Unclear} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.reconfigure()
			b.result, b.err = result, errors.New("no broker answers")
			for range 10 {
				b.did = nil
				_, err := b.engine.Look(t.Context())
				b.Expect(err).NotTo(HaveOccurred())
				b.Expect(b.did).To(HaveLen(3))
				b.snapshot.At = b.snapshot.At.Add(time.Second)
				d, err := b.engine.Look(t.Context())
				b.Expect(err).NotTo(HaveOccurred())
				b.Expect(d.Phase).To(Equal(roller.PhaseBlocked))
				b.Expect(d.Nodes[2].Blocks).To(ConsistOf(And(HaveField("Rule", roller.RuleDenied),
					HaveField("Why", HavePrefix("the last attempt to change its configuration failed: no broker answers; the roller tries again at ")))))
				b.snapshot.At = b.snapshot.At.Add(time.Minute)
			}
			b.result, b.err = actuate.Done, nil // from now on Kafka accepts the change, but the node never reports it
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

// A slow look is no gap between looks. One in which the process was suspended is.
func TestASlowLookIsNoGap(t *testing.T) {
	for takes, noted := range map[time.Duration]bool{3 * time.Minute: true, 8 * time.Hour: false} {
		b := newBench(t)
		b.engine.Longest = 6 * time.Minute
		b.snapshot.Nodes[1].Failing = "it refuses connections"
		now := noon
		b.now = func() time.Time { return now }
		b.engine.Observe = func(context.Context) roller.Snapshot {
			now = now.Add(takes)
			b.snapshot.At, b.snapshot.From = now, now.Add(-time.Second)
			return b.snapshot
		}
		for range 2 {
			_, err := b.engine.Look(t.Context())
			b.Expect(err).NotTo(HaveOccurred())
		}
		b.Expect(b.stored.Failing[1].Before(now)).To(Equal(noted), takes.String())
	}
}
