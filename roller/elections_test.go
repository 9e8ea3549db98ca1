package roller_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// ledByLast returns a topic with these partitions, each led by its last replica.
func ledByLast(replicas ...[]roller.NodeID) roller.Topic {
	t := roller.Topic{Name: "t", MinISR: roller.Known(1)}
	for i, ids := range replicas {
		t.Partitions = append(t.Partitions, roller.Partition{Index: int32(i), Replicas: ids, ISR: ids, Leader: ids[len(ids)-1]})
	}
	return t
}

// elections returns the elections of a decision, by node.
func elections(d roller.Decision) map[roller.NodeID]map[string][]int32 {
	all := map[roller.NodeID]map[string][]int32{}
	for _, a := range d.Actions {
		if a.Kind == roller.ActionElectLeaders {
			all[a.Node] = a.Partitions
		}
	}
	return all
}

// Brokers that are back lead their partitions again as soon as no other one is restarted. Partitions that prefer other leaders stay.
func TestABrokerThatIsBackLeadsItsPartitionsAgain(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).topics(ledByLast([]roller.NodeID{0, 1}, []roller.NodeID{1, 0}, []roller.NodeID{0, 1}))
	sc.Expect(elections(sc.step())).To(BeEmpty(), "nobody was restarted yet")
	sc.Expect(sc.restarts).To(Equal([]roller.NodeID{0}))
	sc.Expect(elections(sc.step())).To(BeEmpty(), "it has just started, and the next one is restarted now")
	sc.Expect(sc.restarts).To(Equal([]roller.NodeID{0, 1}))
	sc.topics(ledByLast([]roller.NodeID{0, 1}, []roller.NodeID{1, 0}, []roller.NodeID{0, 1}))
	sc.Expect(elections(sc.step())).To(Equal(map[roller.NodeID]map[string][]int32{0: {"t": {0, 2}}, 1: {"t": {1}}}))
	sc.topics(ledByLast([]roller.NodeID{0}))
	sc.roll()
	sc.Expect(sc.last.Phase).To(Equal(roller.PhaseDone))
	sc.Expect(sc.progress.Returned).To(BeEmpty())
}

// In a long roll, brokers that came back do not wait until its end: a later restart brings them their partitions.
func TestABrokerThatHasBeenBackForAMinuteLeads(t *testing.T) {
	for back, elected := range map[time.Duration]int{59 * time.Second: 0, time.Minute: 1} {
		sc := newScene(t).with(broker, 0, 1, 2).current(0).topics(ledByLast([]roller.NodeID{0, 1}))
		sc.progress.Returned = map[roller.NodeID]roller.Return{0: {At: sc.s.At.Add(-back)}}
		d := sc.step()
		sc.Expect(elections(d)).To(HaveLen(elected))
		sc.Expect(sc.restarts).To(HaveLen(1))
		if elected > 0 {
			sc.Expect(d.Actions[0].Kind).To(Equal(roller.ActionElectLeaders), "elections come first")
		}
	}
}

// The cases in which leaders are not moved. The next restart does not wait for them.
func TestLeadersThatStayWhereTheyAre(t *testing.T) {
	for name, change := range map[string]func(sc *scene){
		"the policy says so": func(sc *scene) { sc.policy.NoElections = true },
		"the user has switched balancing off": func(sc *scene) {
			sc.node(0).Config = roller.Known(brokerconfig.Config{Desired: map[string]string{"auto.leader.rebalance.enable": "false"}})
		},
		"the user has switched balancing off, in other words": func(sc *scene) {
			sc.node(0).Config = roller.Known(brokerconfig.Config{Desired: map[string]string{"auto.leader.rebalance.enable": " False "}})
		},
		"the broker's pod is being deleted": func(sc *scene) { sc.node(0).Terminating = true },
		"the broker needs another restart":  func(sc *scene) { sc.node(0).Revision = roller.Known(roller.Revision{Current: "a", Desired: "b"}) },
		"its restart has only begun": func(sc *scene) {
			sc.progress.Restarts = map[roller.NodeID]roller.Restart{0: {Instance: sc.node(0).Instance.Or(""), At: sc.s.At}}
		},
		"it is paused":              func(sc *scene) { sc.policy.Paused = "somebody paused it" },
		"the broker is fenced":      func(sc *scene) { sc.node(0).Fenced = roller.Known(true) },
		"the broker is not ready":   func(sc *scene) { sc.unready(0, 0) },
		"the broker hangs":          func(sc *scene) { sc.node(0).Answers = roller.Known(false) },
		"nobody can ask the broker": func(sc *scene) { sc.node(0).Answers = roller.Unknown[bool]("timed out") },
		"the broker is not ours":    func(sc *scene) { sc.node(0).Foreign = "somebody else's" },
		"the topics are not known":  func(sc *scene) { sc.s.Topics = roller.Unknown[[]roller.Topic]("no answer") },
		"the broker is not in sync": func(sc *scene) { sc.s.Topics.Or(nil)[0].Partitions[0].ISR = []roller.NodeID{1} },
		"the partition is moved":    func(sc *scene) { sc.s.Topics.Or(nil)[0].Partitions[0].Removing = []roller.NodeID{1} },
		"it is not the first one":   func(sc *scene) { sc.s.Topics.Or(nil)[0].Partitions[0].Replicas = []roller.NodeID{1, 0} },
		"nobody leads":              func(sc *scene) { sc.s.Topics.Or(nil)[0].Partitions[0].Leader = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(broker, 0, 1).current(0, 1).topics(ledByLast([]roller.NodeID{0, 1}))
			sc.progress.Returned = map[roller.NodeID]roller.Return{0: {At: sc.s.At}}
			sc.Expect(elections(roller.Step(&sc.s, sc.progress, sc.policy))).To(HaveLen(1))
			change(sc)
			sc.Expect(elections(sc.step())).To(BeEmpty())
		})
	}
}

func TestABrokerThatIsNotElectedIsForgotten(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1).current(0, 1).topics(ledByLast([]roller.NodeID{0, 1}))
	sc.progress.Returned = map[roller.NodeID]roller.Return{0: {At: sc.s.At}}
	for range 3 {
		sc.Expect(elections(sc.step())).To(HaveLen(1))
	}
	sc.Expect(elections(sc.step())).To(BeEmpty())
	sc.Expect(sc.progress.Returned).To(BeEmpty())

	sc.progress.Returned = map[roller.NodeID]roller.Return{0: {At: sc.s.At.Add(-10 * time.Minute)}, 7: {At: sc.s.At}}
	sc.Expect(elections(sc.step())).To(BeEmpty())
	sc.Expect(sc.progress.Returned).To(BeEmpty(), "too long ago, or no node any more")
}

// Restarts of less than a minute, none of which came too late: each brings those their partitions that have been back for a minute.
func TestFastRestartsLeaveOutNoElection(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2, 3).current(0, 1).topics(ledByLast([]roller.NodeID{0, 1}, []roller.NodeID{1, 0}))
	sc.progress.Returned = map[roller.NodeID]roller.Return{0: {At: sc.s.At.Add(-time.Minute)}, 1: {At: sc.s.At.Add(-30 * time.Second)}}
	sc.Expect(elections(sc.step())).To(HaveLen(1))
	sc.topics(ledByLast([]roller.NodeID{1, 0}))
	sc.s.At = sc.s.At.Add(40 * time.Second)
	sc.Expect(elections(sc.step())).To(HaveKey(roller.NodeID(1)))
	sc.Expect(sc.restarts).To(HaveLen(2))
}

// The restart that elections postponed may never follow. A later one has its elections.
func TestElectionsThatTookLongAreForgotten(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2).current(0, 1).topics(ledByLast([]roller.NodeID{0, 1}))
	sc.progress = sc.progress.ElectionsTookLong(sc.s.At)
	sc.s.At = sc.s.At.Add(time.Hour)
	sc.progress.Returned = map[roller.NodeID]roller.Return{0: {At: sc.s.At.Add(-time.Minute)}}
	sc.Expect(elections(sc.step())).To(HaveLen(1))
	sc.Expect(sc.restarts).To(HaveLen(1))
}

// Elections that took long are left out before one restart, and not before the ones after it.
func TestElectionsThatTookLongAreLeftOutOnce(t *testing.T) {
	sc := newScene(t).with(broker, 0, 1, 2, 3).current(0, 1).topics(ledByLast([]roller.NodeID{0, 1}))
	sc.progress.Returned = map[roller.NodeID]roller.Return{0: {At: sc.s.At.Add(-time.Minute)}}
	sc.progress = sc.progress.ElectionsTookLong(sc.s.At)
	sc.s.At = sc.s.At.Add(2 * time.Minute)
	sc.Expect(elections(sc.step())).To(BeEmpty())
	sc.Expect(elections(sc.step())).To(HaveLen(1))
	sc.Expect(sc.restarts).To(HaveLen(2))
}
