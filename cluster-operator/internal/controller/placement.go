package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/placement"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// warnOfWaiting names the pods that wait for something that their Kubernetes node does not have: see podset.
func (p *pass) warnOfWaiting(ctx context.Context) error {
	for _, n := range p.input.Topology.Nodes() {
		pod := p.pod(n)
		if pod == nil || pod.DeletionTimestamp != nil || !p.site(n.Cluster).controls(pod) {
			continue
		}
		missing, err := placement.Missing(pod)
		if err != nil || len(missing) == 0 && len(placement.Addresses(pod)) == 0 {
			continue // a wrong annotation is reported by its StrimziPodSet
		}
		node, err := p.kubernetesNode(ctx, n)
		if p.site(n.Cluster).mayNotRead(err) {
			continue // whether it has that is unknown
		}
		if err != nil {
			return err
		}
		if node == nil {
			continue
		}
		for _, fact := range missing {
			if fact.Of(node) == "" {
				p.warnOf(n.Pool, "PlacementUnknown", placement.Waiting(pod, fact))
			}
		}
		p.replaceLost(ctx, n, pod, node)
	}
	return nil
}

const reasonAddressLost = "NodeAddressChanged"

// replaceLost reports a pod that advertises an address which its Kubernetes node lost, and has the roller restart it if that lasts: a pod
// learns the address once, when it is scheduled. An address that comes back soon restarts nothing.
func (p *pass) replaceLost(ctx context.Context, n topology.Node, pod *corev1.Pod, node *corev1.Node) {
	lost := placement.Lost(pod, node)
	if lost == "" {
		return
	}
	message := fmt.Sprintf("Pod %s advertises the address %s, which Kubernetes node %s does not have any more. The roller restarts it if "+
		"that lasts", pod.Name, lost, node.Name)
	p.warnOf(n.Pool, reasonAddressLost, message)
	if p.stands(reasonAddressLost, message) < p.AddressTimeout || v1.IsTrue(pod.Annotations, core.AnnotationManualRollingUpdate) {
		p.requeueAfter(p.AddressTimeout)
		return
	}
	s, fresh := p.site(n.Cluster), &corev1.Node{}
	if err := s.live.Get(ctx, client.ObjectKeyFromObject(node), fresh); err != nil || placement.Lost(pod, fresh) == "" {
		return // the cache may be behind
	}
	p.annotatePod(ctx, s, pod, map[string]string{core.AnnotationManualRollingUpdate: "true"})
}

// annotatePod sets annotations of a pod by which the roller is asked to restart it, removes those that are empty, and reports whether it
// did. If it fails, the next pass tries again.
func (p *pass) annotatePod(ctx context.Context, s *site, pod *corev1.Pod, annotations map[string]string) bool {
	changed := pod.DeepCopy()
	for name, value := range annotations {
		if value == "" {
			delete(changed.Annotations, name)
		} else {
			metav1.SetMetaDataAnnotation(&changed.ObjectMeta, name, value)
		}
	}
	err := s.patch(ctx, facts.Key{Kind: "Pod", Name: pod.Name}, pod, changed)
	if err != nil {
		p.log.Info("Failed to change the request to restart a pod", "pod", pod.Name, "error", err.Error())
	}
	return err == nil
}

// controls reports whether a pod belongs to a StrimziPodSet of the Kafka.
func (s *site) controls(pod *corev1.Pod) bool {
	return slices.ContainsFunc(s.facts.PodSets(), func(set *core.StrimziPodSet) bool { return metav1.IsControlledBy(pod, set) })
}
