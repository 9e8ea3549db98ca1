// Package drain decides whether a pod can leave a Kubernetes node that is to be emptied: see docs/decisions/drains.md.
package drain

import (
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// Annotation of a pod whose restart the operator asked for, with the name of the cordoned Kubernetes node that it is to leave. Without it,
// the request is somebody else's.
const Annotation = "kafka-operators.io/leaves"

// Surroundings are what a pod may start among.
type Surroundings struct {
	// Nodes are the Kubernetes nodes, and Pods those of the Kafka.
	Nodes []corev1.Node
	Pods  []*corev1.Pod
	// Volumes are the PersistentVolumes of the pod.
	Volumes []*corev1.PersistentVolume
}

// WhyStays returns why a pod would not start on another Kubernetes node with its data if it were deleted; "" if it probably would. Only the
// scheduler knows whether another one has room.
func WhyStays(pod *corev1.Pod, cordoned *corev1.Node, among Surroundings) string {
	switch {
	case tolerates(pod, &corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}):
		return "it tolerates that"
	case startedSince(pod, cordoned):
		return "it was started there since then"
	case model.IsEphemeral(pod):
		return "its storage is ephemeral, and would be empty elsewhere"
	}
	others := slices.DeleteFunc(slices.Clone(among.Nodes), func(n corev1.Node) bool {
		return n.Name == cordoned.Name || !admits(&n, pod) || repelled(pod, &n, among)
	})
	if len(others) == 0 {
		return "no other Kubernetes node may run it"
	}
	for _, volume := range among.Volumes {
		others = slices.DeleteFunc(others, func(n corev1.Node) bool { return !reaches(&n, volume) })
		if len(others) == 0 {
			return fmt.Sprintf("no other Kubernetes node that may run it reaches PersistentVolume %s", volume.Name)
		}
	}
	return ""
}

// startedSince reports whether a pod was made after its Kubernetes node was cordoned: it would come back there again and again.
func startedSince(pod *corev1.Pod, cordoned *corev1.Node) bool {
	return slices.ContainsFunc(cordoned.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeUnschedulable && t.TimeAdded != nil && t.TimeAdded.Before(&pod.CreationTimestamp)
	})
}

// admits reports whether a Kubernetes node takes a pod, as far as the two say.
func admits(node *corev1.Node, pod *corev1.Pod) bool {
	matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return err == nil && matches && !node.Spec.Unschedulable && node.DeletionTimestamp == nil &&
		!slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
			return t.Effect != corev1.TaintEffectPreferNoSchedule && !tolerates(pod, &t)
		})
}

func tolerates(pod *corev1.Pod, taint *corev1.Taint) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(logr.Discard(), taint, false) })
}

// repelled reports whether the Kafka's other pods keep a pod off a Kubernetes node.
func repelled(pod *corev1.Pod, node *corev1.Node, among Surroundings) bool {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return false
	}
	for _, term := range pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		near := func(other *corev1.Pod) bool {
			return slices.ContainsFunc(among.Nodes, func(n corev1.Node) bool {
				return n.Name == other.Spec.NodeName && n.Labels[term.TopologyKey] == node.Labels[term.TopologyKey]
			})
		}
		if err != nil || slices.ContainsFunc(among.Pods, func(other *corev1.Pod) bool {
			return other.Name != pod.Name && selector.Matches(labels.Set(other.Labels)) && near(other)
		}) {
			return true
		}
	}
	return false
}

// reaches reports whether a volume can be used on a Kubernetes node.
func reaches(node *corev1.Node, volume *corev1.PersistentVolume) bool {
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return volume.Spec.HostPath == nil // which is another folder on each
	}
	matches, err := nodeaffinity.NewLazyErrorNodeSelector(volume.Spec.NodeAffinity.Required).Match(node)
	return err == nil && matches
}
