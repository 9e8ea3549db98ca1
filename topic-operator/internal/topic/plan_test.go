package topic

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
)

// have returns an existing topic with one partition for each replica list.
func have(replicas ...[]int32) Actual {
	a := Actual{Topic: kafka.Topic{Name: "t", ID: kafka.TopicID{1}}, Config: map[string]kafka.ConfigEntry{}}
	for i, r := range replicas {
		a.Topic.Partitions = append(a.Topic.Partitions, kafka.Partition{Index: int32(i), Replicas: r})
	}
	return a
}

func (a Actual) with(key, value string, source kafka.ConfigSource) Actual {
	a.Config[key] = kafka.ConfigEntry{Value: value, Source: source}
	return a
}

func want(partitions int32, replicas int16, config ...string) Desired {
	d := Desired{Name: "t", Partitions: partitions, Replicas: replicas, Config: map[string]string{}}
	for i := 0; i < len(config); i += 2 {
		d.Config[config[i]] = config[i+1]
	}
	return d
}

func only(keys ...string) Rules {
	return Rules{Alterable: func(key string) bool { return slices.Contains(keys, key) }}
}

// describe returns the plan in words.
func describe(p Plan) string {
	var parts []string
	if p.Alter != nil {
		change := describeChange(*p.Alter)
		if p.Stores {
			change = strings.ReplaceAll(change, "set ", "store ")
		}
		parts = append(parts, change)
	}
	if p.Increase != nil {
		parts = append(parts, fmt.Sprintf("raise partitions to %d", p.Increase.Total))
	}
	for _, r := range p.Refusals {
		parts = append(parts, "refuse ("+r.Message+")")
	}
	if len(parts) == 0 {
		return "nothing to do"
	}
	return strings.Join(parts, "; ")
}

func describeChange(c kafka.ConfigChange) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(c.Set)) {
		parts = append(parts, fmt.Sprintf("set %s=%s", key, c.Set[key]))
	}
	for _, key := range slices.Sorted(slices.Values(c.Delete)) {
		parts = append(parts, "unset "+key)
	}
	return strings.Join(parts, ", ")
}

func TestCompare(t *testing.T) {
	one, three := []int32{1}, []int32{1, 2, 3}
	cases := map[string]struct {
		desired Desired
		actual  Actual
		rules   Rules
		want    string
	}{
		"nothing to do": {want(2, 1), have(one, one), Rules{}, "nothing to do"},
		"unset partitions and replicas are left alone": {want(-1, -1), have(three, three), Rules{}, "nothing to do"},
		"a missing key is set":                         {want(1, 1, "retention.ms", "5"), have(one), Rules{}, "set retention.ms=5"},
		"a differing key is set": {want(1, 1, "retention.ms", "5"),
			have(one).with("retention.ms", "6", kafka.SourceTopic), Rules{}, "set retention.ms=5"},
		"an equal key is left alone": {want(1, 1, "retention.ms", "5"),
			have(one).with("retention.ms", "5", kafka.SourceTopic), Rules{}, "nothing to do"},
		"an equal inherited value is stored": {want(1, 1, "retention.ms", "5"),
			have(one).with("retention.ms", "5", kafka.SourceDefault), Rules{}, "store retention.ms=5"},
		"so is one that is spelled otherwise": {want(1, 1, "retention.ms", "05"),
			have(one).with("retention.ms", "5", kafka.SourceStaticBroker), Rules{}, "store retention.ms=05"},
		"and one of the topic itself that is spelled otherwise is left alone": {want(1, 1, "retention.ms", "05"),
			have(one).with("retention.ms", "5", kafka.SourceTopic), Rules{}, "nothing to do"},
		"an equal value of an unknown source is left alone": {want(1, 1, "retention.ms", "5"),
			have(one).with("retention.ms", "5", kafka.SourceUnknown), Rules{}, "nothing to do"},
		"an inherited value beside one that differs": {want(1, 1, "retention.ms", "5", "segment.ms", "6"),
			have(one).with("retention.ms", "5", kafka.SourceDefault).with("segment.ms", "7", kafka.SourceDefault), Rules{},
			"set retention.ms=5, set segment.ms=6"},
		"an inherited value beside one that is not wanted": {want(1, 1, "retention.ms", "5"),
			have(one).with("retention.ms", "5", kafka.SourceDefault).with("segment.ms", "7", kafka.SourceTopic), Rules{},
			"set retention.ms=5, unset segment.ms"},
		"an inherited value that may not be altered": {want(1, 1, "retention.ms", "5"),
			have(one).with("retention.ms", "5", kafka.SourceDefault), only(), "nothing to do"},
		"a key no longer wanted is unset": {want(1, 1), have(one).with("retention.ms", "5", kafka.SourceTopic), Rules{},
			"unset retention.ms"},
		"inherited values are untouched": {want(1, 1),
			have(one).with("a", "5", kafka.SourceDefault).with("b", "5", kafka.SourceStaticBroker).with("c", "5",
				kafka.SourceDynamicBroker).with("d", "5", kafka.SourceDynamicBrokerDefault).with("e", "5", kafka.SourceUnknown), Rules{},
			"nothing to do"},
		"partitions are raised": {want(5, 1), have(one, one), Rules{}, "raise partitions to 5"},
		"partitions are never lowered": {want(1, 1), have(one, one), Rules{},
			"refuse (Decrease of spec.partitions is not supported by Kafka)"},
		"a decrease does not hold the configuration up": {want(1, 1, "retention.ms", "5"), have(one, one), Rules{},
			"set retention.ms=5; refuse (Decrease of spec.partitions is not supported by Kafka)"},
		"another replication factor is refused": {want(2, 3), have(one, three), Rules{},
			"refuse (Changing spec.replicas is not supported by the operator: partitions [0] have 1 replicas, not 3)"},
		"each partition with its own number": {want(3, 4), have(one, three, one), Rules{},
			"refuse (Changing spec.replicas is not supported by the operator: partitions [0, 2] have 1 replicas, partitions [1] have 3 replicas, " +
				"not 4)"},
		"both refusals are told": {want(1, 3), have(one, one), Rules{},
			"refuse (Decrease of spec.partitions is not supported by Kafka); refuse (Changing spec.replicas is not supported by the operator: " +
				"partitions [0, 1] have 1 replicas, not 3)"},
		"a refused replication factor does not hold up": {want(3, 3, "retention.ms", "5"), have(one, one), Rules{},
			"set retention.ms=5; raise partitions to 3; refuse (Changing spec.replicas is not supported by the operator: partitions [0, 1] have 1 " +
				"replicas, not 3)"},
		"a key that may not be altered is left alone": {want(1, 1, "retention.ms", "5", "segment.ms", "6"),
			have(one).with("cleanup.policy", "compact", kafka.SourceTopic), only("segment.ms"), "set segment.ms=6"},
		"a throttle in the spec is set": {want(1, 1, "leader.replication.throttled.replicas", "*"), have(one), only(),
			"set leader.replication.throttled.replicas=*"},
		"a throttle of somebody else's is left alone": {want(1, 1), have(one).with("leader.replication.throttled.replicas", "0:1",
			kafka.SourceTopic).with("follower.replication.throttled.replicas", "0:1", kafka.SourceTopic), Rules{}, "nothing to do"},
		"set and unset travel in one change": {want(1, 1, "a", "1"), have(one).with("b", "2", kafka.SourceTopic), Rules{},
			"set a=1, unset b"},
		"a message names a bounded number of partitions": {want(30, 2), have(slices.Repeat([][]int32{one}, 30)...), Rules{},
			"refuse (Changing spec.replicas is not supported by the operator: partitions [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, " +
				"16, 17, 18, 19, and 10 more] have 1 replicas, not 2)"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(describe(Compare(c.desired, c.actual, c.rules))).To(Equal(c.want))
		})
	}
}

func TestOngoingReassignmentsCountAsTheirTarget(t *testing.T) {
	g := NewWithT(t)
	a := have([]int32{1, 2, 3, 4}, []int32{1, 2})
	d := want(2, 2)
	g.Expect(a.NeedsReassignments(d)).To(BeTrue(), "four replicas look like another replication factor")
	a.Reassignments = map[int32]kafka.Reassignment{0: {Replicas: []int32{1, 2, 3, 4}, Adding: []int32{3, 4}, Removing: []int32{1, 2}}}
	g.Expect(describe(Compare(d, a, Rules{}))).To(Equal("nothing to do"))
	g.Expect(a.NeedsReassignments(want(2, -1))).To(BeFalse())
}

func TestWarnings(t *testing.T) {
	g := NewWithT(t)
	d := want(1, 1, "segment.ms", "1", "retention.ms", "2", "leader.replication.throttled.replicas", "*",
		"follower.replication.throttled.replicas", "*")
	messages := func(rules Rules) (m []string) {
		for _, w := range Warnings(d, rules) {
			g.Expect(w.Reason).To(Equal(v1.ReasonInvalidConfig))
			m = append(m, w.Message)
		}
		return m
	}
	throttles := []string{
		"Property follower.replication.throttled.replicas may conflict with throttled rebalances",
		"Property leader.replication.throttled.replicas may conflict with throttled rebalances",
	}
	g.Expect(messages(Rules{})).To(Equal(throttles))
	g.Expect(messages(only("segment.ms"))).To(Equal(append(slices.Clone(throttles),
		"Property retention.ms is ignored according to alterable config")))
	g.Expect(messages(only())).To(HaveLen(4))
}

// apply returns the topic after Kafka has executed the plan.
func apply(a Actual, p Plan) Actual {
	after := Actual{Topic: a.Topic, Config: maps.Clone(a.Config)}
	after.Topic.Partitions = slices.Clone(a.Topic.Partitions)
	if p.Increase != nil {
		for len(after.Topic.Partitions) < int(p.Increase.Total) {
			after.Topic.Partitions = append(after.Topic.Partitions,
				kafka.Partition{Index: int32(len(after.Topic.Partitions)), Replicas: a.Topic.Partitions[0].Replicas})
		}
	}
	if p.Alter != nil {
		for key, value := range p.Alter.Set {
			after.Config[key] = kafka.ConfigEntry{Value: value, Source: kafka.SourceTopic}
		}
		for _, key := range p.Alter.Delete {
			after.Config[key] = kafka.ConfigEntry{Value: "default", Source: kafka.SourceDefault}
		}
	}
	return after
}

// For any two sides, one plan settles the difference. It changes nothing that it must not change, and never shrinks anything.
func TestAPlanConvergesAndTouchesOnlyWhatItMay(t *testing.T) {
	keys := []string{"a", "b", "c", "d", "leader.replication.throttled.replicas"}
	r := rand.New(rand.NewPCG(randomtest.Seed(t), 11))
	for i := range 50_000 {
		d := want(int32(r.IntN(5))-1, int16(r.IntN(3))-1)
		if d.Partitions == 0 {
			d.Partitions = -1
		}
		if d.Replicas == 0 {
			d.Replicas = -1
		}
		a := have(slices.Repeat([][]int32{slices.Repeat([]int32{1}, 1+r.IntN(2))}, 1+r.IntN(5))...)
		var allowed []string
		for _, key := range keys {
			if r.IntN(2) == 0 {
				d.Config[key] = fmt.Sprint(r.IntN(2))
			}
			if r.IntN(3) > 0 {
				a.with(key, fmt.Sprint(r.IntN(2)), kafka.ConfigSource(r.IntN(6)))
			}
			if r.IntN(3) > 0 {
				allowed = append(allowed, key)
			}
		}
		rules := only(allowed...)
		plan := Compare(d, a, rules)
		check := func(ok bool, what string) {
			if !ok {
				t.Fatalf("case %d: %s\ndesired %+v\nactual %+v\nallowed %v\nplan %s", i, what, d, a, allowed, describe(plan))
			}
		}
		after := apply(a, plan)
		again := Compare(d, after, rules)
		check(again.Alter == nil && again.Increase == nil, "a second pass must find nothing to do, but: "+describe(again))
		check(len(again.Refusals) == len(plan.Refusals), "refusals stay")
		check(len(after.Topic.Partitions) >= len(a.Topic.Partitions), "partitions never shrink")
		for key, before := range a.Config {
			_, desired := d.Config[key]
			if !reflect.DeepEqual(before, after.Config[key]) {
				check(slices.Contains(allowed, key) || desired && strings.Contains(key, "throttled"), "changed a key that may not be altered: "+key)
				check(desired || before.Source == kafka.SourceTopic, "changed an inherited value: "+key)
				check(!plan.Stores || before.Value == after.Config[key].Value, "says that it only stores values, but changed one: "+key)
				check(desired || !strings.Contains(key, "throttled"), "removed somebody else's throttle")
			}
		}
		for key, value := range d.Config {
			if slices.Contains(allowed, key) {
				check(after.Config[key].Value == value, "a wanted key is not there: "+key)
				source := after.Config[key].Source
				check(source == kafka.SourceTopic || source == kafka.SourceUnknown, "a wanted value is left to the brokers: "+key)
			}
		}
	}
}
