package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/drain"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// drain has the roller restart the pods on cordoned Kubernetes nodes, where no pod is ever evicted: kubectl drain would wait forever.
func (p *pass) drain(ctx context.Context) error {
	for _, n := range p.input.Topology.Nodes() {
		pod, s := p.pod(n), p.site(n.Cluster)
		if pod == nil || pod.DeletionTimestamp != nil || !s.controls(pod) || isAskedForByOthers(pod) {
			continue
		}
		if !model.RefusesEvictions(p.at(s)) {
			p.askToLeave(ctx, s, pod, "")
			continue
		}
		node, err := p.kubernetesNode(ctx, n)
		if err != nil { // that is no reason to end the pass, nor to try again for each pod
			p.log.Info("Failed to look for cordoned Kubernetes nodes", "error", err.Error())
			s.unread = err
		}
		if node == nil {
			continue // it is unknown whether it is cordoned
		}
		leaves := ""
		if node.Spec.Unschedulable {
			if why := p.whyStays(ctx, s, pod, node); why != "" {
				p.warnOf(n.Pool, "DrainBlocked", fmt.Sprintf("Pod %s stays on Kubernetes node %s, which is cordoned: %s", pod.Name, node.Name, why))
			} else {
				leaves = node.Name
			}
		}
		p.askToLeave(ctx, s, pod, leaves)
	}
	return nil
}

// whyStays returns why a pod can't leave a cordoned Kubernetes node, "" if it can.
func (p *pass) whyStays(ctx context.Context, s *site, pod *corev1.Pod, cordoned *corev1.Node) string {
	var nodes corev1.NodeList
	if err := s.nodes.List(ctx, &nodes); err != nil {
		return fmt.Sprintf("the other Kubernetes nodes can't be read: %v", err)
	}
	among := drain.Surroundings{Nodes: nodes.Items}
	for _, other := range s.facts.Pods {
		among.Pods = append(among.Pods, other)
	}
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, volume := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
		name := client.ObjectKey{Namespace: pod.Namespace, Name: v.PersistentVolumeClaim.ClaimName}
		err := s.live.Get(ctx, name, claim)
		if err == nil {
			err = s.live.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, volume)
		}
		if err != nil {
			return fmt.Sprintf("the PersistentVolume of PersistentVolumeClaim %s can't be read: %v", name.Name, err)
		}
		among.Volumes = append(among.Volumes, volume)
	}
	return drain.WhyStays(pod, cordoned, among)
}

// isAskedForByOthers reports whether somebody else asked for the restart of a pod, who alone may take that back.
func isAskedForByOthers(pod *corev1.Pod) bool {
	return v1.IsTrue(pod.Annotations, core.AnnotationManualRollingUpdate) && pod.Annotations[drain.Annotation] == ""
}

// askToLeave has the roller restart a pod that is to leave a Kubernetes node, and takes that back if it is to leave none.
func (p *pass) askToLeave(ctx context.Context, s *site, pod *corev1.Pod, node string) {
	if pod.Annotations[drain.Annotation] == node {
		return
	}
	restart := ""
	if node != "" {
		restart = "true"
	}
	if p.annotatePod(ctx, s, pod, map[string]string{drain.Annotation: node, core.AnnotationManualRollingUpdate: restart}) {
		p.wrote(s, facts.Key{Kind: "Pod", Name: pod.Name}, apply.Changed)
	}
}
