package topic

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
)

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later = noon.Add(time.Hour)
)

func claimed() *v1.KafkaTopic {
	kt := &v1.KafkaTopic{}
	kt.Name, kt.Generation = "orders", 7
	kt.Status = v1.KafkaTopicStatus{TopicName: "orders", TopicID: kafka.TopicID{1}.String(), ClusterID: "abc", ObservedGeneration: 6,
		Conditions:     []v1.Condition{{Type: v1.ConditionReady, Status: v1.ConditionTrue, LastTransitionTime: "2026-03-01T10:00:00Z"}},
		ReplicasChange: &v1.ReplicasChangeStatus{State: v1.ReplicasChangePending}}
	return kt
}

func TestStatusAfterAReadyPass(t *testing.T) {
	g := NewWithT(t)
	id := kafka.TopicID{2}
	s := StatusAfter(claimed(), Outcome{State: Ready, Claimed: &Claim{Name: "orders", ID: id},
		Warnings: []Refusal{{Reason: v1.ReasonInvalidConfig, Message: "w1"}, {Reason: v1.ReasonInvalidConfig, Message: "w2"}}}, noon)
	g.Expect(s.ObservedGeneration).To(BeEquivalentTo(7))
	g.Expect(s.TopicID).To(Equal(id.String()), "a recreated topic has its new id")
	g.Expect(s.ClusterID).To(Equal("abc"))
	g.Expect(s.Conditions).To(Equal([]v1.Condition{
		{Type: "Ready", Status: "True", LastTransitionTime: "2026-03-01T10:00:00Z"},
		{Type: "Warning", Status: "True", Reason: "InvalidConfig", Message: "w1", LastTransitionTime: "2026-03-01T12:00:00Z"},
		{Type: "Warning", Status: "True", Reason: "InvalidConfig", Message: "w2", LastTransitionTime: "2026-03-01T12:00:00Z"},
	}))
}

func TestAnErrorClearsNoIdentity(t *testing.T) {
	g := NewWithT(t)
	before := claimed()
	s := StatusAfter(before, Failure(v1.ReasonKafkaError, "TimeoutException: x"), noon)
	g.Expect([]any{s.TopicName, s.TopicID, s.ClusterID, s.ReplicasChange}).To(Equal([]any{"orders", before.Status.TopicID, "abc",
		before.Status.ReplicasChange}))
	g.Expect(s.ObservedGeneration).To(BeEquivalentTo(7), "observedGeneration is always that of the processed object")
	g.Expect(s.Conditions).To(Equal([]v1.Condition{{Type: "Ready", Status: "False", Reason: "KafkaError", Message: "TimeoutException: x",
		LastTransitionTime: "2026-03-01T12:00:00Z"}}))
}

func TestStatusOfAPausedTopicKeepsItsNameAndDropsItsID(t *testing.T) {
	g := NewWithT(t)
	s := StatusAfter(claimed(), Outcome{State: Paused}, noon)
	g.Expect([]string{s.TopicName, s.TopicID, s.ClusterID}).To(Equal([]string{"orders", "", "abc"}))
	g.Expect(s.Conditions).To(HaveLen(1))
	g.Expect(s.Conditions[0].Type).To(Equal("ReconciliationPaused"))
}

func TestStatusOfAnUnmanagedTopicNamesNone(t *testing.T) {
	g := NewWithT(t)
	s := StatusAfter(claimed(), Outcome{State: Unmanaged}, noon)
	g.Expect([]string{s.TopicName, s.TopicID, s.ClusterID}).To(Equal([]string{"", "", ""}))
	g.Expect(s.Conditions[0].Type).To(Equal("Unmanaged"))
}

func TestTheTransitionTimeMovesWithTheStatusOnly(t *testing.T) {
	g := NewWithT(t)
	kt := claimed()
	kt.Status = StatusAfter(kt, Failure("KafkaError", "one"), noon)
	kt.Status = StatusAfter(kt, Failure("KafkaError", "two"), later)
	g.Expect(kt.Status.Conditions[0].LastTransitionTime).To(Equal("2026-03-01T12:00:00Z"))
	kt.Status = StatusAfter(kt, Outcome{State: Ready}, later)
	g.Expect(kt.Status.Conditions[0].LastTransitionTime).To(Equal("2026-03-01T13:00:00Z"))
}

func TestAnUnchangedStatusIsNotWritten(t *testing.T) {
	g := NewWithT(t)
	kt := claimed()
	o := Outcome{State: Ready, Claimed: &Claim{Name: "orders", ID: kafka.TopicID{2}},
		Warnings: []Refusal{{Reason: "InvalidConfig", Message: "w"}}}
	kt.Status = StatusAfter(kt, o, noon)
	patch, err := StatusPatch("5", kt.Status, StatusAfter(kt, o, later))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(patch).To(BeNil())
}

// A merge patch, applied as RFC 7386 says, gives exactly the computed status, for any two statuses.
func TestThePatchLeadsToTheComputedStatus(t *testing.T) {
	g := NewWithT(t)
	r := rand.New(rand.NewPCG(randomtest.Seed(t), 5))
	pick := func(options ...string) string { return options[r.IntN(len(options))] }
	for range 5000 {
		status := func() v1.KafkaTopicStatus {
			s := v1.KafkaTopicStatus{TopicName: pick("", "a", "b"), TopicID: pick("", "x", "y"), ClusterID: pick("", "c"),
				ObservedGeneration: int64(r.IntN(3))}
			for range r.IntN(3) {
				s.Conditions = append(s.Conditions, v1.Condition{Type: pick("Ready", "Warning"), Status: pick("True", "False"), Message: pick("", "m")})
			}
			return s
		}
		before, after := status(), status()
		patch, err := StatusPatch("5", before, after)
		g.Expect(err).NotTo(HaveOccurred())
		got := before
		if patch != nil {
			got = merge(g, before, patch)
		}
		wantJSON, _ := json.Marshal(after)
		gotJSON, _ := json.Marshal(got)
		g.Expect(gotJSON).To(MatchJSON(wantJSON))
	}
}

func merge(g *WithT, before v1.KafkaTopicStatus, patch []byte) v1.KafkaTopicStatus {
	var whole struct {
		Metadata struct{ ResourceVersion string }
		Status   map[string]any
	}
	g.Expect(json.Unmarshal(patch, &whole)).To(Succeed())
	g.Expect(whole.Metadata.ResourceVersion).To(Equal("5"), "every write is bound to what was read")
	raw, _ := json.Marshal(before)
	merged := map[string]any{}
	g.Expect(json.Unmarshal(raw, &merged)).To(Succeed())
	for key, value := range whole.Status {
		if value == nil {
			delete(merged, key)
		} else {
			merged[key] = value
		}
	}
	raw, _ = json.Marshal(merged)
	var got v1.KafkaTopicStatus
	g.Expect(json.Unmarshal(raw, &got)).To(Succeed())
	return got
}
