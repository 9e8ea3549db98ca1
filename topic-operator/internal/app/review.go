package app

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/operator/logging"
)

// autoCreateWarning is Strimzi's text (docs/decisions/kafkas-words.md).
const autoCreateWarning = "It is recommended that auto.create.topics.enable is set to 'false' to avoid races between the operator and " +
	"Kafka applications auto-creating topics"

const autoCreateKey = "auto.create.topics.enable"

// review checks the brokers' configuration once, when Kafka first answers.
type review struct {
	admin interface {
		kafka.ClusterReader
		kafka.TopicReader
	}
	log logr.Logger
}

// Start implements manager.Runnable. It runs on the leader only.
func (r *review) Start(ctx context.Context) error {
	wait := time.Second
	for {
		brokers, err := r.autoCreating(ctx)
		switch {
		case err == nil && len(brokers) > 0:
			logging.Warn(r.log, autoCreateWarning, "brokers", brokers)
			return nil
		case err == nil:
			return nil
		case !kafka.IsRetriable(err):
			logging.Warn(r.log, "Failed to review the configuration of the brokers; set STRIMZI_SKIP_CLUSTER_CONFIG_REVIEW=true to skip the "+
				"review", "error", err.Error())
			return nil
		}
		logging.Warn(r.log, "Waiting for Kafka to answer", "error", err.Error(), "nextTry", wait.String())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		wait = min(2*wait, 30*time.Second)
	}
}

// autoCreating returns the brokers with auto.create.topics.enable.
func (r *review) autoCreating(ctx context.Context) ([]string, error) {
	cluster, err := r.admin.DescribeCluster(ctx)
	if err != nil {
		return nil, err
	}
	resources := make([]kafka.ConfigResource, 0, len(cluster.Brokers))
	for _, b := range cluster.Brokers {
		if !b.Fenced { // a fenced broker can't answer
			resources = append(resources, kafka.BrokerResource(b.ID))
		}
	}
	configs, err := r.admin.DescribeConfigs(ctx, resources, []string{autoCreateKey})
	if err != nil {
		return nil, err
	}
	var brokers []string
	for _, resource := range resources {
		result := configs[resource]
		if result.Err != nil {
			return nil, result.Err
		}
		if result.Entries[autoCreateKey].Value == "true" {
			brokers = append(brokers, resource.Name)
		}
	}
	return brokers, nil
}
