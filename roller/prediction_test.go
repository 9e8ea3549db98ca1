package roller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// The duration of a first roll is unknown. Later plans predict it, and a running roll predicts its remaining time.
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

// Before the first restart, a plan judges by how long the present pods took to start, where that is believable. A restart of a node of the
// same kind is better.
func TestHowLongItTakesIsEstimatedFromStarts(t *testing.T) {
	const s, hour = time.Second, time.Hour
	restarts := map[string]roller.Pace{"broker": {Restart: time.Minute, Count: 1}}
	for name, c := range map[string]struct {
		starts    map[roller.NodeID]time.Duration
		restarts  map[string]roller.Pace
		seconds   int64
		estimated bool
	}{
		"nothing is known":             {},
		"the median of each kind":      {map[roller.NodeID]time.Duration{0: 8 * s, 1: 20 * s, 2: 30 * s, 3: 90 * s}, nil, 8 + 3*30, true},
		"one that was ready again":     {map[roller.NodeID]time.Duration{0: 8 * s, 1: 20 * s, 2: 30 * s, 3: 9 * hour}, nil, 8 + 3*30, true},
		"two of which nothing is seen": {map[roller.NodeID]time.Duration{0: 8 * s, 3: 25 * s}, nil, 8 + 3*25, true},
		"no believable one":            {map[roller.NodeID]time.Duration{0: 8 * s, 1: 9 * hour, 2: 9 * hour, 3: 9 * hour}, nil, 0, false},
		"one kind is unknown":          {map[roller.NodeID]time.Duration{1: 20 * s, 2: 20 * s, 3: 20 * s}, nil, 0, false},
		"a restart of one kind":        {map[roller.NodeID]time.Duration{0: 8 * s, 1: 20 * s, 2: 30 * s, 3: 90 * s}, restarts, 8 + 3*60, true},
		"a restart of each kind": {map[roller.NodeID]time.Duration{0: 8 * s, 1: 20 * s, 2: 30 * s, 3: 90 * s},
			map[string]roller.Pace{"broker": {Restart: time.Minute, Count: 1}, "controller": {Restart: 10 * s, Count: 1}}, 10 + 3*60, false},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(controller, 0).with(broker, 1, 2, 3).led(0)
			for id, took := range c.starts {
				sc.node(id).StartTook = took
			}
			sc.progress.Paces = c.restarts
			plan := roller.NewPlan(&sc.s, sc.progress, sc.policy)
			sc.Expect(plan.PredictedSeconds).To(Equal(c.seconds))
			sc.Expect(plan.Estimated).To(Equal(c.estimated))
			at := sc.s.At
			if sc.step(); c.seconds > 0 {
				sc.Expect(sc.last.Expected).To(Equal(at.Add(time.Duration(c.seconds)*time.Second)), "and so does the roll")
			} else {
				sc.Expect(sc.last.Expected).To(BeZero())
			}
		})
	}
}

// With refill, a batch does not wait as a whole until the brokers of the previous one are back.
func TestHowLongARefilledRollTakes(t *testing.T) {
	sc := pairs(t, 6)
	sc.policy.MaxUnavailable = 2 // 0 and 2, 1 and 4, 3 and 5
	sc.progress.Paces = map[string]roller.Pace{"broker": {Restart: time.Minute, Count: 1}}
	sc.steps(2) // at 0 s and 1 s
	sc.ready(2)
	sc.s.At = noon.Add(20 * time.Second)
	sc.progress.Paces["broker"] = roller.Pace{Restart: time.Minute, Count: 1}
	sc.Expect(sc.steps(1)).To(Equal(ids(4)))
	sc.progress.Paces["broker"] = roller.Pace{Restart: time.Minute, Count: 1}
	sc.s.At = noon.Add(30 * time.Second)
	plan := roller.NewPlan(&sc.s, sc.progress, sc.policy)
	sc.Expect(batchesOf(plan)).To(Equal([][]roller.NodeID{ids(1), ids(3, 5)}))
	sc.Expect(plan.PredictedSeconds).To(BeEquivalentTo(30+60+60), "node 4 is back before node 1")
}

// Restarts that take longer than before raise the prediction.
func TestThePaceFollowsTheLastRestarts(t *testing.T) {
	sc := newScene(t).with(broker, 1, 2, 3, 4, 5, 6, 7, 8)
	sc.progress.Paces = map[string]roller.Pace{"broker": {Restart: time.Minute, Count: 4}}
	sc.roll()
	sc.Expect(sc.restarts).To(HaveLen(8))
	sc.Expect(sc.progress.Paces["broker"].Restart).To(BeNumerically("<", 10*time.Second))
	sc.Expect(sc.progress.Paces["broker"].Count).To(Equal(4))
}

// Two restarts that are found complete in the same look change the pace in the order of the nodes, so that the same facts have the same
// result each time.
func TestThePaceIsDeterministic(t *testing.T) {
	sc := pairs(t, 6)
	sc.policy.MaxUnavailable = 2
	sc.steps(2) // at 0 s and 1 s
	sc.ready(0, 2)
	sc.s.At = noon.Add(20 * time.Second)
	paces := map[string]roller.Pace{"broker": {Restart: time.Minute, Count: 4}}
	sc.progress.Paces = paces
	first := roller.Step(&sc.s, sc.progress, sc.policy).Progress.Paces
	sc.Expect(first).NotTo(Equal(paces))
	for range 50 {
		sc.Expect(roller.Step(&sc.s, sc.progress, sc.policy).Progress.Paces).To(Equal(first))
	}
}
