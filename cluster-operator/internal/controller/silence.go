package controller

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	firstSilence   = 10 * time.Second
	longestSilence = 2 * time.Minute
	// answerTimeout is how long a pass waits for brokers. They have more time to answer: the next pass takes the answer.
	answerTimeout = 2 * time.Second
	// answersLast is how long after an answer a pass may still take it.
	answersLast = 30 * time.Second
)

// SilentError is why the brokers of a Kafka do not say anything.
type SilentError struct {
	Err error
	// Again is when to ask again.
	Again time.Duration
	// Lasting reports that they did not say anything either when they were asked before.
	Lasting bool
}

func (e *SilentError) Error() string { return e.Err.Error() }

func (e *SilentError) Unwrap() error { return e.Err }

// silences are the questions that the brokers of Kafkas did not answer, by Kafka and what they ask: brokers that answer one may be too slow
// for another. A question is not asked at every change, but after a time that doubles.
type silences struct {
	mu sync.Mutex
	of map[types.NamespacedName]map[string]silence
	// asked are the questions that no pass has had the answer of, by what they ask.
	asked map[types.NamespacedName]map[string]*question
}

// question is a request to brokers that runs beside the pass of their Kafka. The other fields are set when done is closed, at the time at.
type question struct {
	done  chan struct{}
	found any
	err   error
	at    time.Time
	// late reports that a pass has waited for the answer, and went on without it.
	late atomic.Bool
}

// answered reports whether there is an answer, or an error.
func (q *question) answered() bool {
	select {
	case <-q.done:
		return true
	default:
		return false
	}
}

// outdated reports whether the answer is too old to say what is so now.
func (q *question) outdated(now time.Time) bool { return q.answered() && now.Sub(q.at) > answersLast }

// askInBackground asks brokers a question. Waiting for brokers that do not answer would occupy a worker that other Kafkas need: after two
// seconds the pass continues without the answer, and a later pass, which does not wait again, uses it. A question that was not answered is
// not asked again for a while.
func askInBackground[T any](ctx context.Context, c *Clients, to Connection, what string,
	ask func(context.Context) (T, error)) (found T, err error) {
	if err := c.silent.lasts(to.Kafka, what, c.Now()); err != nil {
		return found, err
	}
	q := c.silent.ask(to.Kafka, what, c.Now, func() (any, error) { return ask(context.WithoutCancel(ctx)) })
	if !q.late.Load() {
		select {
		case <-q.done:
		case <-ctx.Done():
			return found, ctx.Err() // the operator is stopping: this is no evidence about the brokers
		case <-c.After(answerTimeout):
			q.late.Store(true)
		}
	}
	if q.answered() {
		c.silent.take(to.Kafka, what, q)
		found, _ = q.found.(T)
		return found, c.silent.note(to.Kafka, what, q.err, c.Now())
	}
	last := c.silent.last(to.Kafka, what)
	if last.err == nil {
		last.err = fmt.Errorf("the brokers at %v have not answered within %s", to.Config.Bootstrap, answerTimeout)
	}
	return found, &SilentError{last.err, to.Config.RequestTimeout, last.lasting()}
}

// ask asks the brokers of a Kafka, unless that is under way, or has been answered a moment ago.
func (s *silences) ask(kafka types.NamespacedName, what string, now func() time.Time, do func() (any, error)) *question {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.asked[kafka], func(_ string, q *question) bool { return q.outdated(now()) })
	if q := s.asked[kafka][what]; q != nil {
		return q
	}
	q := &question{done: make(chan struct{})}
	if s.asked == nil {
		s.asked = map[types.NamespacedName]map[string]*question{}
	}
	if s.asked[kafka] == nil {
		s.asked[kafka] = map[string]*question{}
	}
	s.asked[kafka][what] = q
	go func() {
		defer close(q.done)
		q.found, q.err = do()
		q.at = now()
	}()
	return q
}

// take takes a question that is done: the next one to ask gets a new one.
func (s *silences) take(kafka types.NamespacedName, what string, q *question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[kafka][what] == q {
		delete(s.asked[kafka], what)
	}
}

type silence struct {
	err   error
	wait  time.Duration
	until time.Time
}

// lasting reports whether a question was not answered twice or more in a row.
func (s silence) lasting() bool { return s.wait > firstSilence }

// lasts returns the error of a question that is not to be asked yet.
func (s *silences) lasts(kafka types.NamespacedName, what string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if it, ok := s.of[kafka][what]; ok && now.Before(it.until) {
		return &SilentError{it.err, it.until.Sub(now), it.lasting()}
	}
	return nil
}

// last returns the previous silence, or none. It stays until there is a new result, so that the status does not change.
func (s *silences) last(kafka types.NamespacedName, what string) silence {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[kafka][what]
}

// note stores the result, and returns the error with the time of the next attempt.
func (s *silences) note(kafka types.NamespacedName, what string, err error, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.of[kafka], what)
		return nil
	}
	maps.DeleteFunc(s.of[kafka], func(other string, it silence) bool { // such as one about nodes that are gone
		return other != what && now.After(it.until.Add(longestSilence))
	})
	wait := min(max(2*s.of[kafka][what].wait, firstSilence), longestSilence)
	if s.of == nil {
		s.of = map[types.NamespacedName]map[string]silence{}
	}
	if s.of[kafka] == nil {
		s.of[kafka] = map[string]silence{}
	}
	this := silence{err, wait, now.Add(wait)}
	s.of[kafka][what] = this
	return &SilentError{err, wait, this.lasting()}
}

// forget forgets a Kafka.
func (s *silences) forget(kafka types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, kafka)
	delete(s.asked, kafka)
}
