package clusters

import (
	"context"
	"sync"
)

// subscribers receive the latest status of every member. A slow subscriber misses intermediate statuses, but never the latest.
type subscribers struct {
	mu  sync.Mutex
	all map[*subscriber]bool
}

type subscriber struct {
	mu     sync.Mutex
	order  []string
	latest map[string]Status
	wake   chan struct{}
}

func (s *subscribers) publish(status Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub := range s.all {
		sub.put(status)
	}
}

func (s *subscribers) add(sub *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*subscriber]bool{}
	}
	s.all[sub] = true
}

func (s *subscribers) remove(sub *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sub)
}

func (s *subscriber) put(status Status) {
	s.mu.Lock()
	if _, there := s.latest[status.ID]; !there {
		s.order = append(s.order, status.ID)
	}
	s.latest[status.ID] = status
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// putFirst stores a status, unless there is a newer one already.
func (s *subscriber) putFirst(status Status) {
	s.mu.Lock()
	_, there := s.latest[status.ID]
	s.mu.Unlock()
	if !there {
		s.put(status)
	}
}

func (s *subscriber) take() (Status, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == 0 {
		return Status{}, false
	}
	id := s.order[0]
	s.order = s.order[1:]
	status := s.latest[id]
	delete(s.latest, id)
	return status, true
}

// deliver sends statuses until ctx ends.
func (s *subscriber) deliver(ctx context.Context, to chan<- Status) {
	defer close(to)
	for {
		status, ok := s.take()
		if !ok {
			select {
			case <-s.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		select {
		case to <- status:
		case <-ctx.Done():
			return
		}
	}
}
