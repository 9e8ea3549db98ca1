package podsets

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// PoolsOf returns the pools of a Kafka's nodes, without a revision: combined, or brokers and controllers.
func PoolsOf(k *realkafka.Cluster, namespace, cluster string) []Pool {
	brokers, all := k.BrokerIDs(), k.NodeIDs()
	if len(brokers) == len(all) {
		return []Pool{{Namespace: namespace, Cluster: cluster, Name: "combined", Broker: true, Controller: true, Nodes: all}}
	}
	return []Pool{
		{Namespace: namespace, Cluster: cluster, Name: "brokers", Broker: true, Nodes: brokers},
		{Namespace: namespace, Cluster: cluster, Name: "controllers", Controller: true, Nodes: all[len(brokers):]},
	}
}

// Deploy creates the pools' StrimziPodSets, and the ConfigMaps of their nodes with the present configuration.
func (f *Fixture) Deploy(ctx context.Context, k8s client.Client, pools ...Pool) error {
	for _, p := range pools {
		for _, id := range p.Nodes {
			properties, err := f.Properties(id)
			if err != nil {
				return err
			}
			if err := k8s.Create(ctx, p.ConfigMap(id, properties)); err != nil {
				return err
			}
		}
		set, err := p.PodSet()
		if err != nil {
			return err
		}
		if err := k8s.Create(ctx, set); err != nil {
			return err
		}
	}
	return nil
}

// Update writes the pool's pods, with its present revision, to its StrimziPodSet.
func (p Pool) Update(ctx context.Context, k8s client.Client) error {
	next, err := p.PodSet()
	if err != nil {
		return err
	}
	var set core.StrimziPodSet
	if err := k8s.Get(ctx, client.ObjectKeyFromObject(next), &set); err != nil {
		return err
	}
	set.Spec = next.Spec
	return k8s.Update(ctx, &set)
}
