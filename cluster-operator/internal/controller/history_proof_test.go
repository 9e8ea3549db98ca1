package controller

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// TestRandomHistoriesOfStretchedKafkas plays a few histories; PROVE=full plays many. PROVE_SEED repeats them.
func TestRandomHistoriesOfStretchedKafkas(t *testing.T) {
	count, steps, first := 10, 40, int64(1)
	if os.Getenv("PROVE") == "full" {
		count, first = 2500, time.Now().UnixNano()%1_000_000
	}
	if text := os.Getenv("PROVE_SEED"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first = n
	}
	t.Logf("seed %d", first)
	if n, err := strconv.Atoi(os.Getenv("PROVE_ONE")); err == nil {
		count = n
	}
	began := time.Now()
	t.Run("histories", func(t *testing.T) {
		workers := runtime.GOMAXPROCS(0)
		for w := range workers {
			t.Run(strconv.Itoa(w), func(t *testing.T) {
				t.Parallel()
				for i := w; i < count; i += workers {
					newStretched(newHistory(t, first+int64(i))).play(steps)
				}
			})
		}
	})
	t.Logf("%d steps in %s", count*steps, time.Since(began))
	if !t.Failed() {
		fmt.Printf("PROOF {\"name\":\"random histories of stretched Kafkas\",\"count\":%d,\"violations\":0,\"seed\":%d}\n", count*steps, first)
	}
}

// TestStretchedHistoriesFindPlantedFaults shows that the rules are sharp. With PROVE=full, it plants what takes long to find too.
func TestStretchedHistoriesFindPlantedFaults(t *testing.T) {
	const histories, steps = 100, 40
	faults := []string{faultNoPreconditions}
	if os.Getenv("PROVE") == "full" {
		faults = append(faults, faultNoIdentity)
	}
	for _, fault := range faults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			for i := range histories {
				if step, found := playWith(t, fault, int64(1+i), steps); found != "" {
					t.Logf("found after %d steps: %s", i*steps+step, found)
					return
				}
			}
			t.Errorf("not found in %d steps", histories*steps)
		})
	}
}

type broken string

// playWith plays a history with a fault, and returns which promise was broken.
func playWith(t *testing.T, fault string, seed int64, steps int) (step int, found string) {
	h := newStretched(newHistory(t, seed))
	h.fault = fault
	h.caught = func(text string) { panic(broken(text)) }
	for _, s := range h.servers {
		s.lax = fault == faultNoPreconditions
	}
	defer func() {
		if text, is := recover().(broken); is {
			step, found = h.step, string(text)
		}
	}()
	h.play(steps)
	return steps, ""
}
