package heartbeat

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestTheCentralClusterKnowsWhetherARemoteOperatorLives(t *testing.T) {
	g := NewWithT(t)
	k8s := fake.NewClientBuilder().Build()
	now := time.Unix(1e9, 0)
	b, err := Read(t.Context(), k8s, "ns")
	g.Expect(err).NotTo(HaveOccurred())
	problem, mismatch := b.Problem("2", now)
	g.Expect(problem).To(ContainSubstring("no cluster-operator has been seen there"))
	g.Expect(mismatch).To(BeFalse())

	a := &Agent{Client: k8s, Namespace: "ns", Identity: "pod", Version: "1"}
	for _, at := range []time.Time{now.Add(-time.Hour), now} { // created, then renewed
		g.Expect(a.renew(t.Context(), at)).To(Succeed())
	}
	b, err = Read(t.Context(), k8s, "ns")
	g.Expect(err).NotTo(HaveOccurred())
	for _, c := range []struct {
		now      time.Time
		contract string
		problem  string
		mismatch bool
	}{
		{now: now.Add(stale), contract: Contract},
		{now: now.Add(stale + 1), contract: Contract, problem: "was last seen at 2001-09-09T01:46:40Z"},
		{now: now, contract: "0", problem: "has version 1 (contract 0), and this one has 2 (contract 2)", mismatch: true},
	} {
		b.Contract = c.contract
		problem, mismatch := b.Problem("2", c.now)
		if c.problem == "" {
			g.Expect(problem).To(BeEmpty())
		} else {
			g.Expect(problem).To(ContainSubstring(c.problem))
		}
		g.Expect(mismatch).To(Equal(c.mismatch))
	}
}

func TestVersionsThatDifferAreTold(t *testing.T) {
	g := NewWithT(t)
	b := Beat{Renewed: time.Unix(1, 0), Version: "1", Contract: Contract}
	g.Expect(b.Skew("2")).To(HavePrefix("the cluster-operator there has version 1, and this one has 2. They are compatible"))
	g.Expect(b.Skew("1")).To(BeEmpty())
	b.Contract = "0"
	g.Expect(b.Skew("2")).To(BeEmpty(), "that they don't work together is told")
	g.Expect(Beat{}.Skew("2")).To(BeEmpty(), "that there is none is told")
}
