package controller

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

// passTimeout bounds one pass. Without it, a pass that hangs would block its object forever.
const passTimeout = 2 * time.Minute

// hungAfter is the age from which a running pass counts as hung, because its context ended long ago.
const hungAfter = 2 * passTimeout

// Healthy returns an error if a pass hangs beyond its timeout. Only a restart helps then. It is a check of /healthy.
func (r *Reconciler) Healthy(context.Context) error {
	key, since := r.busy.oldest()
	if took := r.options.Now().Sub(since); !since.IsZero() && took > hungAfter {
		return fmt.Errorf("the reconciliation of KafkaTopic %s has been running for %s, and must not take longer than %s",
			key, took.Round(time.Second), passTimeout)
	}
	return nil
}

// SetupWithManager registers the reconciler. Workers are cheap, since they mostly wait for Kafka, and more of them make the batches larger.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, workers int) error {
	if workers < 1 || r.options.Interval <= 0 || r.options.Now == nil || r.options.Identity == nil {
		return fmt.Errorf("the KafkaTopic controller needs at least one worker (%d), a positive interval (%s), a clock and an identity", workers,
			r.options.Interval)
	}
	if err := indexClaims(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("index the KafkaTopics by their topics: %w", err)
	}
	if r.options.Claims == nil {
		r.options.Claims = newClaims(ctx, mgr.GetClient(), mgr.GetAPIReader(), r.options.Namespaces)
	}
	r.elected = func() bool {
		select {
		case <-mgr.Elected():
			return true
		default:
			return false
		}
	}
	// Runs once the operator leads: the metrics of a standby must not count what the leader counts.
	if err := mgr.Add(manager.RunnableFunc(func(context.Context) error { r.metrics.Lead(); return nil })); err != nil {
		return err
	}
	warm := true
	return ctrl.NewControllerManagedBy(mgr).
		Named("kafkatopic").
		For(&v1.KafkaTopic{}, builder.WithPredicates(r.watched())).
		Watches(&v1.KafkaTopic{}, r.rivals()).
		WatchesRawSource(source.Channel(r.again, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			ReconciliationTimeout:   passTimeout,
			EnableWarmup:            &warm, // a standby's cache is filled when it is elected
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry/4, 2*lastRetry),
			NewQueue:                r.newQueue,
			LogConstructor:          logOf(mgr.GetLogger()),
		}).
		Complete(r)
}

// logOf adds the object to each line once; controller-runtime's default adds it three times.
func logOf(base logr.Logger) func(*reconcile.Request) logr.Logger {
	return func(req *reconcile.Request) logr.Logger {
		if req == nil {
			return base
		}
		return base.WithValues("KafkaTopic", req.String())
	}
}

// watched passes the events that require a reconciliation. It filters out the operator's own writes, which change nothing that it depends
// on. It also counts objects, because it sees every event.
func (r *Reconciler) watched() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			r.seen(e.Object)
			return r.passes(e.Object, true)
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			r.seen(e.ObjectNew)
			useFinalizers := r.options.UseFinalizers && !r.memory.refuses(e.ObjectNew.GetUID())
			return r.passes(e.ObjectNew, asksForPass(e.ObjectOld, e.ObjectNew, useFinalizers))
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			key := client.ObjectKeyFromObject(e.Object)
			r.metrics.ResourceGone(key)
			if r.vanish.ends(key, e.Object.GetUID()) {
				return true // the new object keeps the topic
			}
			if kt, ok := e.Object.(*v1.KafkaTopic); ok && r.takesTopicAlong(e, kt) && r.elected() && r.ownsTopicOf(kt) {
				r.vanish.put(key, kt)
			} else if ok && e.DeleteStateUnknown && !r.options.UseFinalizers && r.elected() && r.ownsTopicOf(kt) {
				r.reportMissed(kt)
			}
			return true
		},
		GenericFunc: func(event.GenericEvent) bool { return true },
	}
}

// reportMissed logs an object whose deletion fell into a gap of the watch, because nothing will delete its topic.
func (r *Reconciler) reportMissed(kt *v1.KafkaTopic) {
	const text = "The KafkaTopic was deleted while the operator could not watch, and had no finalizer: its topic stays in Kafka"
	logging.Warn(log.Log, text, "KafkaTopic", client.ObjectKeyFromObject(kt).String(), "topic", ownership.ClaimedName(kt), "topicId",
		kt.Status.TopicID, "clusterId", kt.Status.ClusterID)
	r.events.Warning(reference(kt), "Missed", "Delete", text+": '"+ownership.ClaimedName(kt)+"'")
}

// takesTopicAlong reports whether the topic must be deleted with an object that vanished: in the mode without finalizers, or if the API
// server overlooked the finalizer. An object that a list after a gap in the watch lacks proves nothing: etcd may have been restored from a
// time before it existed.
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

func (r *Reconciler) seen(o client.Object) {
	if kt, ok := o.(*v1.KafkaTopic); ok {
		r.metrics.ResourceSeen(client.ObjectKeyFromObject(kt), kt.IsPaused())
	}
}

// passes returns asked, and counts the events that have to wait for a running pass over their object.
func (r *Reconciler) passes(o client.Object, asked bool) bool {
	if key := client.ObjectKeyFromObject(o); asked && r.busy.has(key) {
		r.metrics.Locked(key.Namespace)
	}
	return asked
}

// asksForPass reports whether a change requires a pass. The generation counts changes of the specification, and the start of a deletion.
func asksForPass(before, after client.Object, useFinalizers bool) bool {
	switch {
	case before.GetUID() != after.GetUID(),
		before.GetGeneration() != after.GetGeneration(),
		before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero(),
		!maps.Equal(before.GetLabels(), after.GetLabels()),
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()):
		return true
	}
	kb, okBefore := before.(*v1.KafkaTopic)
	ka, okAfter := after.(*v1.KafkaTopic)
	if !okBefore || !okAfter {
		return true
	}
	// Another client removed the finalizer, or added one although the operator works without.
	return ownership.HasFinalizer(kb) != ownership.HasFinalizer(ka) && ownership.HasFinalizer(ka) != useFinalizers
}

// busyKeys contains the objects whose passes are running.
type busyKeys struct {
	mu   sync.Mutex
	keys map[types.NamespacedName]time.Time // value: start of the pass
}

func newBusyKeys() *busyKeys {
	return &busyKeys{keys: map[types.NamespacedName]time.Time{}}
}

// oldest returns the pass that has been running longest, and since when; the zero time if none runs.
func (b *busyKeys) oldest() (oldest types.NamespacedName, since time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, began := range b.keys {
		if since.IsZero() || began.Before(since) {
			oldest, since = key, began
		}
	}
	return oldest, since
}

func (b *busyKeys) start(key types.NamespacedName, now time.Time) (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keys[key] = now
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.keys, key)
	}
}

func (b *busyKeys) has(key types.NamespacedName) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.keys[key]
	return ok
}

// tombstones contains vanished objects whose topics have to be deleted: with STRIMZI_USE_FINALIZERS=false, or overlooked ones.
type tombstones struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]*v1.KafkaTopic
	// seen is the last object of each name that a pass read, and former the one before it. Both stay until the watch delivers the deletion.
	seen, former map[types.NamespacedName]types.UID
}

func newTombstones() *tombstones {
	return &tombstones{
		objects: map[types.NamespacedName]*v1.KafkaTopic{},
		seen:    map[types.NamespacedName]types.UID{}, former: map[types.NamespacedName]types.UID{},
	}
}

func (t *tombstones) put(key types.NamespacedName, kt *v1.KafkaTopic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.objects[key] = kt
}

// ends records that the watch delivered an object's deletion. It reports whether a pass has already read the object's successor: a read
// past the cache may be ahead of the watch.
func (t *tombstones) ends(key types.NamespacedName, uid types.UID) (replaced bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen[key] == uid {
		delete(t.seen, key)
	}
	if replaced = t.former[key] == uid; replaced {
		delete(t.former, key)
	}
	return replaced
}

func (t *tombstones) get(key types.NamespacedName) *v1.KafkaTopic {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.objects[key]
}

// drop removes the tombstone.
func (t *tombstones) drop(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.objects, key)
}

// replaced records the object of a name that a pass read. If it is a successor, it removes the tombstone, since the successor keeps the
// topic. A pass that read the object of the tombstone just before it vanished changes nothing.
func (t *tombstones) replaced(key types.NamespacedName, by types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if kt, ok := t.objects[key]; ok && kt.UID != by {
		delete(t.objects, key)
	}
	if was := t.seen[key]; was != "" && was != by {
		t.former[key] = was
	}
	t.seen[key] = by
}
