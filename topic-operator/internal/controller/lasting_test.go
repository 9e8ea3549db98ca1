package controller

import (
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

const throttled = "follower.replication.throttled.replicas"

// The operator removes such a throttle after a restart too. It keeps one that a tool sets afterwards.
func TestAThrottleThatIsNamedNoLongerGoes(t *testing.T) {
	w := newWorld(t)
	w.create("a", config(throttled, `"*"`))
	w.pass("a")
	w.clock.step(settle)
	w.Expect(w.get("a")).To(haveConditions("Ready=True", "Warning=True InvalidConfig: Property "+throttled+
		" may conflict with throttled rebalances"))
	w.update("a", func(kt *v1.KafkaTopic) { kt.Spec.Config = nil })
	w.r.memory = newMemory(w.clock.now) // a restart
	w.pass("a")
	w.Expect(w.kafka.config("a")).To(BeEmpty())
	w.Expect(w.get("a")).To(haveConditions("Ready=True"))

	w.clock.step(settle)
	w.kafka.set("a", throttled, "0:1")
	w.pass("a")
	w.Expect(w.kafka.config("a")).To(HaveKey(throttled))
}

// The status records a throttle before the operator sets it in Kafka, because the operator may stop in between.
func TestAThrottleIsRememberedBeforeItIsSet(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.update("a", config(throttled, `"*"`))
	w.meanwhile(alterCall, func() {
		w.Expect(w.get("a").Status.Conditions).To(ContainElement(HaveField("Message", ContainSubstring(throttled))))
	})
	w.pass("a")
	w.Expect(w.kafka.config("a")).To(HaveKey(throttled))
}

func TestATopicOfKafkasOwnKeepsItsSettingsAndSaysSo(t *testing.T) {
	w := newWorld(t)
	w.kafka.put("__consumer_offsets", 1, 1, map[string]string{"cleanup.policy": "compact"})
	w.create("a", named("__consumer_offsets"), config("min.insync.replicas", `1`))
	w.pass("a")
	w.Expect(w.kafka.config("__consumer_offsets")).To(Equal(map[string]string{"cleanup.policy": "compact", "min.insync.replicas": "1"}))
	const says = "Topic '__consumer_offsets' is an internal topic of Kafka and keeps settings of Kafka that spec.config does not contain: " +
		"cleanup.policy=compact"
	w.Expect(w.get("a")).To(haveConditions("Ready=True", "Warning=True InvalidConfig: "+says))
	w.Expect(w.sink.took()).To(ContainElement(ContainSubstring(says)))
}

// Without compaction, Kafka deletes committed offsets after a while.
func TestATopicOfKafkasOwnIsCreatedAsKafkaCreatesIt(t *testing.T) {
	w := newWorld(t)
	w.create("a", named("__consumer_offsets"), replicas(3), config("retention.ms", `123456789`))
	w.pass("a")
	created := w.kafka.get("__consumer_offsets")
	w.Expect(created.Topic.Partitions).To(HaveLen(2), "as the brokers are configured")
	w.Expect(created.Topic.Partitions[0].Replicas).To(HaveLen(3))
	own := map[string]string{"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600",
		"retention.ms": "123456789"}
	w.Expect(w.kafka.config("__consumer_offsets")).To(Equal(own))
	w.Expect(w.get("a")).To(haveConditions("Ready=True", "Warning=True InvalidConfig: Topic '__consumer_offsets' is an internal topic of "+
		"Kafka and keeps settings of Kafka that spec.config does not contain: cleanup.policy=compact, compression.type=producer, "+
		"segment.bytes=104857600"))

	w.kafka.drop("__consumer_offsets")
	w.clock.step(settle)
	w.pass("a")
	w.Expect(w.kafka.config("__consumer_offsets")).To(Equal(own), "created again")
	w.Expect(w.get("a").Status.Conditions).To(ContainElement(And(HaveField("Type", "Ready"), HaveField("Status", "True"))))
}

const notReliedOn = "Warning=True NotSupported: Topic '__consumer_offsets' is an internal topic of Kafka. It has 3 partitions, and " +
	"offsets.topic.num.partitions of the brokers is 2: brokers that started before the topic was created rely on 2. Set it to 3 and restart " +
	"them before clients use the topic, or they do not find its data afterwards"

// The warning stays until the brokers are configured, whoever created the topic.
func TestPartitionsThatBrokersDoNotRelyOnAreReported(t *testing.T) {
	asKafkaCreates := func(kt *v1.KafkaTopic) { // so that there is no other warning
		for key, value := range map[string]string{"cleanup.policy": `"compact"`, "compression.type": `"producer"`, "segment.bytes": `104857600`} {
			config(key, value)(kt)
		}
	}
	for name, before := range map[string]func(w *world){
		"created": func(*world) {},
		"created, and the answer was lost": func(w *world) {
			w.kafka.hookAfter(answers(map[string]error{createCall: attempt(1)}))
			w.pass("a")
			w.Expect(w.kafka.partitions("__consumer_offsets")).To(Equal(3))
			w.kafka.hook(nil)
		},
		"found": func(w *world) { w.kafka.put("__consumer_offsets", 3, 1, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create("a", named("__consumer_offsets"), partitions(3), asKafkaCreates)
			before(w)
			w.pass("a")
			w.Expect(w.kafka.partitions("__consumer_offsets")).To(Equal(3))
			w.Expect(w.get("a")).To(haveConditions("Ready=True", notReliedOn))
			w.Expect(w.sink.took()).To(ContainElement(ContainSubstring("offsets.topic.num.partitions of the brokers is 2")))

			w.clock.step(settle)
			version := w.get("a").ResourceVersion
			w.pass("a")
			w.Expect(w.get("a").ResourceVersion).To(Equal(version), "nothing is written again")

			w.kafka.fails(brokerCall, attempt(1))
			w.pass("a")
			w.Expect(w.get("a")).To(haveConditions("Ready=True", notReliedOn), "no answer means nothing")

			w.kafka.fails(alterCall, kafka.NewError(kafka.CodeInvalidConfig, "no"))
			w.update("a", config("k", `1`))
			w.pass("a")
			w.Expect(w.get("a")).To(haveConditions("Ready=False KafkaError: InvalidConfigurationException: no", notReliedOn), "whatever else fails")

			w.update("a", noConfig("k"))
			w.kafka.hook(nil)
			w.kafka.reliedOn = "3"
			w.pass("a")
			w.Expect(w.get("a")).To(haveConditions("Ready=True"))
		})
	}
}

// Kafka of a provider may not show its brokers' configuration. Everything else is done.
func TestItIsSaidIfBrokersDoNotTellWhichPartitionsTheyRelyOn(t *testing.T) {
	const unknown = "Warning=True NotSupported: Topic '__consumer_offsets' is an internal topic of Kafka. Whether the brokers rely on its 2 " +
		"partitions is unknown: they do not show offsets.topic.num.partitions (grant the operator DescribeConfigs on the cluster)"
	for name, hide := range map[string]func(k *fakeKafka){
		"no right":   func(k *fakeKafka) { k.fails(brokerCall, kafka.NewError(kafka.CodeClusterAuthorization, "")) },
		"no request": func(k *fakeKafka) { k.fails(brokerCall, kafka.NewError(kafka.CodeUnsupportedVersion, "")) },
		"no number":  func(k *fakeKafka) { k.reliedOn = "" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.kafka.put("__consumer_offsets", 2, 1, nil)
			w.create("a", named("__consumer_offsets"), partitions(2), config("min.insync.replicas", `1`))
			hide(w.kafka)
			w.pass("a")
			w.Expect(w.kafka.config("__consumer_offsets")).To(HaveKey("min.insync.replicas"))
			w.Expect(w.get("a")).To(haveConditions("Ready=True", unknown))
		})
	}
}

// A temporary failure is told once the topic was never seen to be as desired, and never reads as an answer.
func TestAnUnreadConfigurationOfBrokersIsReadAgain(t *testing.T) {
	w := newWorld(t)
	w.kafka.put("__consumer_offsets", 2, 1, nil)
	w.create("a", named("__consumer_offsets"), partitions(2))
	w.kafka.fails(brokerCall, attempt(1))
	w.Expect(w.pass("a").RequeueAfter).To(Equal(firstRetry))
	w.Expect(w.get("a")).To(failWith(v1.ReasonKafkaError, noBroker))
	w.kafka.hook(nil)
	w.pass("a")
	w.Expect(w.get("a")).To(beReady())
}

// Only an internal topic whose KafkaTopic names a number is compared with the brokers' configuration.
func TestBrokersAreAskedAboutNoOtherTopic(t *testing.T) {
	w := newWorld(t)
	w.kafka.put("__consumer_offsets", 3, 1, nil)
	w.create("a", named("__consumer_offsets"))
	w.pass("a")
	w.create("b", partitions(3))
	w.pass("b")
	w.clock.step(settle)
	w.kafka.took()
	w.pass("a")
	w.pass("b")
	w.Expect(w.kafka.took()).To(Equal([]string{"describe __consumer_offsets", "describe b"}))
}

// Kafka creates it for the first group, and it is taken over then.
func TestATopicOfKafkasOwnIsNotCreatedWhenBrokersDoNotTellHow(t *testing.T) {
	w := newWorld(t)
	w.create("a", named("__consumer_offsets"))
	w.kafka.fails(brokerCall, kafka.NewError(kafka.CodeClusterAuthorization, ""))
	w.pass("a")
	w.Expect(w.get("a")).To(failWith(v1.ReasonKafkaError, "ClusterAuthorizationException: Cluster authorization failed."))
	w.Expect(w.kafka.took()).To(Equal([]string{"describe __consumer_offsets", "read broker "}))
	w.kafka.put("__consumer_offsets", 50, 1, nil)
	w.pass("a")
	w.Expect(w.get("a")).To(beReady())
}

func TestPartitionsOfATopicOfKafkasOwnAreNotRaised(t *testing.T) {
	w := newWorld(t)
	w.kafka.put("__consumer_offsets", 50, 1, nil)
	w.kafka.reliedOn = "50"
	w.create("a", named("__consumer_offsets"), partitions(60), config("min.insync.replicas", `1`))
	w.pass("a")
	w.Expect(w.kafka.partitions("__consumer_offsets")).To(Equal(50))
	w.Expect(w.kafka.config("__consumer_offsets")).To(HaveKey("min.insync.replicas"), "it holds up nothing else")
	w.Expect(w.get("a")).To(failWith(v1.ReasonNotSupported, "Increase of spec.partitions is not supported for '__consumer_offsets', an "+
		"internal topic of Kafka: its 50 partitions decide where Kafka finds the data of a group or transaction"))
}

func TestATopicOfKafkasOwnIsNotDeleted(t *testing.T) {
	w := newWorld(t)
	w.create("a", named("__transaction_state"))
	w.pass("a")
	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("__transaction_state")).NotTo(BeNil())
	w.Expect(w.sink.took()).To(ContainElement(HavePrefix("Warning LeftToKafka: Topic '__transaction_state' stays in Kafka")))
}
