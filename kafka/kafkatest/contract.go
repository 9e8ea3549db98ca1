package kafkatest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// Target is an implementation of the port, with a cluster behind it, for the contract tests.
type Target struct {
	// Admin returns a client with all rights. observe must be called as kafka.Config.ObserveRequest documents. The client is closed at the
	// end of the test.
	Admin func(t testing.TB, observe func(request string, took time.Duration, err error)) kafka.Admin
	// Restricted returns a client without any right to topics; nil if the cluster has no authorizer.
	Restricted func(t testing.TB) kafka.Admin
	// DeletionDisabled returns a client of a cluster with delete.topic.enable=false; nil if there is none.
	DeletionDisabled func(t testing.TB) kafka.Admin
	// ClusterID is the id that the cluster must report.
	ClusterID string
	// Brokers is the number of brokers.
	Brokers int
	// LargeTopics is how many topics of 200 partitions the test of large batches creates in one call, 60 if not set. These are more than
	// one request may carry. A real broker takes 10 ms and more for each partition.
	LargeTopics int
}

// patience bounds the time until all brokers report what one of them answered. Only slow machines need it.
const patience = 30 * time.Second

// shortly bounds a call that must return at once, on any machine.
const shortly = patience / 2

// RunContract checks that a target keeps the promises of package kafka. Other clients may use the cluster, but must not touch topics whose
// names begin with "contract-".
func RunContract(t *testing.T, target Target) {
	if target.LargeTopics == 0 {
		target.LargeTopics = 60
	}
	groups := map[string]map[string]func(*suite){
		"Cluster":       clusterCases,
		"Create":        createCases,
		"Describe":      describeCases,
		"Delete":        deleteCases,
		"Gate":          gateCases,
		"Configs":       configCases,
		"Partitions":    partitionCases,
		"Pin":           pinCases,
		"Texts":         textCases,
		"Contexts":      contextCases,
		"Authorization": authorizationCases,
		"Features":      featureCases,
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		t.Run(group, func(t *testing.T) {
			for _, name := range slices.Sorted(maps.Keys(groups[group])) {
				t.Run(name, func(t *testing.T) { groups[group][name](newSuite(t, target)) })
			}
		})
	}
}

// suite is one case's cluster access.
type suite struct {
	*testing.T
	target Target
	admin  kafka.Admin
	prefix string

	mu       sync.Mutex
	requests []string
}

func newSuite(t *testing.T, target Target) *suite {
	t.Helper()
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	s := &suite{T: t, target: target, prefix: "contract-" + hex.EncodeToString(random[:]) + "-"}
	s.admin = target.Admin(t, func(request string, _ time.Duration, _ error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, request)
	})
	t.Cleanup(s.cleanUp)
	return s
}

// cleanUp deletes the case's topics, with a new context because the test's context has ended.
func (s *suite) cleanUp() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), patience)
	defer cancel()
	topics, err := s.admin.ListTopics(ctx)
	if err != nil {
		s.Errorf("cleaning up: %v", err)
		return
	}
	var ids []kafka.TopicID
	for _, topic := range topics {
		if len(topic.Name) > len(s.prefix) && topic.Name[:len(s.prefix)] == s.prefix {
			ids = append(ids, topic.ID)
		}
	}
	if _, err := s.admin.DeleteTopics(ctx, ids); err != nil {
		s.Errorf("cleaning up: %v", err)
	}
}

// count returns how many requests of a name were sent.
func (s *suite) count(request string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if r == request {
			n++
		}
	}
	return n
}

// topic returns a topic name for this case.
func (s *suite) topic(name string) string { return s.prefix + name }

// create creates topics with this many partitions, waits until they are reported, and returns their ids.
func (s *suite) create(partitions int32, names ...string) map[string]kafka.TopicID {
	s.Helper()
	topics := make([]kafka.NewTopic, len(names))
	for i, name := range names {
		topics[i] = kafka.NewTopic{Name: name, Partitions: partitions, ReplicationFactor: 1}
	}
	return s.createAll(topics...)
}

func (s *suite) createAll(topics ...kafka.NewTopic) map[string]kafka.TopicID {
	s.Helper()
	results, err := s.admin.CreateTopics(s.Context(), topics, false)
	s.must(err)
	ids := map[string]kafka.TopicID{}
	names := make([]string, 0, len(topics))
	for _, topic := range topics {
		s.must(results[topic.Name].Err)
		ids[topic.Name] = results[topic.Name].ID
		names = append(names, topic.Name)
	}
	s.eventually(func() error {
		described, err := s.admin.DescribeTopics(s.Context(), names)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := described[name].Err; err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if got := described[name].Topic.ID; got != ids[name] {
				return fmt.Errorf("%s has id %s, not %s", name, got, ids[name])
			}
		}
		return nil
	})
	return ids
}

// one describes one topic.
func (s *suite) one(name string) (kafka.Topic, error) {
	described, err := s.admin.DescribeTopics(s.Context(), []string{name})
	if err != nil {
		return kafka.Topic{}, err
	}
	return described[name].Topic, described[name].Err
}

// gone waits until a topic is not reported any more.
func (s *suite) gone(name string) {
	s.Helper()
	s.eventually(func() error {
		_, err := s.one(name)
		if kafka.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("%s is still described: %w", name, err)
	})
}

// must fails the case at an error.
func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// eventually waits until a condition holds.
func (s *suite) eventually(f func() error) {
	s.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("still after %s: %v", patience, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// refused checks an error's class and its Java name.
func (s *suite) refused(what string, err error, class kafka.Class, name string) {
	s.Helper()
	var e *kafka.Error
	switch {
	case !errors.As(err, &e):
		s.Errorf("%s: got %v (%T), want a %s", what, err, err, name)
	case e.Class != class || e.Name != name:
		s.Errorf("%s: got %v of class %d, want a %s of class %d", what, err, e.Class, name, class)
	case e.Message == "":
		s.Errorf("%s: %s comes without a message", what, name)
	}
}

// ptr returns a pointer to a value.
func ptr(s string) *string { return &s }
