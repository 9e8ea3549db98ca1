// Package misplaced reports objects that users created in a remote Kubernetes cluster of a stretched Kafka although only the operators of
// the central one reconcile them. Without it, such an object would be ignored silently.
package misplaced

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// Reason is that of Ready=False on a misplaced object. Source: docs/decisions/misplaced.md.
const Reason = "RemoteClusterNotSupported"

// unreconciledAge is the age at which an object without conditions counts as not reconciled by another operator.
const unreconciledAge = time.Minute

// kinds are the kinds of the group kafka.strimzi.io that are reconciled in the central Kubernetes cluster only.
var kinds = []string{"Kafka", "KafkaNodePool", "KafkaConnect", "KafkaBridge", "KafkaMirrorMaker2"}

// stretched holds the central clusters of the stretched Kafkas that have nodes here, by the names of the Kafkas.
type stretched map[types.NamespacedName]string

// add adds the stretched Kafkas whose objects here are owned by these ConfigMaps.
func (s stretched) add(anchors []corev1.ConfigMap) {
	for _, a := range anchors {
		kafka, central := a.Data[model.AnchorKafka], a.Data[model.AnchorCentral]
		if kafka != "" && central != "" && a.Name == model.AnchorName(kafka) && a.DeletionTimestamp == nil {
			s[types.NamespacedName{Namespace: a.Namespace, Name: kafka}] = central
		}
	}
}

// bootstrap matches the addresses of a Kafka's bootstrap Service within Kubernetes: the Kafka's name, and its namespace if there is one.
var bootstrap = regexp.MustCompile(`^([a-z0-9.-]+)-kafka-bootstrap(?:\.([a-z0-9-]+)(?:\.svc(?:\.[a-z0-9.-]+)?)?)?(?::\d+)?$`)

// kafkaOf returns the stretched Kafka that an object belongs to: by its name, its label, or the addresses in its spec.
func (s stretched) kafkaOf(o *unstructured.Unstructured) (kafka types.NamespacedName, belongs bool) {
	var named []types.NamespacedName
	switch o.GetKind() {
	case "Kafka":
		named = []types.NamespacedName{{Namespace: o.GetNamespace(), Name: o.GetName()}}
	case "KafkaNodePool":
		named = []types.NamespacedName{{Namespace: o.GetNamespace(), Name: o.GetLabels()[v1.LabelCluster]}}
	default:
		for _, servers := range bootstrapServers(o.Object["spec"]) {
			for server := range strings.SplitSeq(servers, ",") {
				if m := bootstrap.FindStringSubmatch(strings.TrimSpace(server)); m != nil {
					named = append(named, types.NamespacedName{Namespace: cmp.Or(m[2], o.GetNamespace()), Name: m[1]})
				}
			}
		}
	}
	for _, kafka := range named {
		if _, is := s[kafka]; is {
			return kafka, true
		}
	}
	return types.NamespacedName{}, false
}

// bootstrapServers returns all values of fields of that name, wherever they are: KafkaMirrorMaker2 has them in several places.
func bootstrapServers(value any) (found []string) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if text, is := inner.(string); is && key == "bootstrapServers" {
				found = append(found, text)
			}
			found = append(found, bootstrapServers(inner)...)
		}
	case []any:
		for _, inner := range value {
			found = append(found, bootstrapServers(inner)...)
		}
	}
	slices.Sort(found)
	return found
}

// judge sets the conditions of an object, and reports whether that changed something. It does not change an object with conditions of
// another operator, which reconciles it.
func (s stretched) judge(o *unstructured.Unstructured, now time.Time) (changed bool) {
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return false
	}
	ours := len(conditions) > 0 && !slices.ContainsFunc(conditions, func(c any) bool {
		fields, is := c.(map[string]any)
		return !is || fields["reason"] != Reason
	})
	kafka, belongs := s.kafkaOf(o)
	switch {
	case len(conditions) > 0 && !ours:
		return false
	case !belongs && ours:
		unstructured.RemoveNestedField(o.Object, "status", "conditions")
		return true
	case !belongs || !ours && now.Sub(o.GetCreationTimestamp().Time) < unreconciledAge:
		return false
	}
	message := fmt.Sprintf("Kafka %s is stretched over several Kubernetes clusters, and no operator reconciles a %s in this one: "+
		"create it in the central cluster '%s'", kafka, o.GetKind(), s[kafka])
	if observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration"); ours && observed == o.GetGeneration() &&
		conditions[0].(map[string]any)["message"] == message {
		return false
	}
	condition := map[string]any{"type": v1.ConditionReady, "status": string(metav1.ConditionFalse), "reason": Reason, "message": message,
		"lastTransitionTime": now.UTC().Format(time.RFC3339)}
	if err := unstructured.SetNestedSlice(o.Object, []any{condition}, "status", "conditions"); err != nil {
		return false
	}
	return unstructured.SetNestedField(o.Object, o.GetGeneration(), "status", "observedGeneration") == nil
}
