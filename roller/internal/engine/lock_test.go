package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
)

// While another roller works on the cluster, this one only reports the state. It stores nothing and does nothing.
func TestNothingIsDoneWhileAnotherRollerWorks(t *testing.T) {
	b := newBench(t)
	b.held = fmt.Errorf("%w: x", engine.ErrHeld)
	d, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.did).To(BeEmpty())
	b.Expect(b.saves).To(BeZero())
	b.Expect(b.reports).To(Equal(1))
	b.Expect(d.Nodes[0].Blocks).To(ContainElement(roller.Block{Rule: roller.RulePaused, Why: b.held.Error()}))
	b.Expect(d.Again).To(BeNumerically(">", 0))
	b.held = errors.New("the API server is away")
	_, err = b.engine.Look(t.Context())
	b.Expect(err).To(MatchError(b.held), "nobody knows who works")
	b.held = nil
	_, err = b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.did).To(HaveLen(1))
}

// The nodes of a deleted Kafka may take long to end. Nothing is done meanwhile, which is no failure that each look would report.
func TestADeletedKafkaIsLookedAtQuietly(t *testing.T) {
	b := newBench(t)
	b.held = fmt.Errorf("Lease kafka/my-cluster-roller-leader can't be made: %w", engine.ErrDeleted)
	told := &teller{}
	b.engine.Reports = append(b.engine.Reports, told)
	d, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(told.failures).To(BeEmpty())
	b.Expect(b.did).To(BeEmpty())
	b.Expect(b.saves).To(BeZero())
	b.Expect(d.Nodes[0].Blocks).To(ContainElement(roller.Block{Rule: roller.RulePaused, Why: b.held.Error()}))
	b.Expect(d.Again).To(BeZero(), "changes of its pods and sets cause the next looks")
	b.Expect(b.engine.Run(t.Context(), time.Hour, func(roller.Decision) bool { return false })).To(MatchError(engine.ErrDeleted))
}

// A process that was suspended between its decision and the deletion does nothing: another roller may have started, and the facts are old.
func TestWhoWakesUpDoesNotAct(t *testing.T) {
	b := newBench(t)
	b.lost = errors.New("another roller, x, works on this Kafka cluster")
	_, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.did).To(BeEmpty())
	b.Expect(b.stored.Restarts).To(BeEmpty(), "it is known not to have begun")

	b.lost, b.now = nil, func() time.Time { return b.snapshot.At.Add(6 * time.Second) }
	b.snapshot.From = b.snapshot.At.Add(-time.Second)
	_, err = b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.outcomes[0].Err).To(MatchError("the oldest observed fact is 7s old, and may have changed: at most 5s is allowed"))
	b.snapshot.From = time.Time{}
	b.Expect(b.did).To(BeEmpty())
	b.Expect(b.stored.Restarts).To(BeEmpty())

	b.now = func() time.Time { return b.snapshot.At.Add(5 * time.Second) }
	_, err = b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.did).To(HaveLen(1))
}

// credulous is a lock that takes what it once acquired for its own.
type credulous struct{ engine.Lock }

func (credulous) Verify(context.Context) error { return nil }

// The tests above find a lock that is not verified before each action.
func TestALockThatIsNotVerifiedIsFound(t *testing.T) {
	b := newBench(t)
	b.lost, b.engine.Lock = errors.New("another roller, x, works on this Kafka cluster"), credulous{b}
	_, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.did).NotTo(BeEmpty(), "TestWhoWakesUpDoesNotAct requires that it is empty")
}

// If the facts always take longer to read than they may be old, no look ever acts. Users are told, and the next look tries again.
func TestLooksThatAlwaysComeTooLate(t *testing.T) {
	b := newBench(t)
	b.now = func() time.Time { return b.snapshot.At.Add(6 * time.Second) }
	look := func() roller.Decision {
		d, err := b.engine.Look(t.Context())
		b.Expect(err).NotTo(HaveOccurred())
		return d
	}
	for range 2 {
		b.Expect(look().Phase).To(Equal(roller.PhaseRolling))
	}
	for range 2 {
		d := look()
		b.Expect(d.Phase).To(Equal(roller.PhaseBlocked))
		b.Expect(d.Actions).To(BeEmpty())
		b.Expect(d.Nodes[0].Blocks).To(ContainElement(And(HaveField("Rule", roller.RuleUnknown), HaveField("Why",
			HaveSuffix("came too late: the oldest observed fact is 6s old, and may have changed: at most 5s is allowed")))))
		b.Expect(b.status).To(And(ContainSubstring(`"type":"Blocked"`), ContainSubstring("the oldest observed fact is 6s old")))
		b.Expect(b.stored.Restarts).To(BeEmpty())
	}
	b.now = nil
	b.Expect(look().Phase).To(Equal(roller.PhaseRolling))
	b.Expect(b.did).To(HaveLen(1))
}

// The nodes of a batch are restarted one after another, each on facts that were read after the previous restart
// (docs/decisions/two-rollers.md).
func TestOneNodeIsStoppedALook(t *testing.T) {
	b := newBench(t)
	b.engine.Policy = func(time.Time) roller.Policy {
		p := roller.DefaultPolicy()
		p.MaxUnavailable = 3
		return p
	}
	for n := 1; n <= 3; n++ {
		d, err := b.engine.Look(t.Context())
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(b.did).To(HaveLen(n))
		b.Expect(b.stored.Restarts).To(HaveLen(n))
		b.Expect(d.Again).To(BeNumerically("<=", 2*time.Second))
	}
}

// A pod that can't be deleted does not block the others of its batch.
func TestARefusedDeletionKeepsNoOther(t *testing.T) {
	b := newBench(t)
	b.engine.Policy = func(time.Time) roller.Policy {
		p := roller.DefaultPolicy()
		p.MaxUnavailable = 3
		return p
	}
	b.result, b.err = actuate.NotDone, errors.New("forbidden")
	for n := range roller.NodeID(3) {
		_, err := b.engine.Look(t.Context())
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(b.did).To(HaveLen(int(n) + 1))
		b.Expect(b.did[n].Node).To(Equal(n))
		b.Expect(b.stored.Denied).To(HaveKey(n), "it is asked for again later")
	}
}

// The roller holds the lock from the first look that finds something to do to the last one, so no other roller works in between.
func TestTheLockIsGivenBackWhenAllIsDone(t *testing.T) {
	b := newBench(t)
	_, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.released).To(BeZero())
	for i := range b.snapshot.Nodes {
		b.snapshot.Nodes[i].Revision, b.snapshot.Nodes[i].Instance = roller.Known(roller.Revision{Current: "new", Desired: "new"}),
			roller.Known("second")
	}
	b.snapshot.At = noon.Add(time.Hour)
	for range 2 {
		d, err := b.engine.Look(t.Context())
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(d.Phase).To(Equal(roller.PhaseDone))
	}
	b.Expect(b.released).To(Equal(1), "once")
}

// The engine acts only on nodes that it has verified: the facts verified for node 0 lead to a restart of node 1, so it verifies node 1 as
// well before that restart.
func TestOnlyWhatWasVerifiedIsDone(t *testing.T) {
	b := newBench(t)
	other := b.snapshot
	other.Nodes = slices.Clone(other.Nodes)
	other.Nodes[0].Revision = roller.Known(roller.Revision{Current: "new", Desired: "new"}) // it was restarted meanwhile
	glanced := b.snapshot
	b.engine.Glance = func(context.Context, roller.Awaited) roller.Snapshot { return glanced }
	var all [][]roller.NodeID
	b.engine.Verify = func(_ context.Context, asked roller.Asked) roller.Snapshot {
		all = append(all, asked.Restarts)
		return other
	}
	_, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.did).To(ConsistOf(HaveField("Node", roller.NodeID(1))))
	b.Expect(b.stored.Restarts).NotTo(HaveKey(roller.NodeID(0)))
	b.Expect(all).To(Equal([][]roller.NodeID{{0}, {0, 1}}))
}
