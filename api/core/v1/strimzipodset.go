package v1

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DesiredPods are the pods of the spec. The error names the first one that is none.
func (s *StrimziPodSet) DesiredPods() ([]corev1.Pod, error) {
	if s.Spec == nil {
		return nil, nil
	}
	pods := make([]corev1.Pod, len(s.Spec.Pods))
	for i := range s.Spec.Pods {
		if err := json.Unmarshal(s.Spec.Pods[i].Raw, &pods[i]); err != nil {
			return nil, fmt.Errorf("StrimziPodSet %s/%s: spec.pods[%d] is no pod: %w", s.Namespace, s.Name, i, err)
		}
	}
	return pods, nil
}

// SetDesiredPods makes these the pods of the spec.
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
