package app

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/events"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
)

// Events of a pod are read where the pod is.
func TestEventsAreMadeWhereThePodIs(t *testing.T) {
	g := NewWithT(t)
	here, east := events.NewFakeRecorder(10), events.NewFakeRecorder(10)
	reachable := true
	a := &announcer{here: here, namespace: "kafka", there: func(place string) events.EventRecorder {
		g.Expect(place).To(Equal("east"))
		if !reachable {
			return nil
		}
		return east
	}}
	s := &roller.Snapshot{Nodes: []roller.Node{{ID: 1, Name: "pod-1"}, {ID: 2, Name: "pod-2", Place: "east"}}}
	restarted := func(id roller.NodeID) {
		reason := roller.Reason{Kind: roller.PodHasOldRevision}
		a.Looked(s, roller.Decision{}, []actuate.Outcome{{Action: roller.Action{Kind: roller.ActionRestart, Node: id, Reasons: []roller.Reason{reason}}}})
	}
	told := func(r *events.FakeRecorder) (all []string) {
		for len(r.Events) > 0 {
			all = append(all, <-r.Events)
		}
		return all
	}

	restarted(1)
	g.Expect(told(here)).To(ContainElement(ContainSubstring("Rolling Pod pod-1 due to PodHasOldRevision")))
	g.Expect(told(east)).To(BeEmpty())
	restarted(2)
	g.Expect(told(here)).To(BeEmpty())
	g.Expect(told(east)).To(ContainElement(ContainSubstring("Rolling Pod pod-2 due to PodHasOldRevision")))
	reachable = false
	restarted(2)
	g.Expect(told(here)).To(ContainElement(ContainSubstring("Rolling Pod pod-2 due to PodHasOldRevision")), "better here than nowhere")
}
