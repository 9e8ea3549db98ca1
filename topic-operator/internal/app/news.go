package app

import "sync"

// news tells one listener, which comes later than whoever has something to tell.
type news struct {
	mu       sync.Mutex
	listener func()
}

func (n *news) set(listener func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listener = listener
}

func (n *news) tell() {
	n.mu.Lock()
	listener := n.listener
	n.mu.Unlock()
	if listener != nil {
		listener()
	}
}
