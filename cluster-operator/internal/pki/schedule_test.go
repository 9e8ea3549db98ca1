package pki

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		panic(err)
	}
	return t
}

// TestMayRenew checks that a certificate that is due waits for a window, but not beyond its expiry.
func TestMayRenew(t *testing.T) {
	now := at("2026-11-22 12:00:00")
	for name, tc := range map[string]struct {
		windows []string
		left    time.Duration
		want    bool
	}{
		"no windows":                          {nil, 20 * 24 * time.Hour, true},
		"open":                                {[]string{"* * 12 * * ?"}, 20 * 24 * time.Hour, true},
		"one of two is open":                  {[]string{"* * 1 * * ?", "* * 12 * * ?"}, 20 * 24 * time.Hour, true},
		"closed":                              {[]string{"* * 1 * * ?"}, 20 * 24 * time.Hour, false},
		"closed, opens in time":               {[]string{"* * 1 * * ?"}, 2 * 24 * time.Hour, false},
		"closed, opens too late":              {[]string{"* * 1 1 1 ?"}, 2 * 24 * time.Hour, true},
		"closed, opens too late, but not yet": {[]string{"* * 1 1 1 ?"}, 20 * 24 * time.Hour, false},
		"never opens":                         {[]string{"nonsense"}, 20 * 24 * time.Hour, false},
		"never opens, last chance":            {[]string{"nonsense"}, 2 * 24 * time.Hour, true},
	} {
		s := parseSchedule(tc.windows)
		NewWithT(t).Expect(s.mayRenew(now, now.Add(tc.left))).To(Equal(tc.want), name)
	}
}
