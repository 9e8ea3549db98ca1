package traffic

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr" //nolint:depguard // as in traffic.go
	"github.com/twmb/franz-go/pkg/kgo"  //nolint:depguard // as in traffic.go
	"github.com/twmb/franz-go/pkg/kmsg" //nolint:depguard // as in traffic.go
)

// Drain moves all replicas of a broker from one of its log directories to another, and waits until the move has completed.
func Drain(ctx context.Context, o Options, broker int32, from, to string) error {
	client, err := connect(o)
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, client); err != nil { // the client needs the brokers' addresses
		return err
	}
	for asked := false; ; asked = true {
		left, err := replicasIn(ctx, client.Broker(int(broker)), from)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return nil
		}
		if !asked {
			if err := alterDirs(ctx, client.Broker(int(broker)), left, to); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("replicas are still in %s of broker %d: %v: %w", from, broker, left, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// replicasIn returns the partitions of each topic in a log directory.
func replicasIn(ctx context.Context, broker *kgo.Broker, dir string) (map[string][]int32, error) {
	answer, err := kmsg.NewPtrDescribeLogDirsRequest().RequestWith(ctx, broker)
	if err != nil {
		return nil, err
	}
	found := map[string][]int32{}
	for _, d := range answer.Dirs {
		if d.Dir != dir {
			continue
		}
		for _, t := range d.Topics {
			for _, p := range t.Partitions {
				found[t.Topic] = append(found[t.Topic], p.Partition)
			}
		}
	}
	return found, kerr.ErrorForCode(answer.ErrorCode)
}

func alterDirs(ctx context.Context, broker *kgo.Broker, replicas map[string][]int32, dir string) error {
	to := kmsg.NewAlterReplicaLogDirsRequestDir()
	to.Dir = dir
	for topic, partitions := range replicas {
		t := kmsg.NewAlterReplicaLogDirsRequestDirTopic()
		t.Topic, t.Partitions = topic, partitions
		to.Topics = append(to.Topics, t)
	}
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	req.Dirs = append(req.Dirs, to)
	answer, err := req.RequestWith(ctx, broker)
	if err != nil {
		return err
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("move %s-%d to %s: %w", t.Topic, p.Partition, dir, err)
			}
		}
	}
	return nil
}
