package saramakafka

import "github.com/kafka-operators/kafka-operators/kafka"

// Admin implements kafka.Admin over the network: it sends requests to brokers. It is safe for concurrent use, opens connections on demand,
// and recovers from every failure of brokers or of the network.
type Admin struct{ client }

var _ kafka.Admin = (*Admin)(nil)

// New checks cfg and returns an Admin for it. It does not connect: if the cluster is unavailable, calls fail, but New does not.
func New(cfg kafka.Config) (*Admin, error) {
	a := &Admin{}
	if err := a.start(brokers, cfg); err != nil {
		return nil, err
	}
	return a, nil
}
