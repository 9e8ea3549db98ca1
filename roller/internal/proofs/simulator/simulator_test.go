package simulator_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/proofs/simulator"
)

// A history that is played twice has the same story.
func TestAHistoryIsDeterministic(t *testing.T) {
	g := NewWithT(t)
	for seed := range uint64(10) {
		var first, second strings.Builder
		one := simulator.RandomHistory(seed).Play(&first)
		two := simulator.RandomHistory(seed).Play(&second)
		g.Expect(first.String()).To(Equal(second.String()), "seed %d", seed)
		g.Expect(one).To(Equal(two))
	}
}

// The printed literal of a history contains all of it.
func TestALiteralTellsAll(t *testing.T) {
	g := NewWithT(t)
	h := simulator.RandomHistory(3)
	text := h.Literal()
	g.Expect(strings.Count(text, "{Do:")).To(Equal(len(h.Steps)))
	g.Expect(strings.Count(text, "{ID:")).To(Equal(len(h.Cluster.Nodes)))
}

// Shrinking keeps the parts that matter, and nothing else.
func TestShrinkingLeavesWhatMatters(t *testing.T) {
	g := NewWithT(t)
	h := simulator.RandomHistory(8)
	matters := func(h simulator.History) bool {
		hangs := 0
		for _, s := range h.Steps {
			if s.Do == "look" {
				hangs++
			}
		}
		return hangs >= 2 && len(h.Cluster.Nodes) >= 1
	}
	g.Expect(matters(h)).To(BeTrue())
	small := h.Shrink(matters)
	g.Expect(small.Steps).To(HaveLen(2))
	g.Expect(small.Cluster.Nodes).To(HaveLen(1))
	g.Expect(small.Cluster.Topics).To(BeEmpty())
}

// quorumOf returns a quorum in which each voter is behind its leader by this many milliseconds; negative: never caught up.
func quorumOf(leader roller.NodeID, behind ...int64) roller.Fact[roller.Quorum] {
	q := roller.Quorum{Leader: leader}
	for id, by := range behind {
		v := roller.Voter{ID: roller.NodeID(id), LastCaughtUp: 100_000 - by}
		if by < 0 {
			v.LastCaughtUp = -1
		}
		q.Voters = append(q.Voters, v)
	}
	return roller.Known(q)
}

// The oracle's formulas, checked by manual examples.
func TestTheFormulaOfTheQuorum(t *testing.T) {
	for name, c := range map[string]struct {
		quorum roller.Fact[roller.Quorum]
		id     roller.NodeID
		allows bool
	}{
		"three of three":              {quorumOf(0, 0, 0, 0), 1, true},
		"one of three lags":           {quorumOf(0, 0, 0, 2000), 1, false},
		"the one that lags itself":    {quorumOf(0, 0, 0, 2000), 2, true},
		"just in time":                {quorumOf(0, 0, 0, 1999), 1, true},
		"never caught up":             {quorumOf(0, 0, 0, -1), 1, false},
		"five, two lag":               {quorumOf(0, 0, 0, 0, 9000, 9000), 1, false},
		"five, one lags":              {quorumOf(0, 0, 0, 0, 0, 9000), 1, true},
		"one":                         {quorumOf(0, 0), 0, true},
		"two":                         {quorumOf(0, 0, 0), 1, true},
		"two, the other lags":         {quorumOf(0, 0, 9000), 0, false},
		"no leader":                   {quorumOf(-1, 0, 0, 0), 1, false},
		"unknown":                     {roller.Unknown[roller.Quorum]("x"), 1, false},
		"the leader is no voter":      {quorumOf(9, 0, 0, 0), 1, false},
		"one that does not vote":      {quorumOf(0, 0, 9000, 9000), 9, true},
		"four need three of the rest": {quorumOf(0, 0, 0, 0, 9000), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			allows := simulator.KeepsQuorum(c.quorum, c.id, 2*time.Second) == ""
			NewWithT(t).Expect(allows).To(Equal(c.allows))
		})
	}
}

func TestTheFormulaOfTheData(t *testing.T) {
	ids := func(of ...roller.NodeID) []roller.NodeID { return of }
	for name, c := range map[string]struct {
		p      roller.Partition
		minISR int
		down   roller.NodeID
		allows bool
	}{
		"all in sync":                   {roller.Partition{Replicas: ids(1, 2, 3), ISR: ids(1, 2, 3)}, 2, 9, true},
		"beside another":                {roller.Partition{Replicas: ids(1, 2, 3), ISR: ids(1, 2, 3)}, 2, 2, false},
		"beside another, one is enough": {roller.Partition{Replicas: ids(1, 2, 3), ISR: ids(1, 2, 3)}, 1, 2, true},
		"as many as replicas":           {roller.Partition{Replicas: ids(1, 2, 3), ISR: ids(1, 2, 3)}, 3, 9, true},
		"the last of two":               {roller.Partition{Replicas: ids(1, 2), ISR: ids(1)}, 2, 9, false},
		"the only replica":              {roller.Partition{Replicas: ids(1), ISR: ids(1)}, 2, 9, true},
		"not in sync":                   {roller.Partition{Replicas: ids(1, 2, 3), ISR: ids(2, 3)}, 2, 9, true},
		"not in sync, too few are":      {roller.Partition{Replicas: ids(1, 2, 3), ISR: ids(2)}, 2, 9, false},
		"another one's partition":       {roller.Partition{Replicas: ids(2, 3), ISR: ids(2)}, 2, 9, true},
		"if it is cancelled": {roller.Partition{Replicas: ids(1, 2, 3, 4), ISR: ids(1, 3, 4), Adding: ids(4),
			Removing: ids(2)}, 2, 9, false},
		"once it is complete": {roller.Partition{Replicas: ids(1, 2, 3), ISR: ids(1, 3), Removing: ids(3)}, 1, 9, false},
		"moving, the added one is not in sync": {roller.Partition{Replicas: ids(1, 2, 3, 4), ISR: ids(1, 2, 3), Adding: ids(4),
			Removing: ids(3)}, 2, 9, true},
		"moving to a single one, that goes too": {roller.Partition{Replicas: ids(1, 2), ISR: ids(1, 2), Adding: ids(2), Removing: ids(1)}, 1, 2,
			true},
	} {
		t.Run(name, func(t *testing.T) {
			topics := []roller.Topic{{Name: "t", MinISR: roller.Known(c.minISR), Partitions: []roller.Partition{c.p}}}
			allows := simulator.KeepsData(topics, 1, map[roller.NodeID]bool{c.down: true}) == ""
			NewWithT(t).Expect(allows).To(Equal(c.allows))
		})
	}
	topics := []roller.Topic{{Name: "t", Partitions: []roller.Partition{{Replicas: ids(1, 2), ISR: ids(1, 2)}}}}
	NewWithT(t).Expect(simulator.KeepsData(topics, 1, nil)).To(ContainSubstring("not known"))
}

func TestTheFormulaOfTheLosses(t *testing.T) {
	ids := func(of ...roller.NodeID) []roller.NodeID { return of }
	set := func(of ...roller.NodeID) map[roller.NodeID]bool {
		all := map[roller.NodeID]bool{}
		for _, id := range of {
			all[id] = true
		}
		return all
	}
	places := func(names ...string) map[roller.NodeID]string {
		all := map[roller.NodeID]string{}
		for id, name := range names {
			all[roller.NodeID(id)] = name
		}
		return all
	}
	pairs, threes := places("a", "a", "b", "b"), places("a", "a", "a", "b", "b", "b", "c", "c", "c")
	for name, c := range map[string]struct {
		place      map[roller.NodeID]string
		isr        []roller.NodeID
		minISR     int
		quorum     roller.Fact[roller.Quorum]
		down, held map[roller.NodeID]bool
		allows     bool
	}{
		"all in sync":                           {pairs, ids(0, 1, 2, 3), 1, quorumOf(9), nil, nil, true},
		"its neighbour is out of sync":          {pairs, ids(0, 2, 3), 1, quorumOf(9), nil, nil, false},
		"its neighbour is down":                 {pairs, ids(0, 1, 2, 3), 1, quorumOf(9), set(1), nil, false},
		"nobody waits for its neighbour":        {pairs, ids(0, 2, 3), 1, quorumOf(9), set(1), set(1), true},
		"one of the other cluster is down":      {pairs, ids(0, 1, 2, 3), 1, quorumOf(9), set(2), nil, true},
		"it is not in sync itself":              {pairs, ids(1, 2, 3), 1, quorumOf(9), nil, nil, true},
		"no waiting can help":                   {pairs, ids(0, 2, 3), 2, quorumOf(9), nil, nil, true},
		"the loss is an outage already":         {places("a", "a", "b", "b", "c"), ids(0, 2, 3), 2, quorumOf(9), nil, nil, true},
		"one cluster":                           {places("a", "a", "a", "a"), ids(0), 1, quorumOf(9), nil, nil, true},
		"nine voters":                           {threes, nil, 1, quorumOf(3, 0, 0, 0, 0, 0, 0, 0, 0, 0), nil, nil, true},
		"nine voters, one lags":                 {threes, nil, 1, quorumOf(3, 0, 0, 0, 0, 0, 0, 0, 0, 9000), nil, nil, false},
		"nine voters, two lag, so it is one":    {threes, nil, 1, quorumOf(3, 0, 0, 0, 0, 0, 0, 0, 9000, 9000), nil, nil, true},
		"nine voters, one will not come back":   {threes, nil, 1, quorumOf(3, 0, 0, 0, 0, 0, 0, 0, 0, -1), nil, set(8), true},
		"three voters, one in each":             {places("a", "b", "c"), nil, 1, quorumOf(1, 0, 0, 0), nil, nil, true},
		"nine voters, it is the one that lags":  {threes, nil, 1, quorumOf(3, 9000, 0, 0, 0, 0, 0, 0, 0, 0), nil, nil, true},
		"a combined node that only votes votes": {threes, nil, 1, quorumOf(3, 0, 0, 0, 0, 0, 0, 0, 0, 0), set(8), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			topics := []roller.Topic{{Name: "t", MinISR: roller.Known(c.minISR),
				Partitions: []roller.Partition{{Replicas: ids(0, 1, 2, 3), ISR: c.isr}}}}
			allows := simulator.KeepsLosses(topics, c.quorum, c.place, 0, c.down, c.held, 2*time.Second) == ""
			NewWithT(t).Expect(allows).To(Equal(c.allows))
		})
	}
}
