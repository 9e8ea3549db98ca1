package controller

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unwatched is a cache whose watches do not begin, unless it is watched.
type unwatched struct {
	client.Reader
	watched bool
	waited  int
}

func (u *unwatched) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	if u.watched {
		return nil
	}
	if ctx.Err() == nil {
		u.waited++
	}
	<-ctx.Done()
	return ctx.Err()
}

// A pass must not wait each time for what the operator's account may not watch.
func TestOneReadWaitsForAWatchThatDoesNotBegin(t *testing.T) {
	g := NewWithT(t)
	cache := &unwatched{}
	r := &Reconciler{WatchTimeout: time.Millisecond}
	reader := &watchedReader{cache, r, "the right is missing", &r.nodesUnwatched}
	read := func() error { return reader.List(t.Context(), &corev1.NodeList{}) }
	for range 3 {
		g.Expect(read()).To(MatchError(ContainSubstring("the right is missing")))
	}
	g.Expect(cache.waited).To(Equal(1))
	cache.watched = true
	g.Expect(read()).To(Succeed())
	cache.watched = false
	g.Expect(read()).NotTo(Succeed())
	g.Expect(cache.waited).To(Equal(2))
}
