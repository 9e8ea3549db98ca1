package observe

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
)

// The kubelet's reasons for a pod that is unready: because of a container, and because of a condition that is none of its containers'.
const (
	containersNotReady = "ContainersNotReady"
	readinessGates     = "ReadinessGatesNotReady"
)

// readiness returns the readiness of Kafka's container, and since when: another container changes only the pod's readiness
// (docs/decisions/facts-of-a-restart.md). If a pod has no container statuses, it returns the pod's readiness. If a machine is lost,
// Kubernetes sets that of the pod alone, and the statuses of its containers stay as its kubelet last wrote them.
func readiness(pod *corev1.Pod) (ready bool, since time.Time) {
	since = pod.CreationTimestamp.Time
	containers, gated := corev1.ConditionUnknown, false
	for _, c := range pod.Status.Conditions {
		switch c.Type {
		case corev1.PodReady:
			ready, gated = c.Status == corev1.ConditionTrue, c.Reason == readinessGates
			if !c.LastTransitionTime.IsZero() {
				since = c.LastTransitionTime.Time
			}
		case corev1.ContainersReady:
			containers = c.Status
		default:
		}
	}
	kafka := kafkaStatus(pod)
	if lost := !ready && !gated && containers == corev1.ConditionTrue; kafka == nil || lost {
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
		since = changed // the pod's condition is about another container, or an earlier run of this one
	}
	return kafka.Ready, since
}

// lastReady returns until when a pod was ready; zero if it never was, or is. The kubelet writes the condition Ready, as false, no later
// than that the pod is initialized, and changes its time only when the pod becomes ready or stops being so.
func lastReady(pod *corev1.Pod) time.Time {
	var changed, initialized time.Time
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady && c.Status != corev1.ConditionTrue:
			changed = c.LastTransitionTime.Time
		case c.Type == corev1.PodInitialized:
			initialized = c.LastTransitionTime.Time
		}
	}
	if initialized.IsZero() || !changed.After(initialized) {
		return time.Time{}
	}
	return changed
}

// startTook returns how long a pod that is ready took to become so after the start of Kafka's container; zero if it does not show that.
// Scheduling and pulling images do not count: a restart seldom needs them.
func startTook(pod *corev1.Pod) time.Duration {
	kafka := kafkaStatus(pod)
	if kafka == nil || !kafka.Ready || kafka.State.Running == nil || kafka.State.Running.StartedAt.IsZero() {
		return 0
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && c.LastTransitionTime.After(kafka.State.Running.StartedAt.Time) {
			return c.LastTransitionTime.Sub(kafka.State.Running.StartedAt.Time)
		}
	}
	return 0
}

// crashesSince returns since when the container of Kafka has ended again and again, and was never ready; zero if the pod does not show it.
// An earlier run then began after the pod became unready. The pod's readiness is that of Kafka if no other container and no readiness gate
// counts for it, and if the kubelet wrote it: it is also false while the machine is lost.
func crashesSince(pod *corev1.Pod) time.Time {
	counts := func(c corev1.Container) bool {
		return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	}
	kafka := kafkaStatus(pod)
	if kafka == nil || kafka.LastTerminationState.Terminated == nil || len(pod.Spec.Containers) > 1 || len(pod.Spec.ReadinessGates) > 0 ||
		slices.ContainsFunc(pod.Spec.InitContainers, counts) {
		return time.Time{}
	}
	for _, c := range pod.Status.Conditions {
		unready := c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && c.Reason == containersNotReady
		if unready && kafka.LastTerminationState.Terminated.StartedAt.After(c.LastTransitionTime.Time) {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// kafkaStatus returns the status of Kafka's container; nil if the pod has none.
func kafkaStatus(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.Name == core.ContainerKafka {
			return c
		}
	}
	return nil
}

// sidecar describes a problem of another container of a pod whose Kafka runs; empty if there is none.
func sidecar(pod *corev1.Pod) string {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, c := range statuses {
			if c.Name != core.ContainerKafka && c.State.Waiting != nil && slices.Contains(stuckAtOnce, c.State.Waiting.Reason) {
				return "its container " + c.Name + " does not run: " + c.State.Waiting.Reason
			}
		}
	}
	return ""
}

// overdue returns when a pod that is being deleted has to have ended; zero if it is not being deleted.
func overdue(pod *corev1.Pod) time.Time {
	if pod.DeletionTimestamp == nil {
		return time.Time{}
	}
	return pod.DeletionTimestamp.Time
}

// deleted returns when the deletion of a pod was requested; zero if it was not.
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

// These are the states of a waiting container that will keep waiting.
var stuckAtOnce = []string{
	"CrashLoopBackOff", "ImagePullBackOff",
	"InvalidImageName", // as shipped by Strimzi
	"ErrImagePull", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError",
	// the same, a moment earlier or for another cause
}

// stuck describes what prevents Kafka from running in the pod; empty if nothing does. A new pod is unscheduled, and its container is being
// created, without any problem, so these two states count only after a while.
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

// waitsFor returns why a container waits; empty if it does not.
func waitsFor(c *corev1.ContainerStatus) string {
	if c == nil || c.State.Waiting == nil {
		return ""
	}
	return c.State.Waiting.Reason
}
