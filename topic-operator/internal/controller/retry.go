package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// firstRetry and lastRetry bound the back-off of a pass after a temporary failure.
	firstRetry = 250 * time.Millisecond
	lastRetry  = 15 * time.Second
)

// failed records a temporary failure of a pass, and returns the delay before the next attempt.
func (m *memory) failed(key types.NamespacedName) time.Duration {
	m.noteName(key, func(n *nameMemory) {
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
	m.noteName(key, func(n *nameMemory) { n.failing = time.Time{} })
	m.backoff.Forget(key)
}

// forget removes everything about the name of an object that no longer exists.
func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.names, key)
	m.backoff.Forget(key)
}
