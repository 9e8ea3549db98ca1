package clusters

import "time"

// Hysteresis describes how many probes of one kind, one after the other, it takes to change one's mind. Both are at least 1.
type Hysteresis struct {
	// Failures in a row make what was healthy unhealthy.
	Failures int
	// Successes in a row make what was unhealthy healthy.
	Successes int
}

// Health is the result of the probes so far.
type Health struct {
	// Up is the verdict.
	Up bool
	// Since is when the verdict last changed.
	Since time.Time
	// Streak counts the latest probes that spoke against the verdict, one after the other.
	Streak int
	// Err is the latest failure since the last success; nil after a success.
	Err error
}

// Next takes in the outcome of one more probe. It is pure: the same arguments give the same result.
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

// Probing describes how often and how patiently members are asked whether they are there.
//
// A connection that has gone silent (a stopped server, a dropped route) is detected within Failures * Interval + Timeout.
type Probing struct {
	// Interval is the time between the starts of two probes. Zero: 3 s.
	Interval time.Duration
	// Timeout is how long one probe may take, at most Interval. Zero: 3 s.
	Timeout time.Duration
	// Hysteresis describes how many probes it takes to change one's mind. Zero: 3 failures, 3 successes.
	Hysteresis Hysteresis
}

func (p Probing) withDefaults() Probing {
	if p.Interval <= 0 {
		p.Interval = 3 * time.Second
	}
	if p.Timeout <= 0 {
		p.Timeout = 3 * time.Second
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

// Bound is the longest time that a member may be silent before it counts as unreachable.
func (p Probing) Bound() time.Duration {
	p = p.withDefaults()
	return time.Duration(p.Hysteresis.Failures)*p.Interval + p.Timeout
}
