package roller

import (
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
)

// The ledger's result equals a new computation, for each order in which nodes go down.
func TestTheLedgerAgreesWithAskingAnew(t *testing.T) {
	g := NewWithT(t)
	blocked := 0
	first := randomtest.Seed(t)
	for seed := first; seed < first+2000; seed++ {
		random := rand.New(rand.NewPCG(seed, 7))
		topics := Known(randomTopics(random, 8))
		a := newAvailability(topics)
		var down []NodeID
		l := newLedger(a, nil)
		for _, next := range random.Perm(9) {
			for id := range NodeID(9) {
				if id == NodeID(next) || l.gone.has(id) {
					continue
				}
				want := a.shortage(id, a.set(down))
				g.Expect(l.shortage(id)).To(Equal(want), "seed %d, %d with %v down", seed, id, down)
				if want != "" {
					blocked++
				}
			}
			down = append(down, NodeID(next))
			l.add(NodeID(next))
			if l2 := newLedger(a, down); random.IntN(3) == 0 {
				l = l2
			}
		}
	}
	g.Expect(blocked).To(BeNumerically(">", 1000))
}

// randomTopics returns topics on brokers 0 to n-1, in all kinds of trouble.
func randomTopics(random *rand.Rand, n int) []Topic {
	var topics []Topic
	for range random.IntN(6) {
		topic := Topic{Name: "t", MinISR: Known(random.IntN(4))}
		if random.IntN(20) == 0 {
			topic.MinISR = Unknown[int]("no")
		}
		p := Partition{Leader: NodeID(random.IntN(n) - 1)}
		for i, id := range random.Perm(n)[:1+random.IntN(5)] {
			p.Replicas = append(p.Replicas, NodeID(id))
			if random.IntN(5) > 0 {
				p.ISR = append(p.ISR, NodeID(id))
			}
			if random.IntN(6) == 0 {
				p.Offline = append(p.Offline, NodeID(id))
			}
			switch {
			case i > 0 && random.IntN(8) == 0:
				p.Adding = append(p.Adding, NodeID(id))
			case i > 0 && random.IntN(8) == 0:
				p.Removing = append(p.Removing, NodeID(id))
			}
		}
		topic.Partitions = []Partition{p}
		topics = append(topics, topic)
	}
	return topics
}
