package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/internal/rules"
)

// DescribeFeatures implements kafka.FeatureReader.
func (c *Client) DescribeFeatures(ctx context.Context) (kafka.Features, error) {
	var out kafka.Features
	v := c.visit()
	err := v.do(ctx, "ApiVersions", Call{Method: "DescribeFeatures"}, func(cluster *Cluster) {
		out = kafka.Features{Finalized: maps.Clone(cluster.state.features), Epoch: cluster.state.epoch, Supported: rules.SupportedFeatures()}
	})
	if err != nil {
		return kafka.Features{}, err
	}
	return out, nil
}

// UpdateFeatures implements kafka.FeatureWriter.
func (c *Client) UpdateFeatures(ctx context.Context, updates map[string]kafka.FeatureUpdate, validateOnly bool) error {
	if len(updates) == 0 {
		return nil
	}
	call := Call{Method: "UpdateFeatures", Items: slices.Sorted(maps.Keys(updates)), ValidateOnly: validateOnly}
	return c.change(ctx, call, func(cluster *Cluster) error {
		after, err := rules.FeaturesAfter(cluster.state.features, updates, cluster.leader())
		if err == nil && !validateOnly {
			cluster.state.features = after
			cluster.state.epoch++
		}
		return err
	})
}

// UnregisterBroker implements kafka.BrokerUnregisterer.
func (c *Client) UnregisterBroker(ctx context.Context, id int32) error {
	return c.change(ctx, Call{Method: "UnregisterBroker", Items: []string{fmt.Sprint(id)}}, func(cluster *Cluster) error {
		if !slices.Contains(cluster.registered(), id) {
			return rules.UnregisteredBroker(id)
		}
		cluster.state.unregistered[id] = true
		return nil
	})
}

// change runs a call that changes the cluster as a whole. Its method is also the name of its request.
func (c *Client) change(ctx context.Context, call Call, effect func(*Cluster) error) error {
	var refused error
	v := c.visit()
	err := v.do(ctx, call.Method, call, func(cluster *Cluster) {
		if cluster.leader() < 0 {
			refused = kafka.NewError(kafka.CodeNotController, "")
			return
		}
		for _, item := range call.Items {
			if refused = v.refusedAtCluster(call, item, Alter); refused != nil {
				return
			}
		}
		refused = effect(cluster)
	})
	return errors.Join(err, refused)
}

// registered returns the ids of the registered brokers. The lock is held.
func (c *Cluster) registered() []int32 {
	if len(c.state.unregistered) == 0 {
		return c.brokers
	}
	return slices.DeleteFunc(slices.Clone(c.brokers), func(id int32) bool { return c.state.unregistered[id] })
}
