package traffic

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr" //nolint:depguard // as in traffic.go
	"github.com/twmb/franz-go/pkg/kgo"  //nolint:depguard // as in traffic.go
	"github.com/twmb/franz-go/pkg/kmsg" //nolint:depguard // as in traffic.go
)

// ends returns the offset after the last record of each partition that has any.
func ends(ctx context.Context, client *kgo.Client, topic string) (map[int32]int64, error) {
	about := kmsg.NewPtrMetadataRequest()
	about.AllowAutoTopicCreation = false
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = &topic
	about.Topics = append(about.Topics, asked)
	metadata, err := about.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrListOffsetsRequest()
	wanted := kmsg.NewListOffsetsRequestTopic()
	wanted.Topic = topic
	for _, t := range metadata.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return nil, fmt.Errorf("topic %s: %w", topic, err)
		}
		for _, p := range t.Partitions {
			partition := kmsg.NewListOffsetsRequestTopicPartition()
			partition.Partition, partition.Timestamp = p.Partition, -1 // the latest
			wanted.Partitions = append(wanted.Partitions, partition)
		}
	}
	req.Topics = append(req.Topics, wanted)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	out := map[int32]int64{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("%s-%d: %w", topic, p.Partition, err)
			}
			if p.Offset > 0 {
				out[p.Partition] = p.Offset
			}
		}
	}
	return out, nil
}
