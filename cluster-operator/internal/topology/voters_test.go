package topology

import (
	"strings"
	"testing"
)

func TestWhyNotEmpty(t *testing.T) {
	all := func(ids ...int32) map[int32]bool {
		has := map[int32]bool{}
		for _, id := range ids {
			has[id] = true
		}
		return has
	}
	for name, c := range map[string]struct {
		voters   []int32
		caughtUp map[int32]bool
		why      string
	}{
		"the only one":             {[]int32{0}, all(0), "the only one"},
		"the only one, unknown":    {[]int32{0}, nil, "the only one"},
		"nobody answers":           {[]int32{0, 1, 2}, nil, "unknown"},
		"two of two":               {[]int32{0, 1}, all(1), ""},
		"none of two":              {[]int32{0, 1}, all(0), "(1)"},
		"both others":              {[]int32{0, 1, 2}, all(1, 2), ""},
		"one other":                {[]int32{0, 1, 2}, all(2), "(1)"},
		"one other and itself":     {[]int32{0, 1, 2}, all(0, 2), "(1)"},
		"no other":                 {[]int32{0, 1, 2}, all(), "(1, 2)"},
		"two of the three others":  {[]int32{0, 1, 2, 3}, all(1, 2), ""},
		"one of the three others":  {[]int32{0, 1, 2, 3}, all(3), "(1, 2)"},
		"three of the four others": {[]int32{0, 1, 2, 3, 4}, all(1, 2, 4), ""},
		"two of the four others":   {[]int32{0, 1, 2, 3, 4}, all(1, 2), "(3, 4)"},
	} {
		t.Run(name, func(t *testing.T) {
			why := WhyNotEmpty(0, c.voters, c.caughtUp)
			if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
				t.Errorf("WhyNotEmpty = %q, wanted %q", why, c.why)
			}
		})
	}
}

// Whatever a majority had before some voters lost it, no majority may be without it.
func TestNoMajorityStartsWithoutCommittedMetadata(t *testing.T) {
	for n := int32(1); n <= 7; n++ {
		var voters []int32
		for id := range n {
			voters = append(voters, id)
		}
		for has := range 1 << n {
			caughtUp, lacking := map[int32]bool{}, int32(1) // 0 starts empty
			for id := int32(1); id < n; id++ {
				if caughtUp[id] = has&(1<<id) != 0; !caughtUp[id] {
					lacking++
				}
			}
			allowed := WhyNotEmpty(0, voters, caughtUp) == ""
			if lost := lacking >= n/2+1; allowed == lost {
				t.Errorf("%d voters, caught up: %v: allowed is %t", n, caughtUp, allowed)
			}
		}
	}
}
