package controller

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
)

// Faults that the tests plant in the operator or in its inputs. A rule of the model has to find each.
const (
	// plantedCacheObject: the check before a change reads the object from the cache.
	plantedCacheObject = "the object comes from the cache"
	// plantedCacheClaims: the check before a change reads the other claimants from the cache.
	plantedCacheClaims = "the claimants come from the cache"
	// plantedCache: the check before a change reads everything from the cache.
	plantedCache = "everything comes from the cache"
	// plantedEarlyPolicy: the check before a change uses the namespace policy of the start of the pass.
	plantedEarlyPolicy = "the policy comes from the start of the pass"
	// plantedOneCheck: a request that is sent again is not checked again.
	plantedOneCheck = "only the first attempt is checked"
	// plantedNoLease: no check of the lease.
	plantedNoLease = "nobody asks who leads"
	// plantedTrusting: the operator trusts spec.managed even if the API server drops the field.
	plantedTrusting = "spec.managed is believed in"
	// plantedDismissive: without an answer whether the API server keeps spec.managed, an object counts as unmanaged.
	plantedDismissive = "no answer about spec.managed means no"
	// plantedDeaf: the operator does not notice that the API server drops the clusterId.
	plantedDeaf = "nobody notices that the clusterId is dropped"
	// plantedUnasked: only another schema shows that the API server keeps the clusterId again.
	plantedUnasked = "nobody asks whether the clusterId is kept again"
	// plantedGullible: a first clusterId is stored even over another one.
	plantedGullible = "a claim is stored over another one"
	// plantedReleased: an object that the operator released counts as a claimant until it is removed.
	plantedReleased = "what was let go claims its topic for ever"
	// plantedOrdinary: internal topics of Kafka look like all others.
	plantedOrdinary = "no topic is internal"
	// plantedContent: the operator compares values, whatever their source is.
	plantedContent = "a default that equals a setting stands for it"
	// plantedPlain: an internal topic is created without Kafka's settings.
	plantedPlain = "Kafka's settings are not created"
	// plantedForgetful: the status loses which throttles an object named.
	plantedForgetful = "throttles that were named are forgotten"
	// plantedFinal: a status that reports a pause counts as one that another operator reconciled.
	plantedFinal = "the status of a pause stays"
	// plantedStubborn: the operator takes the report that another cluster answers for the one about the object's cluster.
	plantedStubborn = "what was reported about an intruder stays"
	// plantedUnsettled: the operator does not remember which topics it deleted itself.
	plantedUnsettled = "own deletions are forgotten"
	// plantedHasty: a claim reports that the object's generation is reconciled, before the topic is changed.
	plantedHasty = "a claim counts as an observation"
	// plantedHopeful: a failure that only a user can end is not reported as Stalled.
	plantedHopeful = "no failure is stalled"
	// plantedBelieving: a list that lacks an object after a gap in the watch proves that the object was deleted.
	plantedBelieving = "what a list lacks was deleted"
	// plantedGreedy: each throttle counts as named by the object.
	plantedGreedy = "all throttles count as named"
	// plantedComplacent: the brokers rely on as many partitions of an internal topic as it has.
	plantedComplacent = "brokers rely on what is there"
	// plantedDrowsy: nobody hears that Kafka has told the id of the cluster.
	plantedDrowsy = "nobody wakes when Kafka tells its id"
	// plantedDull: nobody hears of changed Secrets.
	plantedDull = "nobody wakes when a Secret changes"
	// plantedNaming: the status of each paused object names the topic that the object asks for.
	plantedNaming = "a pause claims a topic"
)

// plantThrottles changes the throttles that an object's status records, if the fault is planted.
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

// plantInMemory changes what an operator remembers before a pass, if such a fault is planted.
func (p *modelProcess) plantInMemory(key types.NamespacedName) {
	m, kt := p.r.memory, p.cache[key]
	switch {
	case p.w.config.plant == plantedUnsettled:
		for id, d := range m.deleted {
			m.deleted[id] = deletion{at: d.at}
		}
	case kt == nil:
	case p.w.config.plant == plantedFinal && slices.ContainsFunc(kt.Status.Conditions,
		func(c v1.Condition) bool { return c.Type == v1.ConditionReconciliationPaused }):
		m.noteMismatch(kt.UID, kt.Generation)
	case p.w.config.plant == plantedStubborn && p.guard.Current().Answering == "" && modelReports(kt, "Kafka answers as cluster"):
		m.noteMismatch(kt.UID, kt.Generation)
	}
}

// modelReports reports whether a condition of an object has these words.
func modelReports(kt *v1.KafkaTopic, words string) bool {
	return slices.ContainsFunc(kt.Status.Conditions, func(c v1.Condition) bool { return strings.Contains(c.Message, words) })
}

// plantInRead changes an object as an operator reads it, if such a fault is planted.
func (w *model) plantInRead(kt *v1.KafkaTopic) {
	if w.config.plant != plantedFinal {
		return
	}
	for i, c := range kt.Status.Conditions {
		if c.Type == v1.ConditionReconciliationPaused {
			kt.Status.Conditions[i].Type = v1.ConditionReady
		}
	}
}

// plantInPatch changes a patch of a status, if such a fault is planted.
func (w *model) plantInPatch(obj client.Object, patch client.Patch) client.Patch {
	data, err := patch.Data(obj)
	if err != nil {
		panic(err)
	}
	switch {
	case w.config.plant == plantedHasty && patch.Type() == types.JSONPatchType && !bytes.Contains(data, []byte("/status/conditions")):
		observed := fmt.Sprintf(`,{"op":"add","path":"/status/observedGeneration","value":%d}]`, obj.GetGeneration())
		data = append(bytes.TrimSuffix(data, []byte("]")), observed...)
	case w.config.plant == plantedNaming && bytes.Contains(data, []byte(`"ReconciliationPaused"`)) &&
		!bytes.Contains(data, []byte(`"topicName"`)):
		data = bytes.Replace(data, []byte(`"status":{`), []byte(`"status":{"topicName":"`+modelName(obj.(*v1.KafkaTopic))+`",`), 1)
	case w.config.plant == plantedHopeful:
		data = bytes.ReplaceAll(data, []byte(`"type":"Stalled"`), []byte(`"type":"Hopeful"`))
	}
	return client.RawPatch(patch.Type(), data)
}

func TestTheModelFindsPlantedFaults(t *testing.T) {
	for plant, says := range map[string][]string{
		plantedCacheObject: {"by now", "which nobody deletes"},
		plantedCacheClaims: {"claims too by now"},
		plantedCache:       {"by now"},
		plantedEarlyPolicy: {"may not by now"},
		plantedOneCheck:    {"by now", "which nobody deletes"},
		plantedNoLease:     {"though another replica leads"},
		plantedOrdinary:    {"which is Kafka's own"},
		plantedContent:     {"to the brokers"},
		plantedPlain:       {"would not keep its data"},
		plantedForgetful:   {throttleKey + "="},
		plantedGreedy:      {"never named"},
		plantedTrusting:    {"before spec.managed was dropped"},
		plantedDismissive:  {"claims too by now"},
		plantedDeaf:        {"no end of writing"},
		plantedUnasked:     {"though it is kept again"},
		plantedStubborn:    {"does not say that it belongs to another cluster"},
		plantedUnsettled:   {"whose topic it deleted itself"},
		plantedHasty:       {"after it reported that generation"},
		plantedHopeful:     {"is not stalled"},
		plantedBelieving:   {"whose end it did not see"},
		plantedComplacent:  {"says otherwise than that the brokers rely on"},
		plantedDull:        {"waits for its timer, though the Secret has changed"},
		plantedNaming:      {"of which it knows nothing"},
		plantedReleased:    {"has no topic", "is ready: false", " releases "},
	} {
		t.Run(plant, func(t *testing.T) {
			t.Parallel()
			checkFound(t, plant, says)
		})
	}
}

// checkFound plays histories until the expected rule finds the planted fault. Other rules may find it too.
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
