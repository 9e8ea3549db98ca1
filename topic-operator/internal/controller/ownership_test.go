package controller

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

const (
	mismatchMessage = "KafkaTopic is owned by cluster '" + otherID + "', not this cluster '" + ownID + "'."
	mismatched      = "Ready=False ClusterMismatch: " + mismatchMessage
)

// belongsTo writes the status that another cluster's operator would write.
func (w *world) belongsTo(name, cluster, id string) {
	w.t.Helper()
	w.status(name, func(s *v1.KafkaTopicStatus) {
		s.Conditions = []v1.Condition{{Type: "Ready", Status: "True", LastTransitionTime: "2026-01-01T00:00:00Z"}}
		s.ObservedGeneration, s.TopicName, s.TopicID, s.ClusterID = 1, name, id, cluster
	})
}

// see delivers objects to the operator as its watch does.
func (w *world) see(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.r.seen(w.get(name))
	}
}

func TestANewObjectIsClaimedForTheClusterOfItsTopic(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.Expect(w.get("a").Status.ClusterID).To(Equal(ownID))
}

func TestWithoutTheClustersIDNothingIsClaimed(t *testing.T) {
	w := newWorld(t)
	w.cluster.Cluster = ownership.Cluster{}
	w.ready("a")
	w.Expect(w.get("a").Status.ClusterID).To(BeEmpty())
	w.cluster.Cluster = ownership.Cluster{ID: ownID}
	w.pass("a")
	w.Expect(w.get("a").Status.ClusterID).To(Equal(ownID), "it is set on the next successful reconciliation")
}

// docs/decisions/another-cluster.md.
func TestAMismatchIsReportedOncePerGeneration(t *testing.T) {
	w := newWorld(t)
	w.kafka.put("a", 1, 1, nil)
	w.create("a", partitions(5))
	w.belongsTo("a", otherID, "somebody'sTopic")
	before := w.get("a").Status
	w.see("a")
	first := w.pass("a").RequeueAfter
	w.Expect(w.get("a")).To(haveConditions(mismatched))
	after := w.get("a").Status
	after.Conditions = before.Conditions
	w.Expect(after).To(Equal(before), "nothing but the condition")
	w.Expect(w.get("a").Finalizers).To(BeEmpty())
	w.Expect(w.kafka.took()).To(BeEmpty())
	w.Expect(w.sink.took()).To(ConsistOf(HavePrefix("Warning ClusterMismatch: " + mismatchMessage)))
	w.Expect(w.count("strimzi_ownership_refused", "reason=ClusterMismatch")).To(BeEquivalentTo(1))

	// The object's own operator writes its status again, and this operator does not overwrite that.
	w.belongsTo("a", otherID, "somebody'sTopic")
	w.requests.took()
	second := w.pass("a").RequeueAfter
	third := w.pass("a").RequeueAfter
	w.Expect(w.requests.took()).To(BeEmpty())
	w.Expect(w.sink.took()).To(BeEmpty())
	w.Expect(second).To(BeNumerically(">", first+interval/2))
	w.Expect(third).To(BeNumerically(">", second+interval/2), "looks become rarer")
	w.Expect(w.count("strimzi_ownership_refusals_total", "reason=ClusterMismatch")).To(BeEquivalentTo(3))

	w.update("a", partitions(6))
	w.pass("a")
	w.Expect(w.get("a")).To(haveConditions(mismatched), "another generation")
	w.Expect(w.get("a").Status.ObservedGeneration).To(BeEquivalentTo(1))
	w.Expect(w.kafka.took()).To(BeEmpty())
}

func TestADeletedObjectOfAnotherClusterIsHeld(t *testing.T) {
	w := newWorld(t)
	id := w.kafka.put("a", 1, 1, nil).String()
	w.create("a", finalizers(v1.FinalizerTopicOperator))
	w.belongsTo("a", otherID, id) // even if the topic has the same id
	w.delete("a")
	w.see("a")
	w.pass("a")
	w.Expect(w.get("a")).To(And(haveConditions(mismatched), haveFinalizer()))
	w.Expect(w.kafka.took()).To(BeEmpty())
	w.Expect(w.count("strimzi_deletions_blocked", "reason=ClusterMismatch")).To(BeEquivalentTo(1))

	w.update("a", abandon)
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse(), "the way out")
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
}

// If two operators select an object, only the one whose claim is stored changes an existing topic.
func TestAnExistingTopicIsClaimedBeforeItIsChanged(t *testing.T) {
	w := newWorld(t)
	id := w.kafka.put("a", 1, 1, nil).String()
	w.create("a", config("k", `1`), finalizers(v1.FinalizerTopicOperator))
	w.requests.once("PATCH a/status", func() {
		w.Expect(w.kafka.asks(alterCall, "")()).To(BeZero())
		w.belongsTo("a", otherID, "theirs") // the other operator stores its claim first
	})
	w.pass("a")
	w.pass("a")
	w.Expect(w.kafka.asks(alterCall, "")()).To(BeZero())
	w.Expect(w.kafka.config("a")).To(BeEmpty())
	w.Expect(w.get("a")).To(haveConditions(mismatched))

	w.belongsTo("a", "", "")
	w.pass("a")
	w.Expect(w.get("a")).To(And(beReady(), claim("a", id)))
	w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"k": "1"}))
}

// docs/decisions/another-cluster.md.
func TestWhileAnotherClusterAnswersNothingIsDone(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.ready("gone")
	w.create("new")
	w.update("a", config("k", `1`))
	w.delete("gone")
	foreign := kafka.NewWrongClusterError(ownID, otherID)
	w.kafka.hook(func(context.Context, string, string) error { return foreign })
	for _, name := range []string{"a", "new", "gone"} {
		w.pass(name)
	}
	w.Expect(w.get("a")).To(haveConditions("Ready=False ClusterMismatch: KafkaTopic is owned by cluster '" + ownID + "', not this cluster '" +
		otherID + "'."))
	w.Expect(w.get("gone")).To(And(haveConditions("Ready=False ClusterMismatch: KafkaTopic is owned by cluster '"+ownID+
		"', not this cluster '"+otherID+"'."), haveFinalizer()))
	w.Expect(w.get("new")).To(haveCondition(HavePrefix("Ready=False ClusterMismatch: Kafka answers as cluster '" + otherID +
		"', but this operator works for cluster '" + ownID + "'")))
	w.Expect(w.get("new").Finalizers).To(BeEmpty())
	w.Expect(w.cluster.Answering).To(Equal(otherID))

	w.kafka.hook(nil)
	w.kafka.took()
	w.pass("a")
	w.Expect(w.kafka.took()).To(BeEmpty(), "only the guard asks")
	w.cluster.Answering = ""
	for _, name := range []string{"a", "new", "gone"} {
		w.pass(name)
	}
	w.Expect(w.get("a")).To(beReady())
	w.Expect(w.get("new")).To(beReady())
	w.Expect(w.exists("gone")).To(BeFalse())
	w.Expect(w.kafka.get("gone")).To(BeNil())
}

// docs/decisions/deletion.md: "not ready for deletion".
func TestAnObjectThatWasNeverReconciledIsHeldUntilItIsUnmanaged(t *testing.T) {
	w := newWorld(t)
	w.kafka.put("a", 1, 1, nil)
	w.create("a", finalizers(v1.FinalizerTopicOperator))
	w.delete("a")
	for range 3 {
		w.pass("a")
	}
	w.Expect(w.get("a")).To(And(haveFinalizer(), haveCondition(And(HavePrefix("Ready=False NotReadyForDeletion: "),
		ContainSubstring(`strimzi.io/managed="false"`)))))
	w.Expect(w.kafka.took()).To(BeEmpty())
	w.update("a", abandon)
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
}

// A blocked deletion never falls back to a weaker check.
func TestATopicThatWasMadeAgainIsNotDeletedWithItsKafkaTopic(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	was := w.get("a").Status.TopicID
	w.kafka.drop("a")
	now := w.kafka.put("a", 1, 1, nil).String()
	w.delete("a")
	for range 3 {
		w.pass("a")
		w.clock.step(interval)
	}
	w.Expect(w.get("a")).To(And(haveFinalizer(), claim("a", was),
		haveCondition(And(HavePrefix("Ready=False TopicIdMismatch: "), ContainSubstring(was), ContainSubstring(now)))))
	w.Expect(w.kafka.get("a").Topic.ID.String()).To(Equal(now))
	w.Expect(w.kafka.asks(deleteCall, "")()).To(BeZero())
}

// Only the controller's answer proves that a topic does not exist.
func TestTheControllerSaysWhetherAnUnknownTopicIsGone(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.clock.step(time.Hour) // longer than the operator remembers
	w.kafka.lag()
	w.kafka.mu.Lock()
	clear(w.kafka.stale)
	w.kafka.mu.Unlock()
	w.delete("a")
	w.Expect(w.pass("a").RequeueAfter).To(Equal(firstRetry))
	w.Expect(w.exists("a")).To(BeTrue())
	w.kafka.catchUp()
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("a")).To(BeNil())
}

func TestADeletionIsHeldWhileNobodyConfirmsThatTheTopicIsGone(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.kafka.drop("a")
	w.kafka.fails(validateCall, kafka.NewTransportError("no broker answered", nil))
	w.delete("a")
	w.pass("a")
	w.Expect(w.get("a")).To(failWith(v1.ReasonKafkaError, "Deletion failed: TimeoutException: no broker answered"))
	w.kafka.hook(nil)
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
}

// docs/decisions/claims.md.
func TestOfSeveralClaimantsNoneChangesKafka(t *testing.T) {
	w := newWorld(t)
	w.ready("a", named("t"))
	w.create("b", named("t"), config("k", `1`))
	w.create("c", named("t"))
	w.see("a", "b", "c")
	for _, name := range []string{"a", "b", "c"} {
		w.pass(name)
	}
	key := func(name string) string { return w.ns + "/" + name }
	w.Expect(w.get("a")).To(failWith(v1.ReasonResourceConflict, "Also managed by "+key("b")+", "+key("c")))
	w.Expect(w.get("b")).To(failWith(v1.ReasonResourceConflict, "Also managed by "+key("a")+", "+key("c")))
	w.Expect(w.get("a").Status.ClusterID).To(Equal(ownID), "what it owns stays told")
	w.Expect(w.get("b").Finalizers).To(BeEmpty())
	w.Expect(w.kafka.took()).To(BeEmpty())
	w.Expect(w.count("strimzi_ownership_refused", "reason=ResourceConflict")).To(BeEquivalentTo(3))

	w.sink.took()
	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.sink.took()).To(ConsistOf("Warning LeftToOthers: Topic 't' stays in Kafka: it is also managed by " + key("b") +
		", " + key("c")))
	w.delete("c")
	w.pass("b")
	w.Expect(w.get("b")).To(beReady())
	w.Expect(w.kafka.config("t")).To(Equal(map[string]string{"k": "1"}))
	w.Expect(w.kafka.asks(deleteCall, "")()).To(BeZero())
}

func TestWhereTheOldestWinsOnlyTheOthersAreFlagged(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.Ownership.OldestWins = true })
	w.ready("z", named("t"))
	w.create("a", named("t"))
	if w.get("a").CreationTimestamp.Equal(&w.get("z").CreationTimestamp) { // creation times are in seconds; equal ones are ordered by name
		w.pass("z")
		w.Expect(w.get("z")).To(failWith(v1.ReasonResourceConflict, "Also managed by "+w.ns+"/a"))
		return
	}
	w.pass("a")
	w.pass("z")
	w.Expect(w.get("a")).To(failWith(v1.ReasonResourceConflict, "Also managed by "+w.ns+"/z"))
	w.Expect(w.get("z")).To(beReady())
}

// docs/decisions/namespace-policy.md.
func TestThePolicyRefusesAViolatorAndNobodyElse(t *testing.T) {
	forbidden := ""
	w := newWorld(t, func(s *setup) {
		s.Violation = func(_, topic string) string {
			if topic == forbidden {
				return "not yours"
			}
			return ""
		}
	})
	w.ready("a")
	forbidden = "a"
	w.update("a", config("k", `1`))
	w.pass("a")
	w.Expect(w.get("a")).To(failWith(v1.ReasonPolicyViolation, "not yours"))
	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("a")).NotTo(BeNil(), "what a namespace may not manage it may not delete")
	w.Expect(w.kafka.took()).To(BeEmpty())
	w.Expect(w.sink.took()).
		To(ContainElement("Warning PolicyViolation: Topic 'a' stays in Kafka: the namespace policy does not allow namespace '" +
			w.ns + "' to delete it"))
}

func TestANameChangedBeforeTheStatusKnewTheFirstOneIsRefused(t *testing.T) {
	w := newWorld(t)
	w.create("a", named("first"))
	w.requests.once("PATCH a/status", func() { w.update("a", named("second")) })
	w.pass("a")
	w.pass("a")
	w.Expect(w.get("a")).To(And(failWith(v1.ReasonNotSupported,
		"Changing spec.topicName is not supported: this KafkaTopic manages 'first'"),
		claim("first", w.kafka.get("first").Topic.ID.String()), HaveField("Status.ClusterID", ownID)))
	w.Expect(w.kafka.get("second")).To(BeNil())
	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("first")).To(BeNil(), "it is not left behind")
}

// Kafka's rejection is final: there is no topic that a finalizer could protect, and nothing may block a deletion.
func TestAnObjectWithoutATopicIsNotHeld(t *testing.T) {
	w := newWorld(t, untimed)
	refusal := kafka.NewError(kafka.CodeInvalidReplicationFactor, "")
	w.kafka.hook(answers(map[string]error{createCall: refusal, validateCall: refusal}))
	w.start(w.kafka)
	w.create("a")
	w.Eventually(func() *v1.KafkaTopic { return w.get("a") }).Should(haveCondition(HavePrefix("Ready=False KafkaError")))
	w.Consistently(func() []string { return w.get("a").Finalizers }).Should(BeEmpty())
	w.Expect(w.kafka.asks(createCall, "a")()).To(Equal(1), "the finalizer that goes asks for no pass")
	w.kafka.hook(nil)
	w.update("a", label("l", "1"))
	w.Eventually(w.readyNames).Should(Equal([]string{"a"}))
	w.Expect(w.get("a")).To(haveFinalizer())
}

// Another Kafka cluster's operator may have set the finalizer for a topic there, even though the status does not name one.
func TestAFinalizerThatAnotherOperatorMayHaveSetStays(t *testing.T) {
	w := newWorld(t, untimed)
	refusal := kafka.NewError(kafka.CodeInvalidReplicationFactor, "")
	w.kafka.hook(answers(map[string]error{createCall: refusal, validateCall: refusal}))
	w.create("a", finalizers(v1.FinalizerTopicOperator))
	w.start(w.kafka)
	w.Eventually(func() *v1.KafkaTopic { return w.get("a") }).Should(haveCondition(HavePrefix("Ready=False KafkaError")))
	w.Consistently(func() *v1.KafkaTopic { return w.get("a") }).Should(haveFinalizer())
}

// haveCondition matches the only condition, written as "Type=Status Reason: message".
func haveCondition(want gomegatypes.GomegaMatcher) gomegatypes.GomegaMatcher {
	return WithTransform(func(kt *v1.KafkaTopic) []string {
		var got []string
		for _, c := range kt.Status.Conditions {
			if c.Type != v1.ConditionStalled { // it repeats Ready
				got = append(got, c.Type+"="+c.Status+" "+c.Reason+": "+c.Message)
			}
		}
		return got
	}, ConsistOf(want))
}

// A status that Strimzi wrote names no cluster. If its topic does not exist, the operator may be connected to the wrong cluster, and must
// not store its clusterId.
func TestAStatusWithoutAClusterIsNotTakenForThisCluster(t *testing.T) {
	const known = "AAAAAAAAAAAAAAAAAAAA-w"
	for name, c := range map[string]struct {
		put     bool
		message string
	}{
		"no topic":      {false, "KafkaTopic owns topicId '" + known + "', which does not exist in this Kafka cluster"},
		"another topic": {true, "KafkaTopic owns topicId '" + known + "', but topic 'a' has topicId"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if c.put {
				w.kafka.put("a", 1, 1, nil)
			}
			w.create("a", partitions(3), finalizers(v1.FinalizerTopicOperator))
			w.belongsTo("a", "", known)
			w.pass("a")
			w.Expect(w.get("a")).To(And(haveCondition(HavePrefix("Ready=False TopicIdMismatch: "+c.message)), claim("a", known)))
			w.Expect(w.kafka.partitions("a")).To(BeNumerically("<", 3))

			// The way out: the user marks the KafkaTopic unmanaged, and managed again.
			w.update("a", abandon)
			w.pass("a")
			w.update("a", manage)
			w.pass("a")
			w.Expect(w.get("a")).To(And(beReady(), claim("a", w.kafka.get("a").Topic.ID.String())))
			w.Expect(w.kafka.partitions("a")).To(Equal(3))
		})
	}
}

// Kafka was unavailable when the pass began, and then another cluster answers.
func TestAKafkaThatIsBackIsAskedWhoItIsBeforeAnythingIsDone(t *testing.T) {
	for name, put := range map[string]bool{"without the topic": false, "with a topic of the name": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster.Cluster, w.cluster.later = ownership.Cluster{}, ownID
			if put {
				w.kafka.put("a", 1, 1, nil)
			}
			w.create("a", partitions(3))
			w.belongsTo("a", otherID, "theirs")
			w.pass("a")
			w.Expect(w.get("a")).To(And(haveConditions(mismatched), claim("a", "theirs")))
			w.Expect(w.kafka.took()).To(Equal([]string{"describe a"}))
		})
	}
}

func TestAnUnprotectedPassLeavesTheIDOfAClaimedTopic(t *testing.T) {
	w := newWorld(t)
	w.cluster.Cluster = ownership.Cluster{}
	w.kafka.put("a", 1, 1, nil)
	w.create("a")
	w.belongsTo("a", otherID, "theirs")
	w.pass("a")
	w.Expect(w.get("a")).To(And(beReady(), claim("a", "theirs"), HaveField("Status.ClusterID", otherID)), "it proceeds")
}

// pausedThenMade leaves an object that was paused and resumed, whose topic was recreated, and that is being deleted before its status has
// the new id. It returns that id.
func (w *world) pausedThenMade(name string) string {
	w.t.Helper()
	w.ready(name)
	w.update(name, annotation(v1.AnnotationPauseReconciliation, "true"))
	w.pass(name)
	w.kafka.drop(name)
	w.update(name, annotation(v1.AnnotationPauseReconciliation, "false"))
	w.requests.once("PATCH "+name+"/status", func() { w.delete(name) })
	w.pass(name)
	w.Expect(w.get(name)).To(claim(name, ""), "the claim came too late")
	return w.kafka.get(name).Topic.ID.String()
}

// restart clears the operator's memory.
func (w *world) restart() { w.r.memory = newMemory(w.clock.now) }

// A restart loses which topic the operator created, so the status records the id together with the report.
func TestABlockedDeletionStaysBlockedAfterARestart(t *testing.T) {
	w := newWorld(t)
	made := w.pausedThenMade("a")
	w.kafka.drop("a")
	there := w.kafka.put("a", 1, 1, nil).String()
	for range 2 {
		w.pass("a")
		w.Expect(w.get("a")).To(And(haveFinalizer(), claim("a", made),
			haveCondition(And(HavePrefix("Ready=False TopicIdMismatch: "), ContainSubstring(made), ContainSubstring(there)))))
		w.restart()
	}
	w.Expect(w.kafka.get("a").Topic.ID.String()).To(Equal(there))
	w.Expect(w.kafka.asks(deleteCall, "")()).To(BeZero())
}

// Each failed deletion records the created topic in the status, because the topic may be replaced while the operator is down.
func TestAFailedDeletionTellsOfTheTopicThatWasMade(t *testing.T) {
	w := newWorld(t)
	made := w.pausedThenMade("a")
	w.kafka.fails(deleteCall, kafka.NewError(kafka.CodeTopicAuthorizationFailed, ""))
	w.pass("a")
	w.Expect(w.get("a")).To(And(haveCondition(HavePrefix("Ready=False KafkaError: ")), claim("a", made)))
	w.restart()
	w.kafka.drop("a")
	w.kafka.put("a", 1, 1, nil)
	w.kafka.hook(nil)
	w.pass("a")
	w.Expect(w.get("a")).To(haveCondition(HavePrefix("Ready=False TopicIdMismatch: ")))
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
}

// docs/decisions/another-cluster.md: the operator does not write a status while another cluster answers. So the status does not have the
// topic's id yet, and the operator has to remember it.
func TestATopicThatWasMadeIsRememberedUntilTheStatusKnowsIt(t *testing.T) {
	w := newWorld(t)
	made := w.pausedThenMade("a")
	w.kafka.drop("a")
	w.kafka.put("a", 1, 1, nil)
	w.cluster.Answering = otherID
	w.pass("a")
	w.Expect(w.get("a")).To(And(haveCondition(HavePrefix("Ready=False ClusterMismatch: ")), claim("a", "")))
	w.clock.step(time.Hour)
	w.cluster.Answering = ""
	w.pass("a")
	w.Expect(w.get("a")).To(And(haveCondition(HavePrefix("Ready=False TopicIdMismatch: ")), claim("a", made)))
	w.Expect(w.kafka.asks(deleteCall, "")()).To(BeZero())
}

// The fallback by name identifies one topic, once: the operator stores the id before it deletes the topic, so that a later topic of the
// same name counts as another one.
func TestATopicThatIsDeletedByItsNameIsDeletedOnce(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.clock.step(time.Hour) // longer than the operator remembers
	id := w.get("a").Status.TopicID
	w.update("a", annotation(v1.AnnotationPauseReconciliation, "true"))
	w.pass("a")
	w.Expect(w.get("a")).To(claim("a", ""))
	w.delete("a")
	w.requests.took()
	w.requests.once("PATCH a", func() { // the patch that removes the finalizer
		w.kafka.put("a", 1, 1, nil)
		w.update("a", label("l", "1"))
	})
	w.pass("a")
	w.Expect(w.requests.took()[0]).To(Equal("PATCH a/status"))
	w.Expect(w.kafka.asks(deleteCall, "")()).To(Equal(1))
	for range 2 {
		w.restart() // the process that deleted the topic would remember it
		w.pass("a")
	}
	w.Expect(w.get("a")).To(And(haveFinalizer(), claim("a", id), haveCondition(HavePrefix("Ready=False TopicIdMismatch: "))))
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
	w.Expect(w.kafka.asks(deleteCall, "")()).To(Equal(1))
}

// The operator deleted the very topic that the object owns, so the object is released even if an application recreated the name since.
func TestAnObjectIsReleasedThoughItsNameIsTakenAgain(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.delete("a")
	w.requests.once("PATCH a", func() { // the patch that removes the finalizer
		w.kafka.put("a", 1, 1, nil)
		w.update("a", label("l", "1"))
	})
	w.pass("a")
	w.Expect(w.exists("a")).To(BeTrue())
	w.clock.step(time.Hour)
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
	w.Expect(w.kafka.asks(deleteCall, "")()).To(Equal(1))
}

// The claim carries the version that the operator decided by. If that version is old, nothing is deleted.
func TestATopicIsNotDeletedByItsNameForAnOldStateOfItsObject(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.clock.step(time.Hour)
	w.update("a", annotation(v1.AnnotationPauseReconciliation, "true"))
	w.pass("a")
	w.delete("a")
	w.requests.once("PATCH a/status", func() { w.update("a", abandon) })
	w.pass("a")
	w.Expect(w.kafka.asks(deleteCall, "")()).To(BeZero())
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
}
