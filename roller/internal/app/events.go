package app

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
)

// maxNote is how long an Event's note may be.
const maxNote = 1000

// announcer makes an Event of each thing that is done, and of each node that begins to wait for something else than its turn.
type announcer struct {
	recorder  events.EventRecorder
	namespace string
	blocked   map[roller.NodeID]roller.Rule
}

// turns are the rules that only mean that it is not a node's turn yet.
var turns = map[roller.Rule]bool{
	roller.RuleOrder: true, roller.RuleLimit: true, roller.RuleBatch: true, roller.RuleSettle: true, roller.RuleUnderWay: true, roller.RuleRack: true, roller.RuleLeaders: true,
}

// Looked implements engine.Reporter.
func (a *announcer) Looked(s *roller.Snapshot, d roller.Decision, outcomes []actuate.Outcome) {
	for _, o := range outcomes {
		kind := corev1.EventTypeNormal
		warning, reason, note := engine.Told(o)
		if warning {
			kind = corev1.EventTypeWarning
		}
		pod := a.pod(s, o.Action.Node)
		a.say(pod, kind, reason, note)
		if o.Action.Kind == roller.ActionRestart && o.Result == actuate.Done {
			for _, r := range o.Action.Reasons { // by the names that users of Strimzi's Events know
				a.say(pod, corev1.EventTypeNormal, string(r.Kind), "Rolling Pod "+pod.Name+" due to "+r.String())
			}
		}
	}
	blocked := map[roller.NodeID]roller.Rule{}
	for _, n := range d.Nodes {
		for _, b := range n.Blocks {
			if turns[b.Rule] {
				continue
			}
			blocked[n.Node] = b.Rule
			if a.blocked[n.Node] != b.Rule {
				a.say(a.pod(s, n.Node), corev1.EventTypeWarning, "Blocked", string(n.Need)+" waits ("+string(b.Rule)+"): "+b.Why)
			}
			break
		}
	}
	a.blocked = blocked
}

func (a *announcer) pod(s *roller.Snapshot, id roller.NodeID) *corev1.Pod {
	n := s.Node(id)
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: n.Name, UID: types.UID(n.Instance.Or(""))},
	}
}

func (a *announcer) say(pod *corev1.Pod, kind, reason, note string) {
	if len(note) > maxNote {
		note = note[:maxNote-3] + "..."
	}
	a.recorder.Eventf(pod, nil, kind, reason, "StrimziInitiatedPodRestart", "%s", note)
}
