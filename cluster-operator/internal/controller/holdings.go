package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// holdings asks Kafka which partitions the brokers have that should be removed or lose the broker role, including blocked ones; nil if
// Kafka does not answer.
func (p *pass) holdings(ctx context.Context, leave []int32) (*topology.Holdings, error) {
	return p.holdingsOf(ctx, p.connection(), leave)
}

// freshHoldings is holdings for an answer that is of now, because something is removed on the strength of it.
func (p *pass) freshHoldings(ctx context.Context, leave []int32) (*topology.Holdings, error) {
	to := p.connection()
	to.Anew = true
	return p.holdingsOf(ctx, to, leave)
}

func (p *pass) holdingsOf(ctx context.Context, to Connection, leave []int32) (*topology.Holdings, error) {
	leave = slices.Sorted(slices.Values(slices.Concat(leave, p.blockedBrokers())))
	return p.askHoldings(ctx, to, slices.Compact(leave), p.input.Topology.Staying())
}

func (p *pass) askHoldings(ctx context.Context, to Connection, leave, stay []int32) (*topology.Holdings, error) {
	found, err := p.Kafka.Holdings(ctx, to, leave, stay)
	if err != nil {
		p.askAgain(err)
		p.log.Info("Kafka did not report which partitions brokers hold", "error", err.Error())
		return nil, err
	}
	return found, nil
}

// askAgain has the next pass ask brokers again that did not say anything.
func (p *pass) askAgain(err error) {
	if silent := (*SilentError)(nil); errors.As(err, &silent) {
		p.requeueAfter(silent.Again)
	}
}

// Holdings counts the replicas of all partitions that Kafka lists, and asks the brokers that are in none of these for their log
// directories: Kafka leaves topics out that the operator may not describe.
func (c *Clients) Holdings(ctx context.Context, to Connection, leave, stay []int32) (*topology.Holdings, error) {
	if to.Anew {
		return c.holdings(ctx, to, leave, stay)
	}
	what := fmt.Sprint("holdings of ", leave, " beside ", stay)
	return askInBackground(ctx, c, to, what, func(ctx context.Context) (*topology.Holdings, error) {
		return c.holdings(ctx, to, leave, stay)
	})
}

func (c *Clients) holdings(ctx context.Context, to Connection, leave, stay []int32) (*topology.Holdings, error) {
	admin, cluster, err := c.cluster(ctx, to)
	if err != nil {
		return nil, err
	}
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		return nil, err
	}
	h := &topology.Holdings{Replicas: map[int32]int{}, Stored: map[int32]int{}}
	listed := map[string]bool{}
	for _, t := range topics {
		listed[t.Name] = true
		for _, partition := range t.Partitions {
			for _, broker := range partition.Replicas {
				h.Replicas[broker]++
			}
		}
	}
	var dirs map[int32][]kafka.LogDir
	dirs, h.Silent = askEach(ctx, unlisted(leave, h), admin.DescribeLogDirs)
	for id, found := range dirs {
		store(h, id, found)
	}
	var on map[int32][]string
	on, h.Unheard = askEach(ctx, toName(h, leave, stay, cluster.Brokers), admin.TopicsOn)
	maps.DeleteFunc(h.Unheard, func(id int32, _ string) bool { return !slices.Contains(stay, id) })
	h.Hidden = hidden(ctx, admin, on, listed)
	return h, nil
}

// toName returns the brokers that are asked for the names of their topics: those that turned out to hold some, for the message, and all
// that are registered if one of those that are to leave is silent.
func toName(h *topology.Holdings, leave, stay []int32, registered []kafka.Node) []int32 {
	var brokers []int32
	for _, id := range leave {
		if h.Stored[id] > 0 || len(h.Silent) > 0 && h.Silent[id] == "" {
			brokers = append(brokers, id)
		}
	}
	if len(h.Silent) == 0 {
		return brokers
	}
	return append(brokers, slices.DeleteFunc(slices.Clone(stay), func(id int32) bool {
		return !slices.ContainsFunc(registered, func(b kafka.Node) bool { return b.ID == id })
	})...)
}

// unlisted returns the brokers that no partition lists which the operator may describe.
func unlisted(brokers []int32, h *topology.Holdings) []int32 {
	return slices.DeleteFunc(slices.Clone(brokers), func(id int32) bool { return h.Replicas[id] > 0 })
}

// store records what a broker reported about its log directories. The contents of a failed directory are unknown.
func store(h *topology.Holdings, id int32, dirs []kafka.LogDir) {
	n := 0
	for _, dir := range dirs {
		n += dir.Replicas
		if dir.Failed {
			h.Silent[id] = "log directory " + dir.Path + " is offline"
		}
	}
	if h.Silent[id] == "" || n > 0 {
		h.Stored[id] = n
	}
}

// hidden returns those of the topics on brokers that Kafka did not list because the operator may not describe them. A topic that was made
// or deleted in between is not listed, either, and is not hidden.
func hidden(ctx context.Context, admin Admin, on map[int32][]string, listed map[string]bool) map[int32][]string {
	var lacking []string
	for _, topics := range on {
		lacking = append(lacking, slices.DeleteFunc(slices.Clone(topics), func(name string) bool { return listed[name] })...)
	}
	if len(lacking) == 0 {
		return nil
	}
	slices.Sort(lacking)
	answers, err := admin.DescribeTopics(ctx, slices.Compact(lacking))
	out := map[int32][]string{}
	for id, topics := range on {
		for _, name := range topics {
			described, answered := answers[name]
			seen := listed[name] || err == nil && answered && (described.Err == nil || kafka.ClassOf(described.Err) == kafka.ClassNotFound)
			if !seen {
				out[id] = append(out[id], name)
			}
		}
	}
	return out
}

// atOnceAsked limits how many brokers are asked concurrently.
const atOnceAsked = 32

// askEach asks brokers concurrently, and returns their answers, and the errors of the others.
func askEach[T any](ctx context.Context, brokers []int32, question func(context.Context, int32) (T, error)) (answers map[int32]T,
	failures map[int32]string) {
	answers, failures = map[int32]T{}, map[int32]string{}
	var (
		mu   sync.Mutex
		all  sync.WaitGroup
		free = make(chan struct{}, atOnceAsked)
	)
	for _, id := range brokers {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			answer, err := question(ctx, id)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				logr.FromContextOrDiscard(ctx).Info("A broker did not answer", "broker", id, "error", err.Error())
				if failures[id] = "it does not answer"; kafka.ClassOf(err) == kafka.ClassForbidden {
					failures[id] = err.Error()
				}
				return
			}
			answers[id] = answer
		})
	}
	all.Wait()
	return answers, failures
}
