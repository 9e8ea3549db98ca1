package controller

import (
	"testing"

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
