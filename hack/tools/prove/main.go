// Command prove runs the long proofs in full, of which `make test` runs short versions: random histories, races, kill tests, enumerations,
// and all fuzz targets of the repository. It prints a line for each, with the command that repeats it. With -out, it also writes the
// results as JSON, one object per line: name, count, violations, seed, and the longest time and races where they are measured. It fails if
// a promise was broken, or if a proof had no result or less than the promised count.
//
// A proof is a Go test. With PROVE=full in its environment it runs in full; PROVE_SEED repeats a run. It prints one line `PROOF
// {"name":...,"count":...,"violations":...,"seed":...}`.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"
)

// proof is one line of the result.
type proof struct {
	Name       string      `json:"name"`
	Count      int64       `json:"count"`
	Violations int64       `json:"violations"`
	Seed       json.Number `json:"seed"`
	// Longest is how long the slowest one took, if that was measured.
	Longest string `json:"longest,omitempty"`
	// Races is how many restarts broke a rule only because something happened after their facts were read, which no program can avoid.
	Races int64 `json:"races,omitempty"`
}

// job is one run of go test.
type job struct {
	// pkg and test are the package and the name of the test or fuzz target.
	pkg, test string
	// what is the unit of the count, and least the promised count.
	what  string
	least int64
	fuzz  bool
}

// tests are the proofs that are tests. Fuzz targets are found automatically. The number of records that a test writes depends on the
// machine, and fewer requests of a roll are better, so for these the promised count is one.
var tests = []job{
	{pkg: "./topic-operator/internal/ownership", test: "TestEveryCombinationOfTheFactsKeepsThePromises", what: "combinations",
		least: 29_000_000},
	{pkg: "./topic-operator/internal/controller", test: "TestRandomHistoriesOfTwoOperators", what: "steps", least: 20_000_000},
	{pkg: "./topic-operator/internal/controller", test: "TestTheModelsServerIsLikeARealOne", what: "requests", least: 20_000},
	{pkg: "./roller", test: "TestRandomHistoriesOfRolls", what: "steps", least: 10_000_000},
	{pkg: "./roller", test: "TestRandomHistoriesOfLargeRolls", what: "steps", least: 3000},
	{pkg: "./roller/internal/proofs/explore", test: "TestEveryInterleavingOfASmallRoll", what: "states", least: 1_500_000},
	{pkg: "./roller/internal/proofs/simulator", test: "TestASerialRollIsCheap", what: "requests", least: 1},
	{pkg: "./roller/internal/proofs/simulator", test: "TestARefilledRollIsNotLonger", what: "rolls", least: 800},
	{pkg: "./roller/internal/proofs/simulator", test: "TestTheTimeOfARoll", what: "rolls", least: 9},
	{pkg: "./cluster-operator/internal/pki", test: "TestHistory", what: "steps", least: 100_000},
	{pkg: "./cluster-operator/internal/controller", test: "TestRandomHistoriesOfKafkas", what: "steps", least: 1_000_000},
	{pkg: "./cluster-operator/internal/controller", test: "TestRandomHistoriesOfVolumes", what: "steps", least: 80_000},
	{pkg: "./cluster-operator/internal/controller", test: "TestRandomHistoriesOfHibernation", what: "steps", least: 20_000},
	{pkg: "./cluster-operator/internal/controller", test: "TestRandomHistoriesOfListeners", what: "steps", least: 80_000},
	{pkg: "./cluster-operator/internal/controller", test: "TestRandomHistoriesOfListenersOfStretchedKafkas", what: "steps", least: 8000},
	{pkg: "./cluster-operator/internal/controller", test: "TestRandomHistoriesOfStretchedKafkas", what: "steps", least: 100_000},
	{pkg: "./cluster-operator/internal/controller", test: "TestStretchedHistoriesFindPlantedFaults", what: "faults", least: 5},
	{pkg: "./cluster-operator/internal/controller", test: "TestRandomHistoriesOfConversions", what: "steps", least: 3000},
	{pkg: "./cluster-operator/internal/controller", test: "TestRandomInputs", what: "edits", least: 8000},
	{pkg: "./cluster-operator/internal/controller", test: "TestRandomInputsOfStretchedKafkas", what: "inputs", least: 2000},
	{pkg: "./cluster-operator/internal/controller", test: "TestAnAPIServerTakesRandomInputs", what: "inputs", least: 200},
	{pkg: "./cluster-operator/internal/controller", test: "TestRandomInputsFindPlantedFaults", what: "faults", least: 27},
	{pkg: "./cluster-operator/internal/controller", test: "TestDriftIsHealedByWatches", what: "accidents", least: 102},
	{pkg: "./cluster-operator/internal/controller", test: "TestDriftElsewhereIsHealedByWatches", what: "accidents", least: 38},
	{pkg: "./e2e/prove", test: "TestTheRaceOfTwoOperators", what: "rounds", least: 200},
	{pkg: "./e2e/prove", test: "TestKillNine", what: "operations", least: 1000},
	{pkg: "./e2e/dropin", test: "TestStrimzisPodsRunOnNodes", what: "deployments", least: 2},
	{pkg: "./e2e/clusteroperator", test: "TestClusterOperatorOnNodes", what: "records", least: 1},
	{pkg: "./e2e/rollernodes", test: "TestRollerOnNodes", what: "records", least: 1},
	{pkg: "./e2e/stretch", test: "TestStretchedKafkaOnNodes", what: "records", least: 1},
	{pkg: "./e2e/stretch", test: "TestOperatorsOverThreeControlPlanes", what: "accidents", least: 5},
	{pkg: "./e2e/stretch", test: "TestRandomHistoriesOnRealGarbageCollectors", what: "steps", least: 3000},
}

func main() {
	out := flag.String("out", "", "file for the results as JSON, one object a line")
	only := flag.String("only", "", "run only the proofs whose package and name, with a space between, match this regular expression")
	fuzzTime := flag.Duration("fuzztime", time.Minute, "how long each fuzz target runs")
	flag.Parse()
	ok, err := prove(*out, *only, *fuzzTime)
	if err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// prove runs all proofs, also after a failure, and reports whether all promises held.
func prove(out, only string, fuzzTime time.Duration) (bool, error) {
	pick, err := regexp.Compile(only)
	if err != nil {
		return false, fmt.Errorf("-only: %w", err)
	}
	targets, err := fuzzTargets()
	if err != nil {
		return false, err
	}
	ok, ran := true, 0
	var lines []byte
	for _, j := range append(tests[:len(tests):len(tests)], targets...) {
		if !pick.MatchString(j.pkg + " " + j.test) {
			continue
		}
		ran++
		fmt.Fprintf(os.Stderr, "proving: %s %s\n", j.pkg, j.test)
		began := time.Now()
		p, output, err := j.run(fuzzTime)
		if err != nil {
			ok = false
			fmt.Printf("%s\nFAILED  %s %s: %v\n", output, j.pkg, j.test, err)
		}
		if p == nil {
			continue
		}
		fmt.Printf("%-50s %12d %-12s %3d violations  %6s  seed %s\n    repeat: %s\n", p.Name, p.Count, j.what, p.Violations,
			time.Since(began).Round(time.Second), p.Seed, j.repeat(p.Seed))
		if p.Longest != "" {
			fmt.Printf("    the longest: %s\n", p.Longest)
		}
		if p.Races > 0 {
			fmt.Printf("    races, which are no violations: %d\n", p.Races)
		}
		line, err := json.Marshal(p)
		if err != nil {
			return false, err
		}
		lines = append(append(lines, line...), '\n')
	}
	if ran == 0 {
		return false, fmt.Errorf("no proof matches %q", only)
	}
	if out != "" {
		if err := os.WriteFile(out, lines, 0o644); err != nil { // the report is not confidential
			return false, err
		}
	}
	return ok, nil
}
