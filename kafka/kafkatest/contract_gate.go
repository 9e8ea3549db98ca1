package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// errGated is the error that the contract's gates return.
var errGated = errors.New("not any more")

// gated returns a context whose gate rejects one item, and the list of items that the gate was asked about.
func gated[K comparable](ctx context.Context, refused K) (context.Context, *[]K) {
	var asked []K
	return kafka.WithGate(ctx, func(_ context.Context, items []K) map[K]error {
		asked = append(asked, items...)
		if slices.Contains(items, refused) {
			return map[K]error{refused: errGated}
		}
		return nil
	}), &asked
}

// admitted checks the results of an item that the gate rejected, and of one that was sent.
func (s *suite) admitted(what string, refused, sent error, asked int) {
	s.Helper()
	if !errors.Is(refused, errGated) {
		s.Errorf("%s: the item that the gate refused got %v", what, refused)
	}
	s.must(sent)
	if asked < 2 { // or more, because the gate is asked again if a broker does not forward the request
		s.Errorf("%s: the gate was asked for %d items", what, asked)
	}
}

var gateCases = map[string]func(*suite){
	"what a gate refuses is not created": func(s *suite) {
		a, b := s.topic("a"), s.topic("b")
		ctx, asked := gated(s.Context(), a)
		made, err := s.admin.CreateTopics(ctx, []kafka.NewTopic{{Name: a, Partitions: 1, ReplicationFactor: 1},
			{Name: b, Partitions: 1, ReplicationFactor: 1}}, false)
		s.must(err)
		s.admitted("CreateTopics", made[a].Err, made[b].Err, len(*asked))
		again, err := s.admin.CreateTopics(s.Context(), []kafka.NewTopic{{Name: a, Partitions: 1, ReplicationFactor: 1}}, false)
		s.must(err)
		s.must(again[a].Err)
	},
	"what a gate refuses is not deleted": func(s *suite) {
		a, b := s.topic("a"), s.topic("b")
		made := s.create(1, a, b)
		ctx, asked := gated(s.Context(), made[a])
		gone, err := s.admin.DeleteTopics(ctx, []kafka.TopicID{made[a], made[b]})
		s.must(err)
		s.admitted("DeleteTopics", gone[made[a]], gone[made[b]], len(*asked))
		again, err := s.admin.DeleteTopics(s.Context(), []kafka.TopicID{made[a]})
		s.must(err)
		s.must(again[made[a]])
	},
	"what a gate refuses is not changed": func(s *suite) {
		a, b := s.topic("a"), s.topic("b")
		s.create(1, a, b)
		ctx, asked := gated(s.Context(), kafka.TopicResource(a))
		set := map[string]string{"retention.ms": "12345"}
		done, err := s.admin.AlterConfigs(ctx, []kafka.ConfigChange{{Resource: kafka.TopicResource(a), Set: set},
			{Resource: kafka.TopicResource(b), Set: set}}, false)
		s.must(err)
		s.admitted("AlterConfigs", done[kafka.TopicResource(a)], done[kafka.TopicResource(b)], len(*asked))
		s.eventually(func() error {
			configs, err := s.admin.DescribeConfigs(s.Context(), []kafka.ConfigResource{kafka.TopicResource(a), kafka.TopicResource(b)},
				[]string{"retention.ms"})
			if err != nil {
				return err
			}
			if have := configs[kafka.TopicResource(b)].Entries["retention.ms"].Value; have != "12345" {
				return fmt.Errorf("the other topic has %q", have)
			}
			if have := configs[kafka.TopicResource(a)].Entries["retention.ms"].Value; have == "12345" {
				s.Errorf("the topic was changed")
			}
			return nil
		})
	},
	"what a gate refuses gets no more partitions": func(s *suite) {
		a, b := s.topic("a"), s.topic("b")
		s.create(1, a, b)
		ctx, asked := gated(s.Context(), a)
		done, err := s.admin.CreatePartitions(ctx, []kafka.PartitionIncrease{{Topic: a, Total: 2}, {Topic: b, Total: 2}}, false)
		s.must(err)
		s.admitted("CreatePartitions", done[a], done[b], len(*asked))
		again, err := s.admin.CreatePartitions(s.Context(), []kafka.PartitionIncrease{{Topic: a, Total: 2}}, false)
		s.must(err)
		s.must(again[a])
	},
	"nothing is sent if a gate refuses everything": func(s *suite) {
		a := s.topic("a")
		id := s.create(1, a)[a]
		before := s.count("DeleteTopics")
		ctx, _ := gated(s.Context(), id)
		gone, err := s.admin.DeleteTopics(ctx, []kafka.TopicID{id})
		s.must(err)
		if !errors.Is(gone[id], errGated) || s.count("DeleteTopics") != before {
			s.Errorf("got %v, and %d requests", gone, s.count("DeleteTopics")-before)
		}
	},
}
