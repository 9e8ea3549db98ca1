package controller

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// isNew reports whether no node of the Kafka can have run yet, though there may be ConfigMaps and claims of nodes: something kept the
// StrimziPodSets from being made, and the user may still correct all of it. The caches alone do not prove that.
func (p *pass) isNew(ctx context.Context) (bool, error) {
	if p.kafka.Status.KafkaMetadataVersion != "" || len(p.known()) > 0 || len(p.away) > 0 {
		return false, nil
	}
	begun := slices.ContainsFunc(p.sites, func(s *site) bool { return hasBegun(s.facts) })
	if !begun || slices.ContainsFunc(p.sites, func(s *site) bool { return mayHaveRun(s.facts) }) {
		return false, nil
	}
	for _, s := range p.sites {
		live, err := facts.Read(ctx, s.live, client.ObjectKeyFromObject(p.kafka))
		if err != nil || mayHaveRun(live) {
			return false, err
		}
	}
	return true, nil
}

// hasBegun reports whether something was made for a node in a Kubernetes cluster.
func hasBegun(has facts.Cluster) bool {
	for key, o := range has.Objects {
		if o.GetLabels()[podset.LabelPoolName] != "" && (key.Kind == "ConfigMap" || key.Kind == "PersistentVolumeClaim") {
			return true
		}
	}
	return false
}

// mayHaveRun reports whether nodes run in a Kubernetes cluster, may be made there any time, or may have data there.
func mayHaveRun(has facts.Cluster) bool {
	for _, o := range has.Objects {
		switch o := o.(type) {
		case *podset.StrimziPodSet:
			return true
		case *corev1.PersistentVolumeClaim:
			restored := o.Spec.DataSource != nil || o.Spec.DataSourceRef != nil
			if o.Status.Phase != corev1.ClaimPending || o.Spec.VolumeName != "" || restored {
				return true
			}
		}
	}
	for _, pod := range has.Pods {
		if pod.Labels[podset.LabelPoolName] != "" {
			return true
		}
	}
	return false
}
