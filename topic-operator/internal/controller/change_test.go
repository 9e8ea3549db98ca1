package controller

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

const (
	noDecrease      = "Decrease of spec.partitions is not supported by Kafka"
	noRetargeting   = "Changing spec.topicName is not supported: this KafkaTopic manages 'a'"
	noReplicasTo3   = "Changing spec.replicas is not supported by the operator: partitions [0, 1] have 2 replicas, not 3"
	configWasTold   = "Normal Changed: Topic 'a': configuration changed: "
	revertedWasTold = "Warning DriftReverted: Topic 'a' was changed outside of Kubernetes; reverted: "
)

// Strimzi: shouldUpdateTopicInKafkaWhen{String,Int,Long,Double,Boolean,List}ConfigChangedInKube,
// shouldUpdateTopicInKafkaWhenConfigRemovedInKube, shouldUpdateStatusWithConfigChange.
func TestAConfigurationChangeReachesKafka(t *testing.T) {
	for _, c := range []struct {
		name   string
		change change
		want   map[string]string
		told   string
	}{
		{"string", config("k", `"text"`), map[string]string{"k": "text"}, "k=text"},
		{"int", config("k", `2`), map[string]string{"k": "2"}, "k=2"},
		{"long", config("k", `9223372036854775807`), map[string]string{"k": "9223372036854775807"}, "k=9223372036854775807"},
		{"double", config("k", `0.6`), map[string]string{"k": "0.6"}, "k=0.6"},
		{"boolean", config("k", `true`), map[string]string{"k": "true"}, "k=true"},
		{"list", config("k", `["compact","delete"]`), map[string]string{"k": "compact,delete"}, "k=compact,delete"},
		{"removal", noConfig("k"), map[string]string{}, "k removed"},
		{"inherited key", config(inheritedConfigKey, `7`), map[string]string{"k": "1", inheritedConfigKey: "7"}, inheritedConfigKey + "=7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.ready("a", config("k", `1`))
			id := w.kafka.get("a").Topic.ID.String()
			w.update("a", c.change)
			w.pass("a")
			w.Expect(w.kafka.config("a")).To(Equal(c.want))
			w.Expect(w.get("a")).To(And(beReady(), claim("a", id), HaveField("Status.ObservedGeneration", BeEquivalentTo(2))))
			w.Expect(w.kafka.took()).To(Equal([]string{"describe a", "alter a"}))
			w.Expect(w.requests.took()).To(Equal([]string{"PATCH a/status"}))
			w.Expect(w.sink.took()).To(Equal([]string{configWasTold + c.told}))
		})
	}
}

// Strimzi: shouldUpdateTopicInKafkaWhenPartitionsIncreasedInKube, shouldUpdateStatusWithPartitionChange.
func TestPartitionsGrow(t *testing.T) {
	w := newWorld(t)
	w.ready("a", partitions(1))
	w.update("a", partitions(4))
	w.pass("a")
	w.Expect(w.kafka.partitions("a")).To(Equal(4))
	w.Expect(w.get("a")).To(beReady())
	w.Expect(w.kafka.took()).To(Equal([]string{"describe a", "increase a"}))
	w.Expect(w.sink.took()).To(Equal([]string{"Normal Changed: Topic 'a': partitions raised from 1 to 4"}))
}

// Strimzi: shouldFailDecreaseInPartitions, shouldFailDecreaseInPartitionsWithConfigChange, shouldFailChangeToRf,
// shouldFailChangeToSpecTopicName.
func TestARefusedChangeIsToldAndHoldsNothingElseUp(t *testing.T) {
	for _, c := range []struct {
		name, message string
		changes       []change
	}{
		{"fewer partitions", noDecrease, []change{partitions(1)}},
		{"other replicas", noReplicasTo3, []change{replicas(3)}},
		{"both", noDecrease + "; " + noReplicasTo3, []change{partitions(1), replicas(3)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.ready("a", partitions(2), replicas(2), config("k", `1`))
			id := w.kafka.get("a").Topic.ID.String()
			w.update("a", append(c.changes, config("k", `2`))...)
			result := w.pass("a")
			w.Expect(w.get("a")).To(And(failWith(v1.ReasonNotSupported, c.message), claim("a", id)))
			w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"k": "2"}))
			w.Expect(w.kafka.partitions("a")).To(Equal(2))
			w.Expect(result.RequeueAfter).To(Equal(w.moment("a")))
			w.Expect(w.sink.took()).To(ConsistOf(configWasTold+"k=2", "Warning NotSupported: "+c.message))

			w.clock.step(settle)
			w.forget()
			w.pass("a")
			w.Expect(w.requests.took()).To(BeEmpty())
			w.Expect(w.sink.took()).To(BeEmpty())

			w.update("a", partitions(2), replicas(2))
			w.pass("a")
			w.Expect(w.get("a")).To(beReady())
		})
	}
}

func TestARetargetedKafkaTopicTouchesNeitherTopic(t *testing.T) {
	w := newWorld(t)
	w.ready("a", config("k", `1`))
	id := w.kafka.get("a").Topic.ID.String()
	w.kafka.put("b", 1, 1, nil)
	w.update("a", named("b"), config("k", `2`))
	w.pass("a")
	w.Expect(w.get("a")).To(And(failWith(v1.ReasonNotSupported, noRetargeting), claim("a", id)))
	w.Expect(w.kafka.took()).To(BeEmpty())

	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("a")).To(BeNil())
	w.Expect(w.kafka.get("b")).NotTo(BeNil())
}

func TestARetargetedKafkaTopicRecoversWhenItIsPutBack(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.update("a", named("b"))
	w.pass("a")
	w.update("a", named("a"))
	w.pass("a")
	w.Expect(w.get("a")).To(beReady())
}

// Strimzi: shouldAccountForReassigningPartitionsNoRfChange, ...IncreasingRf, ...DecreasingRf.
func TestReplicasCountAsTheyWillBeWhenTheReassignmentIsDone(t *testing.T) {
	for _, c := range []struct {
		name             string
		adding, removing []int32
		replicas         int64
		ready            bool
	}{
		{"moved", []int32{7}, []int32{0}, 2, true},
		{"more", []int32{7}, nil, 3, true},
		{"fewer", nil, []int32{0}, 1, true},
		{"not as many as wanted", []int32{7}, nil, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.ready("a", partitions(1), replicas(2))
			w.kafka.move("a", c.adding, c.removing)
			w.update("a", replicas(c.replicas))
			w.pass("a")
			if c.ready {
				w.Expect(w.get("a")).To(beReady())
			} else {
				w.Expect(w.get("a")).To(failWith(v1.ReasonNotSupported,
					"Changing spec.replicas is not supported by the operator: partitions [0] have 3 replicas, not 2"))
			}
		})
	}
}

// A broker may still report a partition as it was before a reassignment ended, when the controller reports no reassignment any more.
func TestTheEndOfAReassignmentIsNoFailure(t *testing.T) {
	w := newWorld(t)
	w.ready("a", partitions(1), replicas(2))
	w.requests.took()
	w.kafka.seen("a", 0, 1, 2)
	w.Expect(w.pass("a").RequeueAfter).To(Equal(settle))
	w.Expect(w.get("a")).To(beReady())
	w.kafka.seen("a", 0, 2)
	w.pass("a")
	w.Expect(w.get("a")).To(beReady())
	w.Expect(w.requests.took()).To(BeEmpty(), "the status says the same as before")

	w.kafka.seen("a", 0, 1, 2)
	w.pass("a")
	w.Expect(w.get("a")).To(beReady())
	w.clock.step(settle)
	w.pass("a")
	w.Expect(w.get("a")).To(failWith(v1.ReasonNotSupported,
		"Changing spec.replicas is not supported by the operator: partitions [0] have 3 replicas, not 2"))
}

func TestADeletedTopicIsMadeAgainAndItsLossIsTold(t *testing.T) {
	w := newWorld(t)
	w.ready("a", partitions(2))
	old := w.kafka.get("a").Topic.ID.String()
	w.kafka.drop("a")
	w.pass("a")
	id := w.kafka.get("a").Topic.ID.String()
	w.Expect(id).NotTo(Equal(old))
	w.Expect(w.get("a")).To(And(beReady(), claim("a", id)))
	w.Expect(w.sink.took()).
		To(Equal([]string{"Warning Recreated: Recreated topic 'a' (empty) with 2 partitions and replication factor 1: it had been deleted " +
			"outside of Kubernetes"}))
	w.Expect(w.count("strimzi_drift_reverted_total")).To(BeEquivalentTo(1))
	w.Expect(w.logged.took()).To(ConsistOf(ContainSubstring("level=WARN")))
}

func TestDriftIsRevertedAndTold(t *testing.T) {
	w := newWorld(t)
	w.ready("a", partitions(2), config("k", `1`))
	w.kafka.set("a", "k", "2")
	w.kafka.set("a", "stranger", "x")
	w.pass("a")
	w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"k": "1"}))
	w.Expect(w.sink.took()).To(Equal([]string{revertedWasTold + "configuration changed: k=1, stranger removed"}))
	w.Expect(w.count("strimzi_drift_reverted_total")).To(BeEquivalentTo(1))
	w.Expect(w.requests.took()).To(BeEmpty(), "the status says the same as before")
}

func TestAChangeOfTheSpecificationIsNoDrift(t *testing.T) {
	w := newWorld(t)
	w.ready("a", config("k", `1`))
	w.update("a", config("k", `2`))
	w.pass("a")
	w.Expect(w.count("strimzi_drift_reverted_total")).To(BeZero())
	w.Expect(w.sink.took()).To(Equal([]string{configWasTold + "k=2"}))
}

// A change that Kafka rejects must not delay the retry of the other change.
func TestOfTwoChangesEachIsTriedAndBothErrorsAreTold(t *testing.T) {
	w := newWorld(t)
	w.ready("a", partitions(1), config("k", `1`))
	w.update("a", partitions(2), config("k", `2`))
	w.kafka.hook(answers(map[string]error{
		alterCall:    kafka.NewError(kafka.CodeInvalidConfig, "no"),
		increaseCall: kafka.NewError(kafka.CodeRequestTimedOut, "later"),
	}))
	result := w.pass("a")
	w.Expect(w.get("a")).To(failWith(v1.ReasonKafkaError, "InvalidConfigurationException: no; TimeoutException: later"))
	w.Expect(result.RequeueAfter).To(Equal(firstRetry))

	w.kafka.hook(answers(map[string]error{alterCall: kafka.NewError(kafka.CodeInvalidConfig, "no")}))
	w.Expect(w.pass("a").RequeueAfter).To(Equal(w.moment("a")))
	w.Expect(w.kafka.partitions("a")).To(Equal(2))
	w.Expect(w.get("a")).To(failWith(v1.ReasonKafkaError, "InvalidConfigurationException: no"))
}

func TestATopicThatVanishesBetweenTwoCallsIsMadeAgainSoon(t *testing.T) {
	for _, call := range []string{alterCall, increaseCall} {
		t.Run(call, func(t *testing.T) {
			w := newWorld(t)
			w.ready("a", partitions(1), config("k", `1`))
			if call == alterCall {
				w.update("a", config("k", `2`))
			} else {
				w.update("a", partitions(2))
			}
			w.kafka.hook(func(_ context.Context, c, _ string) error {
				if c == call {
					w.kafka.drop("a")
				}
				return nil
			})
			w.Expect(w.pass("a").RequeueAfter).To(Equal(firstRetry))
			w.pass("a")
			w.Expect(w.get("a")).To(beReady())
			w.Expect(w.kafka.get("a")).NotTo(BeNil())
		})
	}
}

// Only the difference in replicas can't be judged then.
func TestWithoutReassignmentsEverythingElseIsChanged(t *testing.T) {
	w := newWorld(t)
	w.ready("a", partitions(1), replicas(1))
	w.kafka.fails(reassignmentsCall, kafka.NewError(kafka.CodeClusterAuthorization, ""))
	w.update("a", partitions(3), replicas(2), config("k", `1`))
	w.pass("a")
	w.Expect(w.kafka.partitions("a")).To(Equal(3))
	w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"k": "1"}))
	w.Expect(w.get("a")).To(failWith(v1.ReasonKafkaError, "ClusterAuthorizationException: Cluster authorization failed. "+
		"(spec.replicas is 2, and partition 0 has 1 replicas; the operator does not change that, and whether it is being changed is unknown: "+
		"grant the operator Describe on the cluster, or set spec.replicas to that number)"))
}

// The brokers' default may change, and this broker may have another one than those that lead the topic's partitions.
func TestANamedSettingIsStoredThoughItEqualsTheDefault(t *testing.T) {
	stored := map[string]string{inheritedConfigKey: inheritedConfigText}
	w := newWorld(t)
	w.ready("a")
	w.update("a", config(inheritedConfigKey, inheritedConfigText))
	w.pass("a")
	w.Expect(w.kafka.config("a")).To(Equal(stored))
	w.Expect(w.sink.took()).To(Equal([]string{configWasTold + inheritedConfigKey + "=" + inheritedConfigText}))

	w.clock.step(settle)
	w.pass("a")
	w.kafka.unset("a") // as an operator left it that compared values alone
	w.pass("a")
	w.Expect(w.kafka.config("a")).To(Equal(stored))
	w.Expect(w.sink.took()).To(Equal([]string{configWasTold + inheritedConfigKey + "=" + inheritedConfigText}))
	w.Expect(w.count("strimzi_drift_reverted_total")).To(BeZero(), "no value in force was another one")

	w.clock.step(settle)
	w.forget()
	w.pass("a")
	w.Expect(w.kafka.took()).To(Equal([]string{"describe a"}))
}

func TestAKafkaThatShowsNoStoredDefaultIsToldOnce(t *testing.T) {
	w := newWorld(t)
	w.kafka.hides = true
	w.ready("a", config(inheritedConfigKey, inheritedConfigText))
	took := func() []string {
		w.pass("a")
		w.clock.step(settle)
		return w.kafka.took()
	}
	w.Expect(took()).To(Equal([]string{"describe a", "alter a"}))
	w.Expect(took()).To(Equal([]string{"describe a"}))
	w.Expect(took()).To(Equal([]string{"describe a"}))

	w.update("a", config("k", `1`))
	w.Expect(took()).To(Equal([]string{"describe a", "alter a"}))
	w.kafka.drop("a")
	w.kafka.put("a", 1, 1, map[string]string{"k": "1"})
	w.Expect(took()).To(Equal([]string{"describe a", "alter a"}), "another topic")
	w.Expect(took()).To(Equal([]string{"describe a"}))
	w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"k": "1", inheritedConfigKey: inheritedConfigText}))
}

// The values in force are the wanted ones, whatever else Kafka permits.
func TestATopicIsReadyThoughKafkaStoresNoDefaults(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.kafka.fails(alterCall, kafka.NewError(kafka.CodePolicyViolation, "not yours"))
	w.update("a", config(inheritedConfigKey, inheritedConfigText))
	w.sink.took()
	w.pass("a")
	w.Expect(w.get("a")).To(beReady())
	w.Expect(w.sink.took()).To(ConsistOf(HavePrefix("Warning NotStored: Topic 'a' changes with the brokers' defaults, because Kafka rejects " +
		"to store " + inheritedConfigKey + "=" + inheritedConfigText + " on it: ")))
	w.clock.step(settle)
	w.kafka.took()
	w.pass("a")
	w.Expect(w.kafka.took()).To(Equal([]string{"describe a"}))

	w.kafka.fails(alterCall, kafka.NewError(kafka.CodePolicyViolation, "not yours"))
	w.update("a", config("k", `1`))
	w.pass("a")
	w.Expect(w.get("a")).NotTo(beReady())
}
