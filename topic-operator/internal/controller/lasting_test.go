package controller

import (
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
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
	w.kafka.topics["__consumer_offsets"].Topic.Internal = true
	w.create("a", named("__consumer_offsets"), config("min.insync.replicas", `1`))
	w.pass("a")
	w.Expect(w.kafka.config("__consumer_offsets")).To(Equal(map[string]string{"cleanup.policy": "compact", "min.insync.replicas": "1"}))
	const says = "Topic '__consumer_offsets' is an internal topic of Kafka and keeps settings of Kafka that spec.config does not contain: " +
		"cleanup.policy=compact"
	w.Expect(w.get("a")).To(haveConditions("Ready=True", "Warning=True InvalidConfig: "+says))
	w.Expect(w.sink.took()).To(ContainElement(ContainSubstring(says)))
}
