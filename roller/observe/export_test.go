package observe

import (
	"context"

	"github.com/kafka-operators/kafka-operators/roller"
)

// Verify is Read for the candidates, which may be restarted.
func (k *Kafka) Verify(ctx context.Context, brokers, candidates []roller.NodeID) KafkaFacts {
	return k.read(ctx, brokers, nil, recalled{candidates: candidates})
}
