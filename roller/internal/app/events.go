package app

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	opevents "github.com/kafka-operators/kafka-operators/operator/events"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
)

// announcer records an Event for each action, and for each node that is newly blocked by something other than its turn.
type announcer struct {
	// events returns the recorder of the Kubernetes cluster with that id, empty for the one where the roller runs; nil if it can't be
	// reached.
	events    func(place string) events.EventRecorder
	namespace string
	blocked   map[roller.NodeID]roller.Rule
}

// ReportLook implements engine.Reporter.
func (a *announcer) ReportLook(s *roller.Snapshot, d roller.Decision, outcomes []actuate.Outcome) {
	for _, o := range outcomes {
		kind := corev1.EventTypeNormal
		warning, reason, note := engine.Describe(o)
		if warning {
			kind = corev1.EventTypeWarning
		}
		n := s.Node(o.Action.Node)
		a.say(n, kind, reason, note)
		if o.Action.Kind == roller.ActionRestart && o.Result == actuate.Done {
			for _, r := range o.Action.Reasons { // with the names that users of Strimzi's Events know
				a.say(n, corev1.EventTypeNormal, string(r.Kind), "Rolling Pod "+n.Name+" due to "+r.String())
			}
		}
	}
	blocked := map[roller.NodeID]roller.Rule{}
	for _, n := range d.Nodes {
		b, is := engine.Obstacle(n)
		if !is {
			continue
		}
		blocked[n.Node] = b.Rule
		if a.blocked[n.Node] != b.Rule {
			what := string(n.Need)
			if n.Need == roller.NeedNothing {
				what = "Replacement" // of a pod that should have ended
			}
			a.say(s.Node(n.Node), corev1.EventTypeWarning, "Blocked", what+" waits ("+string(b.Rule)+"): "+b.Why)
		}
	}
	a.blocked = blocked
}

// say records an Event on a node's pod: in the pod's Kubernetes cluster, or in that of the roller while the other can't be reached.
func (a *announcer) say(n *roller.Node, kind, reason, note string) {
	recorder := a.events(n.Place)
	if recorder == nil {
		recorder = a.events("")
	}
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: n.Name, UID: types.UID(n.Instance.Or(""))},
	}
	recorder.Eventf(pod, nil, kind, reason, "StrimziInitiatedPodRestart", "%s", opevents.Note(note))
}
