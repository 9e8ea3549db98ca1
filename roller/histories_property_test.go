package roller_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
	"github.com/kafka-operators/kafka-operators/roller/internal/proofs/simulator"
)

// proving reports whether the proofs run in full.
func proving() bool { return os.Getenv("PROVE") == "full" }

// TestRandomHistoriesOfRolls plays histories of rolls with all kinds of faults, and checks each decision against docs/decisions.
func TestRandomHistoriesOfRolls(t *testing.T) {
	steps, limit := 15_000, time.Duration(math.MaxInt64)
	if proving() {
		steps, limit = 10_000_000, 3*time.Hour     // a bound for a busy machine; an idle one needs a quarter of an hour
		if end, bounded := t.Deadline(); bounded { // a run that is cut short still reports its progress
			limit = min(limit, time.Until(end)-time.Minute)
		}
	}
	seed := randomtest.Seed(t)
	made, violations, restarts, races, looks := 0, 0, 0, 0, 0
	began := time.Now()
	for at := seed; made < steps && violations < 3 && time.Since(began) < limit; at++ {
		h := simulator.RandomHistory(at)
		made += len(h.Steps)
		result := h.Play(nil)
		restarts, races, looks = restarts+result.Restarts, races+result.Races, looks+result.Looks
		if result.Broken != "" {
			violations++
			reportHistory(t, at, h)
		}
	}
	t.Logf("%d looks, %d restarts, %d races", looks, restarts, races)
	if violations == 0 && restarts < made/100 {
		t.Errorf("only %d restarts in %d steps: the histories prove little", restarts, made)
	}
	if violations == 0 && made < steps {
		t.Errorf("only %d of %d steps were played in %s", made, steps, time.Since(began).Round(time.Second))
	}
	if races > restarts/100 {
		t.Errorf("%d of %d restarts were races: too many to take them for unavoidable", races, restarts)
	}
	fmt.Printf("PROOF {\"name\":\"random histories of rolls\",\"count\":%d,\"violations\":%d,\"races\":%d,\"seed\":%d}\n", made,
		violations, races, seed)
}

// TestRandomHistoriesOfLargeRolls plays the same with very large clusters.
func TestRandomHistoriesOfLargeRolls(t *testing.T) {
	sizes := []int{60}
	if proving() {
		sizes = []int{100, 100, 100, 100, 300, 300, 300, 1000, 1000, 1000}
	}
	seed := randomtest.Seed(t)
	made, violations := 0, 0
	for i, brokers := range sizes {
		h := simulator.LargeHistory(seed+uint64(i), brokers)
		made += len(h.Steps)
		began := time.Now()
		result := h.Play(nil)
		t.Logf("%d brokers: %d looks, %d restarts, %s until all was rolled, played in %s", brokers, result.Looks, result.Restarts, result.Took,
			time.Since(began).Round(time.Millisecond))
		if result.Broken != "" {
			violations++
			t.Errorf("LargeHistory(%d, %d): %s", seed+uint64(i), brokers, result.Broken)
		}
	}
	fmt.Printf("PROOF {\"name\":\"random histories of large rolls\",\"count\":%d,\"violations\":%d,\"seed\":%d}\n", made, violations, seed)
}

// reportHistory shrinks the history, and reports the shortest one that breaks a rule.
func reportHistory(t *testing.T, seed uint64, h simulator.History) {
	t.Helper()
	small := h.Shrink(func(h simulator.History) bool { return h.Play(nil).Broken != "" })
	var story strings.Builder
	small.Play(&story)
	t.Errorf("the history of PROVE_SEED=%d breaks a rule; %d of its %d steps are needed:\n%s\nAs a value:\n%s", seed, len(small.Steps),
		len(h.Steps), story.String(), small.Literal())
}
