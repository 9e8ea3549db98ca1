package engine

import (
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

const (
	// Unready is the interval of looks while all restarting nodes are unready.
	Unready = 5 * time.Second
	// UnreadyWoken is the interval while a node is unready, for callers that pod events wake. It is well below the gap between looks after
	// which silence starts anew (package observe).
	UnreadyWoken = 44 * time.Second
	// slowest is the longest interval between looks while replicas catch up.
	slowest = 20 * time.Second
)

// Pace returns when to look again: after the time of the decision, or later if it only waits for pods, or for replicas that need longer at
// their rate.
func Pace(d roller.Decision, now time.Time, unready time.Duration) time.Duration {
	if d.Phase != roller.PhaseRolling || len(d.Actions) > 0 || len(d.Progress.Restarts) == 0 {
		return d.Again
	}
	pace := unready
	for _, r := range d.Progress.Restarts {
		if r.Ready.IsZero() {
			continue
		}
		_, rest, known := r.Rate(now)
		if !known {
			return d.Again
		}
		pace = min(pace, slowest, rest*3/4)
	}
	return max(d.Again, pace)
}
