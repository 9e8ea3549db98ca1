package observe

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kafka-operators/kafka-operators/roller"
)

// kafkaContainer is the container of a pod that is Kafka.
const kafkaContainer = "kafka"

// nodeID is the number at the end of a pod's name: the id of the node in it.
func nodeID(podName string) (roller.NodeID, bool) {
	at := strings.LastIndexByte(podName, '-')
	id, err := strconv.ParseInt(podName[at+1:], 10, 32)
	return roller.NodeID(id), at >= 0 && err == nil && id >= 0 && strconv.FormatInt(id, 10) == podName[at+1:]
}

// readiness is that of a pod, and since when.
func readiness(pod *corev1.Pod) (ready bool, since time.Time) {
	since = pod.CreationTimestamp.Time
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			if !c.LastTransitionTime.IsZero() {
				since = c.LastTransitionTime.Time
			}
			return c.Status == corev1.ConditionTrue, since
		}
	}
	return false, since
}

// Those are the states of a container that waits and will go on waiting: seed 002's, and others of the same kind.
var stuckAtOnce = []string{
	"CrashLoopBackOff", "ImagePullBackOff", // seed 002
	"InvalidImageName",                                                                        // as shipped
	"ErrImagePull", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError", // the same, a moment earlier or for another cause
}

// stuck says what keeps the pod from running; empty if nothing does, or nothing yet: a pod that was just made is not scheduled, and its container is being
// created, without anything being wrong, so these two count only when they have lasted.
func stuck(pod *corev1.Pod, now time.Time, lasting time.Duration) string {
	old := now.Sub(pod.CreationTimestamp.Time) >= lasting
	if pod.Status.Phase == corev1.PodPending && old {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
				return "Unschedulable"
			}
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, c := range statuses {
			waiting := c.State.Waiting
			switch {
			case waiting == nil:
			case slices.Contains(stuckAtOnce, waiting.Reason):
				return waiting.Reason
			case waiting.Reason == "ContainerCreating" && c.Name == kafkaContainer && old:
				return waiting.Reason
			}
		}
	}
	return ""
}
