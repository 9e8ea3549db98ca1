package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	firstSilence   = 10 * time.Second
	longestSilence = 2 * time.Minute
	// patience is how long a pass waits for brokers. They have more time to answer: the next pass takes the answer.
	patience = 2 * time.Second
)

// SilentError is why the brokers of a Kafka do not say anything.
type SilentError struct {
	Err error
	// Again is when to ask again.
	Again time.Duration
}

func (e *SilentError) Error() string { return e.Err.Error() }

func (e *SilentError) Unwrap() error { return e.Err }

// silences are the Kafkas whose brokers did not answer. They are not asked at every change, but after a time that doubles.
type silences struct {
	mu sync.Mutex
	of map[types.NamespacedName]silence
	// asked are the questions that no pass has had the answer of.
	asked map[types.NamespacedName]*question
}

// question is a request to brokers that runs beside the pass of their Kafka. found and err are set when done is closed.
type question struct {
	done  chan struct{}
	found Found
	err   error
}

// ask asks the brokers of a Kafka, unless that is under way.
func (s *silences) ask(kafka types.NamespacedName, inspect func() (Found, error)) *question {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.asked[kafka]; q != nil {
		return q
	}
	q := &question{done: make(chan struct{})}
	if s.asked == nil {
		s.asked = map[types.NamespacedName]*question{}
	}
	s.asked[kafka] = q
	go func() {
		defer close(q.done)
		q.found, q.err = inspect()
	}()
	return q
}

// take takes the answer of a question that is done: the next one to ask gets a new one.
func (s *silences) take(kafka types.NamespacedName, q *question) (Found, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[kafka] == q {
		delete(s.asked, kafka)
	}
	return q.found, q.err
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

// last returns the previous result, or nil. It stays until there is a new one, so that the status does not change.
func (s *silences) last(kafka types.NamespacedName) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[kafka].err
}

// note stores the result, and returns the error with the time of the next attempt.
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
	delete(s.asked, kafka)
}
