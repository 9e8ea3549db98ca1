package clusters

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

func TestASourceEndsWithItsMember(t *testing.T) {
	g := NewWithT(t)
	var started context.Context
	inner := source.Func(func(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		started = ctx
		return nil
	})
	member, leave := context.WithCancel(t.Context())
	bounded := Until(member, source.Source(inner))
	_, waits := bounded.(source.SyncingSource)
	g.Expect(waits).To(BeFalse(), "a controller does not wait for a cluster that may not be there")
	g.Expect(bounded.Start(t.Context(), nil)).To(Succeed())
	g.Expect(started.Err()).NotTo(HaveOccurred())
	leave()
	g.Eventually(started.Done()).Should(BeClosed())

	started = nil
	g.Expect(bounded.Start(t.Context(), nil)).To(Succeed())
	g.Expect(started).To(BeNil(), "nothing is started for a member that has left")
}
