package saramakafka

import (
	"context"
	"slices"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TopicsOn implements kafka.NodeTopicReader.
func (a *Admin) TopicsOn(ctx context.Context, broker int32) ([]string, error) {
	ctx, r, done, err := a.call(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	req := &request{name: "DescribeLogDirs"}
	if err := r.direct(ctx, req, broker); err != nil {
		return nil, err
	}
	var topics []string
	req.run = func(ctx context.Context, c *conn) (err error) {
		topics, err = topicsOn(ctx, c)
		return err
	}
	if _, err = r.do(ctx, req); err != nil {
		return nil, err
	}
	return topics, nil
}

func topicsOn(ctx context.Context, c *conn) ([]string, error) {
	const refuses = 3 // the first version that says that the client may not ask; the ones before answer with nothing
	resp, err := c.raw(ctx, kmsg.NewPtrDescribeLogDirsRequest(), refuses)
	if err != nil {
		return nil, err
	}
	answer := resp.(*kmsg.DescribeLogDirsResponse)
	if err := codeError(answer.ErrorCode, ""); err != nil {
		return nil, err
	}
	var topics []string
	for _, dir := range answer.Dirs {
		if dir.ErrorCode == int16(sarama.ErrKafkaStorageError) {
			continue // what was in it is out of service
		}
		if err := codeError(dir.ErrorCode, ""); err != nil {
			return nil, err
		}
		for _, t := range dir.Topics {
			topics = append(topics, t.Topic)
		}
	}
	slices.Sort(topics)
	return slices.Compact(topics), nil
}

// direct makes a request one of this broker, and no other one.
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
