package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
)

// atOnceAsked is how many brokers are asked for their topics concurrently.
const atOnceAsked = 32

// topicsOn asks the candidates for the topics of which they have replicas. If one does not answer for long, it asks the other brokers as
// well (hiddenOnSilent), within the same time: one after the other, two brokers that hang would make each look too old for a restart. A
// broker with thousands of replicas may need a second.
func (k *Kafka) topicsOn(ctx context.Context, candidates, brokers []roller.NodeID) (on, onOthers map[roller.NodeID][]string) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	others := slices.DeleteFunc(slices.Clone(brokers), func(id roller.NodeID) bool { return slices.Contains(candidates, id) })
	answers := make(chan map[roller.NodeID][]string, 1)
	go func() { answers <- k.askTopics(ctx, candidates) }()
	asked := time.NewTimer(longest / 2)
	defer asked.Stop()
	select {
	case on = <-answers:
		if len(on) == len(candidates) {
			return on, nil
		}
		return on, k.askTopics(ctx, others)
	case <-asked.C:
	}
	theirs := make(chan map[roller.NodeID][]string, 1)
	go func() { theirs <- k.askTopics(ctx, others) }()
	if on = <-answers; len(on) == len(candidates) {
		return on, nil
	}
	return on, <-theirs
}

// askTopics asks brokers for the topics of which they have replicas. It skips those that do not answer: the request for their configuration
// shows that too.
func (k *Kafka) askTopics(ctx context.Context, brokers []roller.NodeID) map[roller.NodeID][]string {
	var (
		mu   sync.Mutex
		all  sync.WaitGroup
		free = make(chan struct{}, atOnceAsked)
	)
	found := make(map[roller.NodeID][]string, len(brokers))
	for _, id := range brokers {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			topics, err := k.Brokers.TopicsOn(ctx, int32(id))
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			found[id] = topics
		})
	}
	all.Wait()
	return found
}

// hidden describes, for each broker, which of its topics the list of topics lacks because the roller may not describe them: Kafka silently
// omits these. It ignores a topic that was created or deleted in between.
func (k *Kafka) hidden(ctx context.Context, on map[roller.NodeID][]string, listed []roller.Topic) map[roller.NodeID]string {
	seen := make(map[string]bool, len(listed))
	for i := range listed {
		seen[listed[i].Name] = true
	}
	var lacking []string
	for _, topics := range on {
		for _, name := range topics {
			if !seen[name] {
				seen[name] = true
				lacking = append(lacking, name)
			}
		}
	}
	out := map[roller.NodeID]string{}
	if len(lacking) == 0 {
		return out
	}
	answers, err := k.Brokers.DescribeTopics(ctx, lacking)
	forbidden := map[string]bool{}
	for _, name := range lacking {
		forbidden[name] = err != nil || kafka.ClassOf(answers[name].Err) == kafka.ClassForbidden
	}
	for id, topics := range on {
		if mine := slices.DeleteFunc(slices.Clone(topics), func(name string) bool { return !forbidden[name] }); len(mine) > 0 {
			out[id] = unseen(mine)
		}
	}
	return out
}

// hiddenOnSilent does the same for candidates that do not answer which topics they have replicas of: if the roller may not describe all
// topics of the other brokers, it may be one of these. If no broker answers, nobody knows whether topics are hidden.
func (k *Kafka) hiddenOnSilent(
	ctx context.Context, facts *KafkaFacts, candidates []roller.NodeID, on, onOthers map[roller.NodeID][]string,
) {
	silent := slices.DeleteFunc(slices.Clone(candidates), func(id roller.NodeID) bool { _, told := on[id]; return told })
	if len(silent) == 0 {
		return
	}
	if len(on)+len(onOthers) == 0 {
		for _, id := range silent {
			facts.Hidden[id] = nobodyTells
		}
		return
	}
	elsewhere := maps.Clone(facts.Hidden)
	if len(elsewhere) == 0 {
		elsewhere = k.hidden(ctx, onOthers, facts.Topics.Or(nil))
	}
	if len(elsewhere) == 0 {
		return
	}
	first := slices.Min(slices.Collect(maps.Keys(elsewhere)))
	for _, id := range silent {
		facts.Hidden[id] = fmt.Sprintf("the broker does not report its topics, and node %d hosts %s", first,
			strings.TrimPrefix(elsewhere[first], hosts))
	}
}

// nobodyTells is the description if no broker reports the topics of which it has replicas.
const nobodyTells = "no broker reports the topics of which it has replicas, so it is unknown whether the roller may describe all of " +
	"them: grant it Describe on the cluster if it may not"

// hosts begins the description of a broker's hidden topics.
const hosts = "it has replicas of "

// unseen describes the hidden topics, and what to do.
func unseen(topics []string) string {
	const most = 3
	names := strings.Join(topics[:min(most, len(topics))], ", ")
	if more := len(topics) - most; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return hosts + "topics that the roller may not describe (" + names +
		"), so it is unknown how many others are in sync: grant it Describe and DescribeConfigs on all topics"
}
