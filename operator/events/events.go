// Package events writes Kubernetes Events without blocking the reconciler: they wait in a bounded queue and are sent at a bounded rate,
// warnings first, so that a bulk change does not load the API server with its Events.
package events

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientevents "k8s.io/client-go/tools/events"
)

// Event types, as Kubernetes names them.
const (
	normal  = "Normal"
	warning = "Warning"
)

// Limits bound the load by Events.
type Limits struct {
	// PerSecond and Burst bound the rate. A single Event is sent at once; a burst of thousands takes longer.
	PerSecond float64
	Burst     int
	// Waiting is how many Events of each type may wait. Further ones are dropped and counted.
	Waiting int
}

// DefaultLimits use at most a few per cent of a core of the API server.
var DefaultLimits = Limits{PerSecond: 25, Burst: 50, Waiting: 10_000}

type event struct {
	regarding      runtime.Object
	kind           string
	reason, action string
	note           string
}

// Recorder accepts Events. It is safe for concurrent use.
type Recorder struct {
	sink     clientevents.EventRecorder
	limiter  *rate.Limiter
	normal   chan event
	warnings chan event
	dropped  func()
}

// New returns a Recorder in front of sink, such as a manager's GetEventRecorder. It calls dropped for each Event that finds the queue full.
// Start sends the Events, so add the Recorder to a manager.
func New(sink clientevents.EventRecorder, limits Limits, dropped func()) *Recorder {
	return &Recorder{
		sink:     sink,
		limiter:  rate.NewLimiter(rate.Limit(limits.PerSecond), limits.Burst),
		normal:   make(chan event, limits.Waiting),
		warnings: make(chan event, limits.Waiting),
		dropped:  dropped,
	}
}

// Normal records a successful action. It never blocks.
func (r *Recorder) Normal(regarding runtime.Object, reason, action, note string) {
	r.put(r.normal, event{regarding, normal, reason, action, note})
}

// Warning records a rejection, a failure or a loss. It never blocks.
func (r *Recorder) Warning(regarding runtime.Object, reason, action, note string) {
	r.put(r.warnings, event{regarding, warning, reason, action, note})
}

// longestNote is the maximum length of an Event's note, in bytes (events.k8s.io/v1).
const longestNote = 1024

// Note returns a text that the API server accepts as an Event's note: valid UTF-8, and cut between characters if it is too long.
func Note(note string) string {
	const more = "..."
	note = strings.ToValidUTF8(note, "?")
	if len(note) <= longestNote {
		return note
	}
	return strings.ToValidUTF8(note[:longestNote-len(more)], "") + more
}

func (r *Recorder) put(line chan event, e event) {
	e.note = Note(e.note)
	select {
	case line <- e:
	default:
		r.dropped()
	}
}

// Start sends waiting Events until ctx ends. It drops Events that still wait then: Events are best effort, and conditions contain the
// state.
func (r *Recorder) Start(ctx context.Context) error {
	for {
		if err := r.limiter.Wait(ctx); err != nil {
			return nil // the normal way to stop
		}
		e, ok := r.next(ctx)
		if !ok {
			return nil
		}
		r.sink.Eventf(e.regarding, apart(e.note), e.kind, e.reason, e.action, "%s", e.note)
	}
}

// apart returns a reference that only Events with this note have. client-go counts an Event as another occurrence of an earlier one, and
// discards its note, if no reference, type, reason and action differ.
func apart(note string) *corev1.ObjectReference {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(note))
	return &corev1.ObjectReference{FieldPath: fmt.Sprintf("note{%x}", hash.Sum(nil))}
}

// NeedLeaderElection returns false: a replica that was the leader may still have Events to send.
func (r *Recorder) NeedLeaderElection() bool { return false }

// next returns the next Event, warnings first.
func (r *Recorder) next(ctx context.Context) (event, bool) {
	select {
	case e := <-r.warnings:
		return e, true
	default:
	}
	select {
	case e := <-r.warnings:
		return e, true
	case e := <-r.normal:
		return e, true
	case <-ctx.Done():
		return event{}, false
	}
}
