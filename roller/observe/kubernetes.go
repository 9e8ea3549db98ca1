package observe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
)

// pageSize is how many objects a request to an API server returns, so that the pods of a large cluster are never in memory in full.
const pageSize = 200

// ReadPlace reads the current objects from one API server. The error is in the Place.
func ReadPlace(ctx context.Context, id string, reader client.Reader, namespace, cluster string) Place {
	return readPlace(ctx, id, reader, namespace, cluster, pages)
}

// ReadCache reads the objects from a cache that was filled with Trim. The error is in the Place.
func ReadCache(ctx context.Context, id string, cache client.Reader, namespace, cluster string) Place {
	return readPlace(ctx, id, cache, namespace, cluster, atOnce)
}

// lister lists objects, and calls take for the items of each response.
type lister func(ctx context.Context, reader client.Reader, list client.ObjectList, options []client.ListOption, take func() error) error

func readPlace(ctx context.Context, id string, reader client.Reader, namespace, cluster string, read lister) Place {
	place := Place{ID: id, Properties: map[string]string{}, ClusterIDs: map[string]string{}}
	options := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{v1.LabelCluster: cluster}}
	var (
		pods    corev1.PodList
		sets    core.StrimziPodSetList
		configs corev1.ConfigMapList
	)
	kinds := []struct {
		list client.ObjectList
		take func() error
	}{
		{&pods, func() error { place.addPods(pods.Items); return nil }},
		{&sets, func() error { return place.addSets(sets.Items) }},
		{&configs, func() error { place.addConfigs(configs.Items); return nil }},
	}
	errs := make([]error, len(kinds))
	var all sync.WaitGroup // concurrently, because the facts of a restart may be at most roller.Freshness old
	for i, kind := range kinds {
		all.Go(func() { errs[i] = read(ctx, reader, kind.list, options, kind.take) })
	}
	all.Wait()
	if err := cmp.Or(errs...); err != nil {
		return Place{ID: id, Err: err}
	}
	return place
}

// atOnce lists the objects of a cache, without copies.
func atOnce(ctx context.Context, cache client.Reader, list client.ObjectList, options []client.ListOption, take func() error) error {
	if err := cache.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return err
	}
	return take()
}

// pages lists page by page.
func pages(ctx context.Context, reader client.Reader, list client.ObjectList, options []client.ListOption, take func() error) error {
	options = append(options, client.Limit(pageSize))
	for {
		if err := reader.List(ctx, list, options...); err != nil {
			return err
		}
		if err := take(); err != nil {
			return err
		}
		next := list.GetContinue()
		if next == "" {
			return nil
		}
		options = append(options[:len(options):len(options)], client.Continue(next))
	}
}

func (p *Place) addPods(pods []corev1.Pod) {
	for i := range pods {
		if isNode(&pods[i]) {
			p.Pods = append(p.Pods, trimmedPod(&pods[i]))
		}
	}
}

func (p *Place) addSets(sets []core.StrimziPodSet) error {
	for i := range sets {
		if ownership.Copy(&sets[i], "StrimziPodSet") || ownership.Restored(&sets[i], "StrimziPodSet") {
			continue // it lists the nodes of another set, copied or backed up at an earlier time
		}
		set, err := podSet(&sets[i])
		if err != nil {
			return err
		}
		p.Sets = append(p.Sets, set)
	}
	return nil
}

func (p *Place) addConfigs(configs []corev1.ConfigMap) {
	for i := range configs {
		if text, ok := configs[i].Data[core.ConfigMapServerConfig]; ok {
			p.Properties[configs[i].Name] = text
		}
		if id := strings.TrimSpace(configs[i].Data[core.ConfigMapClusterID]); id != "" {
			p.ClusterIDs[configs[i].Name] = id
		}
	}
}

// podSet returns the nodes of a set, if any.
func podSet(in *core.StrimziPodSet) (PodSet, error) {
	pods, err := DesiredNodes(in)
	if err != nil {
		return PodSet{}, err
	}
	ours := in.Labels[core.LabelManagedBy] == core.ManagedByClusterOperator
	return PodSet{
		// Our cluster operator turns the annotation into another revision (docs/decisions/who-rolls.md).
		Name: in.Name, UID: string(in.UID), Manual: manual(in.Annotations) && !ours,
		Hold: hold(in.Annotations), Idle: whyIdle(in), Pods: pods,
		RolledByRoller: in.Annotations[core.AnnotationRolledBy] == core.RolledByRoller,
		Agent:          in.Annotations[core.AnnotationAgentNamespace],
		Everywhere:     ours,
	}, nil
}

// DesiredNodes returns the metadata of the pods of a set that are nodes of Kafka. The error names the first entry that is no pod,
// or what keeps the spec from being read.
func DesiredNodes(set *core.StrimziPodSet) ([]corev1.Pod, error) {
	if err := set.Unread(); err != nil {
		return nil, err
	}
	if set.Spec == nil {
		return nil, nil
	}
	var nodes []corev1.Pod
	for i := range set.Spec.Pods {
		var in metav1.PartialObjectMetadata
		if err := json.Unmarshal(set.Spec.Pods[i].Raw, &in); err != nil {
			return nil, fmt.Errorf("StrimziPodSet %s/%s: spec.pods[%d] is not a Pod: %w", set.Namespace, set.Name, i, err)
		}
		if pod := (corev1.Pod{ObjectMeta: in.ObjectMeta}); isNode(&pod) {
			nodes = append(nodes, pod)
		}
	}
	return nodes, nil
}
