package model

import (
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// A node whose configuration this version would write differently keeps it, since its user changed nothing: these are the inputs that
// earlier versions noted.
func TestInputsAreThoseOfEarlierVersions(t *testing.T) {
	kafka := &v1.Kafka{Spec: &v1.KafkaSpec{}}
	kafka.Namespace, kafka.Name = "ns", "my-cluster"
	kafka.Spec.Kafka.Logging = &v1.Logging{Type: v1.LoggingInline, Loggers: map[string]string{"a.pattern": `\S+ü`}}
	listener := v1.Listener{Name: "external", Port: 9095, Type: v1.ListenerNodePort,
		Configuration: &v1.ListenerConfiguration{AdvertisedHostTemplate: "[fd00::2]"}}
	kafka.Spec.Kafka.Listeners = []v1.Listener{listener}
	n := topology.Node{ID: 0, Cluster: "east", Pool: "east", Roles: topology.Roles{Broker: true, Controller: true}}
	at6 := Endpoint{"fd00::1", 31000}
	in := Input{Kafka: kafka, Version: "4.3.1", Pools: map[string]*v1.KafkaNodePool{"east": {Spec: &v1.KafkaNodePoolSpec{}}},
		Topology: topology.Topology{Namespace: "ns", Name: "my-cluster",
			Pools: []topology.Pool{{Name: "east", Cluster: "east", Nodes: []topology.Node{n}}}},
		Stretch: &Stretch{Central: "central", Peers: Peers{0: {ReplicationPortName: at6, ControllerPortName: at6}}},
	}
	c := &cluster{in}
	at, _ := c.advertise(listener, n, World{})
	at.Port = 32000
	c.Endpoints.Listeners = map[string]map[int32]Endpoint{"external": {0: at}}
	NewWithT(t).Expect([]string{c.configInputs(n), c.podInputs(n, "")[0]}).To(Equal([]string{"07dfce896c3dc3b1", "727ab180f80fa8d8"}))

	// With labels of the Kafka, which pods had.
	kafka.Labels = map[string]string{"team": "a", "kustomize.toolkit.fluxcd.io/name": "b"}
	in.Pools["east"].Labels = map[string]string{"tier": "fast"}
	NewWithT(t).Expect(c.podInputs(n, "")[2:]).To(Equal([]string{"c246ac5f36a982ca", "c246ac5f36a982ca", "3b5369bfa9316b33"}))
}
