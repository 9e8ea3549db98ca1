// Package notify writes Kubernetes Events without ever holding a reconcile up: they wait in a bounded line and leave at a bounded rate,
// warnings first, so that a bulk change does not spend the API server on telling about itself.
package notify

import (
	"context"
	"strings"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Event types, as Kubernetes names them.
const (
	normal  = "Normal"
	warning = "Warning"
)

// Limits bound what Events may cost.
type Limits struct {
	// PerSecond and Burst bound the rate. A lone Event leaves at once; a burst of thousands trails.
	PerSecond float64
	Burst     int
	// Waiting is how many Events of each type may wait. Further ones are dropped, and counted.
	Waiting int
}

// DefaultLimits cost an API server a few per cent of a core at the most.
var DefaultLimits = Limits{PerSecond: 25, Burst: 50, Waiting: 10_000}

type event struct {
	regarding      runtime.Object
	kind           string
	reason, action string
	note           string
}

// Recorder takes Events from any number of goroutines.
type Recorder struct {
	sink     events.EventRecorder
	limiter  *rate.Limiter
	normal   chan event
	warnings chan event
	dropped  func()
}

// New returns a Recorder in front of sink. It calls dropped for each Event that found the line full. Run must be running for Events to leave.
func New(sink events.EventRecorder, limits Limits, dropped func()) *Recorder {
	return &Recorder{
		sink:     sink,
		limiter:  rate.NewLimiter(rate.Limit(limits.PerSecond), limits.Burst),
		normal:   make(chan event, limits.Waiting),
		warnings: make(chan event, limits.Waiting),
		dropped:  dropped,
	}
}

// Normal tells of something done. It never blocks.
func (r *Recorder) Normal(regarding runtime.Object, reason, action, note string) {
	r.put(r.normal, event{regarding, normal, reason, action, note})
}

// Warning tells of something refused, failed, or lost. It never blocks.
func (r *Recorder) Warning(regarding runtime.Object, reason, action, note string) {
	r.put(r.warnings, event{regarding, warning, reason, action, note})
}

// longestNote is how many bytes Kubernetes takes; it refuses an Event with more.
const longestNote = 1024

// shortened cuts a note that is too long, between characters.
func shortened(note string) string {
	const more = "..."
	if len(note) <= longestNote {
		return note
	}
	return strings.ToValidUTF8(note[:longestNote-len(more)], "") + more
}

func (r *Recorder) put(line chan event, e event) {
	e.note = shortened(e.note)
	select {
	case line <- e:
	default:
		r.dropped()
	}
}

// Start sends waiting Events until ctx ends. It makes a Recorder a manager's Runnable. What still waits at the end is dropped:
// Events are best effort, and the conditions tell the state.
func (r *Recorder) Start(ctx context.Context) error {
	for {
		if err := r.limiter.Wait(ctx); err != nil {
			return nil //nolint:nilerr // the context's end is the ordinary way to stop
		}
		e, ok := r.next(ctx)
		if !ok {
			return nil
		}
		r.sink.Eventf(e.regarding, nil, e.kind, e.reason, e.action, "%s", e.note)
	}
}

// NeedLeaderElection is false: a replica that was the leader may still have something to tell.
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
