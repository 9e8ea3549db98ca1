package roller_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// What a pod runs with is reported where its owner can't see it: it was changed while the pod ran, or is not as the owner expects.
func TestConfigurationsOfPods(t *testing.T) {
	cases := map[string]struct {
		change func(sc *scene)
		before map[string]string
		want   map[string]string
	}{
		"a pod that was created with it": {func(sc *scene) { sc.node(1).ConfigHash.Current = "new" }, nil, nil},
		"changed while the pod runs":     {func(*scene) {}, nil, map[string]string{"pod-1": "new"}},
		"to be changed": {func(sc *scene) { configured(sc.node(1), false, "8", "9") },
			map[string]string{"pod-1": "new"}, map[string]string{"pod-1": ""}},
		"to be changed by a restart": {func(sc *scene) { configured(sc.node(1), true, "8", "9") }, nil, map[string]string{"pod-1": ""}},
		"a restart did not change it": {func(sc *scene) {
			configured(sc.node(1), true, "8", "9")
			sc.after = func(n *roller.Node) { n.Instance, n.ConfigHash.Current = roller.Known("pod-3"), "new" }
			sc.Expect(sc.roll()).To(Equal(ids(1)))
		}, nil, nil},
		"rejected": {func(sc *scene) {
			configured(sc.node(1), false, "8", "9")
			sc.progress.Refusals = []brokerconfig.Refusal{refusal("9", "no")}
		}, nil, map[string]string{"pod-1": ""}},
		"back to what the pod was created with, but not yet": {func(sc *scene) {
			sc.node(1).ConfigHash = roller.Revision{Current: "old", Desired: "old"}
			configured(sc.node(1), false, "9", "8")
		}, map[string]string{"pod-1": "new"}, map[string]string{"pod-1": ""}},
		"back to what the pod was created with": {func(sc *scene) {
			sc.node(1).ConfigHash = roller.Revision{Current: "old", Desired: "old"}
		}, map[string]string{"pod-1": "new"}, nil},
		"unknown": {func(sc *scene) { sc.node(1).Config = roller.Unknown[brokerconfig.Config]("it did not answer") },
			map[string]string{"pod-1": "new"}, map[string]string{"pod-1": "new"}},
		"the desired one is half written": {func(sc *scene) { sc.node(1).Unsettled = "no ConfigMap" },
			map[string]string{"pod-1": "old"}, nil},
		"the roller only restarts": {func(sc *scene) { sc.policy.NoReconfiguration = true },
			map[string]string{"pod-1": "new"}, map[string]string{"pod-1": "new"}},
		"another pod": {func(*scene) {}, map[string]string{"gone": "new"}, map[string]string{"pod-1": "new"}},
		"a pod in a Kubernetes cluster that can't be read": {func(sc *scene) { sc.s.Unread = "east" },
			map[string]string{"elsewhere": "new"}, map[string]string{"pod-1": "new", "elsewhere": "new"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t).with(broker, 1, 2).current(1, 2)
			for _, id := range ids(1, 2) {
				sc.node(id).Instance = roller.Known("pod-" + string(rune('0'+id)))
			}
			sc.node(1).ConfigHash = roller.Revision{Current: "old", Desired: "new"}
			c.change(sc)
			d := roller.Step(&sc.s, sc.progress, sc.policy)
			sc.Expect(roller.Configurations(&sc.s, d, sc.policy, c.before)).To(Equal(c.want))
		})
	}
}

// A change of all brokers is carried out by one of them, and shows in none before.
func TestAChangeOfAllBrokersIsPendingInEach(t *testing.T) {
	sc := newScene(t).with(broker, 1, 2).current(1, 2)
	for _, id := range ids(1, 2) {
		sc.node(id).ConfigHash = roller.Revision{Current: "old", Desired: "new"}
		sc.node(id).Instance = roller.Known("pod-" + string(rune('0'+id)))
		sc.node(id).Config = roller.Known(brokerconfig.Config{Desired: map[string]string{"log.retention.ms": "5"},
			Live: map[string]brokerconfig.Entry{"log.retention.ms": {Value: "6", Source: brokerconfig.SourceDynamicGlobal}}})
	}
	d := roller.Step(&sc.s, sc.progress, sc.policy)
	sc.Expect(roller.Configurations(&sc.s, d, sc.policy, nil)).To(Equal(map[string]string{"pod-1": "", "pod-2": ""}))
}
