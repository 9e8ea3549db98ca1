package controller

import (
	"context"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	kafkamemory "github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/executor"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/schedule"
)

// The faults of the model are planted in single calls. These need batches, or a Kafka without a request.

// batched makes the reconciler send batches of two, which wait this long for the second call.
func (w *world) batched(admin executor.Admin, linger time.Duration) {
	w.r.kafka = executor.New(w.t.Context(), admin, w.metrics, executor.Options{MaxBatch: 2, Linger: linger, CallTimeout: time.Minute})
}

// unchecked is a client that encodes texts of any length, so that the whole request fails.
type unchecked struct{ *kafkamemory.Client }

func (u unchecked) DescribeTopics(ctx context.Context, names []string) (map[string]kafka.TopicResult, error) {
	for _, name := range names {
		if len(name) > kafka.MaxText {
			return nil, kafka.NewTransportError("the request can't be encoded", nil)
		}
	}
	return u.Client.DescribeTopics(ctx, names)
}

// together runs passes over two objects at once.
func (w *world) together(names ...string) {
	w.t.Helper()
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { _, errs[i] = w.tryPass(w.t.Context(), name) })
	}
	all.Wait()
	w.Expect(errs).To(HaveEach(BeNil()))
}

func TestATextThatNoRequestCarriesHarmsNoOtherTopicOfItsBatch(t *testing.T) {
	long := strings.Repeat("9", kafka.MaxText+1)
	for name, c := range map[string]struct {
		bad  change
		says string
	}{
		"a name":  {named(long), "InvalidTopicException: "},
		"a value": {config("retention.ms", `"`+long+`"`), "InvalidConfigurationException: "},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.batched(kafkamemory.New(kafkamemory.Options{}).Client("User:operator", nil), 50*time.Millisecond)
			w.create("bad", c.bad)
			w.create("good")
			w.together("bad", "good")
			w.Expect(w.get("bad")).To(haveCondition(HavePrefix("Ready=False KafkaError: " + c.says)))
			w.Expect(seen(w.get("bad"))).To(Equal("Failed"))
			w.Expect(w.get("good")).To(beReady())
		})
	}
	t.Run("and a client that does not check it is found out", func(t *testing.T) {
		w := newWorld(t)
		w.batched(unchecked{kafkamemory.New(kafkamemory.Options{}).Client("User:operator", nil)}, time.Minute)
		w.create("good")
		var bad sync.WaitGroup
		bad.Go(func() { _, _ = w.r.kafka.Describe(t.Context(), long, false) })
		w.pass("good")
		bad.Wait()
		w.Expect(w.get("good")).NotTo(beReady())
	})
}

// gullible is a client that takes the refusal to show a configuration for an empty configuration.
type gullible struct{ *kafkamemory.Client }

func (u gullible) DescribeConfigs(_ context.Context, resources []kafka.ConfigResource, _ []string) (
	map[kafka.ConfigResource]kafka.ConfigResult, error) {
	empty := map[kafka.ConfigResource]kafka.ConfigResult{}
	for _, r := range resources {
		empty[r] = kafka.ConfigResult{}
	}
	return empty, nil
}

func TestAConfigurationThatKafkaDoesNotShowIsReported(t *testing.T) {
	for name, finds := range map[string]bool{"the operator": true, "and a client that hides it is found out": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			client := kafkamemory.New(kafkamemory.Options{Authorize: func(_ string, o kafkamemory.Operation, topic string) bool {
				return o != kafkamemory.DescribeConfigs || topic != "a"
			}}).Client("User:operator", nil)
			w.batched(client, time.Millisecond)
			if !finds {
				w.batched(gullible{client}, time.Millisecond)
			}
			w.create("a")
			w.pass("a")
			w.Expect(w.get("a")).To(beReady(), "a creation needs no configuration")
			w.create("b")
			w.pass("b")
			w.clock.step(settle)
			w.pass("a")
			w.pass("b")
			says := haveCondition(And(HavePrefix("Ready=False "+v1.ReasonKafkaError+": TopicAuthorizationException: "),
				HaveSuffix("grant the operator DescribeConfigs on it)")))
			if !finds {
				w.Expect(w.get("a")).NotTo(says)
				return
			}
			w.Expect(w.get("a")).To(says)
			w.Expect(seen(w.get("a"))).To(Equal("Failed"))
			w.Expect(w.get("b")).To(beReady())
			w.delete("a")
			w.pass("a")
			w.Expect(w.exists("a")).To(BeFalse(), "a deletion needs no configuration")
		})
	}
}

// throwing is a client of a Kafka 3.9 to 4.1 whose CreateTopicPolicy throws on some topics. Kafka asks it about no topic that it rejects
// anyway. How saramakafka tells these topics from the others of a request is tested there.
type throwing struct {
	*kafkamemory.Client
	on    func(kafka.NewTopic) bool
	asked atomic.Int32
}

func (u *throwing) CreateTopics(ctx context.Context, topics []kafka.NewTopic, validateOnly bool) (map[string]kafka.CreateResult, error) {
	u.asked.Add(1)
	valid, err := u.Client.CreateTopics(ctx, topics, true)
	if err != nil {
		return nil, err
	}
	results := map[string]kafka.CreateResult{}
	var others []kafka.NewTopic
	for _, topic := range topics {
		if valid[topic.Name].Err == nil && u.on(topic) {
			results[topic.Name] = kafka.CreateResult{Err: kafka.NewError(kafka.CodeUnknownServer, "the policy threw")}
		} else {
			others = append(others, topic)
		}
	}
	created, err := u.Client.CreateTopics(ctx, others, validateOnly)
	maps.Copy(results, created)
	return results, err
}

// throws returns a client of a new Kafka whose CreateTopicPolicy throws on some topics.
func throws(on func(kafka.NewTopic) bool) *throwing {
	return &throwing{Client: kafkamemory.New(kafkamemory.Options{}).Client("User:operator", nil), on: on}
}

// The CreateTopicPolicy reads a setting that one topic does not have.
func TestATopicOnWhichAPolicyThrowsHarmsOnlyItself(t *testing.T) {
	w := newWorld(t)
	client := throws(func(t kafka.NewTopic) bool { return t.Configs["retention.ms"] == nil })
	w.batched(client, time.Minute)
	w.create("bad")
	w.create("good", config("retention.ms", `1000`))
	w.together("bad", "good")
	w.Expect(w.get("good")).To(beReady())
	w.Expect(w.get("bad")).To(haveCondition(HavePrefix("Ready=False KafkaError: UnknownServerException: ")))

	w.batched(client, time.Millisecond)
	before := client.asked.Load()
	slot := schedule.Next("UnknownServerException", interval, w.clock.now())
	for n := range int32(5) {
		w.Expect(w.pass("bad").RequeueAfter).To(Equal(slot), "each attempt may cost Kafka an election")
		w.Expect(client.asked.Load() - before).To(Equal(n + 1))
	}
}

// The topic of a deleted KafkaTopic is gone, and the policy throws on each topic: the controller is asked nothing about which it asks the
// policy.
func TestAPolicyThatThrowsHoldsUpNoDeletion(t *testing.T) {
	w := newWorld(t)
	begun := false
	client := throws(func(kafka.NewTopic) bool { return begun })
	w.batched(client, time.Millisecond)
	w.ready("a")
	id, err := kafka.ParseTopicID(w.get("a").Status.TopicID)
	w.Expect(err).NotTo(HaveOccurred())
	_, err = client.DeleteTopics(t.Context(), []kafka.TopicID{id})
	w.Expect(err).NotTo(HaveOccurred())
	begun = true
	w.restart()
	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
}
