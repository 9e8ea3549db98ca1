package observe_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// A start takes from the last start of Kafka's container until the pod is ready.
func TestHowLongAPodTookToStart(t *testing.T) {
	at := func(seconds int) metav1.Time { return metav1.NewTime(time.Unix(int64(seconds), 0)) }
	for name, c := range map[string]struct {
		change func(p *corev1.Pod)
		want   time.Duration
	}{
		"it is ready": {want: 40 * time.Second},
		"the container was started again": {want: 10 * time.Second, change: func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].RestartCount, p.Status.ContainerStatuses[0].State.Running.StartedAt = 1, at(150)
		}},
		"it is not ready":      {change: func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }},
		"Kafka is not ready":   {change: func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Ready = false }},
		"Kafka does not run":   {change: func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State = corev1.ContainerState{} }},
		"no time of its start": {change: func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.Time{} }},
		"the condition is older": {change: func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State.Running.StartedAt = at(170)
		}},
		"no condition":       {change: func(p *corev1.Pod) { p.Status.Conditions = nil }},
		"no status of Kafka": {change: func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Name = "sidecar" }},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(0)
			p.CreationTimestamp = at(60)
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at(160)}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "kafka", Ready: true,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(120)}}}}
			if c.change != nil {
				c.change(&p)
			}
			g := NewWithT(t)
			trimmed, err := observe.Trim(&p) // as the program has it
			g.Expect(err).NotTo(HaveOccurred())
			s := observe.Assemble(observe.Seen{At: at(300).Time, Places: []observe.Place{{Pods: []corev1.Pod{*trimmed.(*corev1.Pod)}}}})
			g.Expect(s.Nodes[0].StartTook).To(Equal(c.want))
		})
	}
}
