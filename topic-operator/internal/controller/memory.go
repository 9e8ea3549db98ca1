package controller

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
)

const (
	// settle is how long a broker's view may lag behind an acknowledged write. A read within this time proves nothing.
	settle = 3 * time.Second
	// firstRetry and lastRetry bound the back-off of a pass after a temporary failure.
	firstRetry = 250 * time.Millisecond
	lastRetry  = 15 * time.Second
	// longMemory is when entries without another expiry are dropped, so that entries of deleted objects don't accumulate.
	longMemory = 24 * time.Hour
)

// memory is the state that a running operator keeps between passes. Its loss costs time, never correctness.
type memory struct {
	now     func() time.Time
	backoff workqueue.TypedRateLimiter[types.NamespacedName]

	mu      sync.Mutex
	writes  map[types.NamespacedName]time.Time
	failing map[types.NamespacedName]time.Time
	deleted map[kafka.TopicID]deletion
	created map[types.UID]creation
	// moved contains the objects whose topics have another replication factor than the specification, and since when.
	moved map[types.UID]time.Time
	// guarded contains the objects whose finalizer this operator set. On other objects, an operator of another Kafka cluster may have set
	// it.
	guarded map[types.UID]time.Time
	// refused contains the objects without a finalizer, because Kafka rejected the creation of their topics.
	refused    map[types.UID]time.Time
	mismatches map[types.UID]mismatch
	// disbelieved contains the versions of objects that may lack fields in the cache.
	disbelieved map[types.UID]disbelief
	// unselected contains the objects that the operator reported as selected by no operator.
	unselected map[types.UID]time.Time
	// unprotected contains the namespaces in which an Event reported that clusterId can't be stored.
	unprotected map[string]bool
	swept       time.Time
}

// creation is a topic that the operator created for an object.
type creation struct {
	ownership.Creation
	at time.Time
	// stored means that the object's status has the topic's id.
	stored bool
}

// mismatch describes an object that belongs to another Kafka cluster.
type mismatch struct {
	// reported is the generation for which the status has the reason ClusterMismatch.
	reported int64
	// looks counts the passes since then; at is the time of the last one.
	looks int
	at    time.Time
}

func newMemory(now func() time.Time) *memory {
	return &memory{
		now:     now,
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetry, lastRetry),
		writes:  map[types.NamespacedName]time.Time{},
		failing: map[types.NamespacedName]time.Time{},
		deleted: map[kafka.TopicID]deletion{},
		created: map[types.UID]creation{},
		moved:   map[types.UID]time.Time{},

		guarded:    map[types.UID]time.Time{},
		refused:    map[types.UID]time.Time{},
		mismatches: map[types.UID]mismatch{},

		disbelieved: map[types.UID]disbelief{},
		unselected:  map[types.UID]time.Time{},
		unprotected: map[string]bool{},
	}
}

// disbelief is a version of an object that was read while another CustomResourceDefinition dropped fields.
type disbelief struct {
	version string
	at      time.Time
}

// disbelieve records that the cache may lack fields of this version of an object.
func (m *memory) disbelieve(object types.UID, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	m.disbelieved[object] = disbelief{version: version, at: m.now()}
}

// believes reports whether the cache has all fields of this version of an object. It returns true unless disbelieve recorded the version.
func (m *memory) believes(object types.UID, version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.disbelieved[object]
	return !ok || d.version != version
}

// noteUnselected records that no operator selects the object, and reports whether this is new.
func (m *memory) noteUnselected(object types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	_, known := m.unselected[object]
	m.unselected[object] = m.now()
	return !known
}

// noteUnprotected records whether a namespace can't store the clusterId, and reports whether that is new.
func (m *memory) noteUnprotected(namespace string, unstorable bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := unstorable && !m.unprotected[namespace]
	if unstorable {
		m.unprotected[namespace] = true
	} else {
		delete(m.unprotected, namespace)
	}
	return first
}

// wrote records that the operator just changed Kafka for the object.
func (m *memory) wrote(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	m.writes[key] = m.now()
}

// topicCreated records the topic that the operator created for the object with this UID. The object's status may never contain it, because
// a deletion can come in between.
func (m *memory) topicCreated(object types.UID, c ownership.Creation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	delete(m.refused, object)
	m.created[object] = creation{Creation: c, at: m.now()}
}

// claimStored records that the object's status contains its topic.
func (m *memory) claimStored(object types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.created[object]; ok {
		c.stored = true
		m.created[object] = c
	}
}

// madeFor returns the topic that the operator created for the object if its status lacks the topic, or a broker may lag behind the
// creation; otherwise nil.
func (m *memory) madeFor(object types.UID) *ownership.Creation {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.created[object]
	if !ok || m.isOld(c) {
		return nil
	}
	return &c.Creation
}

// forgetCreation removes the creation for the object, because the object gave its topic up.
func (m *memory) forgetCreation(object types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.created, object)
}

// isOld reports whether the creation proves nothing that the status does not prove.
func (m *memory) isOld(c creation) bool {
	age := m.now().Sub(c.at)
	return c.stored && age >= 10*settle || age >= longMemory
}

// note adds an object to one of the maps guarded and refused.
func (m *memory) note(in map[types.UID]time.Time, object types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	in[object] = m.now()
}

// noted reports whether an object is in one of the maps guarded and refused.
func (m *memory) noted(in map[types.UID]time.Time, object types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := in[object]
	return ok
}

// mismatched counts a pass over an object of another cluster. It returns whether the status already reports the mismatch for this
// generation, and by how much to postpone the next pass. The delay doubles with each pass, up to longest, as long as nothing changes.
func (m *memory) mismatched(object types.UID, generation int64, interval time.Duration) (reported bool, later time.Duration) {
	const longest = 3 // number of doublings
	m.mu.Lock()
	defer m.mu.Unlock()
	was, ok := m.mismatches[object]
	if !ok || was.reported != generation {
		return false, 0
	}
	was.looks++
	was.at = m.now()
	m.mismatches[object] = was
	return true, interval*time.Duration(1<<min(was.looks, longest)) - interval
}

// noteMismatch records that the status reports the mismatch for this generation.
func (m *memory) noteMismatch(object types.UID, generation int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	m.mismatches[object] = mismatch{reported: generation, at: m.now()}
}

// forgetMismatch records that the operator replaced the reported mismatch in the status.
func (m *memory) forgetMismatch(object types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mismatches, object)
}

// movedLately records whether the replication factor of the object's topic differs from the specification. It reports whether the
// difference is so recent that a broker may still show the state before the end of a reassignment.
func (m *memory) movedLately(object types.UID, differs bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !differs {
		delete(m.moved, object)
		return false
	}
	m.sweep()
	since, ok := m.moved[object]
	if !ok {
		since = m.now()
		m.moved[object] = since
	}
	return m.now().Sub(since) < settle
}

// settling reports whether the operator changed Kafka for the object so recently that a broker may still show the old state.
func (m *memory) settling(key types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.writes[key]
	return ok && m.now().Sub(at) < settle
}

// deletion is a topic that no longer exists; ours means that the operator deleted it.
type deletion struct {
	at   time.Time
	ours bool
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

// wasDeleted reports whether the operator deleted the topic with this id of a status. Kafka never uses an id twice.
func (m *memory) wasDeleted(text string) bool {
	id, err := kafka.ParseTopicID(text)
	if err != nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.deleted[id].ours
}

// failed records a temporary failure of a pass, and returns the delay before the next attempt.
func (m *memory) failed(key types.NamespacedName) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.failing[key]; !ok {
		m.failing[key] = m.now()
	}
	return m.backoff.When(key)
}

// failingFor returns how long the passes over an object have been failing.
func (m *memory) failingFor(key types.NamespacedName) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since, ok := m.failing[key]; ok {
		return m.now().Sub(since)
	}
	return 0
}

// succeeded removes the failures of an object.
func (m *memory) succeeded(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.failing, key)
	m.backoff.Forget(key)
}

// forget removes everything about an object that no longer exists.
func (m *memory) forget(key types.NamespacedName) {
	m.succeeded(key)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.writes, key)
}

// sweep removes expired entries, at most once per 10 settle times. The caller holds the lock.
func (m *memory) sweep() {
	now := m.now()
	if now.Sub(m.swept) < 10*settle {
		return
	}
	m.swept = now
	for key, at := range m.writes {
		if now.Sub(at) >= settle {
			delete(m.writes, key)
		}
	}
	maps.DeleteFunc(m.created, func(_ types.UID, c creation) bool { return m.isOld(c) })
	maps.DeleteFunc(m.guarded, func(_ types.UID, at time.Time) bool { return now.Sub(at) >= longMemory })
	maps.DeleteFunc(m.refused, func(_ types.UID, at time.Time) bool { return now.Sub(at) >= longMemory })
	maps.DeleteFunc(m.moved, func(_ types.UID, since time.Time) bool { return now.Sub(since) >= longMemory })
	maps.DeleteFunc(m.mismatches, func(_ types.UID, was mismatch) bool { return now.Sub(was.at) >= longMemory })
	maps.DeleteFunc(m.unselected, func(_ types.UID, at time.Time) bool { return now.Sub(at) >= longMemory })
	maps.DeleteFunc(m.disbelieved, func(_ types.UID, d disbelief) bool { return now.Sub(d.at) >= longMemory })
	maps.DeleteFunc(m.deleted, func(_ kafka.TopicID, gone deletion) bool { return now.Sub(gone.at) >= longMemory })
}
