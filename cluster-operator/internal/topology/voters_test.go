package topology

import (
	"math/bits"
	"testing"

	. "github.com/onsi/gomega"
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
		voters Voters
		why    string
	}{
		"the only one":                    {Voters{IDs: []int32{0}, CaughtUp: all(0)}, "the only one"},
		"the only one, unknown":           {Voters{IDs: []int32{0}}, "the only one"},
		"no leader":                       {Voters{IDs: []int32{0, 1, 2}, First: all(1, 2)}, "no leader: start them"},
		"nobody answers":                  {Voters{IDs: []int32{0, 1, 2}, First: all(1, 2), Silent: "timeout"}, "operator (timeout)"},
		"the other one can't lead alone":  {Voters{IDs: []int32{0, 1}, Gone: 1, Silent: "timeout"}, "only 1 of 2 controllers have a volume"},
		"two of three are gone":           {Voters{IDs: []int32{0, 1, 2}, Gone: 2}, "only 1 of 3 controllers have a volume"},
		"two of three are gone, and run":  {Voters{IDs: []int32{0, 1, 2}, Gone: 2, CaughtUp: all(2)}, "(1)"},
		"one of three is gone":            {Voters{IDs: []int32{0, 1, 2}, Gone: 1}, "no leader: start them"},
		"two of two":                      {Voters{IDs: []int32{0, 1}, CaughtUp: all(1)}, ""},
		"two of two, on a later volume":   {Voters{IDs: []int32{0, 1}, First: all(0)}, "no leader"},
		"two of two, on its first volume": {Voters{IDs: []int32{0, 1}, First: all(1)}, ""},
		"two of two, and nobody answers":  {Voters{IDs: []int32{0, 1}, First: all(1), Silent: "timeout"}, ""},
		"none of two":                     {Voters{IDs: []int32{0, 1}, CaughtUp: all(0)}, "(1)"},
		"both others":                     {Voters{IDs: []int32{0, 1, 2}, CaughtUp: all(1, 2)}, ""},
		"one other":                       {Voters{IDs: []int32{0, 1, 2}, CaughtUp: all(2)}, "(1)"},
		"one other and itself":            {Voters{IDs: []int32{0, 1, 2}, CaughtUp: all(0, 2)}, "(1)"},
		"no other":                        {Voters{IDs: []int32{0, 1, 2}, CaughtUp: all()}, "(1, 2)"},
		"two of the three others":         {Voters{IDs: []int32{0, 1, 2, 3}, CaughtUp: all(1, 2)}, ""},
		"one of the three others":         {Voters{IDs: []int32{0, 1, 2, 3}, CaughtUp: all(3)}, "(1, 2)"},
		"two of three on first volumes":   {Voters{IDs: []int32{0, 1, 2, 3}, First: all(1, 2)}, "no leader"},
		"all three on first volumes":      {Voters{IDs: []int32{0, 1, 2, 3}, First: all(1, 2, 3)}, ""},
		"three of the four others":        {Voters{IDs: []int32{0, 1, 2, 3, 4}, CaughtUp: all(1, 2, 4)}, ""},
		"two of the four others":          {Voters{IDs: []int32{0, 1, 2, 3, 4}, CaughtUp: all(1, 2)}, "(3, 4)"},
	} {
		t.Run(name, func(t *testing.T) {
			why := c.voters.WhyNotEmpty(0)
			if c.why == "" {
				NewWithT(t).Expect(why).To(BeEmpty())
			} else {
				NewWithT(t).Expect(why).To(ContainSubstring(c.why))
			}
		})
	}
}

func TestMajorityEmpty(t *testing.T) {
	for _, c := range []struct {
		voters, gone, ephemeral int
		want                    bool
	}{
		{voters: 1}, {voters: 2, gone: 1}, {voters: 3, gone: 1}, {voters: 4, gone: 2}, {voters: 5, gone: 2}, {voters: 3, ephemeral: 1},
		{voters: 3, gone: 1, ephemeral: 2}, {voters: 3, ephemeral: 3},
		{1, 1, 0, true}, {2, 2, 0, true}, {3, 2, 0, true}, {4, 3, 0, true}, {5, 3, 0, true}, {3, 1, 1, true}, {5, 1, 2, true},
	} {
		NewWithT(t).Expect(MajorityEmpty(c.voters, c.gone, c.ephemeral)).To(Equal(c.want), "%+v", c)
	}
}

// Whatever a majority had before some voters lost it, no majority may be without it. Each way in which voters may be caught up, and have
// their first volumes, is compared with all sets of voters that may have had it: without a leader, any majority.
func TestNoMajorityStartsWithoutCommittedMetadata(t *testing.T) {
	for n := 1; n <= 7; n++ {
		v := Voters{}
		for id := range n {
			v.IDs = append(v.IDs, int32(id))
		}
		ids := func(set uint) map[int32]bool {
			in := map[int32]bool{}
			for id := range n {
				if set&(1<<id) != 0 {
					in[int32(id)] = true
				}
			}
			return in
		}
		all, majority := uint(1)<<n-1, n/2+1
		isLost := func(has uint) bool { return bits.OnesCount(all&^has) >= majority }
		for first := range all + 1 {
			// 0 starts empty. Those that are not on their first volumes may have nothing.
			lostUnknown := false
			for committed := range all + 1 {
				lostUnknown = lostUnknown || bits.OnesCount(committed) >= majority && isLost(committed&first&^1)
			}
			v.First, v.CaughtUp = ids(first), nil
			if allowed := v.WhyNotEmpty(0) == ""; allowed == lostUnknown {
				t.Errorf("%d voters, first volumes: %v: allowed is %t", n, v.First, allowed)
			}
			for caughtUp := range all + 1 {
				v.CaughtUp = ids(caughtUp)
				if allowed := v.WhyNotEmpty(0) == ""; allowed == (isLost(caughtUp&^1) && lostUnknown) {
					t.Errorf("%d voters, caught up: %v, first volumes: %v: allowed is %t", n, v.CaughtUp, v.First, allowed)
				}
			}
		}
	}
}
