package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// unusedVolumes are the volumes that no wanted node would use, by pool, as the names of their claims.
type unusedVolumes struct {
	// unmounted are of wanted nodes, idle of nodes that are not wanted, and poolless of pools that do not exist. All belong to an earlier
	// Kafka.
	unmounted, idle, poolless map[string][]string
	// reported are of nodes that left this Kafka. They had no data.
	reported map[string][]string
}

// checkUnusedVolumes looks for volumes of an earlier Kafka that the wanted nodes would not use: they would start without its data.
func (p *pass) checkUnusedVolumes() error {
	if p.new {
		return nil // they have no data
	}
	unused := p.unusedVolumes()
	for _, name := range slices.Sorted(maps.Keys(unused.reported)) {
		p.warnOf(name, "KafkaStorage", fmt.Sprintf("Nodes do not use %s of earlier nodes of their ids: .spec.storage of KafkaNodePool %s/%s "+
			"does not have these volumes. Delete the claims if nobody needs their data", claimsIn(unused.reported[name]), p.kafka.Namespace, name))
	}
	const otherwise = "If nobody needs the data, or the volumes were removed before the earlier Kafka was deleted, delete the claims"
	for _, name := range slices.Sorted(maps.Keys(unused.unmounted)) {
		return stalled("KafkaStorage", "%s belong to an earlier Kafka %s/%s, and .spec.storage of KafkaNodePool %s does not have these "+
			"volumes, so nodes would start without their data: nothing is created. Set .spec.storage to that of the earlier Kafka, and change "+
			"it when the nodes run. %s", claimsIn(unused.unmounted[name]), p.kafka.Namespace, p.kafka.Name, name, otherwise)
	}
	for _, name := range slices.Sorted(maps.Keys(unused.idle)) {
		return stalled("KafkaStorage", "%s belong to an earlier Kafka %s/%s, and KafkaNodePool %s has too few nodes to use them: nothing is "+
			"created. Set .spec.replicas to that of the earlier Kafka, and change it when the nodes run. %s", claimsIn(unused.idle[name]),
			p.kafka.Namespace, p.kafka.Name, name, otherwise)
	}
	if names := unused.poolless[""]; len(names) > 0 {
		return stalled("KafkaStorage", "%s of Kafka %s/%s lack the label %s, so nodes would start without their data: nothing is created. "+
			"Label them with the names of their KafkaNodePools. %s", claimsIn(names), p.kafka.Namespace, p.kafka.Name, core.LabelPoolName, otherwise)
	}
	for _, name := range slices.Sorted(maps.Keys(unused.poolless)) {
		return stalled("KafkaStorage", "%s belong to an earlier Kafka %s/%s, and there is no KafkaNodePool %s to use them, so nodes would "+
			"start without their data: nothing is created. Create KafkaNodePool %[4]s, or give a renamed one this name again. %s",
			claimsIn(unused.poolless[name]), p.kafka.Namespace, p.kafka.Name, name, otherwise)
	}
	return nil
}

// claimsIn lists claims for a message.
func claimsIn(names []string) string { return "PersistentVolumeClaims " + listOf(names, 10) }

// listOf lists names in order for a message, and counts those beyond a maximum.
func listOf(names []string, most int) string {
	return topology.List(slices.Sorted(slices.Values(names)), most)
}

// unusedVolumes finds the volumes that no wanted node would use.
func (p *pass) unusedVolumes() unusedVolumes {
	unused := unusedVolumes{unmounted: map[string][]string{}, idle: map[string][]string{}, reported: map[string][]string{},
		poolless: map[string][]string{}}
	exists, wanted, runs := p.existingIDs(), p.wantedPods(), p.runningPools()
	p.findUnmounted(&unused, exists, runs)
	for _, s := range p.sites {
		for _, name := range s.needed {
			claim := s.facts.Claim(name)
			pool := claim.Labels[core.LabelPoolName]
			switch hasPool := p.input.Pools[pool] != nil; {
			case hasPool && p.ofEarlier(claim, runs) && !wanted[p.podOf(claim)]:
				unused.idle[pool] = append(unused.idle[pool], name)
			case !hasPool && len(runs) == 0 && len(wanted) > 0: // after the first nodes are made, it is of a node that left
				unused.poolless[pool] = append(unused.poolless[pool], name)
			}
		}
	}
	return unused
}

// ofEarlier reports whether a claim is that of an earlier Kafka: where nodes of a pool run, its other volumes are of nodes that left.
func (p *pass) ofEarlier(claim *corev1.PersistentVolumeClaim, runs map[string]bool) bool {
	return !runs[claim.Labels[core.LabelPoolName]] && (len(runs) == 0 || claim.CreationTimestamp.Before(&p.kafka.CreationTimestamp))
}

// runningPools returns the pools whose nodes run, as far as it is known. Those that only an orphan lists may be what a backup restored.
func (p *pass) runningPools() map[string]bool {
	runs := map[string]bool{}
	for _, n := range p.remembered {
		runs[n.Pool] = true
	}
	for _, l := range p.listed {
		if pod := p.pod(l.Node); !p.isOrphan(l.Set) || pod != nil && pod.Spec.NodeName != "" {
			runs[l.Node.Pool] = true
		}
	}
	return runs
}

// findUnmounted finds the volumes of wanted nodes that do not exist yet, and that the storage of their pools lacks.
func (p *pass) findUnmounted(unused *unusedVolumes, exists map[int32]bool, runs map[string]bool) {
	for _, n := range p.input.Topology.Nodes() {
		pool, s := p.input.Pools[n.Pool], p.site(n.Cluster)
		if exists[n.ID] || pool == nil || s == nil {
			continue
		}
		for _, volume := range model.Unmounted(p.podName(n), nil, s.needed, pool.Spec.Storage) {
			claim, of := s.facts.Claim(volume+"-"+p.podName(n)), unused.reported
			if p.ofEarlier(claim, runs) {
				of = unused.unmounted
			}
			of[n.Pool] = append(of[n.Pool], claim.Name)
		}
	}
}

// wantedPods returns the names of the pods of the wanted nodes.
func (p *pass) wantedPods() map[string]bool {
	wanted := map[string]bool{}
	for _, n := range p.input.Topology.Nodes() {
		wanted[p.podName(n)] = true
	}
	return wanted
}

// podsIn returns the pods that StrimziPodSets list in a Kubernetes cluster, and those of the nodes that are wanted there, by name: the
// claim of a node elsewhere may have the same name.
func (p *pass) podsIn(cluster string) (listed map[string]*corev1.Pod, wanted map[string]bool) {
	listed, wanted = map[string]*corev1.Pod{}, map[string]bool{}
	for _, l := range p.listed {
		if l.Node.Cluster == cluster {
			listed[l.Pod.Name] = l.Pod
		}
	}
	for _, n := range p.input.Topology.In(cluster) {
		wanted[p.podName(n)] = true
	}
	return listed, wanted
}

// podOf returns the name of the pod that a claim is for, "" if the name of the claim does not say.
func (p *pass) podOf(claim *corev1.PersistentVolumeClaim) string {
	id, ok := core.NodeID(claim.Name)
	if !ok {
		return ""
	}
	return p.podName(topology.Node{ID: id, Pool: claim.Labels[core.LabelPoolName]})
}

// markRemoved marks the claims of volumes that nobody needs: those of nodes that left, and those that were removed from their pool. A Kafka
// that is created again from the same objects may leave them unused. A volume that is used again loses the mark.
func (p *pass) markRemoved(ctx context.Context) error {
	runs := map[string]bool{}
	for _, l := range p.listed {
		runs[l.Node.Pool] = true
	}
	return p.each(func(s *site) error {
		listed, wanted := p.podsIn(s.cluster)
		for _, name := range s.claims {
			claim := s.facts.Claim(name)
			podName, pool := p.podOf(claim), claim.Labels[core.LabelPoolName]
			var removed bool
			switch pod := listed[podName]; {
			case !wanted[podName] && (pod != nil || runs[pool]):
				removed = true
			case pod == nil || p.input.Pools[pool] == nil:
				continue // nothing says what becomes of it
			default:
				removed = !mounts(pod, name) &&
					len(model.Unmounted(podName, nil, []string{name}, p.input.Pools[pool].Spec.Storage)) > 0
			}
			if err := p.mark(ctx, s, claim, model.AnnotationRemoved, removed); err != nil {
				return err
			}
		}
		return nil
	})
}

// noteEmpty notes on claims that their volumes were empty when they were taken from their nodes, before StrimziPodSets say so. Beside its
// node, only such a volume may be deleted: that of a node that left may have got a replica while the node stopped, and the node may come
// back without it. The note goes before a pod mounts the volume again.
func (p *pass) noteEmpty(ctx context.Context) error {
	return p.each(func(s *site) error {
		listed, wanted := p.podsIn(s.cluster)
		for _, name := range s.claims {
			claim := s.facts.Claim(name)
			podName, pool := p.podOf(claim), p.input.Pools[claim.Labels[core.LabelPoolName]]
			empty := isEmpty(claim)
			switch {
			case wanted[podName] && pool == nil:
			case wanted[podName]:
				empty = (empty || p.taken[[2]string{s.cluster, name}]) && len(model.Unmounted(podName, nil, []string{name}, pool.Spec.Storage)) > 0
			case listed[podName] != nil && mounts(listed[podName], name):
				empty = false
			}
			if err := p.mark(ctx, s, claim, model.AnnotationEmpty, empty); err != nil {
				return err
			}
		}
		return nil
	})
}

// mark sets an annotation of a claim to "true", or removes it.
func (p *pass) mark(ctx context.Context, s *site, claim *corev1.PersistentVolumeClaim, annotation string, is bool) error {
	if v1.IsTrue(claim.Annotations, annotation) == is || claim.DeletionTimestamp != nil {
		return nil
	}
	changed := claim.DeepCopy()
	if is {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, annotation, "true")
	} else {
		delete(changed.Annotations, annotation)
	}
	key := facts.Key{Kind: "PersistentVolumeClaim", Name: claim.Name}
	if err := s.patch(ctx, key, claim, changed); err != nil {
		return err
	}
	s.facts.Objects[key] = changed
	p.wrote(s, key, apply.Changed)
	return nil
}

func isRemoved(claim *corev1.PersistentVolumeClaim) bool {
	return v1.IsTrue(claim.Annotations, model.AnnotationRemoved)
}

func isEmpty(claim *corev1.PersistentVolumeClaim) bool {
	return v1.IsTrue(claim.Annotations, model.AnnotationEmpty)
}

// findNeeded returns the names of the claims of volumes that were not removed.
func (s *site) findNeeded() []string {
	return slices.DeleteFunc(slices.Clone(s.claims), func(name string) bool { return isRemoved(s.facts.Claim(name)) })
}

// volumes returns the volumes of nodes in a Kubernetes cluster.
func (p *pass) volumes(s *site) []topology.Volume {
	needed := map[string]bool{}
	for _, name := range s.needed {
		needed[p.podOf(s.facts.Claim(name))] = true
	}
	exists, runs := map[string]bool{}, p.runningPools()
	for _, n := range p.existing() {
		exists[p.podName(n)] = n.Cluster == s.cluster
	}
	left := slices.DeleteFunc(slices.Clone(s.claims), func(name string) bool {
		claim := s.facts.Claim(name)
		// The pass in which its node left may have ended before it marked the claim.
		gone := isRemoved(claim) || !exists[p.podOf(claim)] && !p.ofEarlier(claim, runs)
		return !gone || isEmpty(claim)
	})
	all := s.facts.Volumes(p.kafka.Name)
	for i, v := range all {
		pod := p.podName(topology.Node{ID: v.Node, Pool: v.Pool})
		all[i].Removed = !needed[pod]
		if pool := p.input.Pools[v.Pool]; pool != nil {
			all[i].Unmounted = len(model.Unmounted(pod, nil, left, pool.Spec.Storage)) > 0
		}
	}
	return all
}
