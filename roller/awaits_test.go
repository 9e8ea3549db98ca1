package roller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
)

// Less is read while nothing can be done before a restart is complete. A broker that waits for anything else may go at any moment.
func TestADecisionThatAwaitsRestarts(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).slowly(time.Minute)
	sc.topics(topicOf("t", 1, ids(0, 1, 2), ids(0, 1, 2)))
	sc.Expect(sc.step().Awaits()).To(Equal(roller.AwaitsAnything), "something is done")
	sc.Expect(sc.step().Awaits()).To(Equal(roller.AwaitsNodes))
	sc.policy.MaxUnavailable = 3
	sc.topics(topicOf("t", 2, ids(0, 1, 2), ids(1, 2)))
	sc.Expect(sc.step().Awaits()).To(Equal(roller.AwaitsAnything), "replicas may be in sync at any moment")
	sc.node(1).Hold, sc.policy.MaxUnavailable = "ann looks at it", 1
	sc.Expect(sc.step().Awaits()).To(Equal(roller.AwaitsNodes))
	sc.current(0, 1, 2).node(0).Instance = roller.Known("another")
	sc.slowly(0)
	sc.roll()
	sc.Expect(sc.last.Awaits()).To(Equal(roller.AwaitsNothing))
}
