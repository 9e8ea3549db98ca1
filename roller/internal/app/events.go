package app

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
)

// recorder accepts Events, each about a placed object.
type recorder interface {
	Normal(regarding runtime.Object, reason, action, note string)
	Warning(regarding runtime.Object, reason, action, note string)
}

// placed is an object in a Kubernetes cluster.
type placed struct {
	runtime.Object
	place string
}

// sink writes each Event to the Kubernetes cluster of its object, or to that of the roller while the other can't be reached.
type sink struct {
	// of returns the recorder of the Kubernetes cluster with that id, empty for the one where the roller runs; nil if it can't be reached.
	of func(place string) events.EventRecorder
}

// Eventf implements events.EventRecorder.
func (s sink) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	at := ""
	if p, is := regarding.(placed); is {
		regarding, at = p.Object, p.place
	}
	to := s.of(at)
	if to == nil {
		to = s.of("")
	}
	to.Eventf(regarding, related, kind, reason, action, note, args...)
}

// The actions of Events. That of a restart is Strimzi's.
const (
	eventRestart     = "StrimziInitiatedPodRestart"
	eventReconfigure = "Reconfigure"
	eventElect       = "ElectLeaders"
	eventBlock       = "Block"
)

// eventAction returns the action of the Event about an outcome.
func eventAction(o actuate.Outcome) string {
	switch {
	case o.Action.Kind == roller.ActionReconfigure:
		return eventReconfigure
	case o.Action.Kind == roller.ActionElectLeaders:
		return eventElect
	case o.Result == actuate.TooLate || o.Result == actuate.NotDone:
		return eventBlock // users count restarts by their action
	}
	return eventRestart
}

// announcer records an Event for each action, and for each node that is newly blocked by something other than its turn or the roll itself.
type announcer struct {
	events    recorder
	namespace string
	blocked   map[roller.NodeID]roller.Rule
	// passing is since when nodes are blocked by what is likely to pass.
	passing map[roller.NodeID]time.Time
}

// ReportLook implements engine.Reporter.
func (a *announcer) ReportLook(s *roller.Snapshot, d roller.Decision, outcomes []actuate.Outcome) {
	for _, o := range outcomes {
		warning, reason, note := engine.Describe(o)
		n := s.Node(o.Action.Node)
		if warning {
			a.events.Warning(a.pod(n), reason, eventAction(o), note)
		} else {
			a.events.Normal(a.pod(n), reason, eventAction(o), note)
		}
		if o.Action.Kind == roller.ActionRestart && o.Result == actuate.Done {
			for _, r := range o.Action.Reasons { // with the names that users of Strimzi's Events know
				a.events.Normal(a.pod(n), string(r.Kind), eventRestart, "Rolling Pod "+n.Name+" due to "+r.String())
			}
		}
	}
	blocked, passing := map[roller.NodeID]roller.Rule{}, map[roller.NodeID]time.Time{}
	for _, n := range d.Nodes {
		b, is := engine.Obstacle(n)
		if !is {
			continue
		}
		if passes(d, b) && a.blocked[n.Node] != b.Rule {
			since, before := a.passing[n.Node]
			if !before {
				since = s.At
			}
			passing[n.Node] = since
			if s.At.Sub(since) < longestPass {
				continue
			}
		}
		blocked[n.Node] = b.Rule
		if a.blocked[n.Node] != b.Rule {
			what := string(n.Need)
			if n.Need == roller.NeedNothing {
				what = "Replacement" // of a pod that should have ended
			}
			a.events.Warning(a.pod(s.Node(n.Node)), "Blocked", eventBlock, what+" waits ("+string(b.Rule)+"): "+b.Why)
		}
	}
	a.blocked, a.passing = blocked, passing
}

// longestPass is how long a block that is likely to pass is not told: a long roll may have nothing to do with it.
const longestPass = 10 * time.Minute

// passes reports whether a block is likely to end with the restart that is in progress, which costs the others a voter or a replica in
// sync.
func passes(d roller.Decision, b roller.Block) bool {
	switch b.Rule {
	case roller.RuleQuorum, roller.RuleAvailability, roller.RuleClusterLoss:
		return d.Phase == roller.PhaseRolling
	}
	return false
}

// pod returns a node's pod, for Events.
func (a *announcer) pod(n *roller.Node) runtime.Object {
	return placed{&corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: n.Name, UID: types.UID(n.Instance.Or(""))},
	}, n.Place}
}
