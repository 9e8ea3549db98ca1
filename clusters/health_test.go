package clusters

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// verdicts returns the verdicts after a sequence of probes, one letter each: a probe "." succeeds and "x" fails; a verdict is "U" for up or
// "D" for down.
func verdicts(h Hysteresis, start bool, probes string) string {
	health, verdicts := Health{Up: start}, strings.Builder{}
	for i, p := range probes {
		var err error
		if p == 'x' {
			err = errors.New("x")
		}
		health = h.Next(health, time.Unix(int64(i), 0), err)
		verdicts.WriteByte(map[bool]byte{true: 'U', false: 'D'}[health.Up])
	}
	return verdicts.String()
}

func TestHealthChangesOnlyAfterEnoughProbesInARow(t *testing.T) {
	for _, c := range []struct {
		failures, successes int
		start               bool
		probes, verdicts    string
	}{
		{3, 3, true, "..x.xx.xxxx", "UUUUUUUUUDD"},
		{3, 3, true, "xxx..x.....", "UUDDDDDDUUU"},
		{3, 2, false, ".x..", "DDDU"},
		{1, 1, true, "x.x.", "DUDU"},
		{1, 3, true, "x..x...", "DDDDDDU"},
		{5, 1, true, "xxxxxx.", "UUUUDDU"},
		{3, 3, false, "xxxxxxxx...", "DDDDDDDDDDU"},
	} {
		NewWithT(t).Expect(verdicts(Hysteresis{c.failures, c.successes}, c.start, c.probes)).To(Equal(c.verdicts), c.probes)
	}
}

func TestHealthTellsSinceWhenAndWhy(t *testing.T) {
	g := NewWithT(t)
	h, at := Hysteresis{2, 2}, func(s int64) time.Time { return time.Unix(s, 0) }
	health := Health{Up: true, Since: at(1)}
	a, b := errors.New("a"), errors.New("b")
	health = h.Next(health, at(2), a)
	g.Expect(health).To(Equal(Health{Up: true, Since: at(1), Streak: 1, Err: a}))
	health = h.Next(health, at(3), b)
	g.Expect(health).To(Equal(Health{Since: at(3), Err: b}))
	health = h.Next(health, at(4), nil)
	g.Expect(health).To(Equal(Health{Since: at(3), Streak: 1}))
	g.Expect(h.Next(health, at(5), nil)).To(Equal(Health{Up: true, Since: at(5)}))
}

// TestHealthIsWhatTheLastProbesSay compares the verdict after each probe with a definition without a streak: it changes when the last n
// probes all contradict it.
func TestHealthIsWhatTheLastProbesSay(t *testing.T) {
	for range 2000 {
		h := Hysteresis{1 + rand.IntN(4), 1 + rand.IntN(4)}
		start, probes := rand.IntN(2) == 0, make([]byte, rand.IntN(40))
		for i := range probes {
			probes[i] = ".x"[rand.IntN(2)]
		}
		up, since, expected := start, 0, ""
		for i := range probes {
			n, against := h.Failures, "x"
			if !up {
				n, against = h.Successes, "."
			}
			if i+1-since >= n && string(probes[i+1-n:i+1]) == strings.Repeat(against, n) {
				up, since = !up, i+1
			}
			expected += map[bool]string{true: "U", false: "D"}[up]
		}
		NewWithT(t).Expect(verdicts(h, start, string(probes))).To(Equal(expected), "%+v %s", h, probes)
	}
}

func TestProbingHasABound(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Probing{}.Bound()).To(Equal(12 * time.Second))
	p := Probing{Interval: time.Second, Timeout: time.Minute}.withDefaults()
	g.Expect(p.Timeout).To(Equal(time.Second), "probes do not overlap")
	g.Expect(Probing{Interval: 2 * time.Second, Timeout: time.Second, Hysteresis: Hysteresis{Failures: 2}}.Bound()).To(Equal(5 * time.Second))
}

func TestAServerThatHasBeenAwayForLongIsProbedLessOften(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(0, 0)
	p := pace{}
	// probes plays intervals of 3 s, and returns how many probes there are.
	probes := func(intervals int, responds bool) (made int) {
		for range intervals {
			now = now.Add(3 * time.Second)
			if p.due(now, 10*time.Minute) {
				made++
				p.note(now, responds)
			}
		}
		return made
	}
	g.Expect(probes(1000, true)).To(Equal(1000))
	g.Expect(probes(200, false)).To(Equal(200), "ten minutes")
	g.Expect(probes(200, false)).To(BeNumerically("~", 40, 1))
	g.Expect(probes(100, true)).To(BeNumerically(">=", 96), "at each interval again, from its first response on")
	g.Expect(probes(100, false)).To(Equal(100))
}
