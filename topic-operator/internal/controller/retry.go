package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// settle is how long a broker's view may lag behind an acknowledged write. A read within this time proves nothing.
	settle = 3 * time.Second
	// firstRetry and lastRetry bound the back-off of a pass after a temporary failure.
	firstRetry = 250 * time.Millisecond
	lastRetry  = 15 * time.Second
)

// nameMemory is what the operator remembers of a name, whichever object has it. A pass that finds no object removes it. An object that is
// recreated before that has the same topic, behind which brokers lag, and goes on with the same back-off.
type nameMemory struct {
	// wrote is when the operator last changed Kafka for the object. It expires after settle.
	wrote time.Time
	// failing is since when the passes have been failing. It ends only with a pass that does not fail.
	failing time.Time
}

// wrote records that the operator just changed Kafka for the object.
func (m *memory) wrote(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	edit(m.names, key, func(n *nameMemory) { n.wrote = m.now() })
}

// settling reports whether the operator changed Kafka for the object so recently that a broker may still show the old state.
func (m *memory) settling(key types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now().Sub(m.names[key].wrote) < settle // a zero time is long ago
}

// failed records a temporary failure of a pass, and returns the delay before the next attempt.
func (m *memory) failed(key types.NamespacedName) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	edit(m.names, key, func(n *nameMemory) {
		if n.failing.IsZero() {
			n.failing = m.now()
		}
	})
	return m.backoff.When(key)
}

// failingFor returns how long the passes over an object have been failing.
func (m *memory) failingFor(key types.NamespacedName) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since := m.names[key].failing; !since.IsZero() {
		return m.now().Sub(since)
	}
	return 0
}

// succeeded removes the failures of an object.
func (m *memory) succeeded(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	edit(m.names, key, func(n *nameMemory) { n.failing = time.Time{} })
	m.backoff.Forget(key)
}

// forget removes everything about the name of an object that no longer exists.
func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.names, key)
	m.backoff.Forget(key)
}
