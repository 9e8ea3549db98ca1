package controller

import (
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// Strimzi: shouldNotReconcilePausedKafkaTopicOnAdd.
func TestANewPausedKafkaTopicTouchesNothing(t *testing.T) {
	w := newWorld(t)
	w.create("a", pause)
	w.pass("a")
	w.Expect(w.get("a")).To(And(haveConditions("ReconciliationPaused=True"), observed(), claim("", "")))
	w.Expect(w.get("a").Finalizers).To(BeEmpty())
	w.Expect(w.kafka.took()).To(BeEmpty())
	w.Expect(w.sink.took()).
		To(Equal([]string{"Normal ReconciliationPaused: Reconciliation is paused by the annotation strimzi.io/pause-reconciliation"}))
	w.requests.took()
	w.pass("a")
	w.Expect(w.requests.took()).To(BeEmpty())
	w.Expect(w.sink.took()).To(BeEmpty())

	w.update("a", resume)
	w.pass("a")
	w.Expect(w.get("a")).To(And(beReady(), claim("a", w.kafka.get("a").Topic.ID.String())))
}

// Nothing was created for it, so nothing speaks against another name.
func TestAKafkaTopicThatWasPausedFromTheStartMayChooseAnotherName(t *testing.T) {
	w := newWorld(t)
	w.create("a", pause, named("wrong"))
	w.pass("a")
	w.update("a", named("right"))
	w.pass("a")
	w.update("a", resume)
	w.pass("a")
	w.Expect(w.get("a")).To(And(beReady(), claim("right", w.kafka.get("right").Topic.ID.String())))
	w.Expect(w.kafka.get("wrong")).To(BeNil())
}

// The status keeps the name of the topic that was created for it, though the write after the creation failed.
func TestAPauseBeforeTheClaimIsStoredKeepsTheTopic(t *testing.T) {
	w := newWorld(t)
	w.create("a", named("x"))
	w.requests.once("PATCH a/status", func() { w.update("a", pause) })
	w.pass("a")
	w.Expect(w.get("a")).To(claim("", ""), "the claim came too late")
	w.pass("a")
	w.Expect(w.get("a")).To(And(haveConditions("ReconciliationPaused=True"), claim("x", "")))
}

// Strimzi: shouldNotReconcilePausedKafkaTopicOnUpdate, topicIdShouldBeEmptyOnPausedKafkaTopic.
func TestAPausedKafkaTopicIsNotFollowed(t *testing.T) {
	w := newWorld(t)
	w.ready("a", config("k", `1`))
	id := w.kafka.get("a").Topic.ID.String()
	w.update("a", pause, config("k", `2`))
	w.pass("a")
	w.Expect(w.get("a")).To(And(haveConditions("ReconciliationPaused=True"), observed(), claim("a", ""), haveFinalizer()))
	w.update("a", config("k", `3`))
	w.pass("a")
	w.Expect(w.get("a")).To(And(haveConditions("ReconciliationPaused=True"), observed(), claim("a", "")))
	w.kafka.set("a", "stranger", "x")
	w.pass("a")
	w.Expect(w.kafka.took()).To(BeEmpty())

	w.update("a", resume)
	w.pass("a")
	w.Expect(w.get("a")).To(And(beReady(), claim("a", id)))
	w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"k": "3"}))
	w.Expect(w.count("strimzi_drift_reverted_total")).To(BeZero(), "it was asked for")
}

// Strimzi: shouldUpdateTopicIdIfDeletedWhilePaused, shouldUpdateTopicIdIfDeletedWhileUnmanaged.
func TestATopicThatIsDeletedWhileNobodyLooksIsMadeAnew(t *testing.T) {
	for _, c := range []struct {
		name       string
		stop, goOn change
	}{{"paused", pause, resume}, {"unmanaged", abandon, manage}, {"unmanaged by spec", managed(false), managed(true)}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.ready("a")
			old := w.kafka.get("a").Topic.ID.String()
			w.update("a", c.stop)
			w.pass("a")
			w.kafka.drop("a")
			w.pass("a")
			w.update("a", c.goOn)
			w.pass("a")
			id := w.kafka.get("a").Topic.ID.String()
			w.Expect(id).NotTo(Equal(old))
			w.Expect(w.get("a")).To(And(beReady(), claim("a", id)))
		})
	}
}

// Strimzi: shouldNotCreateTopicInKafkaWhenUnmanagedTopicCreatedInKube, topicNameAndIdShouldBeEmptyOnUnmanagedKafkaTopic,
// shouldUpdateAnUnmanagedTopic, shouldNotUpdateTopicInKafkaWhenUnmanagedTopicUpdatedInKube.
func TestAnUnmanagedKafkaTopicTouchesNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		change
		condition string
	}{{"annotation", abandon, "Unmanaged=True"}, {"spec", managed(false), "Unmanaged=True UnmanagedBySpec: spec.managed is false"},
		{"both, and paused", func(kt *v1.KafkaTopic) { abandon(kt); managed(false)(kt); pause(kt) },
			"Unmanaged=True UnmanagedBySpec: spec.managed is false"}} {
		t.Run(c.name+" from the start", func(t *testing.T) {
			w := newWorld(t)
			w.create("a", c.change)
			w.pass("a")
			w.Expect(w.get("a")).To(And(haveConditions(c.condition), observed(), claim("", "")))
			w.Expect(w.get("a").Finalizers).To(BeEmpty())
			w.Expect(w.kafka.took()).To(BeEmpty())
			w.requests.took()
			w.update("a", config("k", `2`))
			w.pass("a")
			w.Expect(w.requests.took()).To(Equal([]string{"PATCH a/status"}))
			for range 3 { // further passes change nothing
				w.pass("a")
			}
			w.Expect(w.requests.took()).To(BeEmpty())
			w.Expect(w.kafka.took()).To(BeEmpty())
		})
		t.Run(c.name+" later", func(t *testing.T) {
			w := newWorld(t)
			w.ready("a", config("k", `1`))
			w.update("a", c.change, config("k", `2`))
			w.pass("a")
			w.Expect(w.get("a")).To(And(haveConditions(c.condition), observed(), claim("", "")))
			w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"k": "1"}))
			w.Expect(w.kafka.took()).To(BeEmpty())
			w.Expect(w.sink.took()).To(Equal([]string{"Normal Unmanaged: The topic is not managed by this KafkaTopic and stays as it is in Kafka"}))
		})
	}
}

func TestUnmanagingClearsTheClusterToo(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.status("a", func(s *v1.KafkaTopicStatus) { s.ClusterID = "cluster" })
	w.update("a", abandon)
	w.pass("a")
	w.Expect(w.get("a")).To(And(claim("", ""), HaveField("Status.ClusterID", "")))
}

func TestAnotherNameMayBeTakenWhileUnmanaged(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.update("a", abandon)
	w.pass("a")
	w.update("a", named("b"), manage)
	w.pass("a")
	w.Expect(w.get("a")).To(And(beReady(), claim("b", w.kafka.get("b").Topic.ID.String())))
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
}

func onlySelected(s *setup) {
	s.Selects = func(labels map[string]string) bool { return labels[v1.LabelCluster] == "mine" }
}

var selected = label(v1.LabelCluster, "mine")

// Strimzi: shouldNotCreateTopicInKafkaWhenUnselectedTopicCreatedInKube.
func TestAnUnselectedKafkaTopicIsNotTouched(t *testing.T) {
	w := newWorld(t, onlySelected)
	w.create("a", label(v1.LabelCluster, "other"))
	before := w.get("a").ResourceVersion
	result := w.pass("a")
	w.Expect(w.get("a").ResourceVersion).To(Equal(before))
	w.Expect(w.kafka.took()).To(BeEmpty())
	w.Expect(w.sink.took()).To(BeEmpty())
	w.Expect(w.logged.took()).To(BeEmpty())
	w.Expect(result.RequeueAfter).To(BeZero(), "a change of its labels is an event")
}

// Strimzi: shouldNotUpdateTopicInKafkaWhenKafkaTopicBecomesUnselected, shouldUpdateTopicInKafkaWhenKafkaTopicBecomesSelected.
func TestAKafkaTopicMayLeaveAndComeBack(t *testing.T) {
	w := newWorld(t, onlySelected)
	w.ready("a", selected, config("k", `1`))
	id := w.kafka.get("a").Topic.ID.String()
	w.update("a", noLabel(v1.LabelCluster), config("k", `2`))
	w.pass("a")
	w.Expect(w.get("a")).To(And(haveConditions("Ready=True"), claim("a", id), haveFinalizer()))
	w.Expect(w.kafka.took()).To(BeEmpty())
	w.Expect(w.requests.took()).To(BeEmpty())

	w.update("a", selected)
	w.pass("a")
	w.Expect(w.get("a")).To(And(beReady(), claim("a", id)))
	w.Expect(w.kafka.config("a")).To(Equal(map[string]string{"k": "2"}))
}

// Strimzi: shouldRestoreFinalizerIfRemoved, addFinalizerShouldBeIdempotent.
func TestAFinalizerThatIsTakenAwayComesBack(t *testing.T) {
	w := newWorld(t)
	w.ready("a", finalizers("example.org/other"))
	w.Expect(w.get("a").Finalizers).To(ConsistOf("example.org/other", v1.FinalizerTopicOperator))
	w.update("a", finalizers("example.org/other"))
	w.pass("a")
	w.Expect(w.get("a").Finalizers).To(ConsistOf("example.org/other", v1.FinalizerTopicOperator))
	w.Expect(w.requests.took()).To(Equal([]string{"PATCH a"}))
	w.pass("a")
	w.Expect(w.requests.took()).To(BeEmpty())
}

func TestTheTimeOfAConditionIsThatOfItsTransition(t *testing.T) {
	w := newWorld(t)
	w.ready("a", partitions(2))
	at := w.get("a").Status.Conditions[0].LastTransitionTime
	w.update("a", config("k", `1`))
	w.pass("a")
	w.Expect(w.get("a")).To(observed())
	w.Expect(w.get("a").Status.Conditions[0].LastTransitionTime).To(Equal(at), "it was ready all the time")
	w.update("a", partitions(1))
	w.pass("a")
	w.Expect(w.get("a").Status.Conditions[0].LastTransitionTime).NotTo(Equal(at))
}

func TestAStatusThatStrimziWroteIsTakenOver(t *testing.T) {
	w := newWorld(t)
	id := w.kafka.put("a", 1, 1, nil).String()
	w.create("a", finalizers(v1.FinalizerTopicOperator))
	w.status("a", func(s *v1.KafkaTopicStatus) {
		s.Conditions = []v1.Condition{{Type: "Ready", Status: "True", LastTransitionTime: "2024-05-17T09:12:33.123456789Z"}}
		s.ObservedGeneration, s.TopicName, s.TopicID = 1, "a", id
	})
	w.pass("a")
	w.Expect(w.requests.took()).To(Equal([]string{"PATCH a/status"}), "Strimzi knows no cluster id")
	w.Expect(w.get("a").Status).To(And(HaveField("ClusterID", ownID), HaveField("TopicID", id)))
	w.pass("a")
	w.Expect(w.requests.took()).To(BeEmpty())

	// Strimzi's message for a failure differs from this operator's, so the operator replaces it once.
	w.status("a", func(s *v1.KafkaTopicStatus) {
		s.Conditions = []v1.Condition{
			{Type: "Warning", Status: "True", Reason: "InvalidConfig", Message: "gone", LastTransitionTime: "2024-05-17T09:12:33.123Z"},
			{Type: "Ready", Status: "True", LastTransitionTime: "2024-05-17T09:12:33.1Z"},
		}
		s.ReplicasChange = &v1.ReplicasChangeStatus{State: v1.ReplicasChangePending}
	})
	w.pass("a")
	w.Expect(w.get("a")).To(beReady())
	w.Expect(w.get("a").Status.Conditions[0].LastTransitionTime).To(Equal("2024-05-17T09:12:33.1Z"))
	w.Expect(w.get("a").Status.ReplicasChange).NotTo(BeNil())
	w.requests.took()
	w.pass("a")
	w.Expect(w.requests.took()).To(BeEmpty())
}
