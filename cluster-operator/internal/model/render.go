package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// Object is any Kubernetes object: what controller-runtime calls client.Object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Result has the objects of a Kafka in one Kubernetes cluster.
type Result struct {
	// Objects are wanted before the nodes: Services are not among them, which come first of all (Services).
	Objects []Object
	// PodSets are the StrimziPodSets, one for each pool. They come last.
	PodSets []Object
	// Manifests are what the nodes are made from, in ascending order of their ids.
	Manifests []Manifest
}

// Render returns the desired objects of one Kubernetes cluster. live has the current manifests of nodes, by pod name: a manifest changes
// only when the user's objects do.
func Render(in Input, live map[string]Live) (Result, error) {
	c := &cluster{in}
	var r Result
	r.Objects = append(r.Objects, c.account())
	if in.At == topology.Home {
		r.Objects = append(r.Objects, c.rollerRights()...)
	}
	if in.Settings.NetworkPolicies {
		r.Objects = append(r.Objects, c.networkPolicy())
	}
	if in.Settings.DisruptionBudgets {
		r.Objects = append(r.Objects, c.disruptionBudget())
	}
	for _, p := range in.Topology.Pools {
		if p.Cluster != in.At {
			continue
		}
		p.Nodes = slices.DeleteFunc(slices.Clone(p.Nodes), func(n topology.Node) bool {
			_, delayed := in.Endpoints.Delayed[n.ID]
			return delayed && live[c.podName(n)].Pod == nil
		})
		manifests, err := c.manifests(p, live)
		if err != nil {
			return Result{}, err
		}
		for _, n := range p.Nodes {
			claims, err := c.claims(n)
			if err != nil {
				return Result{}, err
			}
			for _, claim := range claims {
				r.Objects = append(r.Objects, claim)
			}
		}
		for _, m := range manifests {
			if m.Config != nil {
				r.Objects = append(r.Objects, m.Config)
			}
		}
		if err := c.checkSize(p, manifests); err != nil {
			return Result{}, err
		}
		r.PodSets = append(r.PodSets, c.podSet(p, manifests))
		r.Manifests = append(r.Manifests, manifests...)
	}
	slices.SortFunc(r.Manifests, func(a, b Manifest) int { return cmp.Compare(a.Node.ID, b.Node.ID) })
	return r, nil
}

// manifests returns the manifests of a pool. The nodes of a removed pool, and those that are to be kept, stay unchanged, except for their
// certificates, and for restarts that were asked for of a removed pool: those of nodes that are to be kept wait.
func (c *cluster) manifests(p topology.Pool, live map[string]Live) ([]Manifest, error) {
	var list []Manifest
	for _, n := range p.Nodes {
		present := live[c.podName(n)]
		if p.Removed || c.Endpoints.Keep[n.ID] {
			if present.Pod == nil {
				return nil, fmt.Errorf("node %d of KafkaNodePool %s is in no StrimziPodSet", n.ID, p.Name)
			}
			annotations := c.Certificates.PodAnnotations[c.podName(n)]
			if present.RestartedAt != "" && !c.Endpoints.Keep[n.ID] {
				annotations = with(maps.Clone(annotations), AnnotationRestartedAt, present.RestartedAt)
			}
			pod, err := Recertify(present.Pod, map[string]map[string]string{c.podName(n): annotations})
			if err != nil {
				return nil, fmt.Errorf("node %d: %w", n.ID, err)
			}
			list = append(list, Manifest{Node: n, Pod: pod, Content: present.Content})
			continue
		}
		m, err := c.node(n, present)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}
