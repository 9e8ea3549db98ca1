package observe

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
)

// Trim removes the fields of pods, StrimziPodSets and ConfigMaps that an observation does not read. It is a transform of caches: the
// objects of such a cache must never be written back.
func Trim(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		pod := trimmedPod(o)
		return &pod, nil
	case *core.StrimziPodSet:
		o.ManagedFields = nil
		return o, trimSpec(o)
	case *corev1.ConfigMap:
		o.ManagedFields, o.BinaryData = nil, nil
		data := map[string]string{}
		for _, key := range []string{core.ConfigMapServerConfig, core.ConfigMapClusterID} {
			if text, ok := o.Data[key]; ok {
				data[key] = text
			}
		}
		o.Data = data
		return o, nil
	}
	return object, nil
}

// trimmedPod returns a pod with its metadata, the statuses of its containers, and what else counts for its readiness.
func trimmedPod(in *corev1.Pod) corev1.Pod {
	out := corev1.Pod{ObjectMeta: in.ObjectMeta, Status: corev1.PodStatus{
		Phase: in.Status.Phase, Conditions: in.Status.Conditions,
		InitContainerStatuses: in.Status.InitContainerStatuses, ContainerStatuses: in.Status.ContainerStatuses,
	}}
	out.ManagedFields = nil
	out.Spec.NodeName, out.Spec.ReadinessGates = in.Spec.NodeName, in.Spec.ReadinessGates
	out.Spec.Containers, out.Spec.InitContainers = trimmedContainers(in.Spec.Containers), trimmedContainers(in.Spec.InitContainers)
	return out
}

func trimmedContainers(in []corev1.Container) (out []corev1.Container) {
	for _, c := range in {
		out = append(out, corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy})
	}
	return out
}

// trimSpec keeps names, labels and annotations of the pods in the spec. An entry that is no pod stays, and is an error for readers.
func trimSpec(set *core.StrimziPodSet) error {
	if set.Spec == nil {
		return nil
	}
	for i := range set.Spec.Pods {
		var in metav1.PartialObjectMetadata
		if json.Unmarshal(set.Spec.Pods[i].Raw, &in) != nil {
			continue
		}
		text, err := json.Marshal(metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: in.Name, Labels: in.Labels,
			Annotations: in.Annotations}})
		if err != nil {
			return err
		}
		set.Spec.Pods[i] = runtime.RawExtension{Raw: text}
	}
	return nil
}
