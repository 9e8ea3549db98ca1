package pki

import (
	"time"

	"github.com/kafka-operators/kafka-operators/api/windows"
)

// schedule is all maintenance windows of a Kafka.
type schedule struct {
	windows.Windows
	always bool // none were given
}

func parseSchedule(expressions []string) schedule {
	return schedule{windows.Valid(expressions), len(expressions) == 0}
}

const (
	// lastChance is how long before a certificate expires a closed window stops to count, if none opens in time.
	lastChance = 3 * 24 * time.Hour
	// rollTime is how long before a certificate expires a window must open to be in time: all nodes have to be restarted by then.
	rollTime = 24 * time.Hour
)

// mayRenew reports whether a certificate that is due may be renewed now: a window is open, or the certificate is about to expire and none
// opens in time.
func (s schedule) mayRenew(now, notAfter time.Time) bool {
	if s.always || s.Open(now) {
		return true
	}
	next, found := s.Next(now)
	inTime := found && next.Before(notAfter.Add(-rollTime))
	return !inTime && now.After(notAfter.Add(-lastChance))
}
