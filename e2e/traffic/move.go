package traffic

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr" //nolint:depguard // as in traffic.go
	"github.com/twmb/franz-go/pkg/kmsg" //nolint:depguard // as in traffic.go
)

// Move moves the partitions of all topics to other replicas, and waits until the moves have completed. The function returns the new brokers
// of a partition from the present ones. Options.Topic and Options.Group have no effect.
func Move(ctx context.Context, o Options, brokers func(replicas []int32) []int32) error {
	client, err := connect(o)
	if err != nil {
		return err
	}
	defer client.Close()
	about := kmsg.NewPtrMetadataRequest()
	metadata, err := about.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	for _, t := range metadata.Topics {
		moved := kmsg.NewAlterPartitionAssignmentsRequestTopic()
		moved.Topic = *t.Topic
		for _, p := range t.Partitions {
			to := brokers(slices.Clone(p.Replicas))
			if slices.Equal(to, p.Replicas) {
				continue
			}
			partition := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
			partition.Partition, partition.Replicas = p.Partition, to
			moved.Partitions = append(moved.Partitions, partition)
		}
		if len(moved.Partitions) > 0 {
			req.Topics = append(req.Topics, moved)
		}
	}
	if len(req.Topics) == 0 {
		return nil
	}
	answer, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return err
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("move %s-%d: %w", t.Topic, p.Partition, err)
			}
		}
	}
	for {
		left, err := kmsg.NewPtrListPartitionReassignmentsRequest().RequestWith(ctx, client)
		if err == nil && len(left.Topics) == 0 {
			return kerr.ErrorForCode(left.ErrorCode)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("partitions are still being moved: %w", context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
