package saramakafka

import (
	"context"
	"slices"
	"strings"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// TopicsOn implements kafka.NodeTopicReader.
func (a *Admin) TopicsOn(ctx context.Context, broker int32) ([]string, error) {
	dirs, err := a.logDirs(ctx, broker)
	if err != nil {
		return nil, err
	}
	var topics []string
	for _, dir := range dirs {
		for _, t := range dir.Topics {
			topics = append(topics, t.Topic)
		}
	}
	slices.Sort(topics)
	return slices.Compact(topics), nil
}

// DescribeLogDirs implements kafka.LogDirReader.
func (a *Admin) DescribeLogDirs(ctx context.Context, broker int32) ([]kafka.LogDir, error) {
	answer, err := a.logDirs(ctx, broker)
	if err != nil {
		return nil, err
	}
	var dirs []kafka.LogDir
	for _, dir := range answer {
		d := kafka.LogDir{Path: dir.Dir, Failed: dir.ErrorCode != 0, Cordoned: dir.IsCordoned}
		for _, t := range dir.Topics {
			d.Replicas += len(t.Partitions)
		}
		dirs = append(dirs, d)
	}
	slices.SortFunc(dirs, func(a, b kafka.LogDir) int { return strings.Compare(a.Path, b.Path) })
	return dirs, nil
}

// logDirs reads a broker's log directories. A failed one is in the answer, with an error code and no topics.
func (a *Admin) logDirs(ctx context.Context, broker int32) ([]kmsg.DescribeLogDirsResponseDir, error) {
	ctx, r, done, err := a.call(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	req := &request{name: "DescribeLogDirs"}
	if err := r.direct(ctx, req, broker); err != nil {
		return nil, err
	}
	var dirs []kmsg.DescribeLogDirsResponseDir
	req.run = func(ctx context.Context, c *conn) (err error) {
		dirs, err = logDirs(ctx, c)
		return err
	}
	if _, err = r.do(ctx, req); err != nil {
		return nil, err
	}
	return dirs, nil
}

func logDirs(ctx context.Context, c *conn) ([]kmsg.DescribeLogDirsResponseDir, error) {
	const refuses = 3 // the first version that reports a missing permission; earlier ones return an empty answer
	resp, err := c.raw(ctx, kmsg.NewPtrDescribeLogDirsRequest(), refuses)
	if err != nil {
		return nil, err
	}
	answer := resp.(*kmsg.DescribeLogDirsResponse)
	if err := codeError(answer.ErrorCode, ""); err != nil {
		return nil, err
	}
	for i, dir := range answer.Dirs {
		if dir.ErrorCode == int16(sarama.ErrKafkaStorageError) {
			answer.Dirs[i].Topics = nil // its content is out of service
		} else if err := codeError(dir.ErrorCode, ""); err != nil {
			return nil, err
		}
	}
	return answer.Dirs, nil
}

// direct sends a request to this broker only.
func (r *router) direct(ctx context.Context, req *request, broker int32) error {
	if err := r.locate(ctx, []int32{broker}); err != nil {
		return err
	}
	if !r.knows(broker) {
		return r.unregistered(broker)
	}
	req.broker, req.rounds = broker, nodeRounds
	return nil
}
