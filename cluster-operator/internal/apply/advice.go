package apply

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// otherwise is the way around an object that must not be deleted.
const otherwise = "rename the Kafka or its KafkaNodePool"

// advice returns what the user can do about an object that is not the Kafka's. A StrimziPodSet may have nodes that run, and a volume the
// only copy of data.
func (a *Applier) advice(wanted *unstructured.Unstructured, live client.Object) string {
	switch {
	case wanted.GetKind() == "PersistentVolumeClaim":
		return a.adviceOnVolume(wanted, live)
	case a.Owner != nil && a.UID != "" && a.decide(live) == ownership.TakeOver:
		return fmt.Sprintf("If it is what a former object of this Kafka left, give it an owner reference to ConfigMap %s with uid %s, "+
			"and so the other objects there that lack one, but no volume. Otherwise, %s", model.AnchorName(a.Kafka), a.UID, otherwise)
	case a.Owner == nil && ownership.Remote(live):
		return "Nodes of a Kafka of this name that has another central cluster may need it: " + otherwise
	case a.Owner == nil && len(live.GetOwnerReferences()) == 0 && live.GetLabels()[v1.LabelCluster] == a.Kafka &&
		!ownership.Copy(live, wanted.GetKind()):
		return fmt.Sprintf("If it is what an earlier object of this Kafka left, nodes may need it. Give it back by an owner reference "+
			"(apiVersion: %s, kind: Kafka, name: %s, uid: %s), and so the other objects that have the label %s: %s and no owner, but no "+
			"volume, no Secret of a CA, and no ConfigMap without the label %s. Otherwise, %s", v1.GroupVersion, a.Kafka, a.UID,
			v1.LabelCluster, a.Kafka, core.LabelPodName, otherwise)
	case wanted.GetKind() == "StrimziPodSet":
		return "Its pods stop if it is deleted: if somebody needs them, " + otherwise
	}
	return "Delete or rename it, or rename the Kafka"
}

// adviceOnVolume is advice for a volume.
func (a *Applier) adviceOnVolume(wanted *unstructured.Unstructured, live client.Object) string {
	if a.otherCentral(live) != "" {
		return fmt.Sprintf("It may have data: if somebody needs it, %s. If that is data of this Kafka, %s", otherwise, HowToTake(a.Central))
	}
	if len(live.GetOwnerReferences()) > 0 || ownership.Copy(live, wanted.GetKind()) {
		return "It may have data: if somebody needs it, " + otherwise
	}
	central := ""
	if a.Central != "" {
		central = fmt.Sprintf(", the annotation %s: %s", ownership.MarkCentral, a.Central)
	}
	return fmt.Sprintf("If it has data of this Kafka, adopt it by the labels %s: %s, %s: %s and %s: %s%s and the "+
		"annotation %s with the cluster.id in meta.properties of its data, which must be .status.clusterId of the Kafka (%s). If that is "+
		"another id, and no node of the Kafka ever ran, annotate the claims, delete the Kafka and its KafkaNodePools, and create them again. "+
		"Otherwise, %s", v1.LabelCluster, a.Kafka, core.LabelPoolName, wanted.GetLabels()[core.LabelPoolName], core.LabelManagedBy,
		model.ManagedBy, central, model.AnnotationClusterID, a.ClusterID, otherwise)
}

// HowToTake says how a user gives a Kafka a volume that was another central cluster's. central is the Kafka's, and empty for a Kubernetes
// cluster that is not another one to it.
func HowToTake(central types.UID) string {
	if central == "" {
		return fmt.Sprintf("remove the annotations %s and %s from each of them", ownership.MarkCentral, ownership.MarkID)
	}
	return fmt.Sprintf("annotate each of them %s: %s", ownership.MarkCentral, central)
}
