package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

const ofAnother = "Ready=False ClusterMismatch: KafkaTopic is owned by cluster '" + otherID + "', not this cluster '" + ownID + "'."

// The operator decides by the stored status whether to write it, not by remembering an earlier write.
func TestAMismatchIsReportedAgainWhenItWasOverwritten(t *testing.T) {
	for name, overwrite := range map[string]func(w *world){
		"by a pause": func(w *world) {
			w.update("a", pause)
			w.pass("a")
			w.Expect(w.get("a")).To(haveConditions("ReconciliationPaused=True"))
			w.update("a", resume)
		},
		"while a third cluster answered": func(w *world) {
			w.cluster.Answered("thirdKafkaCluster00000")
			w.pass("a")
			w.Expect(w.get("a").Status.Conditions[0].Message).To(ContainSubstring("thirdKafkaCluster00000"))
			w.cluster.Answered("")
		},
		"by hand": func(w *world) {
			w.status("a", func(s *v1.KafkaTopicStatus) { s.Conditions = nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create("a")
			w.status("a", func(s *v1.KafkaTopicStatus) { s.TopicName, s.ClusterID = "a", otherID })
			w.pass("a")
			w.Expect(w.get("a")).To(haveConditions(ofAnother))
			overwrite(w)
			w.pass("a")
			w.Expect(w.get("a")).To(haveConditions(ofAnother))
		})
	}
}

// An operator that overwrote the report and is gone fights no more.
func TestAMismatchIsReportedAgainWhenNobodyWritesAnyMore(t *testing.T) {
	w := newWorld(t)
	w.create("a")
	w.status("a", func(s *v1.KafkaTopicStatus) { s.TopicName, s.ClusterID = "a", otherID })
	w.pass("a")
	w.Expect(w.get("a")).To(haveConditions(ofAnother))
	// until lets passes run until the mismatch is reported, and returns how long that took.
	until := func() (took time.Duration) {
		for took < longMemory {
			next := w.pass("a").RequeueAfter
			if w.get("a").Status.Conditions[0].Reason == v1.ReasonClusterMismatch {
				return took
			}
			w.clock.step(next)
			took += next
		}
		return took
	}
	theirs := func(s *v1.KafkaTopicStatus) {
		s.Conditions = []v1.Condition{{Type: v1.ConditionReady, Status: v1.ConditionTrue}}
	}
	for range 3 { // each time that the other operator fights back
		w.status("a", theirs)
		w.Expect(until()).To(BeNumerically("~", 100*time.Minute, 40*time.Minute))
	}
	w.requests.took()
	w.clock.step(longMemory / 2)
	w.pass("a")
	w.Expect(w.requests.took()).To(BeEmpty(), "the report is there")
}
