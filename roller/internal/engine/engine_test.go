package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// bench is an engine with a fake store and a fake actuator.
type bench struct {
	*WithT
	snapshot roller.Snapshot
	stored   roller.Progress
	status   string
	paused   string
	loadErr  error
	saveErr  []error // the errors of the next saves
	saves    int
	did      []roller.Action
	result   actuate.Result
	err      error
	engine   *engine.Engine
	reports  int
	outcomes []actuate.Outcome // of the last look
	// held is the error of Acquire while another roller has the lock; lost is the error of Verify after the lock was lost.
	held, lost error
	released   int
	verified   int // how often the lock was verified
	now        func() time.Time
	takes      func(roller.Action) // what happens while an action is carried out
}

func (b *bench) Acquire(context.Context) error { return b.held }

func (b *bench) Verify(context.Context) error {
	b.verified++
	return b.lost
}

func (b *bench) Release(context.Context) error {
	b.released++
	return nil
}

func newBench(t *testing.T) *bench {
	b := &bench{WithT: NewWithT(t)}
	for id := range roller.NodeID(3) {
		b.snapshot.Nodes = append(b.snapshot.Nodes, roller.Node{
			ID: id, Name: "kafka", Roles: roller.Roles{Broker: true}, Instance: roller.Known("first"), Ready: roller.Known(true),
			ReadyChanged: noon.Add(-time.Hour),
			Stuck:        roller.Known(""), Recovery: roller.Known[*roller.Recovery](nil), Answers: roller.Known(true),
			Config:   roller.Known(brokerconfig.Config{}),
			Revision: roller.Known(roller.Revision{Current: "old", Desired: "new"}),
		})
	}
	b.snapshot.At, b.snapshot.Topics = noon, roller.Known[[]roller.Topic](nil)
	b.snapshot.Quorum = roller.Known(roller.Quorum{Leader: 9, Voters: []roller.Voter{{ID: 9, LastCaughtUp: 1}}})
	b.engine = &engine.Engine{
		Observe: func(context.Context) roller.Snapshot { return b.snapshot }, Journal: b, Act: b, Log: logr.Discard(),
		Policy: func(time.Time) roller.Policy { return roller.DefaultPolicy() }, Reports: []engine.Reporter{b}, Lock: b,
	}
	b.engine.Now = func() time.Time {
		if b.now != nil {
			return b.now()
		}
		return b.snapshot.At
	}
	return b
}

func (b *bench) Load(context.Context) (roller.Progress, string, error) {
	return b.stored, b.paused, b.loadErr
}

func (b *bench) Status() string { return b.status }

func (b *bench) Save(_ context.Context, p roller.Progress, status any) error {
	b.saves++
	if len(b.saveErr) > 0 {
		err := b.saveErr[0]
		b.saveErr = b.saveErr[1:]
		if err != nil {
			return err
		}
	}
	b.stored = p
	text, err := json.Marshal(status)
	b.status = string(text)
	return err
}

func (b *bench) Do(_ context.Context, action roller.Action, node *roller.Node) actuate.Outcome {
	b.Expect(node.ID).To(Equal(action.Node))
	if action.Kind == roller.ActionRestart {
		b.Expect(b.stored.Restarts).To(HaveKey(action.Node), "it is stored before it is done")
	}
	b.did = append(b.did, action)
	if b.takes != nil {
		b.takes(action)
	}
	return actuate.Outcome{Action: action, Result: b.result, Err: b.err}
}

func (b *bench) ReportLook(_ *roller.Snapshot, _ roller.Decision, outcomes []actuate.Outcome) {
	b.reports++
	b.outcomes = outcomes
}

func TestWhatIsDoneWasStoredBefore(t *testing.T) {
	b := newBench(t)
	_, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.did).To(HaveLen(1))
	b.Expect(b.reports).To(Equal(1))
}

// Nothing is done if the progress can't be stored, whether another roller wrote in between or the API server fails.
func TestWhatCannotBeStoredIsNotDone(t *testing.T) {
	b := newBench(t)
	b.saveErr = []error{errors.New("conflict")}
	_, err := b.engine.Look(t.Context())
	b.Expect(err).To(MatchError("conflict"))
	b.Expect(b.did).To(BeEmpty())
	b.loadErr = errors.New("forbidden")
	_, err = b.engine.Look(t.Context())
	b.Expect(err).To(MatchError("forbidden"))
	b.Expect(b.did).To(BeEmpty())
}

// A glance shows whether there is anything to do; each action is decided on facts that were all read again.
func TestNothingIsDoneOnAGlance(t *testing.T) {
	b := newBench(t)
	outdated := b.snapshot
	current := b.snapshot
	current.Nodes = slices.Clone(current.Nodes)
	for i := range current.Nodes {
		current.Nodes[i].Revision = roller.Known(roller.Revision{Current: "new", Desired: "new"})
	}
	observed := 0
	glanced := outdated
	b.engine.Glance = func(context.Context, roller.Awaited) roller.Snapshot { return glanced }
	b.engine.Verify = func(_ context.Context, asked roller.Asked) roller.Snapshot {
		observed++
		b.Expect(asked.Nodes).NotTo(BeEmpty())
		return b.snapshot
	}
	b.snapshot = current
	d, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(observed).To(Equal(1))
	b.Expect(b.did).To(BeEmpty())
	b.Expect(d.Phase).To(Equal(roller.PhaseDone))

	glanced = current
	_, err = b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(observed).To(Equal(1), "there is nothing to do")

	glanced, b.snapshot = outdated, outdated
	_, err = b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.did).To(HaveLen(1))
}

// reads makes the bench glance at recalled answers of all nodes. Verify returns the snapshot of the bench. It returns what each
// Verify was asked for.
func (b *bench) reads(glanced func() roller.Snapshot) *[]roller.Asked {
	var all []roller.Asked
	b.engine.Glance = func(context.Context, roller.Awaited) roller.Snapshot { return recalling(glanced()) }
	b.engine.Verify = func(_ context.Context, asked roller.Asked) roller.Snapshot {
		all = append(all, asked)
		return recalling(b.snapshot, slices.Concat(asked.Nodes, asked.Peers)...)
	}
	return &all
}

// recalling returns the snapshot with the answers of all other nodes marked as recalled.
func recalling(s roller.Snapshot, but ...roller.NodeID) roller.Snapshot {
	s.Nodes = slices.Clone(s.Nodes)
	for i := range s.Nodes {
		s.Nodes[i].Recalled = !slices.Contains(but, s.Nodes[i].ID)
	}
	return s
}

// A peer's earlier answer does not allow a restart: the peer is asked in the same look. An audit found that a broker that had stopped
// counted as in sync for more than a minute, and for more than an hour with many nodes.
func TestPeersAreAskedBeforeARestart(t *testing.T) {
	b := newBench(t)
	ids := []roller.NodeID{0, 1, 2}
	b.snapshot.Topics = roller.Known([]roller.Topic{{Name: "t", MinISR: roller.Known(2),
		Partitions: []roller.Partition{{Leader: 1, Replicas: ids, ISR: ids}}}})
	b.snapshot.Nodes[2].Revision = roller.Known(roller.Revision{Current: "r", Desired: "r"})
	before := b.snapshot
	asked := b.reads(func() roller.Snapshot { return before })
	b.snapshot.Nodes = slices.Clone(b.snapshot.Nodes)
	b.snapshot.Nodes[2].Answers = roller.Known(false) // Kafka has not noticed yet
	d, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(*asked).To(Equal([]roller.Asked{{Nodes: ids[:1], Restarts: ids[:1], Peers: ids[1:]}}))
	b.Expect(b.did).To(BeEmpty())
	b.Expect(d.Nodes[0].Blocks[0].Rule).To(Equal(roller.RuleAvailability))

	b.snapshot.Nodes[2].Answers = roller.Known(true)
	_, err = b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(*asked).To(HaveLen(2), "one closer reading for one restart")
	b.Expect(b.did).To(HaveLen(1))
	b.Expect(b.did[0].Unasked).To(BeEmpty())
}

// If the verified facts lead to another action, its nodes and their peers are verified in the same look. If the decision changes each time,
// nothing is done.
func TestWhatIsDoneInsteadIsReadCloserToo(t *testing.T) {
	b := newBench(t)
	b.snapshot.Topics = roller.Known([]roller.Topic{{Name: "t", MinISR: roller.Known(1),
		Partitions: []roller.Partition{{Leader: 1, Replicas: []roller.NodeID{1, 2}, ISR: []roller.NodeID{1, 2}}}}})
	before := b.snapshot
	asked := b.reads(func() roller.Snapshot { return before })
	b.snapshot.Nodes = slices.Clone(b.snapshot.Nodes)
	b.snapshot.Nodes[0].Hold = "ann looks at it"
	_, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	ids := []roller.NodeID{0, 1, 2}
	b.Expect(*asked).To(Equal([]roller.Asked{{Nodes: ids[:1], Restarts: ids[:1]},
		{Nodes: ids[:2], Restarts: ids[:2], Peers: ids[2:]}}))
	b.Expect(b.did).To(HaveLen(1))
	b.Expect(b.did[0].Node).To(BeEquivalentTo(1))

	b.did, b.stored, *asked = nil, roller.Progress{}, nil
	b.engine.Verify = func(context.Context, roller.Asked) roller.Snapshot {
		*asked = append(*asked, roller.Asked{})
		return recalling(b.snapshot)
	}
	_, err = b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(len(*asked)).To(BeNumerically("<", 5))
	b.Expect(b.did).To(BeEmpty())
	b.Expect(b.stored.Restarts).To(BeEmpty())
}

// A node whose change waits, for example one on hold, does not block the restart of another node.
func TestAChangeThatWaitsKeepsNoOtherNode(t *testing.T) {
	b := newBench(t)
	changed := &b.snapshot.Nodes[0]
	changed.Revision, changed.Hold = roller.Known(roller.Revision{Current: "r", Desired: "r"}), "ann looks at it"
	changed.Config = roller.Known(brokerconfig.Config{Desired: map[string]string{"num.io.threads": "9"},
		Live: map[string]brokerconfig.Entry{"num.io.threads": {Value: "8", Source: brokerconfig.SourceStatic}}})
	b.reads(func() roller.Snapshot { return b.snapshot })
	for range 2 {
		_, err := b.engine.Look(t.Context())
		b.Expect(err).NotTo(HaveOccurred())
		if len(b.did) == 1 {
			n := &b.snapshot.Nodes[b.did[0].Node]
			n.Instance, n.Revision = roller.Known("second"), roller.Known(roller.Revision{Current: "new", Desired: "new"})
		}
		b.snapshot.At = b.snapshot.At.Add(time.Minute)
	}
	b.Expect(b.did).To(HaveLen(2))
}

// Facts that were read before a change do not show its result, so they are read again.
func TestAChangeIsFollowedByFreshFacts(t *testing.T) {
	b := newBench(t)
	entry := func(value string) roller.Fact[map[string]brokerconfig.Entry] {
		return roller.Known(map[string]brokerconfig.Entry{"num.io.threads": {Value: value, Source: brokerconfig.SourceStatic}})
	}
	for i := range b.snapshot.Nodes {
		n := &b.snapshot.Nodes[i]
		n.Revision = roller.Known(roller.Revision{Current: "r", Desired: "r"})
		n.Config = roller.Known(brokerconfig.Config{Desired: map[string]string{"num.io.threads": "9"}, Live: entry("8").Or(nil)})
	}
	before := b.snapshot
	observed := 0
	b.engine.Glance = func(context.Context, roller.Awaited) roller.Snapshot { return before }
	b.engine.Verify = func(_ context.Context, asked roller.Asked) roller.Snapshot {
		observed++
		b.Expect(asked.Nodes).NotTo(BeEmpty())
		return b.snapshot
	}
	_, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.did).To(HaveLen(1))
	b.Expect(b.did[0].Kind).To(Equal(roller.ActionReconfigure))

	b.snapshot.Nodes = slices.Clone(b.snapshot.Nodes)
	for i := range b.snapshot.Nodes {
		b.snapshot.Nodes[i].Config = roller.Known(brokerconfig.Config{Desired: map[string]string{"num.io.threads": "9"},
			Live: entry("9").Or(nil)})
	}
	d, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(observed).To(Equal(2))
	b.Expect(d.Phase).To(Equal(roller.PhaseDone))
}

// What Kafka rejects, or what waits for a node to be ready, is read at a glance like everything else: a look without the recalled answers
// sends a request to each node, for as long as nobody corrects the value.
func TestWhatCantBeChangedIsReadAtAGlance(t *testing.T) {
	for name, see := range map[string]func(n *roller.Node){
		"an illegal value": func(n *roller.Node) {
			n.Config = roller.Known(brokerconfig.Config{Desired: map[string]string{"num.io.threads": "-1"},
				Live: map[string]brokerconfig.Entry{"num.io.threads": {Value: "8", Source: brokerconfig.SourceStatic}}})
		},
		"on hold": func(n *roller.Node) {
			n.Hold = "ann looks at it"
			n.Config = roller.Known(brokerconfig.Config{Desired: map[string]string{"num.io.threads": "9"},
				Live: map[string]brokerconfig.Entry{"num.io.threads": {Value: "8", Source: brokerconfig.SourceStatic}}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			for i := range b.snapshot.Nodes {
				b.snapshot.Nodes[i].Revision = roller.Known(roller.Revision{Current: "r", Desired: "r"})
			}
			b.snapshot.Nodes[0].Revision = roller.Known(roller.Revision{Current: "r", Desired: "s"})
			see(&b.snapshot.Nodes[1])
			asked := b.reads(func() roller.Snapshot { return b.snapshot })
			_, err := b.engine.Look(t.Context())
			b.Expect(err).NotTo(HaveOccurred())
			b.Expect(b.did).To(HaveLen(1), "node 0 is restarted")
			b.snapshot.Nodes[0].Revision, b.snapshot.Nodes[0].Instance = roller.Known(roller.Revision{Current: "s", Desired: "s"}),
				roller.Known("second")
			*asked = nil
			for range 3 {
				b.snapshot.At = b.snapshot.At.Add(time.Minute)
				_, err := b.engine.Look(t.Context())
				b.Expect(err).NotTo(HaveOccurred())
			}
			b.Expect(*asked).To(BeEmpty())
		})
	}
}

func TestWhatWasRefusedIsTakenBack(t *testing.T) {
	b := newBench(t)
	b.result, b.err = actuate.NotDone, errors.New("forbidden")
	_, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.stored.Restarts).To(BeEmpty())
	// It is unclear whether the deletion happened, so it counts as done.
	b.result, b.err = actuate.Unclear, errors.New("timeout")
	_, err = b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.stored.Restarts).To(HaveLen(1))
	b.Expect(b.stored.Denied[0].Times).To(Equal(1))
	// Half a minute later the pod is still there: it was denied as well.
	b.snapshot.At = b.snapshot.At.Add(time.Minute)
	d, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(d.Nodes).To(ContainElement(HaveField("Blocks", ContainElement(And(HaveField("Rule", roller.RuleDenied),
		HaveField("Why", HavePrefix("timeout; the roller tries again at ")))))))
}

func TestAPausedRollerBeginsNothing(t *testing.T) {
	b := newBench(t)
	b.paused = "the ConfigMap is annotated"
	d, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.did).To(BeEmpty())
	b.Expect(d.Nodes[0].Blocks[0].Why).To(Equal("the ConfigMap is annotated"))
}

// Run continues after errors, and returns when the callback ends it.
func TestRunEndsWhenItIsDone(t *testing.T) {
	b := newBench(t)
	looks := 0
	err := b.engine.Run(t.Context(), time.Millisecond, func(roller.Decision) bool {
		looks++
		b.held = engine.ErrHeld // does not even wait
		return looks == 2
	})
	b.Expect(err).To(MatchError(engine.ErrHeld))
	b.held, looks = nil, 0
	err = b.engine.Run(t.Context(), time.Millisecond, func(roller.Decision) bool {
		looks++
		return looks == 2
	})
	b.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	b.loadErr = errors.New("away")
	b.engine.Observe = nil // a look would panic
	cancel()
	b.Expect(b.engine.Run(ctx, time.Hour, func(roller.Decision) bool { return true })).To(MatchError(context.Canceled))
}

func TestOutcomesForPeople(t *testing.T) {
	g := NewWithT(t)
	restart := roller.Action{Kind: roller.ActionRestart, Node: 3, Reasons: []roller.Reason{{Kind: roller.PodHasOldRevision}}}
	warning, reason, note := engine.Describe(actuate.Outcome{Action: restart})
	g.Expect([]any{warning, reason, note}).To(Equal([]any{false, "Restarted", "node 3 is restarted: PodHasOldRevision"}))
	restart.Forced = "it serves nobody"
	warning, _, note = engine.Describe(actuate.Outcome{Action: restart})
	g.Expect([]any{warning, note}).To(Equal([]any{true, "node 3 is restarted: PodHasOldRevision; it serves nobody"}))
	warning, reason, note = engine.Describe(actuate.Outcome{Action: restart, Result: actuate.NotDone, Err: errors.New("forbidden")})
	g.Expect([]any{warning, reason, note}).To(Equal([]any{true, "NotDone", "node 3 could not be restarted: forbidden"}))
	late := actuate.Outcome{Action: restart, Result: actuate.TooLate, Err: errors.New("the oldest observed fact is 7s old")}
	_, _, note = engine.Describe(late)
	g.Expect(note).To(Equal("postponed the restart of node 3: the oldest observed fact is 7s old"))
	late.Action.Kind = roller.ActionReconfigure
	_, _, note = engine.Describe(late)
	g.Expect(note).To(Equal("postponed the reconfiguration of node 3: the oldest observed fact is 7s old"))
}

// The conditions in the journal are like those of any object, with the time of their last transition.
func TestConditions(t *testing.T) {
	b := newBench(t)
	look := func() engine.Status {
		_, err := b.engine.Look(t.Context())
		b.Expect(err).NotTo(HaveOccurred())
		var status engine.Status
		b.Expect(json.Unmarshal([]byte(b.status), &status)).To(Succeed())
		return status
	}
	b.paused = "ann wants it"
	b.Expect(look()).To(Equal(engine.Status{
		Phase: roller.PhaseBlocked,
		RollerStatus: core.RollerStatus{Conditions: []v1.Condition{
			{Type: "Ready", Status: "False", Reason: "Blocked", Message: "3 of 3 nodes need a restart", LastTransitionTime: "2026-11-21T12:00:00Z"},
			{Type: "Blocked", Status: "True", Reason: "Paused", Message: "node 0: ann wants it", LastTransitionTime: "2026-11-21T12:00:00Z"},
		}},
		Nodes: map[string]string{"kafka": "Ready: Restart waits: Paused"},
	}))
	b.paused, b.snapshot.At = "", noon.Add(time.Minute)
	status := look()
	b.Expect(status.Conditions).To(Equal([]v1.Condition{
		{Type: "Ready", Status: "False", Reason: "Rolling", Message: "3 of 3 nodes need a restart", LastTransitionTime: "2026-11-21T12:00:00Z"},
	}))
	for i := range b.snapshot.Nodes {
		b.snapshot.Nodes[i].Revision, b.snapshot.Nodes[i].Instance = roller.Known(roller.Revision{Current: "new", Desired: "new"}),
			roller.Known("second")
	}
	b.snapshot.At = noon.Add(time.Hour)
	b.Expect(look()).To(Equal(engine.Status{Phase: roller.PhaseDone, RollerStatus: core.RollerStatus{
		Conditions: []v1.Condition{{Type: "Ready", Status: "True", LastTransitionTime: "2026-11-21T13:00:00Z"}}}}))
	b.snapshot.At = noon.Add(2 * time.Hour)
	b.Expect(look().Conditions[0].LastTransitionTime).To(Equal("2026-11-21T13:00:00Z"), "nothing has changed since")
	b.status = "{"
	b.Expect(look().Conditions[0].LastTransitionTime).To(Equal("2026-11-21T14:00:00Z"))
}

// Nobody can correct what nobody names: a right that the roller lacks, or a Kubernetes cluster that it can't read.
func TestWhatIsUnknownIsNamed(t *testing.T) {
	b := newBench(t)
	for i := range b.snapshot.Nodes {
		n := &b.snapshot.Nodes[i]
		n.Revision = roller.Known(roller.Revision{Current: "new", Desired: "new"})
		n.Config = roller.Unknown[brokerconfig.Config]("Kafka was not asked: secrets \"c\" is forbidden")
	}
	look := func() (roller.Decision, engine.Status) {
		d, err := b.engine.Look(t.Context())
		b.Expect(err).NotTo(HaveOccurred())
		var status engine.Status
		b.Expect(json.Unmarshal([]byte(b.status), &status)).To(Succeed())
		return d, status
	}
	d, status := look()
	b.Expect(status.Phase).To(Equal(roller.PhaseUnknown))
	b.Expect(status.Conditions[0].Message).
		To(Equal("3 of 3 nodes are unknown (node 0: its configuration: Kafka was not asked: secrets \"c\" is forbidden)"))
	b.Expect(status.Nodes).To(Equal(map[string]string{"kafka": "Unknown: its configuration"}))
	b.Expect(engine.Reason(d.Nodes[0])).To(Equal("its configuration: Kafka was not asked: secrets \"c\" is forbidden"))

	for i := range b.snapshot.Nodes {
		b.snapshot.Nodes[i].Config = roller.Known(brokerconfig.Config{})
	}
	b.snapshot.Nodes[1].Ready = roller.Unknown[bool]("cluster east can't be read")
	b.snapshot.Unread = "cluster east can't be read: it is not connected"
	d, status = look()
	b.Expect(status.Conditions[0].Message).To(Equal("1 of 3 nodes is unknown (node 1: its readiness: cluster east can't be read); " +
		"cluster east can't be read: it is not connected"))
	b.Expect(d.Nodes).To(ContainElement(And(HaveField("Node", roller.NodeID(1)), WithTransform(engine.Line, Equal("Unknown: its readiness")))))

	b.snapshot.Nodes = slices.Delete(b.snapshot.Nodes, 1, 2)
	_, status = look()
	b.Expect(status.Phase).To(Equal(roller.PhaseUnknown))
	b.Expect(status.Conditions[0].Message).To(Equal("cluster east can't be read: it is not connected"))
}

// A look checks only a few brokers for hidden topics. The looks after it go on with the others, at the pace of any other look: an audit
// found a loop without pauses that never came to the last broker.
func TestHiddenTopicsKeepNoOtherBroker(t *testing.T) {
	b := newBench(t)
	for id := roller.NodeID(3); id < 5; id++ {
		n := b.snapshot.Nodes[0]
		n.ID = id
		b.snapshot.Nodes = append(b.snapshot.Nodes, n)
	}
	known := map[roller.NodeID]bool{}
	see := func() roller.Snapshot {
		s := b.snapshot
		s.Nodes = slices.Clone(s.Nodes)
		for id := range known {
			s.Nodes[id].Hidden = "it has replicas of topics that the roller may not describe"
		}
		return s
	}
	b.engine.Glance = func(context.Context, roller.Awaited) roller.Snapshot { return see() }
	b.engine.Verify = func(_ context.Context, asked roller.Asked) roller.Snapshot {
		for _, id := range asked.Restarts {
			if id < 4 {
				known[id] = true
			}
		}
		return see()
	}
	for range 2 {
		d, err := b.engine.Look(t.Context())
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(d.Again).To(BeNumerically(">=", 2*time.Second))
		b.snapshot.At = b.snapshot.At.Add(d.Again)
	}
	b.Expect(b.did).To(HaveExactElements(HaveField("Node", roller.NodeID(4))))
}

// Many brokers are back, and each election takes a while. Those that could not be requested on these facts are requested in later looks,
// however many looks that takes: an audit found that the last brokers were given up without a request.
func TestElectionsThatTakeTime(t *testing.T) {
	b := newBench(t)
	b.snapshot.Nodes = b.snapshot.Nodes[:1]
	b.stored.Returned = map[roller.NodeID]roller.Return{}
	var partitions []roller.Partition
	for id := range roller.NodeID(30) {
		n := b.snapshot.Nodes[0]
		n.ID, n.Revision = id, roller.Known(roller.Revision{Current: "new", Desired: "new"})
		if id > 0 {
			b.snapshot.Nodes = append(b.snapshot.Nodes, n)
		} else {
			b.snapshot.Nodes[0] = n
		}
		ids := []roller.NodeID{id, 100}
		partitions = append(partitions, roller.Partition{Index: int32(id), Leader: 100, Replicas: ids, ISR: ids})
		b.stored.Returned[id] = roller.Return{At: noon}
	}
	b.snapshot.Topics = roller.Known([]roller.Topic{{Name: "t", MinISR: roller.Known(1), Partitions: partitions}})
	now := noon
	b.now = func() time.Time { return now }
	b.takes = func(a roller.Action) {
		now = now.Add(900 * time.Millisecond)
		partitions[a.Partitions["t"][0]].Leader = a.Node
	}
	for range 8 {
		b.snapshot.At = now
		_, err := b.engine.Look(t.Context())
		b.Expect(err).NotTo(HaveOccurred())
	}
	b.Expect(b.did).To(HaveLen(30))
	b.Expect(b.stored.Returned).To(BeEmpty())
}

// returned lets brokers 1 to 9 be back for this long, while another one leads their partitions.
func (b *bench) returned(ago time.Duration) {
	n := b.snapshot.Nodes[0]
	b.snapshot.Nodes = b.snapshot.Nodes[:1]
	b.stored.Returned = map[roller.NodeID]roller.Return{}
	var partitions []roller.Partition
	for id := roller.NodeID(1); id < 10; id++ {
		n.ID, n.Revision = id, roller.Known(roller.Revision{Current: "new", Desired: "new"})
		b.snapshot.Nodes = append(b.snapshot.Nodes, n)
		ids := []roller.NodeID{id, 100}
		partitions = append(partitions, roller.Partition{Index: int32(id), Leader: 100, Replicas: ids, ISR: ids})
		b.stored.Returned[id] = roller.Return{At: noon.Add(-ago)}
	}
	b.snapshot.Topics = roller.Known([]roller.Topic{{Name: "t", MinISR: roller.Known(1), Partitions: partitions}})
}

// Brokers are back, and each election takes so long that the facts of the restart after it are too old. The restart waits for one election,
// and not for those of all brokers, however long the looks take.
func TestARestartWaitsForOneElection(t *testing.T) {
	for _, pause := range []time.Duration{0, 2 * time.Minute} {
		b := newBench(t)
		b.returned(2 * time.Minute)
		now := noon
		b.now = func() time.Time { return now }
		b.takes = func(roller.Action) { now = now.Add(6 * time.Second) }
		for range 2 {
			b.snapshot.At = now
			_, err := b.engine.Look(t.Context())
			b.Expect(err).NotTo(HaveOccurred())
			now = now.Add(pause)
		}
		b.Expect(b.did).To(HaveExactElements(HaveField("Kind", roller.ActionElectLeaders),
			And(HaveField("Kind", roller.ActionRestart), HaveField("Node", roller.NodeID(0)))), "pause %s", pause)
	}
}

// A look whose facts are too old for everything has requested no election. The next one requests it.
func TestALookThatComesTooLateSkipsNoElection(t *testing.T) {
	b := newBench(t)
	b.returned(2 * time.Minute)
	late := 6 * time.Second
	b.now = func() time.Time { return b.snapshot.At.Add(late) }
	for range 2 {
		_, err := b.engine.Look(t.Context())
		b.Expect(err).NotTo(HaveOccurred())
		late = 0
	}
	b.Expect(b.did).To(HaveLen(10))
	b.Expect(b.did[:9]).To(HaveEach(HaveField("Kind", roller.ActionElectLeaders)))
}

// Elections took no time, and the restart was given up because the lock was lost.
func TestARestartThatWaitsForAnotherReasonSkipsNoElection(t *testing.T) {
	b := newBench(t)
	b.returned(2 * time.Minute)
	b.takes = func(roller.Action) { b.lost = engine.ErrHeld }
	_, err := b.engine.Look(t.Context())
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(b.did).To(HaveExactElements(HaveField("Kind", roller.ActionElectLeaders)))
	b.Expect(b.stored.Restarts).To(BeEmpty())
	b.Expect(b.stored.Elected).To(BeZero())
}
