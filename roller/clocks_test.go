package roller_test

import (
	"reflect"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// A roller on a machine whose clock is an hour ahead stored a restart, and crashed before it. Its successor finds out as soon as with equal
// clocks that the restart never began.
func TestTheJournalOfAClockThatIsAhead(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1)
	ahead := sc.s
	ahead.At = noon.Add(time.Hour)
	sc.progress = restored(t, roller.Step(&ahead, roller.Progress{}, sc.policy).Progress)
	sc.Expect(sc.progress.Restarts).To(HaveLen(1))
	sc.Expect(sc.step().Actions).To(BeEmpty(), "it may have begun")
	sc.s.At = sc.s.At.Add(31 * time.Second)
	sc.Expect(sc.step().Actions).To(ConsistOf(HaveField("Node", roller.NodeID(0))))
}

// No time of the progress lies in the future after a step.
func TestNoTimeOfTheProgressLiesInTheFuture(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).with(controller, 5).led(5)
	later := noon.Add(time.Hour)
	at := map[roller.NodeID]time.Time{0: later}
	stored := roller.Progress{
		Restarts: map[roller.NodeID]roller.Restart{0: {Instance: "first", At: later, Ready: later, Improved: later,
			Before: &roller.Restart{Instance: "zeroth", At: later, Ready: later, Improved: later}}},
		Waiting: map[roller.NodeID]time.Time{5: later}, Alterations: map[roller.NodeID]roller.Alteration{0: {At: later}},
		Refusals: []brokerconfig.Refusal{{Key: "num.io.threads", Last: later}},
		Denied:   map[roller.NodeID]roller.Denial{0: {Instance: "first", At: later, Since: later, Times: 1}},
		Failing:  at, Leaderless: later, Witnessed: later, Back: later, Elected: later,
		Returned: map[roller.NodeID]roller.Return{1: {At: later}}, Ring: &roller.Ring{Since: later},
	}
	var future func(v reflect.Value, path string) []string
	future = func(v reflect.Value, path string) (all []string) {
		if at, is := v.Interface().(time.Time); is {
			if at.After(noon) {
				return []string{path}
			}
			return nil
		}
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				return future(v.Elem(), path)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				all = append(all, future(v.Field(i), path+"."+v.Type().Field(i).Name)...)
			}
		case reflect.Map:
			for _, key := range v.MapKeys() {
				all = append(all, future(v.MapIndex(key), path)...)
			}
		case reflect.Slice:
			for i := range v.Len() {
				all = append(all, future(v.Index(i), path)...)
			}
		}
		return all
	}
	before := future(reflect.ValueOf(stored), "")
	sc.Expect(before).To(HaveLen(18), "of all times: %v", before)
	sc.Expect(future(reflect.ValueOf(roller.Step(&sc.s, stored, sc.policy).Progress), "")).To(BeEmpty())
	sc.Expect(future(reflect.ValueOf(stored), "")).To(Equal(before), "a progress is immutable")
}

// A roller that was off for the night does not take it for the time that a restart takes, wherever it stopped.
func TestTimeInWhichNobodyLooksIsNoRestart(t *testing.T) {
	for name, behind := range map[string]bool{"before the node was ready": false, "while it caught up": true} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(broker, 0, 1).beside(7).current(1)
			isr := topicOf("t", 1, ids(7, 0), ids(7, 0))
			sc.topics(isr)
			sc.after = func(n *roller.Node) { n.Ready = roller.Known(behind) }
			sc.step()
			sc.Expect(sc.restarts).To(Equal(ids(0)))
			sc.topics(topicOf("t", 1, ids(7, 0), ids(7)))
			sc.step()
			sc.node(0).Ready, sc.node(0).ReadyChanged = roller.Known(true), sc.s.At
			sc.topics(isr)
			sc.s.At = sc.s.At.Add(8 * time.Hour)
			sc.step()
			sc.Expect(sc.progress.Restarts).To(BeEmpty())
			sc.Expect(sc.progress.Paces).To(BeEmpty())
		})
	}
}

// A look may take minutes if a Kubernetes cluster is slow. The roller looks all that time, so evidence counts from look to look.
func TestLooksThatTakeLongAreNoGap(t *testing.T) {
	for name, c := range map[string]struct {
		takes, pause time.Duration // how long a look takes, and the pause after it
		goes         bool
	}{
		"slow looks":               {3 * time.Minute, 10 * time.Second, true},
		"nobody looks in between":  {0, 3 * time.Minute, false},
		"slow looks, long between": {3 * time.Minute, 2 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(controller, 3, 4, 5).led(-1)
			for range 10 {
				sc.s.Began, sc.s.At = sc.s.At.Add(c.pause), sc.s.At.Add(c.pause+c.takes)
				sc.s.From = sc.s.At // the last of several observations
				if sc.step(); len(sc.restarts) > 0 {
					break
				}
			}
			goes := len(sc.restarts) > 0
			sc.Expect(goes).To(Equal(c.goes))
		})
	}
}

// Nor does it take it for the time that a controller has waited: the brokers still restart after the controllers.
func TestTimeInWhichNobodyLooksIsNoPatience(t *testing.T) {
	sc := newScene(t).with(controller, 3, 4).with(broker, 0).led(4)
	healthy := sc.s.Quorum
	sc.s.Quorum = roller.Unknown[roller.Quorum]("timed out")
	sc.step()
	sc.Expect(sc.progress.Waiting).To(HaveLen(2))
	sc.s.At = sc.s.At.Add(8 * time.Hour)
	sc.step()
	sc.Expect(sc.restarts).To(BeEmpty())
	sc.s.Quorum = healthy
	sc.led(4)
	sc.Expect(sc.roll()).To(Equal(ids(3, 4, 0)))
}
