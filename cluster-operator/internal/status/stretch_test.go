package status

import (
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

func TestWhyAStretchedKafkaIsDegraded(t *testing.T) {
	cluster := func(id, reason string) Cluster {
		return Cluster{ID: id, Nodes: []int32{1, 2}, Problem: &Problem{Reason: reason, Message: "In cluster '" + id + "': x."}}
	}
	unknown := " The state of its nodes (1, 2) is unknown, and the operator changes nothing there."
	stays := " Its nodes (1, 2) stay as they are: the operator changes nothing there."
	for name, c := range map[string]struct {
		clusters []Cluster
		want     v1.Condition
	}{
		"nobody answers": {[]Cluster{cluster("east", "ConnectivityError")},
			v1.Condition{Reason: "RemoteClusterUnreachable", Message: "In cluster 'east': x." + unknown}},
		"a request fails": {[]Cluster{cluster("east", "ClusterFailed")},
			v1.Condition{Reason: "RemoteClusterFailed", Message: "In cluster 'east': x." + stays}},
		"a right is missing": {[]Cluster{cluster("east", "RemoteForbidden")},
			v1.Condition{Reason: "RemoteClusterFailed", Message: "In cluster 'east': x." + stays}},
		"one fails, and another does not answer": {[]Cluster{cluster("east", "OwnershipConflict"), cluster("west", "ConnectivityError")},
			v1.Condition{Reason: "RemoteClusterUnreachable", Message: "In cluster 'east': x." + stays + " In cluster 'west': x." + unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Kafka: &v1.Kafka{}, Topology: &topology.Topology{}, Stretch: &Stretch{
				Central: "central", Formed: true, Clusters: c.clusters}}
			c.want.Type, c.want.Status = Degraded, v1.ConditionTrue
			NewWithT(t).Expect(stretched(in)).To(ContainElement(c.want))
		})
	}
}
