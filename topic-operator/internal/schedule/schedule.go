// Package schedule decides when a converged KafkaTopic is reconciled again. It is pure: it reads no clock.
package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// slots is the number of moments within an interval at which topics fall due. Spreading smooths the load; falling due together
// in slots lets the checks of many topics share two requests.
const slots = 60

// Next returns how long after now the object named by key falls due again: at its own fixed moment of each interval, which depends on
// the key alone, so that it survives restarts and no two passes are further apart than the interval.
func Next(key string, interval time.Duration, now time.Time) time.Duration {
	// A hash that mixes well: with FNV, topic-1, topic-2 and so on are neighbours in time as they are in name.
	sum := sha256.Sum256([]byte(key))
	slot := interval / slots * time.Duration(binary.BigEndian.Uint32(sum[:])%slots)
	phase := time.Duration(now.UnixNano()) % interval
	wait := slot - phase
	if wait <= 0 {
		wait += interval
	}
	return wait
}
