package controller

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"

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
	if mayGetData(claim) {
		return false
	}
	for _, pod := range s.facts.Pods {
		if pod.Spec.NodeName != "" && mounts(pod, claim.Name) {
			return false
		}
	}
	return true
}

// mayGetData reports whether a claim has a volume, is about to get a certain one, or may get one with data: whoever restores data may have
// made it, and says so by a data source, or by a selector that only the volume with the data matches.
func mayGetData(claim *corev1.PersistentVolumeClaim) bool {
	return isBound(claim) || claim.Spec.DataSource != nil || claim.Spec.DataSourceRef != nil || !apply.IsAsAskedFor(claim)
}

// makeAnew deletes a claim without a volume that can't become what is wanted, and reports whether it did: it is made again once it is gone.
// One that gets a volume meanwhile is another version of it, which the API server does not delete.
func (p *pass) makeAnew(ctx context.Context, s *site, wanted *corev1.PersistentVolumeClaim) (bool, error) {
	live := s.facts.Claim(wanted.Name)
	if live == nil || live.DeletionTimestamp != nil || !s.applier.Owns(live) || !s.waitsForVolume(live) {
		return false, nil
	}
	why := apply.WhyAnew(wanted, live)
	if why == "" {
		return false, nil
	}
	outcome, err := s.applier.Delete(ctx, live)
	if err != nil || outcome == apply.Unchanged {
		return false, err
	}
	key := facts.KeyOf(wanted)
	s.kept[key] = true
	p.log.Info("A volume claim that has no volume is made anew", "claim", wanted.Name, "why", why)
	p.wrote(s, key, outcome)
	return true, nil
}
