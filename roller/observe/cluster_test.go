package observe_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
	"github.com/kafka-operators/kafka-operators/roller"
)

// tells creates the ConfigMap of a node, with the id of a Kafka cluster.
func (r *reading) tells(id int, cluster string) {
	name := pod(id).Name
	r.Expect(r.k8s.Create(r.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{v1.LabelCluster: "my-cluster"}},
		Data:       map[string]string{"cluster.id": cluster + "\n"},
	})).To(Succeed())
}

// foreign returns why the nodes do not belong to this Kafka cluster, which must be the same for all.
func (r *reading) foreign(s roller.Snapshot) string {
	r.Expect(s.Nodes).To(HaveLen(3))
	for _, n := range s.Nodes {
		r.Expect(n.Foreign).To(Equal(s.Nodes[0].Foreign))
	}
	return s.Nodes[0].Foreign
}

const unlisted = "no StrimziPodSet lists its pod, so nothing would recreate it"

// Nodes are not restarted on what another Kafka cluster reports about its replicas.
func TestAnotherKafkaCluster(t *testing.T) {
	t.Run("the one of the ConfigMaps", func(t *testing.T) {
		r := newReading(t, 0)
		r.tells(0, r.kafka.ClusterID())
		s := r.glance()
		r.Expect(r.foreign(s)).To(Equal(unlisted), "nothing about the cluster")
		r.Expect(s.Topics.IsKnown()).To(BeTrue())
	})
	t.Run("not the one of the ConfigMaps", func(t *testing.T) {
		r := newReading(t, 0)
		r.tells(1, "someOtherKafkaCluster0")
		s := r.glance()
		r.Expect(r.foreign(s)).
			To(Equal("the bootstrap addresses point to Kafka cluster memoryKafkaCluster0000, but the pods' ConfigMaps name " +
				"someOtherKafkaCluster0: correct the addresses"))
		r.Expect(s.Topics.IsKnown()).To(BeFalse())
		r.Expect(s.Quorum.IsKnown()).To(BeFalse())
		for _, n := range s.Nodes {
			r.Expect(n.Answers.IsKnown()).To(BeFalse(), "nobody asked it")
			r.Expect(n.Silent).To(BeZero())
		}
	})
	t.Run("ConfigMaps that do not agree", func(t *testing.T) {
		r := newReading(t, 0)
		r.tells(0, r.kafka.ClusterID())
		r.tells(2, "someOtherKafkaCluster0")
		r.Expect(r.foreign(r.glance())).
			To(Equal("the ConfigMaps of my-cluster-kafka-0 and my-cluster-kafka-2 name different Kafka clusters, memoryKafkaCluster0000 and " +
				"someOtherKafkaCluster0"))
	})
	t.Run("ConfigMaps that tell it later", func(t *testing.T) {
		r := newReading(t, 0)
		r.Expect(r.foreign(r.glance())).To(Equal(unlisted))
		r.tells(0, "someOtherKafkaCluster0")
		r.Expect(r.foreign(r.glance())).
			To(HavePrefix("the ConfigMaps of the pods name Kafka cluster someOtherKafkaCluster0, but the roller worked with another one before"))
	})
	t.Run("without ConfigMaps, not the one that answered first", func(t *testing.T) {
		r := newReading(t, 0)
		r.glance()
		r.admin.Redirect(memory.New(memory.Options{ClusterID: "someOtherKafkaCluster0", Brokers: 3}))
		s := r.glance()
		r.Expect(r.foreign(s)).To(HavePrefix("Kafka cluster someOtherKafkaCluster0 answers, but another one answered before"))
		r.Expect(s.Topics.IsKnown()).To(BeFalse())
	})
}

// With a wrong address no node responds, and the roller must not take all nodes for dead.
func TestSilence(t *testing.T) {
	r := newReading(t, 0)
	silent := func() []roller.NodeID {
		var ids []roller.NodeID
		for _, n := range r.glance().Nodes {
			r.Expect(n.Answers.IsKnown()).To(BeTrue())
			if !n.Silent.IsZero() {
				ids = append(ids, n.ID)
			}
		}
		return ids
	}
	for id := range int32(3) {
		r.kafka.StopNode(id)
	}
	r.Expect(silent()).To(BeEmpty(), "nobody ever answered")
	r.kafka.StartNode(2)
	r.Expect(silent()).To(Equal([]roller.NodeID{0, 1}), "one answers, so the door is the right one")
	r.kafka.StartNode(0)
	r.Expect(silent()).To(Equal([]roller.NodeID{1}))
	r.kafka.StopNode(0)
	r.kafka.StopNode(2)
	r.Expect(silent()).To(Equal([]roller.NodeID{0, 2}), "those that answered before")
}

// A login that the bootstrap address refuses says nothing about the nodes, also if they answered before.
func TestNobodyWasAsked(t *testing.T) {
	r := newReading(t, 0)
	r.Expect(r.glance().Nodes[1].Answers).To(Equal(roller.Known(true)))
	r.observer.Kafka.Brokers = &refuser{r.admin, kafka.NewTLSError("certificate required", kafka.TLSNoCertificate), true}
	n := r.glance().Nodes[1]
	r.Expect(n.Answers.IsKnown()).To(BeFalse())
	r.Expect(n.Silent).To(BeZero())
	for _, why := range []string{n.Answers.Why(), n.Config.Why()} {
		r.Expect(why).To(ContainSubstring("certificate required"))
	}
}
