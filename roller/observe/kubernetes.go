package observe

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// The entries of a node's ConfigMap: its configuration file, and the id of the Kafka cluster that its storage was formatted for. Source: Strimzi.
const (
	propertiesKey = "server.config"
	clusterIDKey  = "cluster.id"
)

// ReadPlace reads one Kubernetes cluster. It takes what the API server says and not what a cache remembers, because nodes are stopped on what it says. The
// error is in the Place.
func ReadPlace(ctx context.Context, id string, reader client.Reader, namespace, cluster string) Place {
	place := Place{ID: id}
	options := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{v1.LabelCluster: cluster}}
	var (
		pods    corev1.PodList
		sets    podset.StrimziPodSetList
		configs corev1.ConfigMapList
	)
	for _, list := range []client.ObjectList{&pods, &sets, &configs} {
		if err := reader.List(ctx, list, options...); err != nil {
			return Place{ID: id, Err: err}
		}
	}
	for i := range pods.Items {
		if isNode(&pods.Items[i]) {
			place.Pods = append(place.Pods, pods.Items[i])
		}
	}
	place.Properties, place.ClusterIDs = map[string]string{}, map[string]string{}
	for i := range configs.Items {
		if text, ok := configs.Items[i].Data[propertiesKey]; ok {
			place.Properties[configs.Items[i].Name] = text
		}
		if id := strings.TrimSpace(configs.Items[i].Data[clusterIDKey]); id != "" {
			place.ClusterIDs[configs.Items[i].Name] = id
		}
	}
	for i := range sets.Items {
		set, err := podSet(&sets.Items[i])
		if err != nil {
			return Place{ID: id, Err: err}
		}
		place.Sets = append(place.Sets, set)
	}
	return place
}

// podSet keeps the nodes of a set, if any.
func podSet(in *podset.StrimziPodSet) (PodSet, error) {
	set := PodSet{Name: in.Name, UID: string(in.UID), Manual: manual(in.Annotations), Hold: hold(in.Annotations), Idle: idle(in)}
	pods, err := in.DesiredPods()
	if err != nil {
		return PodSet{}, err
	}
	for i := range pods {
		if isNode(&pods[i]) {
			set.Pods = append(set.Pods, pods[i])
		}
	}
	return set, nil
}
