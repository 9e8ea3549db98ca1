package controller

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// withUnbound returns the storage that a pool's nodes are made with, with the wanted class, selector and size of volumes that no node ever
// had: all claims are there, and wait for a volume.
func (p *pass) withUnbound(before v1.Storage, pool *v1.KafkaNodePool) v1.Storage {
	var pods []string
	waits := map[string]bool{}
	for _, l := range p.nodesOf(pool.Name) {
		pods = append(pods, l.Pod.Name)
		s := p.site(l.Node.Cluster)
		if s == nil {
			return before
		}
		for _, name := range s.claims {
			if claim := s.facts.Claim(name); strings.HasSuffix(name, "-"+l.Pod.Name) && s.waitsForVolume(claim) {
				waits[name] = true
			}
		}
	}
	return model.WithUnbound(before, pool.Spec.Storage, pods, func(claim string) bool { return waits[claim] })
}

// waitsForVolume reports whether a claim has no volume, will not get one with data, and no pod that may run mounts it.
func (s *site) waitsForVolume(claim *corev1.PersistentVolumeClaim) bool {
	if isBound(claim) || claim.Spec.DataSource != nil || claim.Spec.DataSourceRef != nil {
		return false
	}
	for _, pod := range s.facts.Pods {
		if pod.Spec.NodeName != "" && mounts(pod, claim.Name) {
			return false
		}
	}
	return true
}

// makeAnew deletes a claim without a volume that can't become what is wanted, and reports whether it did: it is made again once it is gone.
// One that gets a volume meanwhile is another version of it, which the API server does not delete.
func (p *pass) makeAnew(ctx context.Context, s *site, wanted *corev1.PersistentVolumeClaim) (bool, error) {
	live := s.facts.Claim(wanted.Name)
	if live == nil || live.DeletionTimestamp != nil || !s.applier.Owns(live) || !s.waitsForVolume(live) {
		return false, nil
	}
	why, applied, err := s.applier.WhyAnew(wanted, live)
	if err != nil || why == "" {
		return false, err
	}
	if !applied {
		outcome, err := s.applier.Delete(ctx, live)
		if err != nil {
			return false, err
		}
		if outcome == apply.Deleted {
			key := facts.KeyOf(wanted)
			s.kept[key] = true
			p.log.Info("A claim without a volume is made anew", "claim", wanted.Name, "why", why)
			p.wrote(s, key, outcome)
			return true, nil
		}
	}
	p.warnOf(wanted.Labels[core.LabelPoolName], "KafkaStorage", fmt.Sprintf("PersistentVolumeClaim %s has no volume, and %s, which nobody "+
		"can change: delete it while it has none, and it is made anew", wanted.Name, why))
	return false, nil
}
