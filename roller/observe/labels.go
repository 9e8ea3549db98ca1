package observe

import (
	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// isNode reports whether a pod is a node of Kafka: Connect, the exporter and others carry the label of the cluster as well.
func isNode(pod *corev1.Pod) bool { return core.RolesIn(pod.Labels) != core.Roles{} }

// manual reports whether an annotation requests a restart.
func manual(annotations map[string]string) bool {
	return v1.IsTrue(annotations, core.AnnotationManualRollingUpdate)
}

// hold returns who put the pod on hold, and why; empty if nobody did.
func hold(annotations map[string]string) string {
	switch why, held := core.HoldReason(annotations); {
	case !held:
		return ""
	case why == "":
		return "it is annotated with " + core.AnnotationHold
	default:
		return "it is annotated with " + core.AnnotationHold + ": " + why
	}
}

// revision returns the revision of the pod's template.
func revision(pod *corev1.Pod) string { return pod.Annotations[core.AnnotationRevision] }

// desiredPod returns the desired pod with this name, and its set; nil if there is none.
func desiredPod(sets []PodSet, name string) (*PodSet, *corev1.Pod) {
	for i := range sets {
		if pod := sets[i].pod(name); pod != nil {
			return &sets[i], pod
		}
	}
	return nil, nil
}

func (s *PodSet) pod(name string) *corev1.Pod {
	for i := range s.Pods {
		if s.Pods[i].Name == name {
			return &s.Pods[i]
		}
	}
	return nil
}
