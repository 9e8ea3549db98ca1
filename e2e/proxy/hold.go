package proxy

import (
	"slices"
	"sync"
)

// Side is where a request is held.
type Side int

const (
	// BeforeBroker means that the broker does not receive the request.
	BeforeBroker Side = iota
	// AfterBroker means that the broker executes the request, and its response is held.
	AfterBroker
)

// Hold waits for requests and holds them, like a Kafka cluster that hangs.
type Hold struct {
	// Caught is closed when a request is held; with AfterBroker, when the broker has responded.
	Caught chan struct{}

	keys     []uint16
	side     Side
	released chan struct{}
	once     sync.Once
	// lost is true if held requests and responses are dropped on release.
	lost bool
	// waiting is the number of held requests; the Proxy's lock guards it.
	waiting int
	proxy   *Proxy
}

// Hold holds all requests of these kinds from now on.
func (p *Proxy) Hold(where Side, keys ...uint16) *Hold {
	h := &Hold{Caught: make(chan struct{}), keys: keys, side: where, released: make(chan struct{}), proxy: p}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = append(p.held, h)
	return h
}

// Release forwards the held requests, and holds no more.
func (h *Hold) Release() { h.once.Do(func() { close(h.released) }) }

// Lose drops the held requests with their connections, and holds no more.
func (h *Hold) Lose() { h.once.Do(func() { h.lost = true; close(h.released) }) }

// Waiting returns the number of requests that were held.
func (h *Hold) Waiting() int {
	h.proxy.mu.Lock()
	defer h.proxy.mu.Unlock()
	return h.waiting
}

// pass waits while requests of this kind are held here, and reports whether to continue.
func (p *Proxy) pass(key uint16, where Side) bool {
	h := p.catch(key, where)
	if h == nil {
		return true
	}
	<-h.released
	return !h.lost
}

// catch returns the latest hold of requests of this kind; nil if there is none.
func (p *Proxy) catch(key uint16, where Side) *Hold {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range slices.Backward(p.held) {
		select {
		case <-h.released:
			continue
		default:
		}
		if h.side != where || !slices.Contains(h.keys, key) {
			continue
		}
		if h.waiting++; h.waiting == 1 {
			close(h.Caught)
		}
		return h
	}
	return nil
}
