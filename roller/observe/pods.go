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

// readiness is that of the container of Kafka, and since when: another container makes a pod unready, and no node
// (docs/decisions/facts-of-a-restart.md). Where a pod tells nothing of its containers, it is the pod's.
func readiness(pod *corev1.Pod) (ready bool, since time.Time) {
	since = pod.CreationTimestamp.Time
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			ready = c.Status == corev1.ConditionTrue
			if !c.LastTransitionTime.IsZero() {
				since = c.LastTransitionTime.Time
			}
		}
	}
	kafka := kafkaStatus(pod)
	if kafka == nil {
		return ready, since
	}
	changed := pod.CreationTimestamp.Time
	switch running, ended := kafka.State.Running, kafka.LastTerminationState.Terminated; {
	case running != nil && !running.StartedAt.IsZero():
		changed = running.StartedAt.Time
	case kafka.State.Terminated != nil:
		changed = kafka.State.Terminated.FinishedAt.Time
	case ended != nil:
		changed = ended.FinishedAt.Time
	}
	if kafka.Ready != ready || changed.After(since) {
		since = changed // the pod's condition is about another container, or about a run of this one that has ended
	}
	return kafka.Ready, since
}

// kafkaStatus is that of the container of Kafka; nil where the pod does not tell.
func kafkaStatus(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.Name == kafkaContainer {
			return c
		}
	}
	return nil
}

// sidecar describes what is wrong with another container of a pod whose Kafka runs; empty if nothing is wrong.
func sidecar(pod *corev1.Pod) string {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, c := range statuses {
			if c.Name != kafkaContainer && c.State.Waiting != nil && slices.Contains(stuckAtOnce, c.State.Waiting.Reason) {
				return "its container " + c.Name + " does not run: " + c.State.Waiting.Reason
			}
		}
	}
	return ""
}

// deleted is when the deletion of a pod was asked for; zero: it was not.
func deleted(pod *corev1.Pod) time.Time {
	if pod.DeletionTimestamp == nil {
		return time.Time{}
	}
	grace := int64(0)
	if pod.DeletionGracePeriodSeconds != nil {
		grace = *pod.DeletionGracePeriodSeconds
	}
	return pod.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)
}

// Those are the states of a container that waits and will go on waiting.
var stuckAtOnce = []string{
	"CrashLoopBackOff", "ImagePullBackOff",
	"InvalidImageName", // as shipped
	"ErrImagePull", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError",
	// the same, a moment earlier or for another cause
}

// stuck describes what keeps Kafka in the pod from running; empty if nothing does, or nothing yet: a pod that was just made is not
// scheduled, and its container is being created, without anything being wrong, so these two count only when they have lasted.
func stuck(pod *corev1.Pod, now time.Time, lasting time.Duration) string {
	old := now.Sub(pod.CreationTimestamp.Time) >= lasting
	if old && unschedulable(pod) {
		return "Unschedulable"
	}
	kafka := kafkaStatus(pod)
	if kafka == nil || waitsFor(kafka) == "PodInitializing" {
		for i := range pod.Status.InitContainerStatuses {
			if why := waitsFor(&pod.Status.InitContainerStatuses[i]); slices.Contains(stuckAtOnce, why) {
				return why
			}
		}
	}
	if why := waitsFor(kafka); slices.Contains(stuckAtOnce, why) || why == "ContainerCreating" && old {
		return why
	}
	return ""
}

func unschedulable(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodPending && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

// waitsFor is why a container waits; empty: it does not.
func waitsFor(c *corev1.ContainerStatus) string {
	if c == nil || c.State.Waiting == nil {
		return ""
	}
	return c.State.Waiting.Reason
}
