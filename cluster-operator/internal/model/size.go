package model

import (
	"encoding/json"
	"fmt"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// maxPodSet is how many bytes no StrimziPodSet may have. etcd refuses requests of more than 1.5 MiB (--max-request-bytes), and the API
// server adds the status and the managed fields.
const maxPodSet = 1_300_000

// CheckSizes refuses StrimziPodSets in one Kubernetes cluster that would be too large for Kubernetes with the nodes that they are to get.
// It is for the time before anything is written: Render checks again, with what is only known then.
func CheckSizes(in Input, live map[string]Live) error {
	c := &cluster{in}
	for _, p := range in.Topology.Pools {
		if p.Cluster != in.At || p.Removed {
			continue
		}
		var list []Manifest
		for _, n := range p.Nodes {
			if present := live[c.podName(n)].Pod; present != nil {
				list = append(list, Manifest{Node: n, Pod: present})
				continue
			}
			m, err := c.node(n, Live{})
			if err != nil {
				return err
			}
			list = append(list, m)
		}
		if err := c.checkSize(p, list); err != nil {
			return err
		}
	}
	return nil
}

// checkSize refuses a StrimziPodSet that would be too large. One that lists no other pods than before, or is no larger, has been stored.
func (c *cluster) checkSize(p topology.Pool, manifests []Manifest) error {
	rest, err := json.Marshal(c.podSet(p, nil))
	if err != nil {
		return err
	}
	size, changed := len(rest), false
	for _, m := range manifests {
		size += len(m.Pod) + len(",")
		changed = changed || m.Changed
	}
	name := c.Topology.PodSetName(p.Name)
	if !changed || size <= podSetSize(rest, c.Sets[name]) {
		return nil
	}
	return tooLarge(p.Name, name, len(manifests), size)
}

// podSetSize returns the size of a live StrimziPodSet as checkSize counts it, where rest is the set without pods; 0 if there is none.
func podSetSize(rest []byte, live *core.StrimziPodSet) int {
	if live == nil {
		return 0
	}
	size := len(rest)
	for _, pod := range live.Spec.Pods {
		size += len(pod.Raw) + len(",")
	}
	return size
}

// tooLarge returns an error with a remedy if a StrimziPodSet is too large.
func tooLarge(pool, set string, nodes, size int) error {
	if size < maxPodSet {
		return nil
	}
	do := fmt.Sprintf("split the KafkaNodePool into several, of up to %d nodes each", maxPodSet*nodes/size)
	if size/nodes >= maxPodSet {
		do = "a single node is too large: make the template of its pod smaller"
	}
	return fmt.Errorf("the StrimziPodSet %s of KafkaNodePool %s would have %d kB with its %d nodes; Kubernetes can't store objects "+
		"much larger than %d kB: %s", set, pool, size/1000, nodes, maxPodSet/1000, do)
}
