package metrics

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
)

// refusals are all reasons of refusals.
var refusals = []string{"ClusterMismatch", "TopicIdMismatch", "NotReadyForDeletion", "ResourceConflict", "PolicyViolation",
	"ClusterIdUnknown", "NotSelected"}

// values returns a metric's values by namespace and reason, without zeros.
func values(t *testing.T, registry *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	shown := map[string]float64{}
	for _, m := range families(t, registry)[name].GetMetric() {
		labels := labelsOf(m)
		shown[labels["namespace"]+" "+labels["reason"]] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	maps.DeleteFunc(shown, func(_ string, v float64) bool { return v == 0 })
	return shown
}

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func TestOwnershipFiguresAreThereFromTheStartWithTheirLabels(t *testing.T) {
	for _, c := range []struct {
		namespaces []string
		split      []string
		only       string
	}{{nil, []string{"*"}, "*"}, {[]string{"one"}, []string{"one"}, "one"}, {[]string{"one", "two"}, []string{"one", "two"}, "*"}} {
		t.Run(fmt.Sprint(c.namespaces), func(t *testing.T) {
			g := NewWithT(t)
			_, _, got := gather(t, Options{Namespaces: c.namespaces, Selector: "app=x", Refusals: refusals})
			for name, expected := range map[string]struct {
				kind    dto.MetricType
				reasons []string
			}{
				"strimzi_ownership_refusals_total": {dto.MetricType_COUNTER, refusals},
				"strimzi_ownership_refused":        {dto.MetricType_GAUGE, refusals},
				"strimzi_deletions_blocked_total":  {dto.MetricType_COUNTER, blockers},
				"strimzi_deletions_blocked":        {dto.MetricType_GAUGE, blockers},
			} {
				g.Expect(got).To(HaveKey(name))
				g.Expect(got[name].GetType()).To(Equal(expected.kind), name)
				var shown, wanted []string
				for _, m := range got[name].GetMetric() {
					g.Expect(labelsOf(m)).To(And(HaveLen(4), HaveKeyWithValue("kind", "KafkaTopic"), HaveKeyWithValue("selector", "app=x")), name)
					g.Expect(m.GetGauge().GetValue() + m.GetCounter().GetValue()).To(BeZero())
					shown = append(shown, labelsOf(m)["namespace"]+" "+labelsOf(m)["reason"])
				}
				for _, ns := range c.split {
					for _, reason := range expected.reasons {
						wanted = append(wanted, ns+" "+reason)
					}
				}
				g.Expect(shown).To(ConsistOf(wanted), name)
			}
			for _, name := range []string{"strimzi_cluster_id_protection_armed", "strimzi_kafka_cluster_changed",
				"strimzi_namespace_policy_rejected"} {
				g.Expect(got[name].GetType()).To(Equal(dto.MetricType_GAUGE), name)
				g.Expect(got[name].GetMetric()).To(HaveLen(1), name)
				m := got[name].GetMetric()[0]
				g.Expect(labelsOf(m)).To(Equal(map[string]string{"kind": "KafkaTopic", "namespace": c.only, "selector": "app=x"}), name)
				g.Expect(m.GetGauge().GetValue()).To(BeZero(), name)
			}
		})
	}
}

func TestARefusedObjectIsShownUntilItIsInOrder(t *testing.T) {
	g := NewWithT(t)
	m, registry, _ := gather(t, Options{Namespaces: []string{"one", "two"}, Refusals: refusals})
	expect := func(present, passes map[string]float64) {
		t.Helper()
		g.Expect(values(t, registry, "strimzi_ownership_refused")).To(Equal(present))
		g.Expect(values(t, registry, "strimzi_ownership_refusals_total")).To(Equal(passes))
	}
	a, b, c := key("one", "a"), key("one", "b"), key("two", "a")
	for _, k := range []types.NamespacedName{a, b, c} {
		m.ResourceSeen(k, false)
		m.Allowed(k)
	}
	expect(map[string]float64{}, map[string]float64{})
	m.Refused(a, "ResourceConflict", false)
	m.Refused(a, "ResourceConflict", false) // the same object
	m.Refused(b, "ResourceConflict", false)
	m.Refused(c, "PolicyViolation", false)
	expect(map[string]float64{"one ResourceConflict": 2, "two PolicyViolation": 1},
		map[string]float64{"one ResourceConflict": 3, "two PolicyViolation": 1})
	m.Refused(a, "ClusterMismatch", false)
	expect(map[string]float64{"one ResourceConflict": 1, "one ClusterMismatch": 1, "two PolicyViolation": 1},
		map[string]float64{"one ResourceConflict": 3, "one ClusterMismatch": 1, "two PolicyViolation": 1})
	m.Allowed(a)
	m.Allowed(a)
	m.ResourceGone(b)
	m.ResourceGone(b)
	m.Allowed(b)
	expect(map[string]float64{"two PolicyViolation": 1}, map[string]float64{"one ResourceConflict": 3, "one ClusterMismatch": 1,
		"two PolicyViolation": 1})
	m.Allowed(c)
	expect(map[string]float64{}, map[string]float64{"one ResourceConflict": 3, "one ClusterMismatch": 1, "two PolicyViolation": 1})
	g.Expect(m.ownership.present).To(BeEmpty())
}

func TestABlockedDeletionIsShownUntilItIsThrough(t *testing.T) {
	g := NewWithT(t)
	m, registry, _ := gather(t, Options{Refusals: refusals})
	expect := func(present, passes map[string]float64) {
		t.Helper()
		g.Expect(values(t, registry, "strimzi_deletions_blocked")).To(Equal(present))
		g.Expect(values(t, registry, "strimzi_deletions_blocked_total")).To(Equal(passes))
	}
	a, b := key("one", "a"), key("two", "b")
	m.ResourceSeen(a, false)
	m.ResourceSeen(b, false)
	m.Refused(a, "ClusterMismatch", false)
	expect(map[string]float64{}, map[string]float64{})
	m.Refused(a, "ClusterMismatch", true)
	m.Refused(a, "ClusterMismatch", true)
	m.Refused(b, "NotReadyForDeletion", true)
	expect(map[string]float64{"* ClusterMismatch": 1, "* NotReadyForDeletion": 1},
		map[string]float64{"* ClusterMismatch": 2, "* NotReadyForDeletion": 1})
	// An object whose deletion is blocked counts once in strimzi_ownership_refused.
	g.Expect(values(t, registry, "strimzi_ownership_refused")).To(Equal(map[string]float64{"* ClusterMismatch": 1,
		"* NotReadyForDeletion": 1}))
	m.Refused(a, "TopicIdMismatch", true)
	m.Refused(b, "ClusterIdUnknown", true)
	expect(map[string]float64{"* TopicIdMismatch": 1, "* ClusterIdUnknown": 1},
		map[string]float64{"* ClusterMismatch": 2, "* NotReadyForDeletion": 1, "* TopicIdMismatch": 1, "* ClusterIdUnknown": 1})
	m.ResourceGone(a)
	m.ResourceSeen(a, false) // created again
	m.Refused(a, "ClusterMismatch", false)
	m.Allowed(b)
	expect(map[string]float64{}, map[string]float64{"* ClusterMismatch": 2, "* NotReadyForDeletion": 1, "* TopicIdMismatch": 1,
		"* ClusterIdUnknown": 1})
	g.Expect(values(t, registry, "strimzi_ownership_refused")).To(Equal(map[string]float64{"* ClusterMismatch": 1}))
}

// With these reasons the object is released and the topic stays.
func TestAReasonThatBlocksNoDeletionIsNotShownAsIfItDid(t *testing.T) {
	g := NewWithT(t)
	m, registry, _ := gather(t, Options{Refusals: refusals})
	m.ResourceSeen(key("one", "a"), false)
	for _, reason := range []string{"ResourceConflict", "PolicyViolation"} {
		m.Refused(key("one", "a"), reason, true)
		g.Expect(values(t, registry, "strimzi_ownership_refused")).To(Equal(map[string]float64{"* " + reason: 1}))
	}
	g.Expect(values(t, registry, "strimzi_deletions_blocked")).To(BeEmpty())
	g.Expect(values(t, registry, "strimzi_deletions_blocked_total")).To(BeEmpty())
}

// No event follows that would clear a refusal of a deleted object, so its alert would fire forever.
func TestTheRefusalOfAGoneObjectIsCountedButNotShown(t *testing.T) {
	g := NewWithT(t)
	m, registry, _ := gather(t, Options{Refusals: refusals})
	m.ResourceSeen(key("one", "a"), false)
	m.ResourceGone(key("one", "a"))
	m.Refused(key("one", "a"), "TopicIdMismatch", true)
	g.Expect(values(t, registry, "strimzi_ownership_refusals_total")).To(Equal(map[string]float64{"* TopicIdMismatch": 1}))
	g.Expect(values(t, registry, "strimzi_deletions_blocked_total")).To(Equal(map[string]float64{"* TopicIdMismatch": 1}))
	g.Expect(values(t, registry, "strimzi_ownership_refused")).To(BeEmpty())
	g.Expect(values(t, registry, "strimzi_deletions_blocked")).To(BeEmpty())
	g.Expect(m.ownership.present).To(BeEmpty())
}

func TestTheGaugesAddUpWhateverHappensAtOnce(t *testing.T) {
	g := NewWithT(t)
	m, registry, _ := gather(t, Options{Refusals: refusals})
	const objects = 24
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 600 {
				k := key("ns", fmt.Sprint((worker+i)%objects))
				switch n := worker*7 + i; n % 5 {
				case 0:
					m.ResourceGone(k)
				case 1:
					m.Allowed(k)
				default:
					m.ResourceSeen(k, false)
					m.Refused(k, refusals[n%len(refusals)], n%2 == 0)
				}
			}
		})
	}
	wg.Wait()
	for i := range objects {
		m.ResourceSeen(key("ns", fmt.Sprint(i)), false)
		m.Refused(key("ns", fmt.Sprint(i)), "TopicIdMismatch", true)
	}
	g.Expect(values(t, registry, "strimzi_ownership_refused")).To(Equal(map[string]float64{"* TopicIdMismatch": objects}))
	g.Expect(values(t, registry, "strimzi_deletions_blocked")).To(Equal(map[string]float64{"* TopicIdMismatch": objects}))
	for i := range objects {
		if i%2 == 0 {
			m.ResourceGone(key("ns", fmt.Sprint(i)))
		} else {
			m.Allowed(key("ns", fmt.Sprint(i)))
		}
	}
	g.Expect(values(t, registry, "strimzi_ownership_refused")).To(BeEmpty())
	g.Expect(values(t, registry, "strimzi_deletions_blocked")).To(BeEmpty())
	g.Expect(m.ownership.present).To(BeEmpty())
}

// Each successful pass calls Allowed.
func TestAnObjectThatIsInOrderCostsNothing(t *testing.T) {
	g := NewWithT(t)
	m, _, _ := gather(t, Options{Refusals: refusals})
	m.ResourceSeen(key("ns", "a"), false)
	g.Expect(testing.AllocsPerRun(100, func() { m.Allowed(key("ns", "a")) })).To(BeZero())
	g.Expect(m.ownership.present).To(BeEmpty())
}

func TestTheStateOfTheProtectionIsShown(t *testing.T) {
	g := NewWithT(t)
	m, registry, _ := gather(t, Options{Selector: "app=x"})
	for name, tell := range map[string]func(bool){
		"strimzi_cluster_id_protection_armed": m.ProtectionArmed,
		"strimzi_kafka_cluster_changed":       m.ClusterChanged,
		"strimzi_namespace_policy_rejected":   m.PolicyRejected,
	} {
		for _, on := range []bool{true, true, false, true, false} {
			tell(on)
			value := 0
			if on {
				value = 1
			}
			help := families(t, registry)[name].GetHelp()
			g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(fmt.Sprintf(
				"# HELP %[1]s %[2]s\n# TYPE %[1]s gauge\n%[1]s{kind=\"KafkaTopic\",namespace=\"*\",selector=\"app=x\"} %[3]d\n", name, help, value)),
				name)).To(Succeed())
		}
	}
}
