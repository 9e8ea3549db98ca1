package saramakafka

import (
	"context"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// Controllers implements kafka.Controllers over the network: it sends requests to the controllers of a KRaft cluster and needs no broker.
// It is safe for concurrent use and recovers from failures as Admin does.
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

// AlterConfigs implements kafka.ConfigWriter. The active controller accepts all changes, including those of brokers.
func (c *Controllers) AlterConfigs(ctx context.Context, changes []kafka.ConfigChange,
	validateOnly bool) (map[kafka.ConfigResource]error, error) {
	return c.alter(ctx, changes, validateOnly, nil)
}
