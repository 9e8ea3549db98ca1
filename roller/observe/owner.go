package observe

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// foreign explains why nothing is known to recreate a pod after its deletion; empty if its StrimziPodSet lists and owns it and has an
// active controller. Labels and names are no proof, because anybody who creates a pod can choose them.
func foreign(pod *corev1.Pod, set *PodSet) string {
	if set == nil {
		return "no StrimziPodSet lists its pod, so nothing would recreate it"
	}
	owner := metav1.GetControllerOf(pod)
	switch {
	case owner == nil:
		return fmt.Sprintf("its pod does not belong to StrimziPodSet %s, which lists it: it has no owner", set.Name)
	case string(owner.UID) != set.UID:
		return fmt.Sprintf("its pod does not belong to StrimziPodSet %s (uid %s), which lists it, but to %s %s (uid %s)", set.Name, set.UID,
			owner.Kind, owner.Name, owner.UID)
	}
	return set.Idle
}

// whyIdle explains why a pod of the set is not recreated, or is restarted by another component; empty if neither applies.
func whyIdle(set *core.StrimziPodSet) string {
	switch {
	case set.DeletionTimestamp != nil:
		return "StrimziPodSet " + set.Name + " is being deleted"
	case set.IsPaused():
		return "StrimziPodSet " + set.Name + " is annotated with " + v1.AnnotationPauseReconciliation + ", so its pods are not recreated"
	case set.IsHibernated():
		return "StrimziPodSet " + set.Name + " is hibernated (" + core.AnnotationHibernate + "), so its pods are not recreated"
	case strimzis(set):
		return "StrimziPodSet " + set.Name +
			" is managed by Strimzi's cluster operator, which restarts its pods itself: to have the roller do it, pause its Kafka and annotate " +
			"the set with " +
			core.AnnotationRolledBy + "=" + core.RolledByRoller
	}
	return ""
}

// strimzis reports whether Strimzi's cluster operator restarts the pods of a set: it manages the set, and no annotation leaves the restarts
// to the roller.
func strimzis(set *core.StrimziPodSet) bool {
	return set.Labels[core.LabelManagedBy] == core.ManagedByStrimzi && set.Annotations[core.AnnotationRolledBy] != core.RolledByRoller
}

// ExcludedBy returns the set of a Kafka cluster that excludes the whole cluster from the roller, and why; nil and empty if none does. If
// the settings do not name the cluster, each of its sets with nodes must be annotated (docs/decisions/who-rolls.md). One that is hibernated
// excludes it too: its nodes are no loss. Sets without nodes of Kafka do not count.
func ExcludedBy(sets []core.StrimziPodSet, named bool) (set *core.StrimziPodSet, why string) {
	for i := range sets {
		set := &sets[i]
		if nodes, err := DesiredNodes(set); err == nil && len(nodes) == 0 {
			continue
		}
		switch {
		case strimzis(set), set.IsHibernated():
			return set, whyIdle(set)
		case !named && set.Annotations[core.AnnotationRolledBy] != core.RolledByRoller:
			return set, notRolled(set.Name)
		}
	}
	return nil, ""
}

// notRolled explains why the roller leaves alone a set of a Kafka cluster that its settings do not name.
func notRolled(set string) string {
	return "StrimziPodSet " + set + " is not annotated with " + core.AnnotationRolledBy + "=" + core.RolledByRoller +
		", so the roller assumes that something else restarts its pods"
}

// neverRead explains why the roller leaves alone the sets of all Kubernetes clusters.
func neverRead(place string) string {
	return "whether the StrimziPodSets in cluster " + name(place) + " are annotated with " + core.AnnotationRolledBy + "=" +
		core.RolledByRoller + " is unknown: the roller has not been able to read them since it started"
}
