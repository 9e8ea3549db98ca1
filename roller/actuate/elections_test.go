package actuate_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
)

// elector notes what it is asked, and answers what it is told to.
type elector struct {
	asked []kafka.TopicPartition
	errs  map[kafka.TopicPartition]error
	err   error
	// bounded reports that it was asked for an answer by some time.
	bounded bool
}

func (e *elector) ElectPreferredLeaders(ctx context.Context, asked []kafka.TopicPartition) (map[kafka.TopicPartition]error, error) {
	e.asked = asked
	_, e.bounded = ctx.Deadline()
	return e.errs, e.err
}

func TestElections(t *testing.T) {
	action := roller.Action{Kind: roller.ActionElectLeaders, Node: 3, Partitions: map[string][]int32{"b": {1}, "a": {0, 2}}}
	second := kafka.TopicPartition{Topic: "a", Partition: 2}
	for name, c := range map[string]struct {
		elector elector
		result  actuate.Result
		err     string
	}{
		"all are elected": {elector{errs: map[kafka.TopicPartition]error{second: nil}}, actuate.Done, ""},
		"one is not": {elector{errs: map[kafka.TopicPartition]error{second: errors.New("not in sync")}}, actuate.NotDone,
			"1 of 3 partitions, the first of which: partition a-2: not in sync"},
		"Kafka is not asked": {elector{err: errors.New("no answer")}, actuate.NotDone, "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := (&actuate.Actuator{Leaders: &c.elector}).Do(t.Context(), action, &roller.Node{ID: 3})
			g.Expect(o.Result).To(Equal(c.result))
			g.Expect(c.elector.bounded).To(BeTrue(), "the restarts that follow don't wait for ever")
			g.Expect(c.elector.asked).To(Equal([]kafka.TopicPartition{{Topic: "a"}, second, {Topic: "b", Partition: 1}}))
			if c.err == "" {
				g.Expect(o.Err).NotTo(HaveOccurred())
			} else {
				g.Expect(o.Err).To(MatchError(c.err))
			}
		})
	}
}
