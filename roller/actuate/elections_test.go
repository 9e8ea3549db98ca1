package actuate_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
)

// elector records its calls, and returns configured answers.
type elector struct {
	asked []kafka.TopicPartition
	errs  map[kafka.TopicPartition]error
	err   error
	// bounded reports whether the context had a deadline.
	bounded bool
	// checks are the answers to successive calls of CheckLeader, and checked the partitions of these calls.
	checks  []map[kafka.TopicPartition]error
	checked [][]kafka.TopicPartition
}

func (e *elector) ElectPreferredLeaders(ctx context.Context, asked []kafka.TopicPartition) (map[kafka.TopicPartition]error, error) {
	e.asked = asked
	_, e.bounded = ctx.Deadline()
	return e.errs, e.err
}

func (e *elector) CheckLeader(_ context.Context, _ int32, asked []kafka.TopicPartition) (map[kafka.TopicPartition]error, error) {
	e.checked = append(e.checked, slices.Clone(asked))
	if len(e.checks) == 0 {
		return nil, e.err
	}
	answer := e.checks[0]
	e.checks = e.checks[1:]
	if answer == nil {
		return nil, errors.New("no answer")
	}
	return answer, nil
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
			"1 of 3 partitions failed, the first with: partition a-2: not in sync"},
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

// Stopping the next broker moves leaders and followers again. So the actuator waits after an election until the elected broker leads and
// its followers fetch.
func TestABrokerThatWasElectedLeadsBeforeTheNextOneStops(t *testing.T) {
	one, two := kafka.TopicPartition{Topic: "a"}, kafka.TopicPartition{Topic: "a", Partition: 1}
	moving, denied := kafka.NewError(kafka.CodeNotLeaderOrFollower, ""), kafka.NewError(kafka.CodeTopicAuthorizationFailed, "")
	following := kafka.NewError(78, "") // OffsetNotAvailableException
	type answers = []map[kafka.TopicPartition]error
	for name, c := range map[string]struct {
		checks  answers
		checked [][]kafka.TopicPartition
	}{
		"it leads":                     {answers{{}}, [][]kafka.TopicPartition{{one, two}}},
		"it does not know yet":         {answers{{one: moving}, {}}, [][]kafka.TopicPartition{{one, two}, {one}}},
		"a follower does not fetch":    {answers{{two: following}, {two: following}, {}}, [][]kafka.TopicPartition{{one, two}, {two}, {two}}},
		"the roller may not ask":       {answers{{one: denied, two: denied}}, [][]kafka.TopicPartition{{one, two}}},
		"it does not answer":           {answers{nil}, [][]kafka.TopicPartition{{one, two}}},
		"it stops to answer meanwhile": {answers{{one: moving}, nil}, [][]kafka.TopicPartition{{one, two}, {one}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				elector := &elector{checks: c.checks}
				action := roller.Action{Kind: roller.ActionElectLeaders, Node: 3, Partitions: map[string][]int32{"a": {0, 1}}, Await: true}
				began := time.Now()
				o := (&actuate.Actuator{Leaders: elector}).Do(t.Context(), action, &roller.Node{ID: 3})
				g.Expect(o.Result).To(Equal(actuate.Done))
				g.Expect(elector.checked).To(Equal(c.checked))
				g.Expect(time.Since(began)).To(Equal(time.Duration(len(c.checked))*500*time.Millisecond), "followers fetch as often")

				action.Await, elector.checked = false, nil
				(&actuate.Actuator{Leaders: elector}).Do(t.Context(), action, &roller.Node{ID: 3})
				g.Expect(elector.checked).To(BeEmpty(), "nothing follows")
			})
		})
	}
}

// hopeful is an elector that takes a follower that does not fetch for one that does.
type hopeful struct{ *elector }

func (h hopeful) CheckLeader(ctx context.Context, node int32, asked []kafka.TopicPartition) (map[kafka.TopicPartition]error, error) {
	_, err := h.elector.CheckLeader(ctx, node, asked)
	return map[kafka.TopicPartition]error{}, err
}

// The test above finds a next broker that stops before the followers of an elected one fetch again.
func TestAFollowerThatNobodyWaitsForIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		following := map[kafka.TopicPartition]error{{Topic: "a"}: kafka.NewError(78, "")} // OffsetNotAvailableException
		for _, planted := range []bool{false, true} {
			e := &elector{checks: []map[kafka.TopicPartition]error{following, following, {}}}
			var leaders kafka.LeaderElector = e
			if planted {
				leaders = hopeful{e}
			}
			action := roller.Action{Kind: roller.ActionElectLeaders, Node: 3, Partitions: map[string][]int32{"a": {0}}, Await: true}
			(&actuate.Actuator{Leaders: leaders}).Do(t.Context(), action, &roller.Node{ID: 3})
			fetched := BeEmpty() // the last answer says that all followers fetch
			if planted {
				g.Expect(e.checks).NotTo(fetched)
			} else {
				g.Expect(e.checks).To(fetched)
			}
		}
	})
}
