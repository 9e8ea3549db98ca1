package observe

import (
	"context"

	"github.com/kafka-operators/kafka-operators/roller"
)

// Verify is Read for candidates for a restart.
func (k *Kafka) Verify(ctx context.Context, brokers, candidates []roller.NodeID) KafkaFacts {
	return k.read(ctx, brokers, nil, recalled{candidates: candidates})
}

// Recoveries probes nodes.
func (o *Observer) Recoveries(ctx context.Context, nodes []roller.Node) map[roller.NodeID]roller.Fact[*roller.Recovery] {
	return o.recoveries(ctx, nodes)
}
