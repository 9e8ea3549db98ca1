package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
)

// Random histories found these two. A foreign CustomResourceDefinition drops an object's clusterId while an operator lists the objects, and
// the operator's own definition is back before the operator writes. The resourceVersion is the same, so the API server stored one cluster's
// claim over the other's.
var modelHiddenClaims = map[string]modelHistory{
	"taken over": {config: modelConfig{faults: true}, steps: []modelStep{
		{do: "create", key: 0, who: 0, arg: 59570},
		{do: "immigrate", key: 1, who: 0, arg: 20688},
		{do: "backup", key: 0, who: 0, arg: 64671},
		{do: "make", key: 3, who: 0, arg: 37069},
		{do: "deliver", key: 0, who: 0, arg: 26614},
		{do: "restore", key: 1, who: 0, arg: 62805},
		{do: "swap", key: 3, who: 0, arg: 20496},
		{do: "swap", key: 1, who: 1, arg: 15477},
		{do: "deliver", key: 1, who: 0, arg: 14743},
		{do: "timer", key: 1, who: 0, arg: 7633},
	}},
	"created": {config: modelConfig{finalizers: true, faults: true}, steps: []modelStep{
		{do: "immigrate", key: 1, who: 0, arg: 24132},
		{do: "backup", key: 0, who: 0, arg: 45431},
		{do: "restore", key: 1, who: 0, arg: 63315},
		{do: "swap", key: 0, who: 1, arg: 50894},
		{do: "restart", key: 2, who: 0, arg: 35297},
		{do: "work", key: 1, who: 0, arg: 45021, at: 2, inner: []modelStep{{do: "deliver", key: 0, who: 0, arg: 3454}}},
		{do: "swap", key: 2, who: 1, arg: 53301},
		{do: "wait", key: 0, who: 0, arg: 35243},
		{do: "work", key: 2, who: 0, arg: 46670},
	}},
}

func TestAClaimIsNotStoredOverOneThatWasHidden(t *testing.T) {
	for name, h := range modelHiddenClaims {
		t.Run(name, func(t *testing.T) { checkKnown(t, h) })
	}
}

func TestTheModelFindsAClaimThatIsStoredOverAnotherOne(t *testing.T) {
	g := NewWithT(t)
	h := modelHiddenClaims["taken over"]
	h.config.plant = plantedGullible
	g.Expect(h.play(metrics.New(prometheus.NewRegistry(), metrics.Options{}), nil)).To(ContainSubstring("turns the clusterId of n1/y"))
}

// Random histories found these two as well; nothing is lost in them. In the first, an operator that knew no cluster ids created a topic for
// an object of another cluster, and the clusterId is hidden when the object is deleted: the operator deletes the topic that it created. In
// the second, an operator that knew no cluster ids was led from one cluster to another and back: the status records the throttles of the
// topic in the last cluster.
func TestTopicsMadeWhileClusterIDsWereHidden(t *testing.T) {
	checkKnown(t, modelHistory{config: modelConfig{finalizers: true, oldestWins: true, faults: true}, steps: []modelStep{
		{do: "mute", key: 0, who: 1, arg: 14338},
		{do: "immigrate", key: 0, who: 1, arg: 27657},
		{do: "restart", key: 0, who: 1, arg: 21632},
		{do: "work", key: 0, who: 1, arg: 65207},
		{do: "mute", key: 1, who: 1, arg: 44127},
		{do: "delete", key: 0, who: 1, arg: 7659},
		{do: "swap", key: 3, who: 1, arg: 38470},
		{do: "deliver", key: 2, who: 1, arg: 49233},
		{do: "deliver", key: 1, who: 1, arg: 46545},
		{do: "work", key: 0, who: 1, arg: 51999},
	}})
	checkKnown(t, modelHistory{config: modelConfig{faults: true}, steps: []modelStep{
		{do: "mute", key: 1, who: 1, arg: 53502},
		{do: "claim-internal", key: 1, who: 0, arg: 58559},
		{do: "swap", key: 0, who: 0, arg: 52750},
		{do: "throttle", key: 1, who: 1, arg: 27633},
		{do: "gap", key: 3, who: 1, arg: 13166},
		{do: "work", key: 0, who: 1, arg: 45735},
		{do: "edit", key: 1, who: 0, arg: 48033},
		{do: "deliver", key: 1, who: 1, arg: 39985},
		{do: "wait", key: 1, who: 1, arg: 17184},
		{do: "redirect", key: 0, who: 1, arg: 44483},
		{do: "work", key: 1, who: 1, arg: 39405},
	}})
}

// A random history found this, without finalizers. A read past the cache returns the object that replaced another one, before the watch
// reports the deletion of the old one.
func TestATopicStaysIfItsObjectWasSeenReplaced(t *testing.T) {
	checkKnown(t, modelHistory{config: modelConfig{faults: true}, steps: []modelStep{
		{do: "create", key: 2, who: 0, arg: 51728},
		{do: "deliver", key: 3, who: 0, arg: 24810},
		{do: "work", key: 0, who: 0, arg: 64127},
		{do: "timer", key: 2, who: 0, arg: 55114},
		{do: "vanish", key: 2, who: 1, arg: 9806},
		{do: "create", key: 2, who: 0, arg: 48087},
		{do: "wait", key: 0, who: 0, arg: 51405},
		{do: "work", key: 1, who: 0, arg: 44510},
		{do: "delete", key: 2, who: 1, arg: 26467},
	}})
}

// A random history found this: the operator knows no cluster id, and is led to another cluster, which has no such topic. The throttle that
// is taken from the KafkaTopic there is still in its own cluster.
func TestAThrottleIsNotForgottenInAnotherCluster(t *testing.T) {
	h := modelHistory{config: modelConfig{finalizers: true, faults: true}, steps: []modelStep{
		{do: "claim-internal", key: 0, who: 0, arg: 47029},
		{do: "throttle", key: 0, who: 0, arg: 49940},
		{do: "deliver", key: 3, who: 1, arg: 59122},
		{do: "work", key: 1, who: 1, arg: 60888},
		{do: "redirect", key: 0, who: 1, arg: 21800},
		{do: "immigrate", key: 1, who: 0, arg: 61213},
		{do: "mute", key: 0, who: 1, arg: 50728},
		{do: "deliver", key: 0, who: 1, arg: 60955},
		{do: "restart", key: 3, who: 1, arg: 49273},
		{do: "create", key: 2, who: 0, arg: 51298},
		{do: "throttle", key: 0, who: 1, arg: 48749},
		{do: "deliver", key: 2, who: 1, arg: 49374},
		{do: "work", key: 1, who: 1, arg: 21800},
		{do: "work", key: 1, who: 1, arg: 28936},
	}}
	NewWithT(t).Expect(h.play(metrics.New(prometheus.NewRegistry(), metrics.Options{}), nil)).To(BeEmpty())
}
