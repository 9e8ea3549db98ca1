// Package schedule decides when to reconcile a ready KafkaTopic again. It is pure: it reads no clock.
package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// slots is the number of moments within an interval at which passes start. The distribution smooths the load, and passes that start
// together share two requests.
const slots = 60

// Next returns the delay until the next pass over the object with this key: a fixed moment of each interval, which depends only on the key.
// So it survives restarts, and no two passes are further apart than the interval.
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
