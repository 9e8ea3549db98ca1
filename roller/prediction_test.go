package roller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// Nobody can tell how long a first roll takes. From then on a plan says so, and what is left of a roll is known while it goes on.
func TestHowLongItTakesIsLearned(t *testing.T) {
	sc := newScene(t).with(controller, 0).with(broker, 1, 2, 3).led(0)
	sc.policy.Settle = 10 * time.Second
	plan := func() int64 { return roller.NewPlan(&sc.s, sc.progress, sc.policy).PredictedSeconds }
	sc.Expect(plan()).To(BeZero())
	sc.step()
	sc.Expect(sc.last.Expected).To(BeZero(), "nothing is known yet")
	sc.Expect(sc.roll()).To(Equal(ids(0, 1, 2, 3)))
	sc.progress = restored(t, sc.progress)
	sc.Expect(sc.progress.Paces).To(HaveKey("controller"))
	sc.Expect(sc.progress.Paces["broker"].Count).To(Equal(3))

	sc.progress.Paces = map[string]roller.Pace{"controller": {Restart: 20 * time.Second, Count: 1}, "broker": {Restart: time.Minute, Count: 3}}
	for _, id := range ids(0, 1, 2, 3) {
		sc.node(id).Revision = roller.Known(roller.Revision{Current: "new", Desired: "newer"})
	}
	sc.s.At = sc.s.At.Add(time.Hour)
	sc.Expect(plan()).To(BeEquivalentTo(20 + 10 + 60 + 10 + 60 + 10 + 60))
	at := sc.s.At
	sc.step()
	sc.Expect(sc.last.Expected).To(Equal(at.Add((20 + 10 + 60 + 10 + 60 + 10 + 60) * time.Second)))
	sc.policy.MaxUnavailable = 3
	sc.topics(topicOf("t", 1, ids(1), nil), topicOf("u", 1, ids(2), nil), topicOf("v", 1, ids(3), nil))
	sc.Expect(plan()).To(BeEquivalentTo(60), "all three together; the controller is back")
}

// Restarts that take longer than they used to become what is expected.
func TestThePaceFollowsTheLastRestarts(t *testing.T) {
	sc := newScene(t).with(broker, 1, 2, 3, 4, 5, 6, 7, 8)
	sc.progress.Paces = map[string]roller.Pace{"broker": {Restart: time.Minute, Count: 4}}
	sc.roll()
	sc.Expect(sc.restarts).To(HaveLen(8))
	sc.Expect(sc.progress.Paces["broker"].Restart).To(BeNumerically("<", 10*time.Second))
	sc.Expect(sc.progress.Paces["broker"].Count).To(Equal(4))
}
