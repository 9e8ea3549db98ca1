package observe_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// island is a Kafka in which single brokers have old metadata: they are cut off from the active controller, but not from the roller.
type island struct {
	*memory.Client
	quorum kafka.Quorum
	err    error
	asked  []int32
	silent map[int32]bool
}

func (i *island) DescribeQuorum(context.Context) (kafka.Quorum, error) { return i.quorum, i.err }

func (i *island) ListTopics(ctx context.Context) ([]kafka.Topic, error) {
	i.asked = append(i.asked, -1)
	return i.Client.ListTopics(ctx)
}

func (i *island) ListTopicsOf(ctx context.Context, broker int32) ([]kafka.Topic, error) {
	i.asked = append(i.asked, broker)
	if i.silent[broker] {
		return nil, kafka.NewTransportError("it does not answer", nil)
	}
	return i.Client.ListTopicsOf(ctx, broker)
}

func replica(id int32, lastCaughtUp int64) kafka.Replica {
	return kafka.Replica{ID: id, LastCaughtUp: lastCaughtUp}
}

// The replicas in sync are read from a broker that follows the active controller. On real nodes, a broker that was cut off reported three
// replicas in sync for minutes when there were two.
func TestWhoIsAskedForTopics(t *testing.T) {
	const now = 1_000_000_000
	leader := replica(9, now)
	for _, c := range []struct {
		name   string
		quorum kafka.Quorum
		err    error
		silent []int32
		asked  []int32
		known  bool
	}{
		{
			name: "the one that is closest to the active controller",
			quorum: kafka.Quorum{Leader: 9, Voters: []kafka.Replica{leader},
				Observers: []kafka.Replica{replica(0, now-500), replica(1, now-20), replica(2, now-400)}},
			asked: []int32{1}, known: true,
		},
		{
			name:   "combined nodes are voters",
			quorum: kafka.Quorum{Leader: 0, Voters: []kafka.Replica{replica(0, now), replica(1, now-20), replica(2, now-60_000)}},
			asked:  []int32{0}, known: true,
		},
		{
			name: "the next one if it does not answer",
			quorum: kafka.Quorum{Leader: 9, Voters: []kafka.Replica{leader},
				Observers: []kafka.Replica{replica(0, now-500), replica(1, now-20), replica(2, now-400)}},
			silent: []int32{1}, asked: []int32{1, 2}, known: true,
		},
		{
			name: "nobody who is far behind, though it would answer",
			quorum: kafka.Quorum{Leader: 9, Voters: []kafka.Replica{leader},
				Observers: []kafka.Replica{replica(0, now-10_000), replica(1, now-20), replica(2, -1)}},
			silent: []int32{1}, asked: []int32{1},
		},
		{
			name: "nobody if all are behind",
			quorum: kafka.Quorum{Leader: 9, Voters: []kafka.Replica{leader},
				Observers: []kafka.Replica{replica(0, now-10_000), replica(1, now-60_000), replica(2, -1)}},
		},
		{name: "nobody if the quorum is not known", err: kafka.NewTransportError("timed out", nil)},
		{
			name:   "nobody while there is no active controller, who alone knows the reassignments",
			quorum: kafka.Quorum{Leader: -1, Voters: []kafka.Replica{replica(9, now-500)}, Observers: []kafka.Replica{replica(0, now-500)}},
		},
		{
			name:   "anybody if no times are told",
			quorum: kafka.Quorum{Leader: 9, Voters: []kafka.Replica{replica(9, -1)}, Observers: []kafka.Replica{replica(0, -1)}},
			asked:  []int32{-1}, known: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			i := &island{Client: memory.New(memory.Options{Brokers: 3, Controllers: 1}).Client("", nil), quorum: c.quorum, err: c.err,
				silent: map[int32]bool{}}
			for _, id := range c.silent {
				i.silent[id] = true
			}
			facts := (&observe.Kafka{Brokers: i}).Read(t.Context(), []roller.NodeID{0, 1, 2}, nil)
			g.Expect(i.asked).To(Equal(c.asked))
			g.Expect(facts.Topics.IsKnown()).To(Equal(c.known), facts.Topics.Why())
		})
	}
}
