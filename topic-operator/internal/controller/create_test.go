package controller

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/executor"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// Strimzi: shouldCreateTopicInKafkaWhenManagedTopicCreatedInKube, shouldNotUpdateStatusWithNoChanges.
func TestATopicIsCreatedInOnePass(t *testing.T) {
	w := newWorld(t)
	w.create("a", partitions(3), replicas(2), config("retention.ms", `"1000"`))
	generation := w.get("a").Generation

	// The finalizer protects the topic, so the operator writes it before its first change in Kafka.
	w.requests.once("PATCH a", func() { w.Expect(w.kafka.asks(createCall, "a")()).To(BeZero()) })
	result := w.pass("a")

	kt := w.get("a")
	actual := w.kafka.get("a")
	w.Expect(kt).To(And(beReady(), claim("a", actual.Topic.ID.String())))
	w.Expect(kt.Generation).To(Equal(generation))
	w.Expect(actual.Topic.Partitions).To(HaveLen(3))
	w.Expect(actual.Topic.Partitions[0].Replicas).To(HaveLen(2))
	w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"retention.ms": "1000"}))
	w.Expect(w.kafka.took()).To(Equal([]string{"describe a", "create a"}))
	w.Expect(w.requests.took()).To(Equal([]string{"PATCH a", "PATCH a/status"}))
	w.Expect(w.sink.took()).To(Equal([]string{"Normal Created: Created topic 'a' with 3 partitions and replication factor 2"}))
	w.Expect(result.RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", interval)))

	w.clock.step(settle)
	w.pass("a")
	w.Expect(w.requests.took()).To(BeEmpty())
	w.Expect(w.kafka.took()).To(Equal([]string{"describe a"}))
	w.Expect(w.get("a").ResourceVersion).To(Equal(kt.ResourceVersion))
	w.Expect(w.sink.took()).To(BeEmpty())
	w.Expect(w.logged.took()).To(BeEmpty())
}

// Strimzi: shouldCreateTopicInKafkaWhenKafkaTopicHasOnlyPartitions, ...HasOnlyReplicas, ...HasOnlyConfigs;
// shouldReconcileKafkaTopicWithEmptySpec.
func TestWhatATopicDoesNotSayIsLeftToKafka(t *testing.T) {
	for _, c := range []struct {
		name       string
		spec       change
		partitions int
		replicas   int
		config     map[string]string
	}{
		{"only partitions", partitions(5), 5, defaultReplicas, map[string]string{}},
		{"only replicas", replicas(3), defaultPartitions, 3, map[string]string{}},
		{"only config", config("retention.ms", "77"), defaultPartitions, defaultReplicas, map[string]string{"retention.ms": "77"}},
		{"nothing", func(*v1.KafkaTopic) {}, defaultPartitions, defaultReplicas, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.create("a", c.spec)
			w.pass("a")
			w.Expect(w.get("a")).To(beReady())
			w.Expect(w.kafka.get("a").Topic.Partitions).To(HaveLen(c.partitions))
			w.Expect(w.kafka.get("a").Topic.Partitions[0].Replicas).To(HaveLen(c.replicas))
			w.Expect(w.kafka.config("a")).To(Equal(c.config))
			w.clock.step(settle)
			w.forget()
			w.pass("a")
			w.Expect(w.requests.took()).To(BeEmpty())
			w.Expect(w.kafka.took()).To(Equal([]string{"describe a"}), "nothing is altered that is inherited")
		})
	}
}

func TestAnExistingTopicIsAdopted(t *testing.T) {
	w := newWorld(t)
	id := w.kafka.put("A_Topic", 2, 3, map[string]string{"retention.ms": "1", "cleanup.policy": "compact"})
	w.create("a", named("A_Topic"), partitions(2), replicas(3), config("retention.ms", "1"))
	w.pass("a")
	w.Expect(w.get("a")).To(And(beReady(), claim("A_Topic", id.String())))
	w.Expect(w.kafka.config("A_Topic")).To(Equal(map[string]string{"retention.ms": "1"}))
	w.Expect(w.kafka.took()).To(Equal([]string{"describe A_Topic", "alter A_Topic"}))
	w.Expect(w.sink.took()).To(Equal([]string{"Normal Changed: Topic 'A_Topic': configuration changed: cleanup.policy removed"}),
		"this is no drift")
}

// Strimzi: shouldReconcileOnTopicExistsException.
func TestATopicThatSomebodyElseCreatesFirstIsAlignedInTheSamePass(t *testing.T) {
	w := newWorld(t)
	w.create("a", partitions(3), config("retention.ms", "5"))
	var id kafka.TopicID
	w.kafka.hook(func(_ context.Context, call, _ string) error {
		if call == createCall {
			id = w.kafka.put("a", 1, 1, nil)
		}
		return nil
	})
	w.pass("a")
	w.Expect(w.kafka.took()).To(Equal([]string{"describe a", "create a", "describe a", "alter a", "increase a"}))
	w.Expect(w.get("a")).To(And(beReady(), claim("a", id.String())))
	w.Expect(w.kafka.partitions("a")).To(Equal(3))
	w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"retention.ms": "5"}))
}

func TestABrokerThatIsBehindTheControllerIsAskedAgainSoon(t *testing.T) {
	w := newWorld(t)
	w.create("a", partitions(2))
	w.kafka.lag()
	id := w.kafka.put("a", 2, 1, nil)
	for n := range 3 {
		w.Expect(w.pass("a").RequeueAfter).To(Equal(firstRetry << n))
		w.Expect(w.kafka.took()).To(Equal([]string{"describe a", "create a", "describe a"}))
	}
	w.Expect(w.requests.took()).To(Equal([]string{"PATCH a"}), "only the finalizer: there is nothing to tell yet")
	w.Expect(w.sink.took()).To(BeEmpty())
	w.Expect(w.logged.took()).To(BeEmpty())

	w.kafka.catchUp()
	w.pass("a")
	w.Expect(w.get("a")).To(And(beReady(), claim("a", id.String())))
}

// Strimzi: shouldFailCreationIfMoreReplicasThanBrokers, shouldFailCreationIfUnknownConfig, shouldFailCreationIfNoTopicAuthz.
func TestWhatKafkaRefusesToCreateIsToldAtOnceAndNotRepeatedFast(t *testing.T) {
	for _, c := range []struct {
		err     *kafka.Error
		message string
	}{
		{kafka.NewError(kafka.CodePolicyViolation, "Too many replicas."), "PolicyViolationException: Too many replicas."},
		{kafka.NewError(kafka.CodeInvalidConfig, "Unknown topic config name: x"), "InvalidConfigurationException: Unknown topic config name: x"},
		{kafka.NewError(kafka.CodeTopicAuthorizationFailed, ""), "TopicAuthorizationException: Topic authorization failed."},
	} {
		t.Run(c.err.Name, func(t *testing.T) {
			w := newWorld(t)
			w.create("a")
			w.kafka.hook(answers(map[string]error{createCall: c.err, validateCall: c.err}))
			result := w.pass("a")
			w.Expect(w.get("a")).To(And(failWith(v1.ReasonKafkaError, c.message), claim("", "")))
			w.Expect(w.get("a").Finalizers).To(BeEmpty(), "there is nothing to protect")
			w.Expect(result.RequeueAfter).To(Equal(w.moment("a")))
			w.Expect(w.sink.took()).To(Equal([]string{"Warning KafkaError: " + c.message}))

			w.requests.took()
			w.pass("a")
			w.Expect(w.requests.took()).To(BeEmpty())
			w.Expect(w.sink.took()).To(BeEmpty(), "an Event for each new state, not for each pass")

			w.kafka.hook(nil)
			w.pass("a")
			w.Expect(w.get("a")).To(beReady())
		})
	}
}

// Brokers of a Kafka that starts register one after the other.
func TestTooFewBrokersAreNoLastingFailureAtFirst(t *testing.T) {
	w := newWorld(t)
	few := kafka.NewError(kafka.CodeInvalidReplicationFactor, "Replication factor: 3 larger than available brokers: 1.")
	w.create("a", replicas(3))
	w.kafka.hook(answers(map[string]error{createCall: few, validateCall: few}))
	for range 3 {
		w.Expect(w.pass("a").RequeueAfter).To(BeNumerically("<=", lastRetry))
		w.Expect(w.get("a")).To(failWith(v1.ReasonKafkaError, few.Error()))
		w.Expect(seen(w.get("a"))).To(Equal("InProgress"))
		w.Expect(w.get("a").Finalizers).To(BeEmpty(), "it can be deleted at once")
	}
	w.clock.step(interval)
	for range 2 {
		w.Expect(w.pass("a").RequeueAfter).To(Equal(w.moment("a")))
		w.Expect(seen(w.get("a"))).To(Equal("Failed"))
	}
	w.kafka.hook(nil)
	w.pass("a")
	w.Expect(w.get("a")).To(beReady())
}

// Strimzi: shouldFailTheReconciliationWithNullConfig, shouldFailTheReconciliationWithUnexpectedConfig; "Topic has no spec".
func TestWhatHasNoFormInKafkaIsRefusedWithoutAskingKafka(t *testing.T) {
	for _, c := range []struct {
		name, reason, message string
		spec                  change
	}{
		{"null", v1.ReasonKafkaError, "InvalidConfigurationException: Null value not supported for topic configs: retention.ms",
			config("retention.ms", "null")},
		{"map", v1.ReasonInternalError, `Invalid value for topic config 'retention.ms': {"a":1}`, config("retention.ms", `{"a":1}`)},
		{"no spec", v1.ReasonNotSupported, "Topic has no spec: add one (spec: {} takes the defaults of the Kafka cluster)", noSpec},
	} {
		t.Run(c.name+" on a new topic", func(t *testing.T) {
			w := newWorld(t)
			w.ready("neighbour")
			w.create("a", c.spec)
			w.pass("a")
			w.Expect(w.get("a")).To(And(failWith(c.reason, c.message), claim("", "")))
			w.Expect(w.kafka.took()).To(BeEmpty())
			w.delete("a")
			w.pass("a")
			w.Expect(w.exists("a")).To(BeFalse())
			w.stillChanges("neighbour")
		})
		t.Run(c.name+" on an existing topic", func(t *testing.T) {
			w := newWorld(t)
			w.ready("neighbour")
			w.ready("a", config("retention.ms", "1"))
			id := w.kafka.get("a").Topic.ID.String()
			w.update("a", c.spec)
			w.pass("a")
			w.Expect(w.get("a")).To(And(failWith(c.reason, c.message), claim("a", id)))
			w.Expect(w.kafka.took()).To(BeEmpty())
			w.requests.took()
			w.pass("a")
			w.Expect(w.requests.took()).To(BeEmpty())
			w.delete("a")
			w.pass("a")
			w.Expect(w.exists("a")).To(BeFalse())
			w.stillChanges("neighbour")
			w.Expect(w.kafka.get("a")).To(BeNil())
		})
	}
}

// stillChanges checks that the topic of a KafkaTopic exists, and follows it.
func (w *world) stillChanges(name string) {
	w.t.Helper()
	w.Expect(w.get(name)).To(beReady())
	w.update(name, config("retention.ms", `"7"`))
	w.pass(name)
	w.Expect(w.get(name)).To(beReady())
	w.Expect(w.kafka.config(name)).To(HaveKeyWithValue("retention.ms", "7"))
}

// Strimzi: shouldIgnoreAndWarnWithAlterableConfigOnCreation, shouldIgnoreAndWarnWithNoneAlterableConfig.
func TestKeysThatMayNotBeAlteredAreCreatedAndWarnedOf(t *testing.T) {
	w := newWorld(t, func(s *setup) {
		s.Rules = topic.Rules{Alterable: func(key string) bool { return key == "retention.ms" }}
	})
	w.create("a", config("retention.ms", "1"), config("cleanup.policy", `"compact"`))
	w.pass("a")
	warning := "Property cleanup.policy is ignored according to alterable config"
	w.Expect(w.get("a")).To(haveConditions("Ready=True", "Warning=True InvalidConfig: "+warning))
	w.Expect(w.kafka.config("a")).To(HaveKeyWithValue("cleanup.policy", "compact"))
	w.Expect(w.sink.took()).To(ContainElement("Warning InvalidConfig: " + warning))

	w.update("a", config("retention.ms", "2"), config("cleanup.policy", `"delete"`))
	w.pass("a")
	w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"retention.ms": "2", "cleanup.policy": "compact"}))
	w.Expect(w.sink.took()).NotTo(ContainElement(ContainSubstring("InvalidConfig")), "the warning was given before")
}

// shapeless is a Kafka that does not tell what it created, as without the right to read the configuration.
type shapeless struct{ Kafka }

func (k shapeless) Create(ctx context.Context, t kafka.NewTopic, allowed executor.Check) (kafka.CreateResult, error) {
	made, err := k.Kafka.Create(ctx, t, allowed)
	made.Partitions, made.ReplicationFactor = -1, -1
	return made, err
}

func TestAShapeThatKafkaDoesNotTellIsNotTold(t *testing.T) {
	w := newWorld(t)
	w.r.kafka = shapeless{w.r.kafka}
	w.create("a")
	w.pass("a")
	w.Expect(w.sink.took()).To(Equal([]string{"Normal Created: Created topic 'a'"}))
}
