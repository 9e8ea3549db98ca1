package engine

import (
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

const (
	// unready is how often to look while all nodes under way are not ready: whoever looks when a pod changes learns of it at once.
	unready = 20 * time.Second
	// slowest is how often to look at least while replicas catch up.
	slowest = 10 * time.Second
)

// Pace is after how long to look again, for those who look when a pod changes: the time that the decision says, or longer where nothing
// else is waited for than pods, or replicas whose rate says that they need a while.
func Pace(d roller.Decision, now time.Time) time.Duration {
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
		pace = min(pace, slowest, rest/4)
	}
	return max(d.Again, pace)
}
