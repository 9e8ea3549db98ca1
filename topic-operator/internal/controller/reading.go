package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/batch"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// reading reads the KafkaTopics of the API server. It lists only their metadata: an object with the uid and the version of the cached one
// is the cached one, and the few others are read one by one.
type reading struct {
	cache, api client.Reader
	// known are the objects in the cache.
	known map[types.NamespacedName]*v1.KafkaTopic
}

// claimants returns the claimants of each topic, with one list request for each namespace.
func (r *reading) claimants(ctx context.Context, namespaces, topics []string) ([]batch.Result[[]v1.KafkaTopic], error) {
	var cached v1.KafkaTopicList
	if err := r.cache.List(ctx, &cached, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the known KafkaTopics: %w", err)
	}
	r.known = make(map[types.NamespacedName]*v1.KafkaTopic, len(cached.Items))
	for i := range cached.Items {
		r.known[client.ObjectKeyFromObject(&cached.Items[i])] = &cached.Items[i]
	}
	place := make(map[string]int, len(topics))
	for i, topic := range topics {
		place[topic] = i
	}
	results := make([]batch.Result[[]v1.KafkaTopic], len(topics))
	for _, ns := range namespaces {
		err := r.each(ctx, ns, func(kt *v1.KafkaTopic) {
			if at, ok := place[ownership.ClaimedName(kt)]; ok {
				results[at].Value = append(results[at].Value, *kt)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

// each calls f with each KafkaTopic of a namespace. The objects are shared, so f must not change them.
func (r *reading) each(ctx context.Context, namespace string, f func(*v1.KafkaTopic)) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1.GroupVersion.WithKind("KafkaTopicList"))
	if err := r.api.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list the KafkaTopics of namespace '%s' again, before a change in Kafka: %w", namespace, err)
	}
	for i := range list.Items {
		kt, err := r.object(ctx, &list.Items[i])
		if err != nil {
			return err
		}
		if kt != nil {
			f(kt)
		}
	}
	return nil
}

// object returns the KafkaTopic with this metadata, or a newer state of it; nil if it was deleted meanwhile.
func (r *reading) object(ctx context.Context, meta *metav1.PartialObjectMetadata) (*v1.KafkaTopic, error) {
	key := client.ObjectKeyFromObject(meta)
	if kt := r.known[key]; kt != nil && kt.UID == meta.UID && kt.ResourceVersion == meta.ResourceVersion {
		return kt, nil
	}
	kt := &v1.KafkaTopic{}
	switch err := r.api.Get(ctx, key, kt); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read KafkaTopic %s again, before a change in Kafka: %w", key, err)
	}
	return kt, nil
}
