package controller

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// patch writes the changes of an object, if it is still the version that was read.
func (s *site) patch(ctx context.Context, key facts.Key, read, changed client.Object) error {
	if err := s.live.Patch(ctx, changed, client.MergeFromWithOptions(read, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("%s %s: %w", key.Kind, key.Name, err)
	}
	return nil
}
