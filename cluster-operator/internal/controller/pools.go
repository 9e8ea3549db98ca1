package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
)

// writePools notes the ids of nodes before the first of them is made: an id that was given is never given to another pool.
func (p *pass) writePools(ctx context.Context) error {
	p.status.Kafka, p.status.Now = p.kafka, p.Now()
	if p.kafka.Status.ClusterID != p.input.ClusterID {
		s := *p.kafka.Status.DeepCopy()
		s.ClusterID = p.input.ClusterID
		if len(s.Conditions) == 0 {
			s = status.Of(status.Input{Kafka: p.kafka, ClusterID: p.input.ClusterID, Now: p.Now()})
		}
		if err := p.writeStatus(ctx, p.kafka, s); err != nil {
			return err
		}
	}
	for _, t := range p.input.Topology.Pools {
		pool := p.pools[t.Name]
		if pool == nil {
			continue
		}
		wanted := status.PoolNodes(pool, t, p.kafka.Name, p.input.ClusterID)
		if equality.Semantic.DeepEqual(pool.Status, wanted) {
			continue
		}
		// With the nodes goes what is known of them, so that most passes write once. That they are ready is unknown before the end.
		noted := pool.DeepCopy()
		noted.Status = wanted
		if now := status.Pool(p.status, noted, p.lost(pool)); !status.PoolReady(now) {
			wanted = now
		}
		if err := p.writePool(ctx, pool, wanted); err != nil {
			return err
		}
	}
	return nil
}

// concludePools writes what the pass found out about the nodes of each pool.
func (p *pass) concludePools(ctx context.Context) error {
	return p.eachPool(ctx, func(pool *v1.KafkaNodePool) v1.KafkaNodePoolStatus { return status.Pool(p.status, pool, p.lost(pool)) })
}

// eachPool writes the status of each pool that there still is.
func (p *pass) eachPool(ctx context.Context, wanted func(*v1.KafkaNodePool) v1.KafkaNodePoolStatus) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p.pools)) {
		errs = append(errs, client.IgnoreNotFound(p.writePool(ctx, p.pools[name], wanted(p.pools[name]))))
	}
	for _, pool := range p.noSpec {
		errs = append(errs, client.IgnoreNotFound(p.writePool(ctx, pool, wanted(pool))))
	}
	return errors.Join(errs...)
}

// writePool writes the status of a pool if it differs from what is there.
func (p *pass) writePool(ctx context.Context, pool *v1.KafkaNodePool, wanted v1.KafkaNodePoolStatus) error {
	if equality.Semantic.DeepEqual(pool.Status, wanted) {
		return nil
	}
	changed := pool.DeepCopy()
	changed.Status = wanted
	if err := p.Live.Status().Patch(ctx, changed, client.MergeFromWithOptions(pool, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("status of KafkaNodePool %s: %w", pool.Name, err)
	}
	p.nodePools.Note(pool, changed)
	if p.pools[pool.Name] != nil {
		p.pools[pool.Name] = changed
	}
	return nil
}

// errBehind means that the cache still holds a version that this process has replaced.
var errBehind = errors.New("the cache is behind")

// readPools returns the KafkaNodePools of a Kafka, by name, and those of which the spec is unknown, or errBehind.
func (r *Reconciler) readPools(ctx context.Context, kafka types.NamespacedName) (map[string]*v1.KafkaNodePool, []*v1.KafkaNodePool, error) {
	pools, noSpec, err := facts.ReadPools(ctx, r.Cache, kafka)
	for _, pool := range slices.Concat(slices.Collect(maps.Values(pools)), noSpec) {
		if r.nodePools.Behind(pool) {
			return nil, nil, fmt.Errorf("KafkaNodePool %s: %w", pool.Name, errBehind)
		}
	}
	return pools, noSpec, err
}

// orphanPools reports in the status of pools that their Kafka is gone and that their nodes are no longer reconciled. Pools that were never
// reconciled report it already.
func (r *Reconciler) orphanPools(ctx context.Context, kafka types.NamespacedName) error {
	pools, noSpec, err := r.readPools(ctx, kafka)
	if err != nil {
		return err
	}
	for _, pool := range noSpec {
		pools[pool.Name] = pool
	}
	in := status.Input{Now: r.Now(), Failure: &status.Problem{Reason: "KafkaNotFound",
		Message: fmt.Sprintf("Kafka %s does not exist: create it, or correct the label %s of the KafkaNodePool", kafka, v1.LabelCluster)}}
	wanted := func(pool *v1.KafkaNodePool) v1.KafkaNodePoolStatus { return status.Pool(in, pool, nil) }
	maps.DeleteFunc(pools, func(_ string, pool *v1.KafkaNodePool) bool {
		ours := slices.ContainsFunc(pool.Status.Conditions, func(c v1.Condition) bool { return c.Type == v1.ConditionReady })
		return !ours || equality.Semantic.DeepEqual(pool.Status, wanted(pool))
	})
	if len(pools) == 0 {
		return nil
	}
	if err := r.Live.Get(ctx, kafka, &v1.Kafka{}); !apierrors.IsNotFound(err) {
		return err // it exists but this operator does not watch it, or that is unknown
	}
	return (&pass{Reconciler: r, pools: pools}).eachPool(ctx, wanted)
}

// lost returns the problem of the Kubernetes cluster with the nodes of a pool; nil if there is none.
func (p *pass) lost(pool *v1.KafkaNodePool) *status.Problem {
	if a, is := p.away[p.target(pool)]; is {
		return &a.Problem
	}
	return nil
}
