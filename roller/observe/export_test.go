package observe

import (
	"context"
	"time"

	"github.com/kafka-operators/kafka-operators/roller"
)

// Verify is Read for candidates for a restart.
func (k *Kafka) Verify(ctx context.Context, brokers, candidates []roller.NodeID) KafkaFacts {
	return k.read(ctx, brokers, nil, recalled{candidates: candidates})
}

// Read is a Lease of an operator as it was read at a time.
type Read struct{ At, Renewed time.Time }

// SeenBy returns when the operator is known to have renewed its Lease at the earliest.
func SeenBy(reads ...Read) time.Time {
	b := beat{}
	for _, r := range reads {
		b = b.next(r.Renewed, r.At)
	}
	return b.seen
}

// Recoveries probes nodes.
func (o *Observer) Recoveries(ctx context.Context, nodes []roller.Node) map[roller.NodeID]roller.Fact[*roller.Recovery] {
	return o.recoveries(ctx, nodes)
}
