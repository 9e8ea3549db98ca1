package kafka

import "context"

// Gate returns the items of a request that may no longer be sent, each with the reason; items that it does not return are sent. The reason
// becomes the item's error, unchanged.
//
// An adapter calls it for each attempt, when nothing is left to wait for: the connection is open, logged in, bound to the right cluster,
// and has just answered. So the facts that the gate reads are current when the request is sent, however long brokers were unavailable
// before. It must return by the context's end.
type Gate[K comparable] func(ctx context.Context, items []K) map[K]error

type gateKey[K comparable] struct{}

// WithGate returns a context that makes calls of TopicWriter call a gate, like httptrace's hooks. The items are identified by the keys of
// the call's answer: names for CreateTopics and CreatePartitions, ids for DeleteTopics, resources for AlterConfigs. A gate with another
// type of key is not called.
func WithGate[K comparable](ctx context.Context, gate Gate[K]) context.Context {
	return context.WithValue(ctx, gateKey[K]{}, gate)
}

// GateOf returns the context's gate for items of this type; nil if there is none.
func GateOf[K comparable](ctx context.Context) Gate[K] {
	gate, _ := ctx.Value(gateKey[K]{}).(Gate[K])
	return gate
}
