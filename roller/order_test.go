package roller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// docs/decisions/restart-order.md. The names and expectations are those of Strimzi's KafkaRollerTest, except that unready nodes go by
// ascending id (there: descending).
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(sc *scene)
		want []roller.NodeID
	}{
		{"testRollWithNoController", func(sc *scene) { sc.with(broker, 0, 1, 2, 3, 4) }, ids(0, 1, 2, 3, 4)},
		{"testRollWithPod2AsActiveController", func(sc *scene) { sc.with(combined, 0, 1, 2, 3, 4).led(2) }, ids(0, 1, 3, 4, 2)},
		{"testRollWithControllerAndBrokers", func(sc *scene) { sc.with(broker, 0, 1, 2).with(controller, 3, 4, 5).led(3) },
			ids(4, 5, 3, 0, 1, 2)},
		{"testRollWithAllRoles", func(sc *scene) { sc.with(broker, 0, 1, 2).with(combined, 3, 4, 5).with(controller, 6, 7, 8).led(6) },
			ids(3, 4, 5, 7, 8, 6, 0, 1, 2)},
		{"testRollUnreadyPodFirstAllRoles", func(sc *scene) {
			sc.with(broker, 0, 1, 2).with(combined, 3, 4, 5).with(controller, 6, 7, 8).led(8).unready(time.Hour, 1, 4, 7)
		}, ids(4, 7, 3, 5, 6, 8, 1, 0, 2)},
		{"testSuccessfulRollingControllers", func(sc *scene) { sc.with(combined, 0, 1, 2).with(controller, 3, 4, 5).led(5) },
			ids(0, 1, 2, 3, 4, 5)},
		{"testRollWithDisconnectedBrokerPodNames", func(sc *scene) { sc.with(combined, 10, 200, 30, 400, 500).led(30) },
			ids(10, 200, 400, 500, 30)},
		{"the active controller is last also if it is not ready", func(sc *scene) { sc.with(combined, 0, 1, 2).led(1).unready(time.Hour, 1) },
			ids(0, 2, 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			sc := newScene(t)
			c.make(sc)
			sc.Expect(sc.roll()).To(Equal(c.want))
			sc.Expect(sc.last.Phase).To(Equal(roller.PhaseDone))
		})
	}
}

// Checklist 5: a leader that is elected during the roll is restarted last.
func TestALeaderElectedOnTheWayIsTheLast(t *testing.T) {
	sc := newScene(t).with(combined, 0, 1, 2, 3, 4).led(4)
	sc.after = func(n *roller.Node) {
		if n.ID == 0 {
			sc.led(1)
		}
	}
	sc.Expect(sc.roll()).To(Equal(ids(0, 2, 3, 4, 1)))
}

// Checklist 7 and 8: an annotation restarts a node that is up to date, once.
func TestAManualRollingUpdateRestartsOnce(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).current(0, 1, 2)
	for _, id := range ids(0, 2) {
		sc.node(id).Requests = []roller.Reason{{Kind: roller.ManualRollingUpdate, Mark: "set"}}
	}
	sc.Expect(sc.roll()).To(Equal(ids(0, 2)))
	sc.Expect(sc.of(0).Repeated).To(HaveLen(1), "the annotation is still there")
	sc.Expect(sc.of(0).Need).To(Equal(roller.NeedNothing))
	sc.node(0).Requests = nil // the request is removed, and made again
	sc.step()
	sc.node(0).Requests = []roller.Reason{{Kind: roller.ManualRollingUpdate, Mark: "set"}}
	sc.Expect(sc.roll()).To(Equal(ids(0, 2, 0)))
}
