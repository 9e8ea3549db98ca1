package controller

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
)

// ownedByStrimzi reports whether Strimzi's cluster operator made the nodes of a Kafka, and then records an Event. Such a Kafka is left
// alone, its status, too: most of its objects have the names that they have here, and belong to the same Kafka object.
func (r *Reconciler) ownedByStrimzi(ctx context.Context, kafka *v1.Kafka) (bool, error) {
	var sets core.StrimziPodSetList
	err := r.Cache.List(ctx, &sets, client.UnsafeDisableDeepCopy, client.InNamespace(kafka.Namespace), client.MatchingLabels{
		v1.LabelCluster: kafka.Name, core.LabelKind: core.KindKafka, core.LabelManagedBy: core.ManagedByStrimzi})
	if err != nil {
		return false, fmt.Errorf("list StrimziPodSets: %w", err)
	}
	for i := range sets.Items {
		if ownership.Original(&sets.Items[i], "StrimziPodSet") {
			continue // made here, and somebody changed the label
		}
		message := fmt.Sprintf("Strimzi's cluster operator created StrimziPodSet %s/%s (label %s), so nothing is changed here. Give each "+
			"operator Kafkas of its own: by STRIMZI_NAMESPACE, or by STRIMZI_CUSTOM_RESOURCE_SELECTOR",
			kafka.Namespace, sets.Items[i].Name, core.LabelManagedBy)
		log.FromContext(ctx).Info(message)
		r.Events.Warning(kafka, "ManagedByStrimzi", "Reconcile", message)
		return true, nil
	}
	return false, nil
}
