package traffic

import (
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama" //nolint:depguard // the port has no records, and this client keeps no metadata
)

// Broker writes and counts records at the only broker of a cluster. It keeps no metadata, so that it can't confuse topics that were created
// again under their old names.
type Broker struct{ broker *sarama.Broker }

// Open connects to a broker.
func Open(address string) (*Broker, error) {
	broker := sarama.NewBroker(address)
	config := sarama.NewConfig()
	config.Version = sarama.V2_1_0_0
	if err := broker.Open(config); err != nil {
		return nil, err
	}
	return &Broker{broker: broker}, nil
}

// Close closes the connection.
func (b *Broker) Close() error { return b.broker.Close() }

// FindCoordinator requests the coordinator of a group. At the first request, Kafka creates __consumer_offsets.
func (b *Broker) FindCoordinator(group string) error {
	request := &sarama.FindCoordinatorRequest{Version: 1, CoordinatorKey: group, CoordinatorType: sarama.CoordinatorGroup}
	_, err := b.broker.FindCoordinator(request)
	return err
}

// Write appends that many records to partition 0 of each topic. The result has the topics that responded that they are not ready yet.
func (b *Broker) Write(counts map[string]int) (notYet map[string]int, err error) {
	request := &sarama.ProduceRequest{RequiredAcks: sarama.WaitForAll, Timeout: 10_000, Version: 7}
	for topic, n := range counts {
		now := time.Now()
		batch := &sarama.RecordBatch{Version: 2, FirstTimestamp: now, MaxTimestamp: now, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
			LastOffsetDelta: int32(n - 1)} // few
		for i := range n {
			batch.Records = append(batch.Records, &sarama.Record{OffsetDelta: int64(i), Value: fmt.Appendf(nil, "%s-%d", topic, i)})
		}
		request.AddBatch(topic, 0, batch)
	}
	answer, err := b.broker.Produce(request)
	if err != nil {
		return nil, err
	}
	notYet = map[string]int{}
	for topic, n := range counts {
		block := answer.GetBlock(topic, 0)
		switch {
		case block == nil:
			return nil, fmt.Errorf("no answer about topic %s", topic)
		case errors.Is(block.Err, sarama.ErrNotLeaderForPartition), errors.Is(block.Err, sarama.ErrUnknownTopicOrPartition),
			errors.Is(block.Err, sarama.ErrLeaderNotAvailable):
			notYet[topic] = n
		case !errors.Is(block.Err, sarama.ErrNoError):
			return nil, fmt.Errorf("topic %s: %w", topic, block.Err)
		}
	}
	return notYet, nil
}

// Count returns the number of records in each partition of the topics. The argument has their numbers of partitions.
func (b *Broker) Count(partitions map[string]int) (map[string][]int64, error) {
	if len(partitions) == 0 {
		return map[string][]int64{}, nil
	}
	newest, err := b.offsets(partitions, sarama.OffsetNewest)
	if err != nil {
		return nil, err
	}
	oldest, err := b.offsets(partitions, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	for topic := range newest {
		for i := range newest[topic] {
			newest[topic][i] -= oldest[topic][i]
		}
	}
	return newest, nil
}

func (b *Broker) offsets(partitions map[string]int, at int64) (map[string][]int64, error) {
	request := &sarama.OffsetRequest{Version: 1}
	for topic, n := range partitions {
		for i := range n {
			request.AddBlock(topic, int32(i), at, 1) // few
		}
	}
	answer, err := b.broker.GetAvailableOffsets(request)
	if err != nil {
		return nil, err
	}
	offsets := map[string][]int64{}
	for topic, n := range partitions {
		for i := range n {
			block := answer.GetBlock(topic, int32(i)) // few
			if block == nil {
				return nil, fmt.Errorf("no answer about topic %s", topic)
			}
			if !errors.Is(block.Err, sarama.ErrNoError) {
				return nil, fmt.Errorf("the offsets of topic %s: %w", topic, block.Err)
			}
			offsets[topic] = append(offsets[topic], block.Offset)
		}
	}
	return offsets, nil
}
