package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// hide returns the number of hidden replicas of random brokers: replicas of a topic that Kafka does not list.
func (h *history) hide() map[int32]int {
	hidden := map[int32]int{}
	for range h.rand.Intn(3) {
		hidden[int32(h.rand.Intn(8))] = 1
	}
	return hidden
}

// judgeLeaves checks that a broker that leaves holds no replicas, as far as the operator can know. A broker that does not respond, and that
// no listed partition has as a replica, may still have a replica of a hidden topic. It must stay if another broker has a hidden topic.
func (h *history) judgeLeaves(id int32) {
	h.t.Helper()
	b := h.brokers
	if k := h.kafka(h.name); v1.IsTrue(k.Annotations, v1.AnnotationSkipScaleDownCheck) {
		return
	}
	if b.err != nil || b.replicas == nil || b.replicas[id] > 0 {
		h.failf("node %d was dropped with %d replicas (known: %v)", id, b.replicas[id], b.err == nil && b.replicas != nil)
	}
	answers := func(id int32) bool { return b.dirs == nil || b.dirs[id] != nil }
	stored := b.hidden[id]
	for _, dir := range b.dirs[id] {
		stored += dir.Replicas
	}
	if answers(id) && stored > 0 {
		h.failf("node %d was dropped with %d replicas in its log directories", id, stored)
	}
	for _, o := range h.k8s.server.objects {
		pool, ok := o.Object.(*v1.KafkaNodePool)
		if !ok || !slices.Contains(pool.Spec.Roles, v1.RoleBroker) {
			continue
		}
		for _, other := range pool.Status.NodeIDs {
			if !answers(id) && other != id && answers(other) && b.hidden[other] > 0 {
				h.failf("node %d was dropped, which does not say what it holds, and node %d has a topic that is hidden", id, other)
			}
		}
	}
	if !answers(id) && b.hidden[id] > 0 {
		h.unseen(id)
	}
}

// unseen notes that nobody tells what the volumes of a node hold.
func (h *history) unseen(id int32) {
	for s := range h.foreign {
		for key, o := range s.objects {
			claim, ok := o.object().(*corev1.PersistentVolumeClaim)
			if !ok || h.foreign[s][key] != nil {
				continue
			}
			if of, ok := core.NodeID(h.podNamed(claim.Name)); ok && of == id {
				h.contentsOf(s, claim).unseen = true
			}
		}
	}
}
