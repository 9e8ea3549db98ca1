package clusters

import "time"

// Hysteresis is the number of consecutive probes with the same result that change the verdict. Both numbers are at least 1.
type Hysteresis struct {
	// Failures is the number of consecutive failures after which a healthy server counts as unhealthy.
	Failures int
	// Successes is the number of consecutive successes after which an unhealthy server counts as healthy.
	Successes int
}

// Health is the result of the probes so far.
type Health struct {
	// Up is true if the server counts as healthy.
	Up bool
	// Since is when Up last changed.
	Since time.Time
	// Streak is the number of the latest consecutive probes that contradict Up.
	Streak int
	// Err is the latest failure since the last success; nil after a success.
	Err error
}

// Next returns the health after one more probe. It is pure: the same arguments give the same result.
func (h Hysteresis) Next(health Health, now time.Time, err error) Health {
	health.Err = err
	if (err == nil) == health.Up {
		health.Streak = 0
		return health
	}
	health.Streak++
	enough := h.Successes
	if health.Up {
		enough = h.Failures
	}
	if health.Streak >= enough {
		return Health{Up: !health.Up, Since: now, Err: err}
	}
	return health
}

// Probing describes how often members are probed, and how long they may take to respond.
//
// A connection without responses (a stopped server, a dropped route) is detected within Failures * Interval + Timeout.
type Probing struct {
	// Interval is the time between the starts of two probes. Zero: 3 s.
	Interval time.Duration
	// Timeout is how long one probe may take, at most Interval. Zero: 3 s.
	Timeout time.Duration
	// Hysteresis is the number of probes that change the verdict. Zero: 3 failures, 3 successes.
	Hysteresis Hysteresis
	// SlowAfter is for how long a remote member can't be used, because it does not respond or refuses the operator, until it is probed at each
	// fifth Interval only. That ends when it can be used, or when its credentials change. Zero: 10 min.
	SlowAfter time.Duration
}

func (p Probing) withDefaults() Probing {
	if p.Interval <= 0 {
		p.Interval = 3 * time.Second
	}
	if p.Timeout <= 0 {
		p.Timeout = 3 * time.Second
	}
	if p.SlowAfter <= 0 {
		p.SlowAfter = 10 * time.Minute
	}
	p.Timeout = min(p.Timeout, p.Interval)
	if p.Hysteresis.Failures < 1 {
		p.Hysteresis.Failures = 3
	}
	if p.Hysteresis.Successes < 1 {
		p.Hysteresis.Successes = 3
	}
	return p
}

// Bound returns the longest time that a member may fail to respond before it counts as unreachable.
func (p Probing) Bound() time.Duration {
	p = p.withDefaults()
	return time.Duration(p.Hysteresis.Failures)*p.Interval + p.Timeout
}

// rarely is at every how many intervals a server is probed that could not be used for long.
const rarely = 5

// pace is how often a server is probed. The zero value is that of one that can be used.
type pace struct {
	// unusable is since when the server could not be used; zero if it can.
	unusable time.Time
	skipped  int
}

// due reports, once an interval, whether to probe.
func (p *pace) due(now time.Time, slowAfter time.Duration) bool {
	p.skipped++
	if !p.unusable.IsZero() && now.Sub(p.unusable) >= slowAfter && p.skipped < rarely {
		return false
	}
	p.skipped = 0
	return true
}

// note takes the result of a probe.
func (p *pace) note(now time.Time, usable bool) {
	if usable {
		p.unusable = time.Time{}
	} else if p.unusable.IsZero() {
		p.unusable = now
	}
}
