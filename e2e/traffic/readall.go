package traffic

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo" //nolint:depguard // as in traffic.go
)

// ReadAll reads a topic from its start to its end, and returns how often each value is in it. Options.Group and Options.Every have no
// effect.
func ReadAll(ctx context.Context, o Options) (map[string]int, error) {
	values := map[string]int{}
	err := readAll(ctx, o, func(r *kgo.Record) { values[string(r.Value)]++ })
	return values, err
}

// ReadFrom reads a topic from its start to its end as a consumer in a rack (KIP-392), and returns how many records each broker sent.
// Options.Group and Options.Every have no effect.
func ReadFrom(ctx context.Context, o Options, rack string) (map[int32]int, error) {
	senders := &senders{records: map[int32]int{}}
	err := readAll(ctx, o, func(*kgo.Record) {}, kgo.Rack(rack), kgo.WithHooks(senders))
	senders.mu.Lock()
	defer senders.mu.Unlock()
	return senders.records, err
}

// senders counts the records that each broker sent.
type senders struct {
	mu      sync.Mutex
	records map[int32]int
}

// OnFetchBatchRead implements kgo.HookFetchBatchRead.
func (s *senders) OnFetchBatchRead(broker kgo.BrokerMetadata, _ string, _ int32, batch kgo.FetchBatchMetrics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[broker.NodeID] += batch.NumRecords
}

func readAll(ctx context.Context, o Options, record func(*kgo.Record), opts ...kgo.Opt) error {
	reader, err := connect(o, append(opts, kgo.ConsumeTopics(o.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	if err != nil {
		return err
	}
	defer reader.Close()
	left, err := ends(ctx, reader, o.Topic)
	if err != nil {
		return err
	}
	for len(left) > 0 {
		fetches := reader.PollFetches(ctx)
		if err := errors.Join(fetches.Err(), ctx.Err()); err != nil {
			return fmt.Errorf("read %s, of which partitions %v are left: %w", o.Topic, left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			record(r)
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	return nil
}
