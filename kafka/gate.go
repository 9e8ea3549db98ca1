package kafka

import "context"

// Gate is asked which items of a request that changes something may not be sent any more. It returns the reason of each; an item that is
// not in the answer is sent. The reason becomes the item's error as it is.
//
// An adapter asks it for each attempt, when nothing is left to wait for: the connection is open, logged in, bound to the right cluster, and
// has just answered. So what the gate reads is true when the request leaves, however long brokers were away before. It must return by the
// context's end.
type Gate[K comparable] func(ctx context.Context, items []K) map[K]error

type gateKey[K comparable] struct{}

// WithGate returns a context that makes calls of TopicWriter ask a gate, as httptrace's hooks travel. The items are named by the keys of
// the call's answer: names for CreateTopics and CreatePartitions, ids for DeleteTopics, resources for AlterConfigs. A gate of another type
// of key is not asked.
func WithGate[K comparable](ctx context.Context, gate Gate[K]) context.Context {
	return context.WithValue(ctx, gateKey[K]{}, gate)
}

// GateOf returns the context's gate for items of this type; nil if there is none.
func GateOf[K comparable](ctx context.Context) Gate[K] {
	gate, _ := ctx.Value(gateKey[K]{}).(Gate[K])
	return gate
}
