package app

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
)

// Events about a pod are created in the pod's Kubernetes cluster.
func TestEventsAreMadeWhereThePodIs(t *testing.T) {
	g := NewWithT(t)
	here, east := &recorded{}, &recorded{}
	reachable := true
	s := sink{of: func(place string) events.EventRecorder {
		switch {
		case place == "":
			return here
		case !reachable:
			return nil
		}
		g.Expect(place).To(Equal("east"))
		return east
	}}
	say := func(place string) {
		s.Eventf(placed{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod-1"}}, place}, nil, "Normal", "Restarted", "Restart", "%s", "100%")
	}
	said := []event{{"/pod-1", "", "Normal", "Restarted", "Restart", "100%"}}
	say("")
	g.Expect(here.taken()).To(Equal(said))
	g.Expect(east.taken()).To(BeEmpty())
	say("east")
	g.Expect(here.taken()).To(BeEmpty())
	g.Expect(east.taken()).To(Equal(said))
	reachable = false
	say("east")
	g.Expect(here.taken()).To(Equal(said), "better here than nowhere")
}

// recorded records Events.
type recorded struct{ events []event }

type event struct{ pod, uid, kind, reason, action, note string }

func (r *recorded) Eventf(regarding, _ runtime.Object, kind, reason, action, note string, args ...any) {
	pod := regarding.(*corev1.Pod)
	r.events = append(r.events, event{pod.Namespace + "/" + pod.Name, string(pod.UID), kind, reason, action, fmt.Sprintf(note, args...)})
}

func (r *recorded) Normal(regarding runtime.Object, reason, action, note string) {
	r.Eventf(regarding.(placed).Object, nil, "Normal", reason, action, "%s", note)
}

func (r *recorded) Warning(regarding runtime.Object, reason, action, note string) {
	r.Eventf(regarding.(placed).Object, nil, "Warning", reason, action, "%s", note)
}

func (r *recorded) taken() []event {
	all := r.events
	r.events = nil
	return all
}

func announce() (*announcer, *recorded, *roller.Snapshot) {
	r := &recorded{}
	return &announcer{events: r, namespace: "kafka"}, r,
		&roller.Snapshot{Nodes: []roller.Node{{ID: 1, Name: "pod-1", Instance: roller.Known("first")}}}
}

// pascalCased are the reasons of Strimzi's Events.
var pascalCased = map[roller.ReasonKind]string{
	roller.CACertHasOldGeneration:   "CaCertHasOldGeneration",
	roller.ClusterCACertKeyReplaced: "ClusterCaCertKeyReplaced", roller.ConfigChangeRequiresRestart: "ConfigChangeRequiresRestart",
	roller.FileSystemResizeNeeded: "FileSystemResizeNeeded", roller.ManualRollingUpdate: "ManualRollingUpdate",
	roller.PodForceRestartOnError: "PodForceRestartOnError",
	roller.PodHasOldRevision:      "PodHasOldRevision", roller.PodHasOldResourceRevision: "PodHasOldResourceRevision",
	roller.PodResourcesChanged: "PodResourcesChanged",
	roller.PodStuck:            "PodStuck", roller.PodUnresponsive: "PodUnresponsive",
	roller.KafkaCertificatesChanged: "KafkaCertificatesChanged",
}

func TestARestartIsAnEventForEachReason(t *testing.T) {
	for kind, name := range pascalCased {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			a, r, s := announce()
			reasons := []roller.Reason{{Kind: kind, Note: "what it is"}, {Kind: "Another"}}
			action := roller.Action{Kind: roller.ActionRestart, Node: 1, Reasons: reasons}
			a.ReportLook(s, roller.Decision{}, []actuate.Outcome{{Action: action}})
			g.Expect(r.taken()).To(Equal([]event{
				{"kafka/pod-1", "first", "Normal", "Restarted", "StrimziInitiatedPodRestart",
					"node 1 is restarted: " + name + " (what it is), Another"},
				{"kafka/pod-1", "first", "Normal", name, "StrimziInitiatedPodRestart", "Rolling Pod pod-1 due to " + name + " (what it is)"},
				{"kafka/pod-1", "first", "Normal", "Another", "StrimziInitiatedPodRestart", "Rolling Pod pod-1 due to Another"},
			}))
			a.ReportLook(s, roller.Decision{}, []actuate.Outcome{{Action: action, Result: actuate.NotDone, Err: errors.New("forbidden")}})
			g.Expect(r.taken()).To(HaveLen(1), "nothing was rolled")
		})
	}
}

func TestAForcedRestartIsAWarning(t *testing.T) {
	g := NewWithT(t)
	a, r, s := announce()
	forced := roller.Action{Kind: roller.ActionRestart, Node: 1, Forced: "it serves nobody"}
	a.ReportLook(s, roller.Decision{}, []actuate.Outcome{{Action: forced}})
	all := r.taken()
	g.Expect(all).To(HaveLen(1))
	g.Expect(all[0].kind).To(Equal("Warning"))
}

func TestANodeThatBeginsToBeBlockedIsToldOnce(t *testing.T) {
	g := NewWithT(t)
	a, r, s := announce()
	look := func(blocks ...roller.Block) []event {
		a.ReportLook(s, roller.Decision{Nodes: []roller.Assessment{{Node: 1, Need: roller.NeedRestart, Blocks: blocks}}}, nil)
		return r.taken()
	}
	quorum := roller.Block{Rule: roller.RuleQuorum, Why: "2 of 3 voters are caught up"}
	g.Expect(look(roller.Block{Rule: roller.RuleLimit}, quorum)).To(Equal([]event{
		{"kafka/pod-1", "first", "Warning", "Blocked", "Block", "Restart waits (Quorum): 2 of 3 voters are caught up"},
	}), "that it is not its turn is nothing to tell")
	g.Expect(look(quorum)).To(BeEmpty())
	g.Expect(look(roller.Block{Rule: roller.RuleHold, Why: "ann"})).To(HaveLen(1), "another rule is news")
	g.Expect(look(roller.Block{Rule: roller.RuleLimit})).To(BeEmpty())
	g.Expect(look(quorum)).To(HaveLen(1), "it was free in between")
	a.ReportLook(s, roller.Decision{Nodes: []roller.Assessment{{Node: 1, Need: roller.NeedNothing, Blocks: []roller.Block{
		{Rule: roller.RuleUnknown, Why: "its pod should have ended"}}}}}, nil)
	g.Expect(r.taken()).To(Equal([]event{{"kafka/pod-1", "first", "Warning", "Blocked", "Block",
		"Replacement waits (Unknown): its pod should have ended"}}))
}

// The user who deleted a Kafka has nothing to do about its nodes, which end.
func TestNoNodeOfADeletedKafkaIsToldAsBlocked(t *testing.T) {
	g := NewWithT(t)
	a, r, s := announce()
	look := func(why string) []event {
		a.ReportLook(s, roller.Decision{Nodes: []roller.Assessment{{Node: 1, Need: roller.NeedRestart,
			Blocks: []roller.Block{{Rule: roller.RulePaused, Why: why}}}}}, nil)
		return r.taken()
	}
	g.Expect(look(fmt.Errorf("Lease kafka/my-cluster-roller-leader can't be made: %w", engine.ErrDeleted).Error())).To(BeEmpty())
	g.Expect(look("ann paused it")).To(HaveLen(1))
}

func TestABlockThatPassesWithTheRollIsNotTold(t *testing.T) {
	g := NewWithT(t)
	a, r, s := announce()
	look := func(phase roller.Phase, rule roller.Rule) []event {
		a.ReportLook(s, roller.Decision{Phase: phase, Nodes: []roller.Assessment{
			{Node: 1, Need: roller.NeedRestart, Blocks: []roller.Block{{Rule: rule, Why: "why"}}}}}, nil)
		return r.taken()
	}
	for _, rule := range []roller.Rule{roller.RuleQuorum, roller.RuleAvailability, roller.RuleClusterLoss} {
		g.Expect(look(roller.PhaseRolling, rule)).To(BeEmpty(), "another node restarts")
		g.Expect(look(roller.PhaseBlocked, rule)).To(HaveLen(1), "the roll is over, and the block is still there")
		g.Expect(look(roller.PhaseRolling, rule)).To(BeEmpty())
		g.Expect(look(roller.PhaseBlocked, rule)).To(BeEmpty(), "it was told, and never ended")
	}
	g.Expect(look(roller.PhaseRolling, roller.RuleHold)).To(HaveLen(1), "a hold has nothing to do with the roll")
	g.Expect(look(roller.PhaseRolling, roller.RuleUnknown)).To(HaveLen(1), "nor has what nobody knows")
	g.Expect(look(roller.PhaseWaiting, roller.RuleAvailability)).To(HaveLen(1), "no node restarts, so nothing will end it")

	g.Expect(look(roller.PhaseRolling, roller.RuleQuorum)).To(BeEmpty())
	s.At = s.At.Add(longestPass - 1)
	g.Expect(look(roller.PhaseRolling, roller.RuleQuorum)).To(BeEmpty())
	s.At = s.At.Add(1)
	g.Expect(look(roller.PhaseRolling, roller.RuleQuorum)).To(HaveLen(1), "a roll takes hours, and the block may have another cause")
	g.Expect(look(roller.PhaseRolling, roller.RuleQuorum)).To(BeEmpty(), "once")
}

// A pod that should have ended is told although all else is well: no roll is in progress.
func TestAPodThatShouldHaveEndedIsToldWhileNothingRolls(t *testing.T) {
	g := NewWithT(t)
	a, r, s := announce()
	a.ReportLook(s, roller.Decision{Phase: roller.PhaseWaiting, Nodes: []roller.Assessment{{Node: 1, Need: roller.NeedNothing,
		Blocks: []roller.Block{{Rule: roller.RuleUnknown, Why: "its pod should have ended"}}}}}, nil)
	g.Expect(r.taken()).To(HaveLen(1))
}

// Users count restarts by the action of their Events.
func TestTheActionOfAnEvent(t *testing.T) {
	g := NewWithT(t)
	for _, c := range []struct {
		kind   roller.ActionKind
		result actuate.Result
		action string
	}{
		{roller.ActionRestart, actuate.Done, "StrimziInitiatedPodRestart"},
		{roller.ActionRestart, actuate.Unclear, "StrimziInitiatedPodRestart"},
		{roller.ActionRestart, actuate.TooLate, "Block"},
		{roller.ActionRestart, actuate.NotDone, "Block"},
		{roller.ActionReconfigure, actuate.Done, "Reconfigure"},
		{roller.ActionReconfigure, actuate.Refused, "Reconfigure"},
		{roller.ActionReconfigure, actuate.TooLate, "Reconfigure"},
		{roller.ActionElectLeaders, actuate.NotDone, "ElectLeaders"},
	} {
		a, r, s := announce()
		o := actuate.Outcome{Action: roller.Action{Kind: c.kind, Node: 1}, Result: c.result, Err: errors.New("why")}
		a.ReportLook(s, roller.Decision{}, []actuate.Outcome{o})
		all := r.taken()
		g.Expect(all).To(HaveLen(1))
		g.Expect(all[0].action).To(Equal(c.action))
	}
}
