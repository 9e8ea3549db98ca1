package traffic

import (
	"bytes"
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

// Segments returns records for partition 0 of a topic with segment.ms=1. Each starts a segment, because its timestamp is later than that of
// the last one by more than that.
func Segments(n int) []Record {
	at, records := time.Now().Add(-time.Duration(n)*time.Second), make([]Record, n)
	for i := range records {
		records[i] = Record{Value: bytes.Repeat([]byte("x"), 1000), At: at.Add(time.Duration(i) * time.Second)}
	}
	return records
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
