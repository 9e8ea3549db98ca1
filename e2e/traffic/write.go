package traffic

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo" //nolint:depguard // as in traffic.go
)

// Record is a record for a partition.
type Record struct {
	Partition int32
	Value     []byte
	// At is the record's timestamp; zero means now.
	At time.Time
}

// Write writes records one after the other, each after the previous one was acknowledged by all in-sync replicas. Options.Group and
// Options.Every have no effect.
func Write(ctx context.Context, o Options, records ...Record) error {
	producer, err := connect(o, kgo.DefaultProduceTopic(o.Topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer producer.Close()
	for i, r := range records {
		record := &kgo.Record{Partition: r.Partition, Value: r.Value, Timestamp: r.At}
		if err := producer.ProduceSync(ctx, record).FirstErr(); err != nil {
			return fmt.Errorf("record %d of %d for %s-%d: %w", i+1, len(records), o.Topic, r.Partition, err)
		}
	}
	return nil
}
