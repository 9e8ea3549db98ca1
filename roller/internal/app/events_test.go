package app

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
)

// Events about a pod are created in the pod's Kubernetes cluster.
func TestEventsAreMadeWhereThePodIs(t *testing.T) {
	g := NewWithT(t)
	here, east := events.NewFakeRecorder(10), events.NewFakeRecorder(10)
	reachable := true
	a := &announcer{namespace: "kafka", events: func(place string) events.EventRecorder {
		switch {
		case place == "":
			return here
		case !reachable:
			return nil
		}
		g.Expect(place).To(Equal("east"))
		return east
	}}
	s := &roller.Snapshot{Nodes: []roller.Node{{ID: 1, Name: "pod-1"}, {ID: 2, Name: "pod-2", Place: "east"}}}
	restarted := func(id roller.NodeID) {
		reason := roller.Reason{Kind: roller.PodHasOldRevision}
		a.ReportLook(s, roller.Decision{}, []actuate.Outcome{{Action: roller.Action{Kind: roller.ActionRestart, Node: id,
			Reasons: []roller.Reason{reason}}}})
	}
	recorded := func(r *events.FakeRecorder) (all []string) {
		for len(r.Events) > 0 {
			all = append(all, <-r.Events)
		}
		return all
	}

	restarted(1)
	g.Expect(recorded(here)).To(ContainElement(ContainSubstring("Rolling Pod pod-1 due to PodHasOldRevision")))
	g.Expect(recorded(east)).To(BeEmpty())
	restarted(2)
	g.Expect(recorded(here)).To(BeEmpty())
	g.Expect(recorded(east)).To(ContainElement(ContainSubstring("Rolling Pod pod-2 due to PodHasOldRevision")))
	reachable = false
	restarted(2)
	g.Expect(recorded(here)).To(ContainElement(ContainSubstring("Rolling Pod pod-2 due to PodHasOldRevision")), "better here than nowhere")
}

// recorded records the calls of an EventRecorder.
type recorded struct{ events []event }

type event struct{ pod, uid, kind, reason, action, note string }

func (r *recorded) Eventf(regarding, _ runtime.Object, kind, reason, action, note string, args ...any) {
	pod := regarding.(*corev1.Pod)
	r.events = append(r.events, event{pod.Namespace + "/" + pod.Name, string(pod.UID), kind, reason, action, fmt.Sprintf(note, args...)})
}

func (r *recorded) taken() []event {
	all := r.events
	r.events = nil
	return all
}

func announce() (*announcer, *recorded, *roller.Snapshot) {
	r := &recorded{}
	return &announcer{events: func(string) events.EventRecorder { return r }, namespace: "kafka"}, r,
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
		{"kafka/pod-1", "first", "Warning", "Blocked", "StrimziInitiatedPodRestart", "Restart waits (Quorum): 2 of 3 voters are caught up"},
	}), "that it is not its turn is nothing to tell")
	g.Expect(look(quorum)).To(BeEmpty())
	g.Expect(look(roller.Block{Rule: roller.RuleHold, Why: "ann"})).To(HaveLen(1), "another rule is news")
	g.Expect(look(roller.Block{Rule: roller.RuleLimit})).To(BeEmpty())
	g.Expect(look(quorum)).To(HaveLen(1), "it was free in between")
	a.ReportLook(s, roller.Decision{Nodes: []roller.Assessment{{Node: 1, Need: roller.NeedNothing, Blocks: []roller.Block{
		{Rule: roller.RuleUnknown, Why: "its pod should have ended"}}}}}, nil)
	g.Expect(r.taken()).To(Equal([]event{{"kafka/pod-1", "first", "Warning", "Blocked", "StrimziInitiatedPodRestart",
		"Replacement waits (Unknown): its pod should have ended"}}))
}

func TestALongNoteIsCut(t *testing.T) {
	g := NewWithT(t)
	a, r, s := announce()
	long := roller.Block{Rule: roller.RuleHold, Why: strings.Repeat("€", 3000)}
	a.ReportLook(s, roller.Decision{Nodes: []roller.Assessment{{Node: 1, Need: roller.NeedRestart, Blocks: []roller.Block{long}}}}, nil)
	all := r.taken()
	g.Expect(all).To(HaveLen(1))
	g.Expect(all[0].note).To(HaveSuffix("€..."))
	g.Expect(len(all[0].note)).To(BeNumerically("<=", 1024), "the API server rejects longer ones")
}
