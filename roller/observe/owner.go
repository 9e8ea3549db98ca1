package observe

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// foreign says why nobody is known to make a pod anew that is deleted; empty: its StrimziPodSet, which lists it, owns it and is followed. Labels and names are
// no proof: whoever writes a pod chooses them.
func foreign(pod *corev1.Pod, set *PodSet) string {
	if set == nil {
		return "no StrimziPodSet lists its pod, so that nobody would make it anew"
	}
	owner := metav1.GetControllerOf(pod)
	switch {
	case owner == nil:
		return fmt.Sprintf("its pod does not belong to StrimziPodSet %s, which lists it: it has no owner", set.Name)
	case string(owner.UID) != set.UID:
		return fmt.Sprintf("its pod does not belong to StrimziPodSet %s (uid %s), which lists it, but to %s %s (uid %s)", set.Name, set.UID, owner.Kind, owner.Name, owner.UID)
	}
	return set.Idle
}

// idle says why the controller of a set makes no pods; empty: it does.
func idle(set *podset.StrimziPodSet) string {
	switch {
	case set.DeletionTimestamp != nil:
		return "StrimziPodSet " + set.Name + " is being deleted"
	case strings.EqualFold(set.Annotations[v1.AnnotationPauseReconciliation], "true"):
		return "StrimziPodSet " + set.Name + " is annotated with " + v1.AnnotationPauseReconciliation + ", so that its pods are not made anew"
	}
	return ""
}
