package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/batch"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// Claims finds the KafkaTopics that claim a topic.
type Claims interface {
	// Of returns all KafkaTopics of the watched namespaces that claim the topic, from the cache. They are shared: do not change them.
	Of(ctx context.Context, topic string) ([]v1.KafkaTopic, error)
	// Now reads from the API server, right before a topic is changed or deleted. It returns the KafkaTopic of the key, nil if there is
	// none, and all that claim the topic. A watch may lag, and the watches of several namespaces may differ in age.
	Now(ctx context.Context, key types.NamespacedName, topic string) (object *v1.KafkaTopic, claimants []v1.KafkaTopic, err error)
	// Object returns the KafkaTopic of the key as the API server has it; nil if there is none.
	Object(ctx context.Context, key types.NamespacedName) (*v1.KafkaTopic, error)
}

// claimIndex is the cache's index of KafkaTopics by the topic that they claim.
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

// cachedClaims reads the index, and asks the API server.
type cachedClaims struct {
	cache, api client.Reader
	// live lists the claimants of topics from the API server, with one request for the changes of a batch.
	live *batch.Batcher[string, string, []v1.KafkaTopic]
}

// gathering is how long a request for claimants waits for others, because the changes of one batch need them at the same moment.
const gathering = 2 * time.Millisecond

// newClaims returns the claims that the watches of the namespaces show; without namespaces, one watch covers all.
func newClaims(ctx context.Context, cache, api client.Reader, namespaces []string) *cachedClaims {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	c := &cachedClaims{cache: cache, api: api}
	c.live = batch.New(ctx, func(topic string) string { return topic },
		func(ctx context.Context, topics []string) ([]batch.Result[[]v1.KafkaTopic], error) {
			// A request that hangs would hold up all later ones, and nobody uses an answer that is older.
			ctx, cancel := context.WithTimeout(ctx, maxAgeOfFacts)
			defer cancel()
			return c.claimants(ctx, namespaces, topics)
		}, batch.Options{Linger: gathering})
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

// Now implements Claims.
func (c *cachedClaims) Now(ctx context.Context, key types.NamespacedName, topic string) (*v1.KafkaTopic, []v1.KafkaTopic, error) {
	claimants, err := c.live.Do(ctx, topic)
	if err != nil {
		return nil, nil, err
	}
	// The object is read last, so that it is the freshest, and completely, since the same version has other fields under another
	// CustomResourceDefinition.
	kt, err := c.Object(ctx, key)
	if err != nil {
		return nil, nil, fmt.Errorf("before a change in Kafka: %w", err)
	}
	return kt, claimants, nil
}

// Object implements Claims.
func (c *cachedClaims) Object(ctx context.Context, key types.NamespacedName) (*v1.KafkaTopic, error) {
	kt := &v1.KafkaTopic{}
	switch err := c.api.Get(ctx, key, kt); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read KafkaTopic %s again: %w", key, err)
	}
	return kt, nil
}

// knownTopics are the KafkaTopics in the cache.
type knownTopics map[types.NamespacedName]*v1.KafkaTopic

// claimants returns the claimants of each topic, with one list request for each namespace. It lists only metadata: an object with the uid
// and the version of the cached one is the cached one, and the few others are read one by one.
func (c *cachedClaims) claimants(ctx context.Context, namespaces, topics []string) ([]batch.Result[[]v1.KafkaTopic], error) {
	var cached v1.KafkaTopicList
	if err := c.cache.List(ctx, &cached, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the known KafkaTopics: %w", err)
	}
	known := make(knownTopics, len(cached.Items))
	for i := range cached.Items {
		known[client.ObjectKeyFromObject(&cached.Items[i])] = &cached.Items[i]
	}
	place := make(map[string]int, len(topics))
	for i, topic := range topics {
		place[topic] = i
	}
	results := make([]batch.Result[[]v1.KafkaTopic], len(topics))
	for _, ns := range namespaces {
		err := c.each(ctx, ns, known, func(kt *v1.KafkaTopic) {
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
func (c *cachedClaims) each(ctx context.Context, namespace string, known knownTopics, f func(*v1.KafkaTopic)) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1.GroupVersion.WithKind("KafkaTopicList"))
	if err := c.api.List(ctx, list, client.InNamespace(namespace)); err != nil {
		if apierrors.IsForbidden(err) && c.isGone(ctx, namespace) {
			return nil
		}
		return unlisted(namespace, err)
	}
	for i := range list.Items {
		kt, err := c.object(ctx, &list.Items[i], known)
		if err != nil {
			return err
		}
		if kt != nil {
			f(kt)
		}
	}
	return nil
}

// isGone reports whether a namespace certainly does not exist, so that it has no KafkaTopics. With the namespace goes the RoleBinding that
// permits to list them. Few operators may read namespaces.
func (c *cachedClaims) isGone(ctx context.Context, namespace string) bool {
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return namespace != metav1.NamespaceAll && apierrors.IsNotFound(c.api.Get(ctx, client.ObjectKey{Name: namespace}, ns))
}

// unlisted returns the error of a namespace whose KafkaTopics can't be listed.
func unlisted(namespace string, err error) error {
	w := &withheld{what: "the KafkaTopics of namespace '" + namespace + "' can't be listed, and one of them may claim it as well",
		cause: fmt.Errorf("list the KafkaTopics of namespace '%s' again, before a change in Kafka: %w", namespace, err)}
	if namespace == metav1.NamespaceAll {
		w.what = "the KafkaTopics of all namespaces can't be listed, and one of them may claim it as well"
	}
	if apierrors.IsForbidden(err) {
		w.advice = "Give the operator the right to list kafkatopics there; or, if the namespace is gone, take it out of STRIMZI_NAMESPACE"
	}
	return w
}

// object returns the KafkaTopic with this metadata, or a newer state of it; nil if it was deleted meanwhile.
func (c *cachedClaims) object(ctx context.Context, meta *metav1.PartialObjectMetadata, known knownTopics) (*v1.KafkaTopic, error) {
	key := client.ObjectKeyFromObject(meta)
	if kt := known[key]; kt != nil && kt.UID == meta.UID && kt.ResourceVersion == meta.ResourceVersion {
		return kt, nil
	}
	kt := &v1.KafkaTopic{}
	switch err := c.api.Get(ctx, key, kt); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read KafkaTopic %s again, before a change in Kafka: %w", key, err)
	}
	return kt, nil
}
