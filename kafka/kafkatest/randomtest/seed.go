// Package randomtest has what tests that choose at random share.
package randomtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Seed returns the seed of a test's random choices: PROVE_SEED if it is set, a new one if PROVE is full, else always the same, so that a
// plain test run has the same result each day. It prints the seed at once, so that no panic loses it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, err := choose(os.Getenv("PROVE_SEED"), os.Getenv("PROVE") == "full")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%s: PROVE_SEED=%d\n", t.Name(), seed)
	return seed
}

func choose(text string, full bool) (uint64, error) {
	switch {
	case text == "" && full:
		return rand.Uint64() >> 12, nil // as many bits as the numbers of JSON have; no secret depends on it
	case text == "":
		return 1, nil
	}
	seed, err := strconv.ParseUint(text, 10, 63) // some tests need an int64
	if err != nil {
		return 0, fmt.Errorf("PROVE_SEED: %w", err)
	}
	return seed, nil
}
