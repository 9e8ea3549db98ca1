package misplaced

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// interval is how often all objects are checked. There are few, if any, so they are not watched.
const interval = time.Minute

// Sweeper finds misplaced objects, and reports them in their statuses. It is a Runnable for controller-runtime's manager.
type Sweeper struct {
	// Client reads and writes past the cache.
	Client client.Client
	// Namespaces are the namespaces to check.
	Namespaces settings.Namespaces
}

// NeedLeaderElection is true: one replica does this.
func (*Sweeper) NeedLeaderElection() bool { return true }

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list
// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkas;kafkanodepools;kafkaconnects;kafkabridges;kafkamirrormaker2s,verbs=list
// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkas/status;kafkanodepools/status,verbs=patch
// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkaconnects/status;kafkabridges/status;kafkamirrormaker2s/status,verbs=patch

// Start checks all objects periodically until ctx ends. Errors are logged, and retried at the next interval.
func (s *Sweeper) Start(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := s.sweep(ctx, time.Now()); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Failed to report objects that belong in the central cluster, retrying")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (s *Sweeper) sweep(ctx context.Context, now time.Time) error {
	namespaces := s.Namespaces.Names
	if s.Namespaces.All {
		namespaces = []string{metav1.NamespaceAll}
	}
	found := stretched{}
	for _, namespace := range namespaces {
		anchors := &corev1.ConfigMapList{}
		if err := s.Client.List(ctx, anchors, client.InNamespace(namespace),
			client.MatchingLabels{core.LabelComponentType: model.ComponentAnchor}); err != nil {
			return fmt.Errorf("list ConfigMaps: %w", err)
		}
		found.add(anchors.Items)
	}
	var failed []error
	for _, kind := range kinds {
		for _, namespace := range namespaces {
			failed = append(failed, s.sweepKind(ctx, found, namespace, kind, now))
		}
	}
	return errors.Join(failed...)
}

func (s *Sweeper) sweepKind(ctx context.Context, found stretched, namespace, kind string, now time.Time) error {
	mapping, err := s.Client.RESTMapper().RESTMapping(schema.GroupKind{Group: v1.GroupVersion.Group, Kind: kind})
	if meta.IsNoMatchError(err) {
		return nil // no such object can exist
	}
	if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := s.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list %s: %w", mapping.Resource.Resource, err)
	}
	var failed []error
	for i := range list.Items {
		o := &list.Items[i]
		before := o.DeepCopy()
		if !found.judge(o, now) {
			continue
		}
		err := s.Client.Status().Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			continue // it changed: check it again at the next interval
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("status of %s %s/%s: %w", kind, o.GetNamespace(), o.GetName(), err))
			continue
		}
		log.FromContext(ctx).Info("Updated the status of an object that belongs, or no longer belongs, in the central cluster", "kind", kind,
			"namespace", o.GetNamespace(), "name", o.GetName())
	}
	return errors.Join(failed...)
}
