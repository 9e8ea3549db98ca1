package controller

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// reasonDeleting is that of a Kafka whose deletion waits for Kubernetes' garbage collector in another Kubernetes cluster.
const reasonDeleting = "DeletionPending"

// remaining returns what is still to be deleted in a remote Kubernetes cluster without an anchor. What the cache shows is waited for; that
// nothing remains is only believed of the API server.
func (p *pass) remaining(ctx context.Context, s *site) ([]facts.Key, error) {
	if found := objectsOfAnchor(s.facts, p.kafka.Name); len(found) > 0 {
		return found, nil
	}
	live, err := facts.Read(ctx, s.live, client.ObjectKeyFromObject(p.kafka))
	if err != nil {
		return nil, err
	}
	found := objectsOfAnchor(live, p.kafka.Name)
	for _, o := range p.record.Planned {
		if o.Cluster != s.cluster {
			continue
		}
		object := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: o.APIVersion, Kind: o.Kind}}
		switch err := s.live.Get(ctx, client.ObjectKey{Namespace: p.kafka.Namespace, Name: o.Name}, object); {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		case err != nil:
			return nil, fmt.Errorf("get %s %s: %w", o.Kind, o.Name, err)
		case ofAnchor(object, p.kafka.Name):
			found = append(found, o.key())
		}
	}
	return found, nil
}

// objectsOfAnchor returns what an anchor that is gone owned, directly or through a StrimziPodSet. A volume that is kept has no owner.
func objectsOfAnchor(has facts.Cluster, kafka string) (found []facts.Key) {
	for key, o := range has.Objects {
		if ofAnchor(o, kafka) {
			found = append(found, key)
		}
	}
	for name, pod := range has.Pods {
		set := metav1.GetControllerOf(pod)
		if set == nil || set.Kind != "StrimziPodSet" || pod.Labels[core.LabelName] != kafka+"-kafka" {
			continue
		}
		if owner := has.Objects[facts.Key{Kind: set.Kind, Name: set.Name}]; owner == nil || ofAnchor(owner, kafka) {
			found = append(found, facts.Key{Kind: "Pod", Name: name})
		}
	}
	slices.SortFunc(found, facts.Key.Compare)
	return found
}

// ofAnchor reports whether the owner of an object is the anchor of a Kafka.
func ofAnchor(o client.Object, kafka string) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		return owner.Kind == "ConfigMap" && owner.Name == model.AnchorName(kafka)
	})
}

// described names the first few objects, and counts the others.
func described(objects []facts.Key) string {
	var names []string
	for _, key := range objects {
		names = append(names, key.Kind+" "+key.Name)
	}
	return listOf(names, 3)
}
