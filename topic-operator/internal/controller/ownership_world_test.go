package controller

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// ownID and otherID are the ids of the operator's Kafka cluster and of another one.
const (
	ownID   = "ownKafkaCluster0000000"
	otherID = "otherKafkaCluster00000"
)

// ownCluster stubs the identity of the operator's cluster.
type ownCluster struct {
	mu sync.Mutex
	ownership.Cluster
	// later is the id that a later request finds.
	later string
}

func (c *ownCluster) Own(context.Context) ownership.Cluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Cluster
}

func (c *ownCluster) Current() ownership.Cluster { return c.Own(context.Background()) }

func (c *ownCluster) Ask(ctx context.Context, _ time.Time) ownership.Cluster {
	c.mu.Lock()
	if c.later != "" {
		c.ID = c.later
	}
	c.mu.Unlock()
	return c.Own(ctx)
}

func (c *ownCluster) Answered(as string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Answering = as
}

// listedClaims finds claimants in a world's namespace with a list from the API server.
type listedClaims struct{ w *world }

func (c *listedClaims) Of(ctx context.Context, topic string) ([]v1.KafkaTopic, error) {
	var list v1.KafkaTopicList
	if err := c.w.admin.List(ctx, &list, client.InNamespace(c.w.ns)); err != nil {
		return nil, err
	}
	var claimants []v1.KafkaTopic
	for i := range list.Items {
		if ownership.ClaimedName(&list.Items[i]) == topic {
			claimants = append(claimants, list.Items[i])
		}
	}
	return claimants, nil
}

func (c *listedClaims) Now(ctx context.Context, key types.NamespacedName, topic string) (*v1.KafkaTopic, []v1.KafkaTopic, error) {
	claimants, err := c.Of(ctx, topic)
	if err != nil {
		return nil, nil, err
	}
	kt, err := c.Object(ctx, key)
	return kt, claimants, err
}

func (c *listedClaims) Object(ctx context.Context, key types.NamespacedName) (*v1.KafkaTopic, error) {
	kt := &v1.KafkaTopic{}
	if err := c.w.admin.Get(ctx, key, kt); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return kt, nil
}
