package controller

import (
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// bury ends the passes over an object that vanished, unless its topic still has to be deleted. No object is left that could show a failure,
// and there is no later chance: while the operator can't reach its own cluster, the deletion waits.
func (r *Reconciler) bury(p *pass, v verdict) verdict {
	own := p.facts.Own
	switch {
	case v.outcome != nil && (own.Answering != "" || (own.ID == "" || own.Unstorable) && r.options.Ownership.BlockUnknown):
		v.then = retried
	case v.then != retried && v.then != soon:
		v.then = over
		r.vanish.put(p.key, nil)
		r.memory.forget(p.key)
	}
	return v
}

// takesTopicAlong reports whether the topic must be deleted with an object that vanished: in the mode without finalizers, or if the API
// server overlooked the finalizer. An object that a list after a gap in the watch lacks proves nothing: a restored etcd may be older.
func (r *Reconciler) takesTopicAlong(e event.DeleteEvent, kt *v1.KafkaTopic) bool {
	return !e.DeleteStateUnknown && (!r.options.UseFinalizers || overlooked(kt))
}

// overlooked reports whether the object vanished although the finalizer should have held it. The API server decides at the beginning of a
// deletion that no finalizer holds the object, and does not notice one that is added before the end. Anybody who removes the finalizer
// explicitly has to delete the object first, which sets its deletionTimestamp.
func overlooked(kt *v1.KafkaTopic) bool {
	return kt.DeletionTimestamp.IsZero() && ownership.HasFinalizer(kt)
}

// ownsTopicOf reports whether the topic of an object that vanished must be deleted with it.
func (r *Reconciler) ownsTopicOf(kt *v1.KafkaTopic) bool {
	return r.options.Selects(kt.Labels) && kt.IsManaged()
}

// reportMissed logs an object whose deletion fell into a gap of the watch, because nothing will delete its topic.
func (r *Reconciler) reportMissed(kt *v1.KafkaTopic) {
	const text = "The KafkaTopic was deleted while the operator could not watch, and had no finalizer: its topic stays in Kafka"
	logging.Warn(log.Log, text, "KafkaTopic", client.ObjectKeyFromObject(kt).String(), "topic", ownership.ClaimedName(kt), "topicId",
		kt.Status.TopicID, "clusterId", kt.Status.ClusterID)
	r.events.Warning(reference(kt), "Missed", "Delete", text+": '"+ownership.ClaimedName(kt)+"'")
}

// ReportPending logs the topics that were to be deleted after their objects vanished, and were not. Only this operator's memory has them,
// so call it when the operator has stopped.
func (r *Reconciler) ReportPending(log logr.Logger) {
	for key, kt := range r.vanish.pending() {
		logging.Warn(log, "The operator ends before it deleted the topic of a KafkaTopic that was deleted without a finalizer: the topic "+
			"stays in Kafka", "KafkaTopic", key.String(), "topic", ownership.ClaimedName(kt), "topicId", kt.Status.TopicID, "clusterId",
			kt.Status.ClusterID)
	}
}

// tombstones contains what matters of each name after its object vanished.
type tombstones struct {
	mu    sync.Mutex
	names map[types.NamespacedName]tombstone
}

type tombstone struct {
	// object vanished, and its topic has to be deleted: with STRIMZI_USE_FINALIZERS=false, or it was overlooked.
	object *v1.KafkaTopic
	// seen is the last object of the name that a pass read, and former the one before it. Both stay until the watch delivers the deletion.
	seen, former types.UID
}

func (t *tombstones) edit(key types.NamespacedName, change func(*tombstone)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	edit(t.names, key, change)
}

// put sets the object whose topic has to be deleted; nil if it was, or must not be.
func (t *tombstones) put(key types.NamespacedName, kt *v1.KafkaTopic) {
	t.edit(key, func(n *tombstone) { n.object = kt })
}

func (t *tombstones) get(key types.NamespacedName) *v1.KafkaTopic {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.names[key].object
}

// pending returns the objects whose topics have to be deleted.
func (t *tombstones) pending() map[types.NamespacedName]*v1.KafkaTopic {
	t.mu.Lock()
	defer t.mu.Unlock()
	pending := map[types.NamespacedName]*v1.KafkaTopic{}
	for key, n := range t.names {
		if n.object != nil {
			pending[key] = n.object
		}
	}
	return pending
}

// ends records that the watch delivered an object's deletion. It reports whether a pass, which may be ahead, has read its successor.
func (t *tombstones) ends(key types.NamespacedName, uid types.UID) (replaced bool) {
	t.edit(key, func(n *tombstone) {
		if n.seen == uid {
			n.seen = ""
		}
		if replaced = n.former == uid; replaced {
			n.former = ""
		}
	})
	return replaced
}

// replaced records the object of a name that a pass read. If it is a successor, it removes the tombstone, since the successor keeps the
// topic. A pass that read the object of the tombstone just before it vanished changes nothing.
func (t *tombstones) replaced(key types.NamespacedName, by types.UID) {
	t.edit(key, func(n *tombstone) {
		if n.object != nil && n.object.UID != by {
			n.object = nil
		}
		if n.seen != "" && n.seen != by {
			n.former = n.seen
		}
		n.seen = by
	})
}
