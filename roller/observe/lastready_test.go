package observe_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// A pod was ready if its condition Ready changed after it was initialized, however often its container was started since.
func TestUntilWhenAPodWasReady(t *testing.T) {
	at := func(minutes int) metav1.Time { return metav1.NewTime(time.Unix(int64(60*minutes), 0)) }
	for name, c := range map[string]struct {
		ready   corev1.ConditionStatus
		changed int
		want    time.Time
	}{
		"never, and killed twice": {corev1.ConditionFalse, 10, time.Time{}},
		"in between":              {corev1.ConditionFalse, 15, at(15).Time},
		"now":                     {corev1.ConditionTrue, 15, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(0)
			p.CreationTimestamp = at(9)
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: c.ready, LastTransitionTime: at(c.changed)},
				{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: at(11)}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "kafka", Ready: c.ready == corev1.ConditionTrue, RestartCount: 2,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(20)}}}}
			s := observe.Assemble(observe.Seen{At: at(30).Time, Places: []observe.Place{{Pods: []corev1.Pod{p}}}})
			g := NewWithT(t)
			g.Expect(s.Nodes[0].Created).To(Equal(at(9).Time))
			g.Expect(s.Nodes[0].LastReady).To(Equal(c.want))
		})
	}
}

// Kafka's container crashes again and again if the run before this one began after the pod became unready, and nothing but that container
// makes the pod unready.
func TestSinceWhenAContainerCrashes(t *testing.T) {
	at := func(minutes int) metav1.Time { return metav1.NewTime(time.Unix(int64(60*minutes), 0)) }
	always := corev1.ContainerRestartPolicyAlways
	for name, c := range map[string]struct {
		before int
		change func(p *corev1.Pod)
		want   time.Time
	}{
		"a run began and ended in between": {before: 12, want: at(10).Time},
		"it was ready before this run":     {before: 5},
		"it runs for the first time": {before: 12,
			change: func(p *corev1.Pod) { p.Status.ContainerStatuses[0].LastTerminationState.Terminated = nil }},
		"the pod is ready": {before: 12,
			change: func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionTrue }},
		"its machine was lost": {before: 12,
			change: func(p *corev1.Pod) { p.Status.Conditions[0].Reason = "" }},
		"another container may be unready": {before: 12,
			change: func(p *corev1.Pod) { p.Spec.Containers = make([]corev1.Container, 2) }},
		"a readiness gate may be closed": {before: 12,
			change: func(p *corev1.Pod) { p.Spec.ReadinessGates = make([]corev1.PodReadinessGate, 1) }},
		"an init container that goes on counts": {before: 12,
			change: func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{RestartPolicy: &always}} }},
		"an init container that has ended does not": {before: 12, want: at(10).Time,
			change: func(p *corev1.Pod) { p.Spec.InitContainers = make([]corev1.Container, 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(0)
			p.Spec.Containers = make([]corev1.Container, 1)
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: at(10),
				Reason: "ContainersNotReady"}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "kafka",
				State:                corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(20)}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: at(c.before)}}}}
			if c.change != nil {
				c.change(&p)
			}
			g := NewWithT(t)
			trimmed, err := observe.Trim(&p) // as the program has it
			g.Expect(err).NotTo(HaveOccurred())
			s := observe.Assemble(observe.Seen{At: at(30).Time, Places: []observe.Place{{Pods: []corev1.Pod{*trimmed.(*corev1.Pod)}}}})
			g.Expect(s.Nodes[0].CrashesSince).To(Equal(c.want))
		})
	}
}
