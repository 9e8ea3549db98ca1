package schedule

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
)

func TestPassesAreNeverFurtherApartThanTheInterval(t *testing.T) {
	g := NewWithT(t)
	r := rand.New(rand.NewPCG(randomtest.Seed(t), 2))
	for range 10_000 {
		interval := time.Duration(1+r.Int64N(600_000)) * time.Millisecond
		now := time.Unix(r.Int64N(4_000_000_000), r.Int64N(1_000_000_000))
		wait := Next(fmt.Sprint("ns/", r.IntN(1000)), interval, now)
		g.Expect(wait).To(BeNumerically(">", 0))
		g.Expect(wait).To(BeNumerically("<=", interval))
	}
}

func TestAnObjectKeepsItsMoment(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1_700_000_000, 0)
	first := now.Add(Next("ns/a", time.Minute, now))
	g.Expect(Next("ns/a", time.Minute, first)).To(Equal(time.Minute))
	g.Expect(Next("ns/a", time.Minute, first.Add(-time.Nanosecond))).To(Equal(time.Nanosecond))
}

func TestObjectsAreSpreadOverTheInterval(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1_700_000_000, 0)
	due := map[time.Duration]int{}
	for i := range 6000 {
		due[Next(fmt.Sprintf("ns/topic-%d", i), 2*time.Minute, now)]++
	}
	g.Expect(due).To(HaveLen(slots))
	for at, n := range due {
		g.Expect(n).To(BeNumerically("<", 200), "too many fall due after %s", at)
	}
}

func TestNeighboursInNameAreNotNeighboursInTime(t *testing.T) {
	g := NewWithT(t)
	interval := time.Minute
	for _, ns := range []string{"default", "kafka", "test-x7k2p"} {
		tenths := map[time.Duration]bool{}
		for i := range 30 {
			tenths[Next(fmt.Sprintf("%s/topic-%d", ns, i), interval, time.Unix(0, 0))/(interval/10)] = true
		}
		g.Expect(len(tenths)).To(BeNumerically(">=", 8), ns)
	}
}
