package controller

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// checkPods has the API server validate changed pods in a dry run, one for each pool. Otherwise, a rejected pod would be noticed only after
// the roller has stopped the old one.
func (p *pass) checkPods(ctx context.Context, rendered map[*site]model.Result) error {
	checked := map[string]bool{}
	for _, s := range p.sites {
		for _, m := range rendered[s].Manifests {
			if !m.Changed || checked[m.Node.Pool] {
				continue
			}
			checked[m.Node.Pool] = true
			if err := p.checkPod(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPod has the API server of the home cluster validate a pod. Only errors about the pod itself count: a quota or another admission
// plugin may reject a second pod next to the running one.
func (p *pass) checkPod(ctx context.Context, m model.Manifest) error {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(m.Pod, pod); err != nil {
		return fmt.Errorf("pod of node %d: %w", m.Node.ID, err)
	}
	pod.Namespace = p.kafka.Namespace
	pod.Spec.ServiceAccountName = "" // it may not exist yet, and admission asks for it first
	switch err := p.Live.Create(ctx, pod, client.DryRunAll); {
	case apierrors.IsInvalid(err): // checked before AlreadyExists
		return stalled("PodInvalid", "Kubernetes would reject the pods of KafkaNodePool %s: %s. Its nodes stay unchanged: correct the "+
			"KafkaNodePool or the Kafka", m.Node.Pool, err)
	case err != nil && !apierrors.IsAlreadyExists(err):
		p.log.V(1).Info("Failed to validate pods", "pool", m.Node.Pool, "error", err.Error())
	}
	return nil
}
