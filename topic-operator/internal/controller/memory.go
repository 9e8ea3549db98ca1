package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/kafka-operators/kafka-operators/kafka"
)

const (
	// settle is how long a broker's view may lag behind a write that was acknowledged. What is read within it proves nothing yet.
	settle = 3 * time.Second
	// firstRetry and lastRetry bound the back-off of a pass that failed for a passing reason.
	firstRetry = 250 * time.Millisecond
	lastRetry  = 15 * time.Second
)

// memory is what a running operator remembers between passes. Losing it costs time, never correctness.
type memory struct {
	now     func() time.Time
	backoff workqueue.TypedRateLimiter[types.NamespacedName]

	mu      sync.Mutex
	writes  map[types.NamespacedName]time.Time
	failing map[types.NamespacedName]time.Time
	deleted map[kafka.TopicID]time.Time
	created map[types.UID]creation
	swept   time.Time
}

// creation is a topic that the operator made.
type creation struct {
	id kafka.TopicID
	at time.Time
}

func newMemory(now func() time.Time) *memory {
	return &memory{
		now:     now,
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetry, lastRetry),
		writes:  map[types.NamespacedName]time.Time{},
		failing: map[types.NamespacedName]time.Time{},
		deleted: map[kafka.TopicID]time.Time{},
		created: map[types.UID]creation{},
	}
}

// wrote remembers that Kafka was just changed for the object.
func (m *memory) wrote(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	m.writes[key] = m.now()
}

// topicCreated remembers the topic that was made for the object of this UID. Its status may never learn of it: a deletion can come in between.
func (m *memory) topicCreated(object types.UID, id kafka.TopicID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	m.created[object] = creation{id: id, at: m.now()}
}

// createdFor returns the topic that was made for the object so recently that a broker may not know it yet.
func (m *memory) createdFor(object types.UID) (kafka.TopicID, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.created[object]
	return c.id, ok && m.now().Sub(c.at) < 10*settle
}

// settling reports whether Kafka was changed for the object so recently that a broker may still show the old state.
func (m *memory) settling(key types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.writes[key]
	return ok && m.now().Sub(at) < settle
}

// topicDeleted remembers the id of a topic that the operator deleted.
func (m *memory) topicDeleted(id kafka.TopicID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	m.deleted[id] = m.now()
}

// isDeleted reports whether the operator just deleted the topic of this id, so that a broker which still shows it is behind.
func (m *memory) isDeleted(id kafka.TopicID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.deleted[id]
	return ok && m.now().Sub(at) < 10*settle
}

// failed remembers that a pass failed for a passing reason, and returns how long to wait before the next try.
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

// succeeded forgets the failures of an object.
func (m *memory) succeeded(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.failing, key)
	m.backoff.Forget(key)
}

// forget drops all that is known of an object that is gone.
func (m *memory) forget(key types.NamespacedName) {
	m.succeeded(key)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.writes, key)
}

// sweep drops what is too old to matter, now and then. Called with the lock held.
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
	for object, c := range m.created {
		if now.Sub(c.at) >= 10*settle {
			delete(m.created, object)
		}
	}
	for id, at := range m.deleted {
		if now.Sub(at) >= 10*settle {
			delete(m.deleted, id)
		}
	}
}
