package observe

import (
	"errors"
	"fmt"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
)

// clusterOf returns the id of the Kafka cluster in the nodes' ConfigMaps; empty if none has one. The error says that they differ.
func clusterOf(nodes []roller.Node, places []Place) (string, error) {
	ids := map[string]map[string]string{}
	for i := range places {
		ids[places[i].ID] = places[i].ClusterIDs
	}
	id, by := "", ""
	for _, n := range nodes {
		switch told := ids[n.Place][n.Name]; {
		case told == "" || told == id:
		case id == "":
			id, by = told, n.Name
		default:
			return "", fmt.Errorf("the ConfigMaps of %s and %s name different Kafka clusters, %s and %s", by, n.Name, id, told)
		}
	}
	return id, nil
}

// pin binds the clients to the Kafka cluster with this id: they read from and change no other one.
func (k *Kafka) pin(id string) error {
	var errs []error
	for _, client := range []any{k.Brokers, k.Controllers} {
		if p, can := client.(kafka.ClusterPinner); can {
			errs = append(errs, p.Pin(id))
		}
	}
	if errors.Join(errs...) != nil {
		return fmt.Errorf("the ConfigMaps of the pods name Kafka cluster %s, but the roller worked with another one before: if the new one is "+
			"right, restart the roller", id)
	}
	return nil
}

// bind returns why Kafka's answers are not about the nodes; empty if they are. If no ConfigMap names the Kafka cluster, it is the first one
// that answered.
func (k *Kafka) bind(expected string, err error, facts *KafkaFacts) string {
	switch {
	case err != nil:
		return err.Error()
	case expected == "" && facts.ClusterID != "":
		if k.pin(facts.ClusterID) != nil {
			return fmt.Sprintf("Kafka cluster %s answers, but another one answered before: if the new one is right, restart the roller",
				facts.ClusterID)
		}
	case facts.ClusterID != "" && facts.ClusterID != expected:
		return fmt.Sprintf("the bootstrap addresses point to Kafka cluster %s, but the pods' ConfigMaps name %s: correct the addresses",
			facts.ClusterID, expected)
	}
	return ""
}
