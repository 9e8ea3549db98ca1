package controller

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/removal"
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

// removeNeverUsed deletes the claims of nodes that are not wanted any more if no node ever ran: a quota may have no room for other claims
// beside them. It returns the claims that stay.
func (p *pass) removeNeverUsed(ctx context.Context) (stay []string, err error) {
	if !p.new {
		return nil, nil
	}
	in := p.removalFacts()
	in.NeverRan = true
	wanted, plan := p.wantedPods(), removal.Decide(in)
	err = p.each(func(s *site) error {
		for _, name := range s.claims {
			claim := s.facts.Claim(name)
			if wanted[p.podOf(claim)] || claim.DeletionTimestamp != nil {
				continue
			}
			outcome, err := apply.Unchanged, error(nil)
			if slices.Contains(plan.Delete, removal.Ref{Cluster: s.cluster, Kind: "PersistentVolumeClaim", Name: name}) {
				outcome, err = s.applier.Delete(ctx, claim)
			}
			if err != nil {
				return err
			}
			if outcome != apply.Deleted {
				p.mu.Lock()
				stay = append(stay, name)
				p.mu.Unlock()
				continue
			}
			key, gone := facts.Key{Kind: "PersistentVolumeClaim", Name: name}, claim.DeepCopy()
			gone.DeletionTimestamp = new(metav1.NewTime(p.Now()))
			s.facts.Objects[key] = gone
			p.wrote(s, key, outcome)
		}
		return nil
	})
	return stay, err
}

// hasBegun reports whether something was made for a node in a Kubernetes cluster.
func hasBegun(has facts.Cluster) bool {
	for key, o := range has.Objects {
		if o.GetLabels()[core.LabelPoolName] != "" && (key.Kind == "ConfigMap" || key.Kind == "PersistentVolumeClaim") {
			return true
		}
	}
	return false
}

// mayHaveRun reports whether nodes run in a Kubernetes cluster, may be made there any time, or may have data there.
func mayHaveRun(has facts.Cluster) bool {
	for _, o := range has.Objects {
		switch o := o.(type) {
		case *core.StrimziPodSet:
			return true
		case *corev1.PersistentVolumeClaim:
			if mayGetData(o) {
				return true
			}
		}
	}
	for _, pod := range has.Pods {
		if pod.Labels[core.LabelPoolName] != "" {
			return true
		}
	}
	return false
}
