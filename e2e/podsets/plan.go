package podsets

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
)

// plan has the actions that make the pods match a set, and the set's status until they are done.
type plan struct {
	// create are the missing pods.
	create []corev1.Pod
	// adopt are pods of the set that have no owner.
	adopt []corev1.Pod
	// remove are pods that are no longer in the set, or that ended and will not run again.
	remove []corev1.Pod
	// foreign are pods of other owners that have names of the set's pods.
	foreign []corev1.Pod

	pods, ready, current int32
}

// makePlan returns the plan for a set. existing are all pods of the set's namespace.
//
// It does what Strimzi's controller does, except for two cases in which that one deletes pods that may have other owners: here, an empty
// selector selects nothing, and a pod with another controller is left alone.
func makePlan(set *core.StrimziPodSet, desired, existing []corev1.Pod) plan {
	p := plan{pods: int32(len(desired))}
	for i := range desired {
		p.want(set, &desired[i], find(existing, desired[i].Name))
	}
	for i := range existing {
		pod := &existing[i]
		foreign := metav1.GetControllerOf(pod) != nil && !isOwner(set, pod)
		if foreign || find(desired, pod.Name) != nil || !selects(set, pod) {
			continue
		}
		p.pods++
		if pod.DeletionTimestamp == nil {
			p.remove = append(p.remove, *pod)
		}
	}
	return p
}

// want plans one desired pod; pod is nil if it does not exist.
func (p *plan) want(set *core.StrimziPodSet, desired, pod *corev1.Pod) {
	switch {
	case pod == nil:
		p.create = append(p.create, owned(set, desired))
		return
	case isOwner(set, pod):
	case metav1.GetControllerOf(pod) != nil:
		p.foreign = append(p.foreign, *pod)
		return
	case pod.DeletionTimestamp == nil:
		p.adopt = append(p.adopt, *pod)
	}
	ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	if ended && pod.DeletionTimestamp == nil {
		p.remove = append(p.remove, *pod)
	}
	if core.IsReady(pod) {
		p.ready++
	}
	if !core.Outdated(pod, desired) {
		p.current++
	}
}

func find(pods []corev1.Pod, name string) *corev1.Pod {
	if i := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.Name == name }); i >= 0 {
		return &pods[i]
	}
	return nil
}

// selects reports whether a pod has the labels of the set's selector. Only matchLabels count, as in Strimzi.
func selects(set *core.StrimziPodSet, pod *corev1.Pod) bool {
	if set.Spec == nil || len(set.Spec.Selector.MatchLabels) == 0 {
		return false
	}
	return labels.SelectorFromSet(set.Spec.Selector.MatchLabels).Matches(labels.Set(pod.Labels))
}

func isOwner(set *core.StrimziPodSet, pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.UID == set.UID
}

// owned returns a desired pod for creation, in the set's namespace and with the set as its owner.
func owned(set *core.StrimziPodSet, desired *corev1.Pod) corev1.Pod {
	pod := *desired.DeepCopy()
	pod.Namespace = set.Namespace
	pod.OwnerReferences = []metav1.OwnerReference{ownerReference(set)}
	return pod
}

func ownerReference(set *core.StrimziPodSet) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: core.GroupVersion.String(), Kind: "StrimziPodSet", Name: set.Name, UID: set.UID, Controller: new(true),
		BlockOwnerDeletion: new(false),
	}
}
