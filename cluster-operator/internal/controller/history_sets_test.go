package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// setAccident deletes a StrimziPodSet, removes its label, or removes a node from its list. judgeLost judges the operator's next write of
// the set.
func (h *history) setAccident(set *core.StrimziPodSet) string {
	if h.lost[set.Name] == nil && len(set.Spec.Pods) > 0 {
		h.lost[set.Name] = set.DeepCopy()
	}
	switch h.rand.Intn(3) {
	case 0:
		h.must(h.k8s.Delete(h.t.Context(), set))
		return "delete StrimziPodSet " + set.Name
	case 1:
		delete(set.Labels, v1.LabelCluster)
		h.must(h.k8s.Update(h.t.Context(), set))
		return "remove the label of StrimziPodSet " + set.Name
	}
	if n := len(set.Spec.Pods); n > 0 {
		i := h.rand.Intn(n)
		set.Spec.Pods = slices.Delete(set.Spec.Pods, i, i+1)
		h.must(h.k8s.Update(h.t.Context(), set))
	}
	return "remove a node from StrimziPodSet " + set.Name
}

// namesIn returns the names of the pods that a set lists.
func (h *history) namesIn(set *core.StrimziPodSet) []string {
	var names []string
	for _, pod := range h.podsOf(set) {
		names = append(names, pod.Name)
	}
	return names
}

// restoreLost does what the status asks users for whose StrimziPodSet was lost or emptied: it gives each such pool the storage of its
// nodes, and as many nodes as volumes need. If no node is left, it also creates the pools again whose volumes are left.
func (h *history) restoreLost() {
	objects := h.k8s.server.objects
	if !h.listsNodes() {
		h.restorePools()
	}
	for _, key := range sortedKeys(objects) {
		pool, ok := objects[key].object().(*v1.KafkaNodePool)
		if !ok {
			continue
		}
		set, ok := objects[facts.Key{Kind: "StrimziPodSet", Name: h.name + "-" + pool.Name}].object().(*core.StrimziPodSet)
		if ok && len(set.Spec.Pods) > 0 {
			continue
		}
		pool = pool.DeepCopy()
		for id, n := int32(0), int32(0); id < 20; id++ {
			if h.keepsClaims(h.k8s.server, fmt.Sprintf("%s-%s-%d", h.name, pool.Name, id)) {
				n++
				pool.Spec.Replicas = max(pool.Spec.Replicas, n)
			}
		}
		h.must(h.k8s.Update(h.t.Context(), pool))
		storage := h.storageOfNodes(h.k8s.server, pool.Name)
		if storage.Type != "" {
			pool.Spec.Storage = storage
			h.must(h.k8s.Update(h.t.Context(), pool))
		}
	}
}

// storageOfNodes returns the storage that the nodes of a pool have in a Kubernetes cluster; without a type if it has none of them.
func (h *history) storageOfNodes(s *apiServer, pool string) v1.Storage {
	var storage v1.Storage
	for id := range int32(20) { // the status lists no nodes if the pool was made again while the Kafka was paused
		pod := fmt.Sprintf("%s-%s-%d", h.name, pool, id)
		config, ok := s.objects[facts.Key{Kind: "ConfigMap", Name: pod}].object().(*corev1.ConfigMap)
		if !ok && !h.keepsClaims(s, pod) {
			continue
		}
		if !ok { // its volumes tell
			config = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: pod}, Data: map[string]string{"server.config": "broken"}}
		}
		has := h.storageIn(s, config)
		if storage.Type == "" {
			storage = has
			continue
		}
		for _, v := range has.Volumes { // some nodes may not have got, or lost, one yet
			if !slices.ContainsFunc(storage.Volumes, func(other v1.StorageVolume) bool { return *other.ID == *v.ID }) {
				storage.Volumes = append(storage.Volumes, v)
			}
		}
	}
	return storage
}

// listsNodes reports whether a StrimziPodSet of the Kafka lists nodes.
func (h *history) listsNodes() bool {
	for key, o := range h.k8s.server.objects {
		if set, is := o.object().(*core.StrimziPodSet); is && h.foreign[h.k8s.server][key] == nil && len(set.Spec.Pods) > 0 {
			return true
		}
	}
	return false
}

// restorePools creates pools again that have volumes of nodes that did not leave.
func (h *history) restorePools() {
	for _, name := range []string{"a", "b", "c"} {
		left := false
		for id := range int32(20) {
			left = left || h.keepsClaims(h.k8s.server, fmt.Sprintf("%s-%s-%d", h.name, name, id))
		}
		if left && h.k8s.server.objects[facts.Key{Kind: "KafkaNodePool", Name: name}] == nil {
			h.must(h.k8s.Create(h.t.Context(), h.pool(name, 0, v1.RoleBroker)))
		}
	}
}

// keepsClaims reports whether a node has, or had when it was lost, volumes: those that a former node left do not count.
func (h *history) keepsClaims(s *apiServer, pod string) bool {
	for _, claim := range h.claimsFor(s, pod) {
		if claim.Annotations[model.AnnotationRemoved] != "true" {
			return true
		}
	}
	return false
}

// storageIn returns the storage with the volumes that a node's ConfigMap names, or those that the node has if an accident broke that.
func (h *history) storageIn(s *apiServer, config *corev1.ConfigMap) v1.Storage {
	volume := func(name string) v1.StorageVolume {
		claim, lasts := s.objects[facts.Key{Kind: "PersistentVolumeClaim",
			Name: name + "-" + config.Name}].object().(*corev1.PersistentVolumeClaim)
		if !lasts {
			return v1.StorageVolume{Type: v1.StorageEphemeral}
		}
		return v1.StorageVolume{Type: v1.StoragePersistentClaim, Size: claim.Spec.Resources.Requests.Storage().String()}
	}
	named := func(id int32) bool {
		if config.Data["server.config"] == "broken" {
			return volume(fmt.Sprintf("data-%d", id)).Type == v1.StoragePersistentClaim
		}
		return strings.Contains(config.Data["server.config"], fmt.Sprintf("/data-%d/", id))
	}
	storage := v1.Storage{Type: v1.StorageJBOD}
	for id := range int32(4) {
		if named(id) {
			v := volume(fmt.Sprintf("data-%d", id))
			v.ID = &id
			storage.Volumes = append(storage.Volumes, v)
		}
	}
	if len(storage.Volumes) == 0 {
		v := volume("data")
		return v1.Storage{Type: v.Type, Size: v.Size}
	}
	return storage
}

// judgeLostNode checks that a node whose set was lost holds no replicas when its ConfigMap or its Secret, in case an accident hit one, is
// deleted: it leaves with it, whether its set is written again or not, and another node may get its id. One that has neither a pod nor a
// volume lost its data before.
func (h *history) judgeLostNode(s *apiServer, pod string) {
	h.t.Helper()
	if s.objects[facts.Key{Kind: "Pod", Name: pod}] == nil && len(h.claimsFor(s, pod)) == 0 {
		return
	}
	for _, set := range h.lost {
		if i := slices.Index(h.namesIn(set), pod); i >= 0 {
			id, _ := core.NodeID(pod)
			h.judgeLeaves(id)
			set.Spec.Pods = slices.Delete(set.Spec.Pods, i, i+1)
		}
	}
}

// judgeLeft judges, after a whole pass, the nodes of lost sets that left with the accident, which needs no write of the set: set and pool
// agree that they are no nodes, or neither exists. The operator then looks once what they hold, and misses a topic that is made after that.
// A pass that failed, as the condition Ready says, or is paused, is not a whole one.
func (h *history) judgeLeft(missed bool) {
	h.t.Helper()
	s := h.k8s.server
	whole := []string{"", v1.ReasonCreating, "Updating", "NodesNotReady", "ListenerNotReady", "TopicOperatorNotReady"}
	partial := func(c v1.Condition) bool {
		return c.Type == v1.ConditionReconciliationPaused || c.Type == v1.ConditionReady && !slices.Contains(whole, c.Reason)
	}
	if slices.ContainsFunc(h.kafka(h.name).Status.Conditions, partial) {
		return
	}
	for name, lost := range h.lost {
		set, is := s.objects[facts.Key{Kind: "StrimziPodSet", Name: name}].object().(*core.StrimziPodSet)
		pool, exists := s.objects[facts.Key{Kind: "KafkaNodePool", Name: strings.TrimPrefix(name, h.name+"-")}].object().(*v1.KafkaNodePool)
		if is != exists || is && !slices.Equal(pool.Status.NodeIDs, slices.Sorted(maps.Keys(listedBy(h.t, set)))) {
			continue
		}
		for _, pod := range h.namesIn(lost) {
			if id, _ := core.NodeID(pod); exists && slices.Contains(pool.Status.NodeIDs, id) {
				continue
			}
			if !missed {
				h.judgeLostNode(s, pod)
			}
			if i := slices.Index(h.namesIn(lost), pod); i >= 0 {
				lost.Spec.Pods = slices.Delete(lost.Spec.Pods, i, i+1)
			}
		}
	}
}

// judgeLost compares a StrimziPodSet that the operator writes after an accident with the set before the accident. A write that leaves the
// list as it is, such as one for a certificate, is not judged.
func (h *history) judgeLost(s *apiServer, key facts.Key, present, after client.Object) {
	h.t.Helper()
	if (key.Kind == "ConfigMap" || key.Kind == "Secret") && after == nil {
		h.judgeLostNode(s, key.Name)
	}
	lost := h.lost[key.Name]
	if key.Kind != "StrimziPodSet" || lost == nil {
		return
	}
	if set, ok := present.(*core.StrimziPodSet); ok {
		if is, ok := after.(*core.StrimziPodSet); ok && slices.Equal(h.namesIn(set), h.namesIn(is)) {
			if slices.Equal(h.namesIn(lost), h.namesIn(is)) {
				delete(h.lost, key.Name) // only its label was lost
			}
			return
		}
	}
	delete(h.lost, key.Name)
	defer func(quiet bool) { h.quiet = quiet }(h.quiet)
	h.quiet = false // how the nodes were made went with their set
	h.judgeNodes(lost, after)
	h.judgeVolumes(s, key, lost, after)
	is, written := after.(*core.StrimziPodSet)
	if !written {
		return
	}
	before, now := listedBy(h.t, lost), listedBy(h.t, is)
	for id, pod := range now {
		was, existed := before[id]
		if existed && was.Labels[core.LabelControllerRole] != pod.Labels[core.LabelControllerRole] {
			h.failf("node %d is a voter: %q before its set was lost, and %q after", id, was.Labels[core.LabelControllerRole],
				pod.Labels[core.LabelControllerRole])
		}
		if !existed && pod.Labels[core.LabelControllerRole] == "true" {
			h.failf("node %d becomes a voter when the set of the others was lost", id)
		}
	}
}

// withoutLost is a cache in which the nodes of a set that was deleted together with its pool left no objects.
type withoutLost struct {
	client.Reader
	h *history
}

func (w withoutLost) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := w.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	items = slices.DeleteFunc(items, func(item runtime.Object) bool {
		o, is := item.(client.Object)
		return is && w.leftBy(o.GetName())
	})
	return meta.SetList(list, items)
}

// leftBy reports whether an object is of a node whose set and pool are both gone.
func (w withoutLost) leftBy(object string) bool {
	objects := w.h.k8s.server.objects
	for set, lost := range w.h.lost {
		gone := objects[facts.Key{Kind: "StrimziPodSet", Name: set}] == nil &&
			objects[facts.Key{Kind: "KafkaNodePool", Name: strings.TrimPrefix(set, w.h.name+"-")}] == nil
		if gone && slices.ContainsFunc(w.h.namesIn(lost), func(pod string) bool { return strings.HasSuffix(object, pod) }) {
			return true
		}
	}
	return false
}
