package controller

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"
)

// Pod sets that are made while this process becomes the leader wake nobody, so they are listed after that.
func TestOtherKubernetesClustersAreListedAfterTheElection(t *testing.T) {
	for _, elects := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			g := NewWithT(t)
			ctx, stop := context.WithCancel(t.Context())
			lists := false
			r := &Reconciler{Connected: func(context.Context) iter.Seq[string] {
				lists = true
				return func(func(string) bool) {}
			}}
			elected := make(chan struct{})
			go r.begin(ctx, elected, nil)
			synctest.Wait()
			g.Expect(lists).To(BeFalse())
			if elects {
				close(elected)
			}
			synctest.Wait()
			stop()
			synctest.Wait()
			g.Expect(lists).To(Equal(elects))
		})
	}
}
