package controller

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/batch"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// Claims finds the KafkaTopics that stand for a topic.
type Claims interface {
	// Of returns all KafkaTopics of the watched namespaces that stand for the topic, as the watches show them. They are shared: nobody may change them.
	Of(ctx context.Context, topic string) ([]v1.KafkaTopic, error)
	// Recheck is asked before a topic is deleted. It returns the same as the API server has it now where the watches of several namespaces may be
	// apart from each other, so that one of them shows a deletion before another one shows an older creation; ok is false where that cannot be.
	Recheck(ctx context.Context, topic string) (claimants []v1.KafkaTopic, ok bool, err error)
}

// claimIndex is the cache's index of KafkaTopics by the topic that they stand for.
const claimIndex = "claimedTopic"

// indexClaims adds the index to the cache.
func indexClaims(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &v1.KafkaTopic{}, claimIndex, func(o client.Object) []string {
		kt, ok := o.(*v1.KafkaTopic)
		if !ok {
			return nil
		}
		return []string{ownership.ClaimedName(kt)}
	})
}

// cachedClaims reads the index.
type cachedClaims struct {
	cache client.Reader
	// live asks the API server, many deletions at once; nil if one watch shows everything in order.
	live *batch.Batcher[string, string, []v1.KafkaTopic]
}

// listPage bounds how many objects one answer of the API server holds.
const listPage = 500

// newClaims returns the claims that the watches of the namespaces show; no namespaces means that one watch shows all.
func newClaims(ctx context.Context, cache, api client.Reader, namespaces []string) *cachedClaims {
	c := &cachedClaims{cache: cache}
	if len(namespaces) > 1 {
		c.live = batch.New(ctx, func(topic string) string { return topic }, func(ctx context.Context, topics []string) ([]batch.Result[[]v1.KafkaTopic], error) {
			return listClaims(ctx, api, namespaces, topics)
		}, batch.Options{})
	}
	return c
}

// Of implements Claims.
func (c *cachedClaims) Of(ctx context.Context, topic string) ([]v1.KafkaTopic, error) {
	var list v1.KafkaTopicList
	if err := c.cache.List(ctx, &list, client.MatchingFields{claimIndex: topic}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("find the KafkaTopics of topic '%s': %w", topic, err)
	}
	return list.Items, nil
}

// Recheck implements Claims.
func (c *cachedClaims) Recheck(ctx context.Context, topic string) ([]v1.KafkaTopic, bool, error) {
	if c.live == nil {
		return nil, false, nil
	}
	claimants, err := c.live.Do(ctx, topic)
	return claimants, true, err
}

// listClaims lists the namespaces once for all the topics.
func listClaims(ctx context.Context, api client.Reader, namespaces, topics []string) ([]batch.Result[[]v1.KafkaTopic], error) {
	place := make(map[string]int, len(topics))
	for i, topic := range topics {
		place[topic] = i
	}
	results := make([]batch.Result[[]v1.KafkaTopic], len(topics))
	for _, ns := range namespaces {
		var list v1.KafkaTopicList
		for {
			if err := api.List(ctx, &list, client.InNamespace(ns), client.Limit(listPage), client.Continue(list.Continue)); err != nil {
				return nil, fmt.Errorf("list the KafkaTopics of namespace '%s': %w", ns, err)
			}
			for i := range list.Items {
				if at, ok := place[ownership.ClaimedName(&list.Items[i])]; ok {
					results[at].Value = append(results[at].Value, list.Items[i])
				}
			}
			if list.Continue == "" {
				break
			}
		}
	}
	return results, nil
}
