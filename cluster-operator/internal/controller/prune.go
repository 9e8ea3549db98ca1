package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// prune deletes what the Kafka owns and does not want any more. Volumes go only if that was asked for while their node was there.
func (p *pass) prune(ctx context.Context) error {
	p.findFull(ctx)
	return p.each(func(s *site) error {
		if err := p.pruneSite(ctx, s); err != nil || p.input.Stretch == nil || !p.planned {
			return err
		}
		return p.prunePlanned(ctx, s)
	})
}

func (p *pass) pruneSite(ctx context.Context, s *site) error {
	for _, key := range slices.SortedFunc(maps.Keys(s.facts.Objects), facts.Key.Compare) {
		o := s.facts.Objects[key]
		if s.kept[key] || o.GetLabels()[podset.LabelManagedBy] != apply.FieldManager || !p.removable(s, key, o) {
			continue
		}
		outcome, err := s.applier.Delete(ctx, o)
		if err != nil {
			return err
		}
		switch outcome {
		case apply.Deleted, apply.Changed:
			p.wrote(s, key, outcome)
		case apply.Unproven:
			p.reportKept(s, key, o)
		}
	}
	return nil
}

// reportKept reports once, for as long as this program runs, that an object is not wanted and stays.
func (p *pass) reportKept(s *site, key facts.Key, o client.Object) {
	if _, reported := p.reportedKept.LoadOrStore(o.GetUID(), true); reported {
		return
	}
	note := fmt.Sprintf("%s %s is no longer needed, but is kept: it lacks the annotation %s with its own name, so it may be a copy that "+
		"somebody made, or be older than this version of the operator. Delete it if nobody needs it", key.Kind, key.Name, ownership.MarkSelf)
	if s.cluster != topology.Home {
		note = fmt.Sprintf("In Kubernetes cluster %s, %s", s.cluster, note)
	}
	p.log.Info(note)
	p.Events.Warning(p.kafka, "NotDeleted", "Delete", note)
}

// removable reports whether an object that is not wanted can go now.
func (p *pass) removable(s *site, key facts.Key, o client.Object) bool {
	switch o := o.(type) {
	case *corev1.Secret:
		if key.Name == pki.TopicOperatorSecret(p.kafka.Name) { // brokers take its key for that of a super user
			return !model.WantsTopicOperator(p.kafka)
		}
		return o.Labels[podset.LabelComponentType] == podset.ComponentKafka && p.podGone(key.Name)
	case *corev1.ConfigMap:
		return p.podGone(key.Name)
	case *corev1.PersistentVolumeClaim:
		return p.unused(s, o) && !p.full[p.podOf(o)]
	case *podset.StrimziPodSet:
		return len(o.Spec.Pods) == 0 || !p.lists(o)
	case *corev1.Service, *networkingv1.Ingress, *networkingv1.NetworkPolicy, *policyv1.PodDisruptionBudget: // which a provider may plan
		return p.input.Stretch == nil || p.planned
	}
	return true
}

// unused reports whether a claim is to be deleted with its node, and nothing can write to its volume any more.
func (p *pass) unused(s *site, claim *corev1.PersistentVolumeClaim) bool {
	return claim.Annotations[v1.AnnotationDeleteClaim] == "true" && !p.keepsClaim(claim) && p.noPodUses(s, claim.Name)
}

// findFull finds the nodes that left, and whose volumes may not be deleted yet: a topic may have been made after the last look at what a
// broker holds, and have got a replica there before the broker stopped. A pass waits for a new answer only about nodes that were empty in
// the last one.
func (p *pass) findFull(ctx context.Context) {
	left, wanted := map[int32][]string{}, p.wantedPods()
	for _, s := range p.sites {
		for _, name := range s.claims {
			claim := s.facts.Claim(name)
			id, ok := podset.NodeID(name)
			if pod := p.podOf(claim); ok && !wanted[pod] && claim.DeletionTimestamp == nil && p.unused(s, claim) {
				left[id] = append(left[id], pod) // nodes of two pools may have had the same id
			}
		}
	}
	if len(left) == 0 || p.forced() {
		return
	}
	p.full = map[string]bool{}
	ids := slices.Sorted(maps.Keys(left))
	for _, ask := range []func(context.Context, []int32) (*topology.Holdings, error){p.holdings, p.freshHoldings} {
		if len(ids) == 0 {
			return
		}
		holdings, _ := ask(ctx, ids)
		ids = slices.DeleteFunc(ids, func(id int32) bool {
			why := holdings.WhyKept(id)
			if why == "" {
				return false
			}
			for _, pod := range left[id] {
				p.full[pod] = true
			}
			p.requeueAfter(time.Minute) // nothing reports that it is empty now
			p.warn("VolumesKept", fmt.Sprintf("The PersistentVolumeClaims of removed node %d are not deleted yet: %s", id, why))
			return true
		})
	}
}

// keepsClaim reports whether the pool of a volume wants its claim to be kept by now. If the node leaves in the same pass, the annotation of
// the claim is from before.
func (p *pass) keepsClaim(claim *corev1.PersistentVolumeClaim) bool {
	pool := p.pools[claim.Labels[podset.LabelPoolName]]
	return pool != nil && model.KeepsClaim(pool.Spec.Storage, claim.Name, p.kafka.Name+"-"+pool.Name)
}

// lists reports whether a set lists a node that is still wanted.
func (p *pass) lists(set *podset.StrimziPodSet) bool {
	wanted := p.wantedPods()
	for _, raw := range set.Spec.Pods {
		pod := &corev1.Pod{}
		if json.Unmarshal(raw.Raw, pod) != nil || wanted[pod.Name] {
			return true
		}
	}
	return false
}

// podGone reports whether nothing runs under a name any more, and nothing is wanted under it.
func (p *pass) podGone(name string) bool {
	if len(p.away) > 0 {
		return false // it may run there
	}
	runs := slices.ContainsFunc(p.pods(), func(pod *corev1.Pod) bool { return pod.Name == name })
	return !runs && !p.wantedPods()[name]
}

// noPodUses reports whether nothing can write to a volume any more: its node is gone, or runs without it.
func (p *pass) noPodUses(s *site, claim string) bool {
	for _, pod := range s.facts.Pods {
		if mounts(pod, claim) {
			return false
		}
	}
	for _, l := range p.listed { // a missing pod is recreated as long as its set lists it
		if mounts(l.Pod, claim) {
			return false
		}
	}
	for _, n := range p.input.Topology.Nodes() {
		if !strings.HasSuffix(claim, "-"+p.podName(n)) {
			continue
		}
		// A Kafka that can't cordon may have placed a replica there before the node was restarted.
		if p.pools[n.Pool] == nil || p.pod(n) == nil || !p.cordons() {
			return false
		}
	}
	return true
}

func mounts(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	})
}
