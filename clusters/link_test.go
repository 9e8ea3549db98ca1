package clusters

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// silence is a server that does not respond.
type silence struct{ asked atomic.Int32 }

func (s *silence) identity(ctx context.Context) (types.UID, error) {
	s.asked.Add(1)
	<-ctx.Done()
	return "", errors.New("no answer")
}

// TestASilentServerIsAskedOnceForAll checks that one request serves all waiting callers if the server does not respond: a probe must not
// wait for each of many watches in turn.
func TestASilentServerIsAskedOnceForAll(t *testing.T) {
	g := NewWithT(t)
	s := &silence{}
	l := &link{ask: s, timeout: quick.Interval, dialer: newDialer(), base: &http.Transport{}, server: &url.URL{Host: "silent"}}
	var waiting sync.WaitGroup
	const others = 20
	for range others {
		waiting.Go(func() { _ = l.verify(t.Context()) })
	}
	g.Eventually(s.asked.Load).Should(Equal(int32(1)))
	g.Consistently(s.asked.Load, quick.Interval/2).Should(Equal(int32(1)))
	g.Expect(l.probe(t.Context())).To(HaveOccurred())
	// No connection breaks here, so there is one request per timeout, and not one per caller.
	waiting.Wait()
	g.Expect(s.asked.Load()).To(BeNumerically("<", others/2))
}

func TestALinkThatWasReplacedIsForgottenOnceItEnded(t *testing.T) {
	g := NewWithT(t)
	r := &remoteRun{Member: &Member{cluster: struct{ cluster.Cluster }{}}, probing: Probing{Timeout: time.Millisecond}}
	for range 100 {
		g.Expect(r.adopt(t.Context(), &link{dialer: newDialer(), base: &http.Transport{}})).To(Succeed())
	}
	g.Eventually(func() []*link { r.forgetDrained(); return r.draining }).Should(BeEmpty())
	g.Expect(r.link.Load().dialer.ended()).To(BeFalse(), "it is in use")
}
