package controller

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
)

// Faults that are planted in the operator, or in what it reads by, so that a rule of the model has to find them.
const (
	// plantedCacheObject: before a change the object is read from the cache.
	plantedCacheObject = "the object comes from the cache"
	// plantedCacheClaims: before a change the other claimants are read from the cache.
	plantedCacheClaims = "the claimants come from the cache"
	// plantedCache: before a change everything is read from the cache.
	plantedCache = "everything comes from the cache"
	// plantedOneCheck: a request that is sent again is not checked again.
	plantedOneCheck = "only the first attempt is checked"
	// plantedNoLease: nobody asks who leads.
	plantedNoLease = "nobody asks who leads"
	// plantedTrusting: spec.managed is believed in, whatever the API server drops.
	plantedTrusting = "spec.managed is believed in"
	// plantedDeaf: nobody notices that the clusterId is dropped.
	plantedDeaf = "nobody notices that the clusterId is dropped"
	// plantedGullible: a first clusterId is stored whatever there is.
	plantedGullible = "a claim is stored over another one"
	// plantedReleased: an object that the operator let go counts as a claimant until it is gone.
	plantedReleased = "what was let go claims its topic for ever"
	// plantedOrdinary: Kafka's own topics look like all others.
	plantedOrdinary = "no topic is internal"
	// plantedForgetful: nobody remembers which throttles an object named.
	plantedForgetful = "throttles that were named are forgotten"
	// plantedGreedy: each throttle counts as one that was named.
	plantedGreedy = "all throttles count as named"
)

// plantThrottles changes what an object's status remembers of throttles, if that fault is planted.
func (w *model) plantThrottles(kt *v1.KafkaTopic) {
	says := v1.Condition{Type: v1.ConditionWarning, Status: v1.ConditionTrue, Reason: v1.ReasonInvalidConfig,
		Message: "Property " + throttleKey + " may conflict with throttled rebalances"}
	switch w.config.plant {
	case plantedForgetful:
		kt.Status.Conditions = slices.DeleteFunc(slices.Clone(kt.Status.Conditions),
			func(c v1.Condition) bool { return c.Message == says.Message })
	case plantedGreedy:
		kt.Status.Conditions = append(slices.Clone(kt.Status.Conditions), says)
	}
}

func TestTheModelFindsPlantedFaults(t *testing.T) {
	for plant, says := range map[string][]string{
		plantedCacheObject: {"by now", "which nobody deletes"},
		plantedCacheClaims: {"claims too by now"},
		plantedCache:       {"by now"},
		plantedOneCheck:    {"by now", "which nobody deletes"},
		plantedNoLease:     {"though another replica leads"},
		plantedOrdinary:    {"which is Kafka's own"},
		plantedForgetful:   {throttleKey + "="},
		plantedGreedy:      {"never named"},
		plantedTrusting:    {"before spec.managed was dropped"},
		plantedDeaf:        {"no end of writing"},
		plantedReleased:    {"has no topic", "is ready: false", " releases "},
	} {
		t.Run(plant, func(t *testing.T) {
			t.Parallel()
			checkFound(t, plant, says)
		})
	}
}

// checkFound plays histories until the rule that is meant finds the planted fault; others may find it too.
func checkFound(t *testing.T, plant string, says []string) {
	t.Helper()
	const most = 20_000
	m := metrics.New(prometheus.NewRegistry(), metrics.Options{})
	for seed := range uint64(most) {
		h := randomHistory(seed)
		h.config.plant = plant
		broken := h.play(m, nil)
		for _, words := range says {
			if strings.Contains(broken, words) {
				t.Logf("history %d: %s", seed, broken)
				return
			}
		}
	}
	t.Errorf("no rule found it in %d histories", most)
}
