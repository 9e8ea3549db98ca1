package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	firstSilence   = 10 * time.Second
	longestSilence = 2 * time.Minute
)

// SilentError is why the brokers of a Kafka do not say anything.
type SilentError struct {
	Err error
	// Again is when to ask again.
	Again time.Duration
}

func (e *SilentError) Error() string { return e.Err.Error() }

func (e *SilentError) Unwrap() error { return e.Err }

// silences are the Kafkas whose brokers did not answer. To ask takes as long as a request may, and other Kafkas wait for the worker that does: so brokers
// that are silent are not asked at every change, but after a time that doubles.
type silences struct {
	mu sync.Mutex
	of map[types.NamespacedName]silence
}

type silence struct {
	err   error
	wait  time.Duration
	until time.Time
}

// lasts returns the error of a Kafka that is not to be asked yet.
func (s *silences) lasts(kafka types.NamespacedName, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if it, ok := s.of[kafka]; ok && now.Before(it.until) {
		return &SilentError{it.err, it.until.Sub(now)}
	}
	return nil
}

// note takes down what came of asking, and returns the error with the time to ask again.
func (s *silences) note(kafka types.NamespacedName, err error, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.of, kafka)
		return nil
	}
	wait := min(max(2*s.of[kafka].wait, firstSilence), longestSilence)
	if s.of == nil {
		s.of = map[types.NamespacedName]silence{}
	}
	s.of[kafka] = silence{err, wait, now.Add(wait)}
	return &SilentError{err, wait}
}

// forget forgets a Kafka.
func (s *silences) forget(kafka types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, kafka)
}
