package saramakafka

import (
	"cmp"
	"context"
	"slices"

	"github.com/IBM/sarama"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// Controllers implements kafka.Controllers over the network: it asks the controllers of a KRaft cluster and needs no broker. It is safe for
// concurrent use and recovers from failures as Admin does. ObserveRequest is told of DescribeControllers as DescribeCluster, which is what
// Kafka calls it.
type Controllers struct{ client }

var _ kafka.Controllers = (*Controllers)(nil)

// NewControllers checks cfg, whose bootstrap addresses are those of controllers, and returns a client for them. It does not connect.
func NewControllers(cfg kafka.Config) (*Controllers, error) {
	c := &Controllers{}
	if err := c.start(controllers, cfg); err != nil {
		return nil, err
	}
	return c, nil
}

// DescribeControllers implements kafka.ControllerReader.
func (c *Controllers) DescribeControllers(ctx context.Context) (kafka.ControllerSet, error) {
	resp, err := c.describeCluster(ctx)
	if err != nil {
		return kafka.ControllerSet{}, err
	}
	return kafka.ControllerSet{ClusterID: resp.ClusterID, Active: resp.ControllerID, Controllers: nodesOf(resp)}, nil
}

// AlterConfigs implements kafka.ConfigWriter. The active controller takes all changes; brokers' own ones too.
func (c *Controllers) AlterConfigs(ctx context.Context, changes []kafka.ConfigChange,
	validateOnly bool) (map[kafka.ConfigResource]error, error) {
	return c.alter(ctx, changes, validateOnly, nil)
}

// describeCluster asks any node of the cluster who the others are.
func (c *client) describeCluster(ctx context.Context) (*sarama.DescribeClusterResponse, error) {
	ctx, r, done, err := c.call(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var resp *sarama.DescribeClusterResponse
	_, err = r.do(ctx, &request{name: requestDescribeCluster, broker: anyBroker, anyCluster: true,
		run: func(ctx context.Context, c *conn) (err error) {
			resp, err = r.describeCluster(ctx, c)
			return err
		}})
	if err != nil {
		return nil, err
	}
	return resp, codeError(int16(resp.Err), text(resp.ErrorMessage))
}

// nodesOf returns the nodes of a description, sorted by id.
func nodesOf(resp *sarama.DescribeClusterResponse) []kafka.Node {
	out := make([]kafka.Node, len(resp.Brokers))
	for i, b := range resp.Brokers {
		out[i] = kafka.Node{ID: b.BrokerID, Host: b.Host, Port: b.Port, Rack: text(b.Rack), Fenced: b.IsFenced}
	}
	slices.SortFunc(out, func(a, b kafka.Node) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
