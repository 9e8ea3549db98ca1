package apply

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// Orphaned reports whether an object of a kind is one that the operator made for a Kafka of that name, and that lost its owner, as by
// kubectl delete --cascade=orphan: the mark of its own name shows that it is no copy. One with the id of an owner was made for a Kafka with
// another central cluster, which may run. Volumes have a rule of their own, and ConfigMaps other than those of nodes, and the record of a
// stretched Kafka, never had an owner.
func Orphaned(o client.Object, kind, kafka string) bool {
	labels := o.GetLabels()
	if ownership.Remote(o) {
		return false
	}
	switch o.(type) {
	case *corev1.PersistentVolumeClaim:
		return false
	case *corev1.ConfigMap:
		if labels[core.LabelPodName] != o.GetName() && o.GetName() != model.RecordName(kafka) {
			return false
		}
	}
	return len(o.GetOwnerReferences()) == 0 && labels[v1.LabelCluster] == kafka && labels[core.LabelManagedBy] == model.ManagedBy &&
		ownership.Original(o, kind)
}

// orphaned reports whether an object is what an earlier object of this Kafka left. The ConfigMap of a node names the Kafka cluster, and is
// written before its StrimziPodSet: what belongs to another Kafka cluster does not become this one's. The record is read, and written anew,
// whosever it was.
func (a *Applier) orphaned(o client.Object) bool {
	config, is := o.(*corev1.ConfigMap)
	return a.is(o, func(_ metav1.Object, kind string) bool { return Orphaned(o, kind, a.Kafka) }) &&
		(!is || config.Name == model.RecordName(a.Kafka) || a.ClusterID != "" && config.Data[model.ConfigMapClusterID] == a.ClusterID)
}
