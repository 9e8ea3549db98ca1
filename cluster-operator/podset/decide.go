package podset

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
)

// Decision is what to do about the pods of a StrimziPodSet, and its new status.
type Decision struct {
	// Create are the pods that are missing, as they should be created.
	Create []*corev1.Pod
	// Adopt are pods that are listed, that nothing controls, and that the set's selector matches: they are the set's from before it was
	// deleted and restored.
	Adopt []*corev1.Pod
	// Delete are pods of the set's that ended, or that it does not list.
	Delete []Deletion
	// Problems are what a user should know, one sentence each.
	Problems []string
	// CheckAt is when a pod that terminates has had its time; zero if none does.
	CheckAt time.Time

	// Pods, Ready and Current are the counts of the status: the pods that are listed and those that still have to go; those that are listed,
	// owned, not terminating and ready; and those of them that are not out of date.
	Pods, Ready, Current int32
}

// Deletion is a pod that should be deleted, and why.
type Deletion struct {
	Pod    *corev1.Pod
	Reason string
}

// Decide decides about one set. existing are all pods of the set's namespace that may concern it; others are ignored. The error names what
// in the spec is not a pod.
func Decide(set *core.StrimziPodSet, existing []corev1.Pod, now time.Time) (Decision, error) {
	desired, err := listed(set)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Pods: int32(len(desired))}
	if set.IsHibernated() {
		d.sleep(set, existing, now)
		return d, nil
	}
	byName := make(map[string]*corev1.Pod, len(existing))
	for i := range existing {
		byName[existing[i].Name] = &existing[i]
	}
	wanted := make(map[string]bool, len(desired))
	for i := range desired {
		wanted[desired[i].Name] = true
		d.keep(set, &desired[i], byName[desired[i].Name], now)
	}
	for i := range existing {
		pod := &existing[i]
		if wanted[pod.Name] || !owns(set, pod) {
			continue
		}
		d.Pods++
		if pod.DeletionTimestamp != nil {
			d.await(set, pod, now)
			continue
		}
		d.Delete = append(d.Delete, Deletion{pod, "the StrimziPodSet no longer lists it"})
	}
	return d, nil
}

// sleep has the pods end that are the set's, and makes none.
func (d *Decision) sleep(set *core.StrimziPodSet, existing []corev1.Pod, now time.Time) {
	for i := range existing {
		pod := &existing[i]
		switch {
		case !owns(set, pod):
		case pod.DeletionTimestamp != nil:
			d.await(set, pod, now)
		default:
			d.Delete = append(d.Delete, Deletion{pod, "its Kafka is hibernated"})
		}
	}
}

// listed are the pods of the spec. They have names, and no two the same.
func listed(set *core.StrimziPodSet) ([]corev1.Pod, error) {
	pods, err := set.DesiredPods()
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool, len(pods))
	for i := range pods {
		switch name := pods[i].Name; {
		case name == "":
			return nil, fmt.Errorf("StrimziPodSet %s/%s: spec.pods[%d] has no name", set.Namespace, set.Name, i)
		case names[name]:
			return nil, fmt.Errorf("StrimziPodSet %s/%s: spec.pods[%d] has the name %s, which another one has too", set.Namespace, set.Name, i, name)
		default:
			names[name] = true
		}
	}
	return pods, nil
}

// keep decides about one pod that is listed; pod is nil if it does not exist.
func (d *Decision) keep(set *core.StrimziPodSet, desired, pod *corev1.Pod, now time.Time) {
	switch {
	case pod == nil:
		d.Create = append(d.Create, newPod(set, desired))
		return
	case pod.DeletionTimestamp != nil: // also if it is another's, such as that of a deleted StrimziPodSet of the same name
		d.await(set, pod, now)
		return
	case owns(set, pod) && (pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded):
		// The kubelet reports these phases after all containers ended, and no container of such a pod starts again.
		d.Delete = append(d.Delete, Deletion{pod, fmt.Sprintf("it terminated (%s) and is recreated", ended(pod))})
		return
	case owns(set, pod):
	case metav1.GetControllerOf(pod) != nil || !selects(set, pod):
		d.Problems = append(d.Problems, foreign(set, pod))
		return
	default:
		d.Adopt = append(d.Adopt, pod) // counted once it is the set's
		return
	}
	if core.IsReady(pod) {
		d.Ready++
	}
	if !core.Outdated(pod, desired) {
		d.Current++
	}
}

// terminationSlack is how long a terminating pod may exceed its grace period before it is reported.
const terminationSlack = 30 * time.Second

// await deals with a pod that terminates: only its kubelet knows when it ended.
func (d *Decision) await(set *core.StrimziPodSet, pod *corev1.Pod, now time.Time) {
	overdue := pod.DeletionTimestamp.Add(terminationSlack) // the timestamp includes the grace period
	if now.Before(overdue) {
		if d.CheckAt.IsZero() || overdue.Before(d.CheckAt) {
			d.CheckAt = overdue
		}
		return
	}
	node := pod.Spec.NodeName
	if node == "" {
		node = "none"
	}
	whose := ""
	if !owns(set, pod) {
		whose = ", which belongs to " + owner(pod) + ","
	}
	d.Problems = append(d.Problems, fmt.Sprintf(
		"pod %s%s should have terminated at %s but may still run: its node (%s) has not confirmed that it stopped, or finalizers keep the pod "+
			"(%d). If the node is permanently lost, delete it or add the taint %s",
		pod.Name, whose, pod.DeletionTimestamp.UTC().Format(time.RFC3339), node, len(pod.Finalizers), corev1.TaintNodeOutOfService))
}

// foreign means that a name is taken.
func foreign(set *core.StrimziPodSet, pod *corev1.Pod) string {
	return fmt.Sprintf("pod %s exists and belongs to %s, not to StrimziPodSet %s with uid %s. The operator does not change it; delete it "+
		"so that the operator can create the pod", pod.Name, owner(pod), set.Name, set.UID)
}

// owner names what controls a pod.
func owner(pod *corev1.Pod) string {
	if o := metav1.GetControllerOf(pod); o != nil {
		return fmt.Sprintf("%s %s with uid %s", o.Kind, o.Name, o.UID)
	}
	return "no known owner"
}

func ended(pod *corev1.Pod) string {
	if pod.Status.Reason != "" {
		return string(pod.Status.Phase) + ", " + pod.Status.Reason
	}
	return string(pod.Status.Phase)
}

// newPod returns a pod to create, in the set's namespace and owned by the set.
func newPod(set *core.StrimziPodSet, desired *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: desired.Name, Namespace: set.Namespace, Labels: desired.Labels, Annotations: desired.Annotations, Finalizers: desired.Finalizers,
			OwnerReferences: []metav1.OwnerReference{ownerReference(set)},
		},
		Spec: desired.Spec,
	}
}

func ownerReference(set *core.StrimziPodSet) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: core.GroupVersion.String(), Kind: kind, Name: set.Name, UID: set.UID, Controller: new(true), BlockOwnerDeletion: new(false),
	}
}

// owns reports whether a pod is the set's.
func owns(set *core.StrimziPodSet, pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.UID == set.UID
}

// selects reports whether a pod has the labels that the set selects by. Only matchLabels count, as in Strimzi, and none select nothing.
func selects(set *core.StrimziPodSet, pod *corev1.Pod) bool {
	return set.Spec != nil && len(set.Spec.Selector.MatchLabels) > 0 &&
		labels.SelectorFromSet(set.Spec.Selector.MatchLabels).Matches(labels.Set(pod.Labels))
}
