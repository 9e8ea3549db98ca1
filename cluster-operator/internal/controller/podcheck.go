package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// checkPods has the API server validate changed pods in a dry run, one for each pool. Otherwise, a rejected pod would be noticed only after
// the roller has stopped the old one.
func (p *pass) checkPods(ctx context.Context, rendered map[*site]model.Result) error {
	return p.each(func(s *site) error {
		checked := map[string]bool{}
		for _, m := range rendered[s].Manifests {
			if !m.Changed || checked[m.Node.Pool] {
				continue
			}
			checked[m.Node.Pool] = true
			if err := p.checkPod(ctx, s, m.Node.Pool, m.Pod); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkPod has the API server of the home cluster validate a pod of a pool. Errors about the pod itself count: that it is invalid, or
// violates the standard that the namespace enforces. A quota may reject a second pod next to the running one. Whether others, such as an
// admission webhook, would reject the pod alone is unknown, so that their errors are only told. Admission at home says nothing of other
// clusters, and the operator may not create pods there, not even in a dry run: the labels of the namespace have to do.
func (p *pass) checkPod(ctx context.Context, s *site, pool string, raw []byte) error {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(raw, pod); err != nil {
		return fmt.Errorf("pod of KafkaNodePool %s: %w", pool, err)
	}
	pod.Namespace = p.kafka.Namespace
	pod.Spec.ServiceAccountName = "" // it may not exist yet, and admission asks for it first
	home := s.cluster == topology.Home
	if !home {
		if why := p.violation(ctx, s, pod); why != "" {
			return stalled("PodInvalid", "Kubernetes would reject the pods of KafkaNodePool %s in cluster '%s': %s. Its nodes stay unchanged: "+
				"correct the KafkaNodePool, the Kafka, or what its namespace enforces there", pool, s.cluster, why)
		}
	}
	switch err := p.Live.Create(ctx, pod, client.DryRunAll); {
	case apierrors.IsInvalid(err), home && violatesPodSecurity(err): // checked before AlreadyExists
		return stalled("PodInvalid", "Kubernetes would reject the pods of KafkaNodePool %s: %s. Its nodes stay unchanged: correct the "+
			"KafkaNodePool, the Kafka, or what its namespace enforces", pool, err)
	case home && denied(err):
		p.warnOf(pool, "PodDenied", fmt.Sprintf("Kubernetes denied a trial of the changed pods of KafkaNodePool %s, so that nodes that are "+
			"restarted for them may not come back: %s", pool, err))
	case err != nil && !apierrors.IsAlreadyExists(err):
		p.log.V(1).Info("Failed to validate pods", "pool", pool, "error", err.Error())
	}
	return nil
}

// violation returns how a pod violates the Pod Security Standard that its namespace enforces in another Kubernetes cluster; "" if it does
// not, or if that can't be told.
func (p *pass) violation(ctx context.Context, s *site, pod *corev1.Pod) string {
	ns := &corev1.Namespace{}
	err := s.live.Get(ctx, client.ObjectKey{Name: pod.Namespace}, ns)
	if err == nil {
		all := podsecurity.LevelVersion{Level: podsecurity.LevelPrivileged, Version: podsecurity.LatestVersion()}
		enforced, _ := podsecurity.PolicyToEvaluate(ns.Labels, podsecurity.Policy{Enforce: all}) // the API server refuses wrong labels
		var checks policy.Evaluator
		if checks, err = policy.NewEvaluator(policy.DefaultChecks(), nil); err == nil {
			found := policy.AggregateCheckResults(checks.EvaluatePod(enforced.Enforce, &pod.ObjectMeta, &pod.Spec))
			if found.Allowed {
				return ""
			}
			return fmt.Sprintf("violates PodSecurity %q: %s", enforced.Enforce.String(), found.ForbiddenDetail())
		}
	}
	// Such as with the rights of an earlier version, which did not read namespaces.
	p.log.Info("Failed to compare pods with the Pod Security Standard of their namespace", "cluster", s.cluster, "error", err.Error())
	return ""
}

// violatesPodSecurity reports whether a namespace's Pod Security Standard forbids a pod. Source: k8s.io/pod-security-admission.
func violatesPodSecurity(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), " violates PodSecurity ")
}

// denied reports whether an admission plugin denies a pod, for another reason than a quota or the missing ServiceAccount.
func denied(err error) bool {
	text := fmt.Sprint(err)
	webhook := strings.Contains(text, "admission webhook ") && strings.Contains(text, " denied the request")
	return webhook || apierrors.IsForbidden(err) && !exceedsQuota(err) && !strings.Contains(text, "error looking up service account ")
}
