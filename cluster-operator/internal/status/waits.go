package status

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// WaitsFor returns why Kubernetes does not get a pod to run, "" if it does or does not say so. Of what Kubernetes says it has what helps a
// user and changes seldom.
func WaitsFor(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return because(c.Reason, schedulerSays(c.Message))
		}
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if why := containerWaitsFor(container, servedSince(pod, container)); why != "" {
			return why
		}
	}
	return ""
}

// noNode is how the reasons of the scheduler begin here.
const noNode = "no Kubernetes node is available: "

// ofNodes matches how they begin otherwise: with how many Kubernetes nodes there are.
var ofNodes = regexp.MustCompile(`^0/\d+ nodes are available: `)

// schedulerSays returns why no Kubernetes node takes a pod, without how many there are for each reason, which changes with each node that
// comes or goes.
func schedulerSays(message string) string {
	first, _, _ := strings.Cut(message, ". ") // the rest is about preemption
	found := ofNodes.FindString(first)
	if found == "" {
		return first
	}
	text := strings.TrimSuffix(first[len(found):], ".")
	var reasons []string
	for part := range strings.SplitSeq(text, ", ") {
		count, why, _ := strings.Cut(part, " ")
		switch _, err := strconv.Atoi(count); {
		case err == nil:
			reasons = append(reasons, why)
		case len(reasons) == 0:
			return noNode + text // one sentence
		default: // a reason has commas
			reasons[len(reasons)-1] += ", " + part
		}
	}
	slices.Sort(reasons) // they come in the order of their counts
	return noNode + strings.Join(reasons, ", ")
}

// servedSince reports whether a pod has been ready since one of its containers started.
func servedSince(pod *corev1.Pod, c corev1.ContainerStatus) bool {
	return c.State.Running != nil && slices.ContainsFunc(pod.Status.Conditions, func(ready corev1.PodCondition) bool {
		return ready.Type == corev1.PodReady && ready.LastTransitionTime.After(c.State.Running.StartedAt.Time)
	})
}

// containerWaitsFor returns why a container does not run, or why it ended before if it is not ready again. What ended one that has served
// since, perhaps weeks ago, is over.
func containerWaitsFor(c corev1.ContainerStatus, servedSince bool) string {
	switch w := c.State.Waiting; {
	case w == nil && c.State.Running != nil && !c.Ready && !servedSince && c.LastTerminationState.Terminated != nil:
		return "started again: " + end(c)
	case w == nil:
		return ""
	case w.Reason == "ContainerCreating", w.Reason == "PodInitializing":
		return ""
	case w.Reason == "ErrImagePull", w.Reason == "ImagePullBackOff": // they take turns
		return because("ImagePullBackOff", c.Image)
	case w.Reason == "CrashLoopBackOff", w.Reason == "CreateContainerError", w.Reason == "RunContainerError":
		return because(w.Reason, end(c)) // the messages have the time until the next try, or the id of a container, which each try makes
	default:
		return because(w.Reason, w.Message)
	}
}

// end describes how a container ended at last.
func end(c corev1.ContainerStatus) string {
	switch last := c.LastTerminationState.Terminated; {
	case last == nil:
		return ""
	case last.Reason == "", last.Reason == "Error":
		return fmt.Sprintf("it ended with exit code %d", last.ExitCode)
	default:
		return "it ended with " + last.Reason
	}
}

// because adds details to what a pod waits for, if there are any.
func because(waits, details string) string {
	if details == "" {
		return waits
	}
	return waits + ": " + details
}

// SetWaitsFor returns why the pods of a StrimziPodSet are not made, "" if they are or its controller does not say so.
func SetWaitsFor(set *core.StrimziPodSet) string {
	if set.IsPaused() {
		return "it is annotated with " + v1.AnnotationPauseReconciliation
	}
	for _, c := range set.Status.Conditions {
		if c.Type == "Error" {
			return c.Message
		}
	}
	return ""
}
