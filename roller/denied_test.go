package roller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// deny lets each deletion of these pods fail from now on, in the given way. It returns how often each was requested.
func (sc *scene) deny(how func(p roller.Progress, id roller.NodeID) roller.Progress, nodes ...roller.NodeID) map[roller.NodeID]int {
	asked, before := map[roller.NodeID]int{}, map[roller.NodeID]roller.Node{}
	for _, id := range nodes {
		before[id] = *sc.node(id)
	}
	sc.after = func(n *roller.Node) {
		if old, denied := before[n.ID]; denied {
			*n = old
			asked[n.ID]++
			sc.restarts = sc.restarts[:len(sc.restarts)-1]
			sc.progress = how(sc.progress, n.ID)
		}
	}
	return asked
}

// Nobody waits for ever for a controller that can't be restarted because the API server does not delete its pod, whether it rejects that or
// fails: brokers after the patience, and other controllers not at all. It is told, and tried again less and less often.
func TestAControllerWhosePodIsNotDeleted(t *testing.T) {
	for name, how := range map[string]func(sc *scene) func(p roller.Progress, id roller.NodeID) roller.Progress{
		"rejected": func(sc *scene) func(p roller.Progress, id roller.NodeID) roller.Progress {
			return func(p roller.Progress, id roller.NodeID) roller.Progress {
				return p.Deny(id, sc.s.At, "a webhook fails")
			}
		},
		"unclear": func(*scene) func(p roller.Progress, id roller.NodeID) roller.Progress {
			return func(p roller.Progress, id roller.NodeID) roller.Progress { return p.Unclear(id, "a webhook fails") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(broker, 0, 1).with(controller, 3, 4, 5).led(5)
			asked := sc.deny(how(sc), 3, 4)
			for range 3600 {
				sc.step()
				sc.progress = restored(t, sc.progress)
				if len(sc.restarts) > 0 {
					sc.Expect(sc.s.At.Sub(noon)).To(BeNumerically(">=", sc.policy.Patience))
				}
			}
			sc.Expect(sc.restarts).To(Equal(ids(5, 0, 1)))
			for _, id := range ids(3, 4) {
				sc.Expect(asked[id]).To(And(BeNumerically(">=", 12), BeNumerically("<=", 20)), "in one hour")
				sc.Expect(sc.of(id).Blocks[0].Why).To(HavePrefix("a webhook fails; the roller tries again at "))
			}
			sc.Expect(sc.blocked(3)).To(Equal([]roller.Rule{roller.RuleDenied}))
			sc.Expect(sc.last.Phase).To(Equal(roller.PhaseBlocked))

			sc.after = nil
			sc.Expect(sc.roll()).To(Equal(ids(5, 0, 1, 3, 4)))
			sc.Expect(sc.progress.Denied).To(BeEmpty())
		})
	}
}

// Attempts on controllers whose restart is denied again and again do not begin the wait for another controller anew.
func TestAControllerThatIsUnknownBesideOnesWhosePodsAreNotDeleted(t *testing.T) {
	sc := newScene(t).with(controller, 3, 4, 5, 6, 7).led(5)
	lost := sc.node(6)
	lost.Instance, lost.Ready = roller.Unknown[string]("timed out"), roller.Unknown[bool]("timed out")
	lost.Requests = []roller.Reason{{Kind: roller.ManualRollingUpdate, Mark: "now"}}
	sc.deny(func(p roller.Progress, id roller.NodeID) roller.Progress { return p.Unclear(id, "a webhook fails") }, 3, 4)
	for range 3600 {
		sc.step()
	}
	sc.Expect(sc.restarts).To(Equal(ids(7, 5)))
}

// If the request for a restart was not answered, and the pod ends after all, nothing was denied.
func TestADeletionThatSucceedsAfterAll(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1)
	d := roller.Step(&sc.s, sc.progress, sc.policy)
	sc.progress = d.Progress.Unclear(0, "timed out")
	sc.node(0).Terminating, sc.node(0).Deleted = true, sc.s.At
	sc.s.At = sc.s.At.Add(time.Minute)
	sc.Expect(sc.step().Actions).To(BeEmpty())
	sc.Expect(sc.progress.Denied).To(BeEmpty())
	sc.node(0).Terminating, sc.node(0).Instance = false, roller.Known("second")
	sc.current(0)
	sc.Expect(sc.roll()).To(Equal(ids(1)))
}
