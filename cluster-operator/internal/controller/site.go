package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// site is a Kubernetes cluster in which the Kafka has objects, or may have them.
type site struct {
	// cluster is the id of the Kubernetes cluster; topology.Home is the one of the Kafka object.
	cluster string
	// cache holds what is watched there, and live reads and writes past it.
	cache client.Reader
	live  client.Client
	// facts are what the Kafka has there.
	facts   facts.Cluster
	applier *apply.Applier
	// owner owns what is made there, for Kubernetes' garbage collector.
	owner metav1.OwnerReference
	// kept are the objects that this pass wants there; what the Kafka owns beside them is not wanted any more.
	kept map[facts.Key]bool
}

// site returns the Kubernetes cluster of that id, nil if nothing can be read or written there.
func (p *pass) site(cluster string) *site {
	for _, s := range p.sites {
		if s.cluster == cluster {
			return s
		}
	}
	return nil
}

// home returns the Kubernetes cluster of the Kafka object.
func (p *pass) home() *site { return p.sites[0] }

// each carries out a step in every Kubernetes cluster.
func (p *pass) each(do func(*site) error) error {
	for _, s := range p.sites {
		if err := do(s); err != nil {
			return err
		}
	}
	return nil
}

// podSets returns the StrimziPodSets in all Kubernetes clusters, in the order of their names.
func (p *pass) podSets() []*podset.StrimziPodSet {
	var sets []*podset.StrimziPodSet
	for _, s := range p.sites {
		sets = append(sets, s.facts.PodSets()...)
	}
	slices.SortFunc(sets, facts.ByName)
	return sets
}

// pod returns the running pod of a node; nil if there is none.
func (p *pass) pod(n topology.Node) *corev1.Pod {
	if s := p.site(n.Cluster); s != nil {
		return s.facts.Pods[p.input.Topology.PodName(n)]
	}
	return nil
}

// config returns the ConfigMap of a node; nil if there is none.
func (p *pass) config(n topology.Node) *corev1.ConfigMap {
	if s := p.site(n.Cluster); s != nil {
		return s.facts.ConfigMap(p.input.Topology.PodName(n))
	}
	return nil
}

// pods returns the running pods of all nodes.
func (p *pass) pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, s := range p.sites {
		for _, pod := range s.facts.Pods {
			pods = append(pods, pod)
		}
	}
	return pods
}
