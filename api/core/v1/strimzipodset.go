package v1

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// DesiredPods are the pods of the spec. The error names the first one that is none.
func (s *StrimziPodSet) DesiredPods() ([]corev1.Pod, error) {
	if err := s.Unread(); err != nil {
		return nil, err
	}
	if s.Spec == nil {
		return nil, nil
	}
	pods := make([]corev1.Pod, len(s.Spec.Pods))
	for i := range s.Spec.Pods {
		if len(s.Spec.Pods[i].Raw) == 0 {
			return nil, fmt.Errorf("StrimziPodSet %s/%s: spec.pods[%d] is not a Pod: it is empty", s.Namespace, s.Name, i)
		}
		if err := json.Unmarshal(s.Spec.Pods[i].Raw, &pods[i]); err != nil {
			return nil, fmt.Errorf("StrimziPodSet %s/%s: spec.pods[%d] is not a Pod: %w", s.Namespace, s.Name, i, err)
		}
	}
	return pods, nil
}

// Unread is an error if the set has a spec that could not be decoded, so that its pods are unknown.
func (s *StrimziPodSet) Unread() error {
	if s.Spec != nil || s.Invalid == "" {
		return nil
	}
	return fmt.Errorf("StrimziPodSet %s/%s can't be read: %s", s.Namespace, s.Name, s.Invalid)
}

// IsPaused reports whether the user has paused the set: its pods are not made, and not deleted.
func (s *StrimziPodSet) IsPaused() bool {
	return v1.IsTrue(s.Annotations, v1.AnnotationPauseReconciliation)
}

// IsHibernated reports whether the set has no pods because its Kafka is hibernated.
func (s *StrimziPodSet) IsHibernated() bool { return v1.IsTrue(s.Annotations, AnnotationHibernate) }

// IsReady reports whether the pod's condition Ready is true.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Revision identifies the specification of a pod; empty if unknown.
func Revision(pod *corev1.Pod) string { return pod.Annotations[AnnotationRevision] }

// Outdated reports whether a pod was created from another specification than the desired one. It is Strimzi's rule: a pod without a
// revision is out of date if one is desired, and the other way round.
func Outdated(current, desired *corev1.Pod) bool { return Revision(current) != Revision(desired) }

// SetDesiredPods replaces the pods of the spec. It returns an error if one can't be encoded as JSON.
func (s *StrimziPodSet) SetDesiredPods(pods []corev1.Pod) error {
	if s.Spec == nil {
		s.Spec = &StrimziPodSetSpec{}
	}
	s.Spec.Pods = make([]runtime.RawExtension, len(pods))
	for i := range pods {
		raw, err := json.Marshal(&pods[i])
		if err != nil {
			return fmt.Errorf("pod %s: %w", pods[i].Name, err)
		}
		s.Spec.Pods[i].Raw = raw
	}
	return nil
}
