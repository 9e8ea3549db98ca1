package v1_test

import (
	"testing"
	"time"

	v1 "github.com/kafka-operators/kafka-operators/api/core/v1"
)

func TestWhenAnOperatorWasSeen(t *testing.T) {
	type read struct{ now, renewed time.Time }
	at := func(seconds int) time.Time { return time.Unix(1e9, 0).Add(time.Duration(seconds) * time.Second) }
	reads := func(seconds ...int) (all []read) {
		for i := 0; i < len(seconds); i += 2 {
			all = append(all, read{at(seconds[i]), at(seconds[i+1])})
		}
		return all
	}
	for name, c := range map[string]struct {
		reads []read // when the Lease was read, and when it says that it was renewed
		want  time.Time
	}{
		"for the first time":                      {reads(0, -100), at(-100)},
		"a little ahead":                          {reads(0, 50), at(0)},
		"far ahead":                               {reads(0, 100), time.Time{}},
		"far ahead, and not renewed":              {reads(0, 100, 99, 100), time.Time{}},
		"never renewed":                           {[]read{{now: at(0)}, {now: at(9)}}, time.Time{}},
		"not renewed":                             {reads(0, -5, 100, -5), at(-5)},
		"renewed long before it is read":          {reads(0, -5, 100, 5), at(5)},
		"renewed with a clock that is behind":     {reads(0, -500, 7, -490), at(0)},
		"renewed with a clock that is ahead":      {reads(0, 500, 7, 510), at(0)},
		"renewed after a long pause, ahead":       {reads(0, 500, 900, 960), at(0)},
		"not renewed, with a clock that is ahead": {reads(0, 500, 7, 510, 100, 510), at(0)},
	} {
		t.Run(name, func(t *testing.T) {
			var b v1.Beat
			for _, r := range c.reads {
				b = b.Next(r.renewed, r.now)
			}
			if !b.Seen.Equal(c.want) {
				t.Errorf("seen at %s, want %s", b.Seen, c.want)
			}
		})
	}
}
