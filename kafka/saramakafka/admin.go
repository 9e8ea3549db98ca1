package saramakafka

import "github.com/kafka-operators/kafka-operators/kafka"

// Admin implements kafka.Admin over the network: it asks brokers. It is safe for concurrent use, opens its connections when it needs
// them, and recovers by itself from every failure of brokers or of the way to them.
type Admin struct{ client }

var _ kafka.Admin = (*Admin)(nil)

// New checks cfg and returns an Admin for it. It does not connect: a cluster that is away fails calls, not New.
func New(cfg kafka.Config) (*Admin, error) {
	a := &Admin{}
	if err := a.start(brokers, cfg); err != nil {
		return nil, err
	}
	return a, nil
}
