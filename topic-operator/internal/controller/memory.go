package controller

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

const (
	// settle is how long a broker's view may lag behind an acknowledged write. A read within this time proves nothing.
	settle = 3 * time.Second
	// longMemory is when entries without another expiry are dropped, so that entries of deleted objects don't accumulate.
	longMemory = 24 * time.Hour
)

// memory is the state that a running operator keeps between passes. Losing it costs time; without objectMemory.created it may also block a
// deletion (NotReadyForDeletion), but it never costs a topic.
type memory struct {
	now func() time.Time
	// backoff counts the temporary failures in a row of the passes over a name.
	backoff workqueue.TypedRateLimiter[types.NamespacedName]

	mu      sync.Mutex
	objects map[types.UID]objectMemory
	names   map[types.NamespacedName]nameMemory
	// deleted contains topics that no longer exist, by id: each KafkaTopic may have the id in its status, and Kafka never uses it again.
	deleted map[kafka.TopicID]deletion
	// unprotected contains the namespaces in which an Event reported that clusterId can't be stored.
	unprotected map[string]bool
	swept       time.Time
}

// objectMemory is what the operator remembers of one object. A successor with the same name has another UID, and starts anew. It outlives
// the object, until each field has expired (expire). What pointers lead to never changes, so a copy can be read without the lock.
type objectMemory struct {
	// created is the topic that the operator created for the object. The status may never contain it: a deletion can come in between.
	created *creation
	// moved is since when the topic has had another replication factor than the specification.
	moved time.Time
	// few is when a broker first showed fewer partitions than the controller has.
	few time.Time
	// short is when Kafka first had too few brokers for the replicas of the object's topic.
	short time.Time
	// stored is the last change that stored values of the brokers on the object's topic, until a broker shows them as the topic's.
	stored *stored
	// guarded is when this operator set the object's finalizer. If it did not, an operator of another Kafka cluster may have set it.
	guarded time.Time
	// refused is when the object lost its finalizer, because Kafka rejected the creation of its topic.
	refused time.Time
	// mismatch is the report that the object belongs to another Kafka cluster.
	mismatch *mismatch
	// disbelieved is the version of the object that may lack fields in the cache.
	disbelieved *disbelief
	// unselected is when the operator last saw the deletion blocked because no operator selects the object. It reports that once.
	unselected time.Time
}

// nameMemory is what the operator remembers of a name, whichever object has it. A pass that finds no object removes it. An object that is
// recreated before that has the same topic, behind which brokers lag, and goes on with the same back-off.
type nameMemory struct {
	// wrote is when the operator last changed Kafka for the object. It expires after settle.
	wrote time.Time
	// failing is since when the passes have been failing. It ends only with a pass that does not fail.
	failing time.Time
}

// creation is a topic that the operator created for an object.
type creation struct {
	ownership.Creation
	at time.Time
	// stored means that the object's status has the topic's id.
	stored bool
}

// stored is a change that stored values of the brokers on a topic, for a generation of an object.
type stored struct {
	topic      kafka.TopicID
	generation int64
	at         time.Time
}

// mismatch describes an object that belongs to another Kafka cluster.
type mismatch struct {
	// reported is the generation for which the status has the reason ClusterMismatch.
	reported int64
	// passes counts the passes since then; at is the time of the last one.
	passes int
	at     time.Time
	// version is the object's resourceVersion in the last pass, and quiet counts the passes that found it unchanged.
	version string
	quiet   int
}

// disbelief is a version of an object that was read while another CustomResourceDefinition dropped fields.
type disbelief struct {
	version string
	at      time.Time
}

// deletion is a topic that no longer exists; ours means that the operator deleted it.
type deletion struct {
	at   time.Time
	ours bool
}

func newMemory(now func() time.Time) *memory {
	return &memory{
		now:     now,
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetry, lastRetry),
		objects: map[types.UID]objectMemory{}, names: map[types.NamespacedName]nameMemory{},
		deleted: map[kafka.TopicID]deletion{}, unprotected: map[string]bool{},
	}
}

// edit changes an entry of a map, and removes it if nothing is left in it.
func edit[K, V comparable](entries map[K]V, key K, change func(*V)) {
	var nothing V
	entry := entries[key]
	if change(&entry); entry == nothing {
		delete(entries, key)
	} else {
		entries[key] = entry
	}
}

// recall returns what the operator remembers of an object.
func (m *memory) recall(object types.UID) objectMemory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.objects[object]
}

// note changes what the operator remembers of an object.
func (m *memory) note(object types.UID, change func(*objectMemory)) {
	note(m, m.objects, object, change)
}

// noteName changes what the operator remembers of a name.
func (m *memory) noteName(key types.NamespacedName, change func(*nameMemory)) {
	note(m, m.names, key, change)
}

// note changes an entry of the memory, and drops all that have expired, so that it does not grow.
func note[K, V comparable](m *memory, entries map[K]V, key K, change func(*V)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	edit(entries, key, change)
}

// wrote records that the operator just changed Kafka for the object.
func (m *memory) wrote(key types.NamespacedName) {
	m.noteName(key, func(n *nameMemory) { n.wrote = m.now() })
}

// settling reports whether the operator changed Kafka for the object so recently that a broker may still show the old state.
func (m *memory) settling(key types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now().Sub(m.names[key].wrote) < settle // a zero time is long ago
}

// disbelieve records that the cache may lack fields of this version of an object.
func (m *memory) disbelieve(object types.UID, version string) {
	m.note(object, func(o *objectMemory) { o.disbelieved = &disbelief{version: version, at: m.now()} })
}

// believes reports whether the cache has all fields of this version of an object. It returns true unless disbelieve recorded the version.
func (m *memory) believes(object types.UID, version string) bool {
	d := m.recall(object).disbelieved
	return d == nil || d.version != version
}

// noteUnselected records that no operator selects the object, and reports whether this is new.
func (m *memory) noteUnselected(object types.UID) (first bool) {
	m.note(object, func(o *objectMemory) { first, o.unselected = o.unselected.IsZero(), m.now() })
	return first
}

// guard records that this operator set the object's finalizer.
func (m *memory) guard(object types.UID) {
	m.note(object, func(o *objectMemory) { o.guarded = m.now() })
}

// guards reports whether this operator set the object's finalizer.
func (m *memory) guards(object types.UID) bool { return !m.recall(object).guarded.IsZero() }

// refuse records that the object gets no finalizer until Kafka would accept its topic.
func (m *memory) refuse(object types.UID) {
	m.note(object, func(o *objectMemory) { o.refused = m.now() })
}

// refuses reports whether Kafka rejected the creation of the object's topic the last time.
func (m *memory) refuses(object types.UID) bool { return !m.recall(object).refused.IsZero() }

// topicCreated records the topic that the operator created for the object.
func (m *memory) topicCreated(object types.UID, c ownership.Creation) {
	m.note(object, func(o *objectMemory) {
		o.refused, o.short, o.created = time.Time{}, time.Time{}, &creation{Creation: c, at: m.now()}
	})
}

// claimStored records that the object's status contains its topic.
func (m *memory) claimStored(object types.UID) {
	m.note(object, func(o *objectMemory) {
		if c := o.created; c != nil {
			o.created = &creation{Creation: c.Creation, at: c.at, stored: true}
		}
	})
}

// madeFor returns the topic that the operator created for the object; nil if there is none, or the creation is old.
func (m *memory) madeFor(object types.UID) *ownership.Creation {
	c := m.recall(object).created
	if c == nil || m.isOld(c) {
		return nil
	}
	return &ownership.Creation{Name: c.Name, ID: c.ID}
}

// forgetCreation removes the creation for the object, because the object gave its topic up.
func (m *memory) forgetCreation(object types.UID) {
	m.note(object, func(o *objectMemory) { o.created = nil })
}

// isOld reports whether the creation proves nothing that the status does not prove.
func (m *memory) isOld(c *creation) bool {
	age := m.now().Sub(c.at)
	return c.stored && age >= 10*settle || age >= longMemory
}

// noteMismatch records that the status reports the mismatch for this generation.
func (m *memory) noteMismatch(object types.UID, generation int64) {
	m.note(object, func(o *objectMemory) { o.mismatch = &mismatch{reported: generation, at: m.now()} })
}

// mismatched counts a pass over an object of another cluster. It returns whether the status already reports the mismatch for this
// generation, and by how much to postpone the next pass. The delay doubles with each pass, up to longest, as long as nothing changes. If
// nobody writes to the object for calm passes, the report counts as overwritten by an operator that is gone.
func (m *memory) mismatched(kt *v1.KafkaTopic, interval time.Duration) (reported bool, later time.Duration) {
	const longest, calm = 3, 8 // longest is the number of doublings
	m.note(kt.UID, func(o *objectMemory) {
		was := o.mismatch
		if was == nil || was.reported != kt.Generation {
			return
		}
		now := &mismatch{reported: kt.Generation, passes: was.passes + 1, at: m.now(), version: kt.ResourceVersion}
		if was.version == now.version {
			now.quiet = was.quiet + 1
		}
		if reported = now.quiet < calm; !reported {
			now.quiet = 0
		}
		o.mismatch, later = now, interval*time.Duration(1<<min(now.passes, longest))-interval
	})
	return reported, later
}

// forgetMismatch records that the operator replaced the reported mismatch in the status.
func (m *memory) forgetMismatch(object types.UID) {
	m.note(object, func(o *objectMemory) { o.mismatch = nil })
}

// movedLately records whether the replication factor of the object's topic differs from the specification. It reports whether the
// difference is so recent that a broker may still show the state before the end of a reassignment.
func (m *memory) movedLately(object types.UID, differs bool) (lately bool) {
	if !differs {
		m.note(object, func(o *objectMemory) { o.moved = time.Time{} })
		return false
	}
	m.note(object, func(o *objectMemory) {
		if o.moved.IsZero() {
			o.moved = m.now()
		}
		lately = m.now().Sub(o.moved) < settle
	})
	return lately
}

// fewLately records that a broker shows fewer partitions than the controller has, and reports whether it may still lag behind.
func (m *memory) fewLately(object types.UID) (lately bool) {
	m.note(object, func(o *objectMemory) {
		if o.few.IsZero() {
			o.few = m.now()
		}
		lately = m.now().Sub(o.few) < settle
	})
	return lately
}

// enough records that a broker shows all partitions.
func (m *memory) enough(object types.UID) {
	if !m.recall(object).few.IsZero() {
		m.note(object, func(o *objectMemory) { o.few = time.Time{} })
	}
}

// stored records that values of the brokers were stored on the object's topic.
func (m *memory) stored(kt *v1.KafkaTopic, id kafka.TopicID) {
	m.note(kt.UID, func(o *objectMemory) { o.stored = &stored{topic: id, generation: kt.Generation, at: m.now()} })
}

// storedBefore reports whether a plan only repeats to store values of the brokers. Not every Kafka shows a value that equals its default as
// the topic's: it would be stored in each pass.
func (m *memory) storedBefore(kt *v1.KafkaTopic, id kafka.TopicID, stores bool) bool {
	last := m.recall(kt.UID).stored
	if last != nil && !stores {
		m.note(kt.UID, func(o *objectMemory) { o.stored = nil })
	}
	return last != nil && stores && last.topic == id && last.generation == kt.Generation
}

// shortFor records that Kafka has too few brokers for the object's topic, and returns for how long it has had.
func (m *memory) shortFor(object types.UID) (long time.Duration) {
	m.note(object, func(o *objectMemory) {
		if o.short.IsZero() {
			o.short = m.now()
		}
		long = m.now().Sub(o.short)
	})
	return long
}

// noteUnprotected records whether a namespace can't store the clusterId, and reports whether that is new.
func (m *memory) noteUnprotected(namespace string, unstorable bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := unstorable && !m.unprotected[namespace]
	edit(m.unprotected, namespace, func(reported *bool) { *reported = unstorable })
	return first
}

// topicDeleted records that the topic with this id no longer exists, and whether the operator deleted it.
func (m *memory) topicDeleted(id kafka.TopicID, ours bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	m.deleted[id] = deletion{at: m.now(), ours: ours || m.deleted[id].ours}
}

// isDeleted reports whether the topic with this id was deleted within the last moments, so that a broker which still shows it lags behind.
func (m *memory) isDeleted(id kafka.TopicID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	gone, ok := m.deleted[id]
	return ok && m.now().Sub(gone.at) < 10*settle
}

// wasDeleted reports whether the operator deleted the topic with this id of a status.
func (m *memory) wasDeleted(text string) bool {
	id, err := kafka.ParseTopicID(text)
	if err != nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.deleted[id].ours
}

// sweep removes what has expired, at most once per 10 settle times. The caller holds the lock.
func (m *memory) sweep() {
	now := m.now()
	if now.Sub(m.swept) < 10*settle {
		return
	}
	m.swept = now
	for object := range m.objects {
		edit(m.objects, object, m.expire)
	}
	for key := range m.names {
		edit(m.names, key, func(n *nameMemory) {
			if now.Sub(n.wrote) >= settle {
				n.wrote = time.Time{}
			}
		})
	}
	maps.DeleteFunc(m.deleted, func(_ kafka.TopicID, gone deletion) bool { return now.Sub(gone.at) >= longMemory })
}

// expire clears what has expired of an object. A zero time is long ago.
func (m *memory) expire(o *objectMemory) {
	for _, at := range []*time.Time{&o.moved, &o.few, &o.short, &o.guarded, &o.refused, &o.unselected} {
		if m.now().Sub(*at) >= longMemory {
			*at = time.Time{}
		}
	}
	if o.created != nil && m.isOld(o.created) {
		o.created = nil
	}
	if o.mismatch != nil && m.now().Sub(o.mismatch.at) >= longMemory {
		o.mismatch = nil
	}
	if o.stored != nil && m.now().Sub(o.stored.at) >= longMemory {
		o.stored = nil
	}
	if o.disbelieved != nil && m.now().Sub(o.disbelieved.at) >= longMemory {
		o.disbelieved = nil
	}
}
