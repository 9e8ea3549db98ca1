package topic

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

const follower, leader = "follower.replication.throttled.replicas", "leader.replication.throttled.replicas"

func dynamic(values map[string]string) map[string]kafka.ConfigEntry {
	entries := map[string]kafka.ConfigEntry{}
	for key, value := range values {
		entries[key] = kafka.ConfigEntry{Value: value, Source: kafka.SourceTopic}
	}
	return entries
}

func TestOnlyThrottlesThatWereNamedAreRemoved(t *testing.T) {
	g := NewWithT(t)
	kt := &v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Name: "t"},
		Spec: &v1.KafkaTopicSpec{Config: map[string]v1.ConfigValue{follower: {Raw: []byte(`"*"`)}}}}
	d, _ := DesiredOf(kt)
	g.Expect(d.Named).To(BeEmpty())
	new := d.NewThrottles()
	g.Expect(new).To(HaveLen(1))

	// The throttles in a status survive failures and a pause.
	now := time.Unix(0, 0)
	kt.Status = StatusWithWarnings(kt, new, now)
	kt.Status = StatusAfter(kt, Failure("r", "m"), now)
	kt.Status = StatusAfter(kt, Outcome{State: Paused}, now)
	d, _ = DesiredOf(kt)
	g.Expect(d.Named).To(Equal([]string{follower}))
	g.Expect(d.NewThrottles()).To(BeEmpty())

	kt.Spec.Config = nil
	d, _ = DesiredOf(kt)
	a := Actual{Config: dynamic(map[string]string{follower: "*", leader: "0:1"})}
	g.Expect(Compare(d, a, Rules{Alterable: func(string) bool { return false }}).Alter.Delete).To(Equal([]string{follower}),
		"the other one is a tool's")
	made := &kafka.ConfigChange{Delete: []string{follower}}
	g.Expect(d.GoneThrottles(a, nil, false)).To(BeEmpty())
	g.Expect(d.GoneThrottles(a, &kafka.ConfigChange{}, false)).To(BeEmpty())
	g.Expect(d.GoneThrottles(a, made, true)).To(Equal([]string{follower}))
	g.Expect(d.GoneThrottles(Actual{}, nil, false)).To(Equal([]string{follower}))
	g.Expect(d.GoneThrottles(Actual{}, nil, true)).To(BeEmpty(), "a broker that is behind does not show what was set")
	g.Expect(d.LeftThrottles(nil)).To(Equal(new))
	g.Expect(d.LeftThrottles([]string{follower})).To(BeEmpty())

	failed := Failure("r", "m")
	g.Expect(namedThrottles(StatusAfter(kt, failed, now).Conditions)).To(Equal([]string{follower}))
	failed.Gone = []string{follower}
	g.Expect(namedThrottles(StatusAfter(kt, failed, now).Conditions)).To(BeEmpty(), "a tool may set it from now on")
	g.Expect(namedThrottles(StatusAfter(kt, Outcome{State: Ready}, now).Conditions)).To(BeEmpty())
	g.Expect(namedThrottles(StatusAfter(kt, Outcome{State: Unmanaged}, now).Conditions)).To(BeEmpty())
}

func TestKafkasOwnTopicsKeepWhatKafkaSetOnThem(t *testing.T) {
	g := NewWithT(t)
	d := Desired{Name: "__consumer_offsets", Partitions: -1, Replicas: -1, Config: map[string]string{"min.insync.replicas": "2"}}
	a := Actual{Topic: kafka.Topic{Name: d.Name, Internal: true},
		Config: dynamic(map[string]string{"cleanup.policy": "compact", "segment.bytes": "104857600"})}
	plan := Compare(d, a, Rules{})
	g.Expect(plan.Alter.Set).To(Equal(map[string]string{"min.insync.replicas": "2"}))
	g.Expect(plan.Alter.Delete).To(BeEmpty())
	g.Expect(plan.KeptWarning(d.Name)).To(Equal([]Refusal{{Reason: v1.ReasonInvalidConfig,
		Message: "Topic '__consumer_offsets' is an internal topic of Kafka and keeps settings of Kafka that " +
			"spec.config does not contain: cleanup.policy=compact, segment.bytes=104857600"}}))
	a.Topic.Internal = false
	plan = Compare(d, a, Rules{})
	g.Expect(plan.Alter.Delete).To(Equal([]string{"cleanup.policy", "segment.bytes"}))
	g.Expect(plan.KeptWarning(d.Name)).To(BeEmpty())
}
