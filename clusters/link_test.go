package clusters

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

// silence is a server that answers nobody.
type silence struct{ asked atomic.Int32 }

func (s *silence) identity(ctx context.Context) (types.UID, error) {
	s.asked.Add(1)
	<-ctx.Done()
	return "", errors.New("no answer")
}

// A server that is silent is asked once for all who want to know: a probe must not wait until each of many watches has found out by itself.
func TestASilentServerIsAskedOnceForAll(t *testing.T) {
	g := NewWithT(t)
	s := &silence{}
	l := &link{ask: s, patience: quick.Interval, dialer: newDialer(), base: &http.Transport{}, server: &url.URL{Host: "silent"}}
	var waiting sync.WaitGroup
	const others = 20
	for range others {
		waiting.Go(func() { _ = l.verify(t.Context()) })
	}
	g.Eventually(s.asked.Load).Should(Equal(int32(1)))
	g.Consistently(s.asked.Load, quick.Interval/2).Should(Equal(int32(1)))
	g.Expect(l.probe(t.Context())).To(HaveOccurred())
	// Without connections that break there is one question for each time that the server may stay silent, and not one for each who waits.
	waiting.Wait()
	g.Expect(s.asked.Load()).To(BeNumerically("<", others/2))
}
