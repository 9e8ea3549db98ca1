package app

import "sync"

// notifier notifies one listener, which is set later than the notifier is created.
type notifier struct {
	mu       sync.Mutex
	listener func()
}

func (n *notifier) set(listener func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listener = listener
}

func (n *notifier) notify() {
	n.mu.Lock()
	listener := n.listener
	n.mu.Unlock()
	if listener != nil {
		listener()
	}
}
