package facts

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
)

// UsedID is the use of a node id: a StrimziPodSet lists a pod with it, or a PersistentVolumeClaim is for such a node.
type UsedID struct {
	ID int32
	By Key
}

// UsedIDs returns the uses of node ids, whoever made the objects.
func (c Cluster) UsedIDs() map[UsedID]bool {
	used := map[UsedID]bool{}
	note := func(by Key, name string) {
		if id, ok := core.NodeID(name); ok {
			used[UsedID{id, by}] = true
		}
	}
	for key, o := range c.Objects {
		switch o := o.(type) {
		case *corev1.PersistentVolumeClaim:
			note(key, key.Name)
		case *core.StrimziPodSet:
			if o.Spec == nil {
				continue
			}
			for _, raw := range o.Spec.Pods {
				var pod metav1.PartialObjectMetadata
				if json.Unmarshal(raw.Raw, &pod) == nil {
					note(key, pod.Name)
				}
			}
		}
	}
	return used
}

// ReadUsedIDs reads which node ids of a Kafka are in use in a Kubernetes cluster.
func ReadUsedIDs(ctx context.Context, reader client.Reader, kafka client.ObjectKey) (map[UsedID]bool, error) {
	c := Cluster{Objects: map[Key]client.Object{}}
	err := c.readObjects(ctx, reader, kafka, slices.DeleteFunc(generated(), func(kind generatedKind) bool {
		return kind.name != "StrimziPodSet" && kind.name != "PersistentVolumeClaim"
	}))
	return c.UsedIDs(), err
}
