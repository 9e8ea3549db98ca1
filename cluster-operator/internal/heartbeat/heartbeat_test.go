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
	b, err = new(Beats).Read(t.Context(), k8s, "east", "ns", now)
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

// The clocks of Kubernetes clusters may differ by any time: only a renewal that was not there before proves that an operator runs.
func TestARemoteOperatorWithAnotherClock(t *testing.T) {
	for _, off := range []time.Duration{-time.Hour, -90 * time.Second, 90 * time.Second, time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			g := NewWithT(t)
			k8s := fake.NewClientBuilder().Build()
			now := time.Unix(1e9, 0)
			a := &Agent{Client: k8s, Namespace: "ns", Identity: "pod", Version: "1"}
			var beats Beats
			told := func() string {
				b, err := beats.Read(t.Context(), k8s, "east", "ns", now)
				g.Expect(err).NotTo(HaveOccurred())
				problem, _ := b.Problem("1", now)
				g.Expect(b.Lives(now)).To(Equal(problem == ""))
				return problem
			}
			g.Expect(a.renew(t.Context(), now.Add(off))).To(Succeed())
			g.Expect(told()).To(ContainSubstring("was last seen at"), "nothing proves yet that it runs")
			for range 20 {
				now = now.Add(interval)
				g.Expect(a.renew(t.Context(), now.Add(off))).To(Succeed())
				g.Expect(told()).To(BeEmpty())
			}
			now = now.Add(stale - interval)
			g.Expect(told()).To(BeEmpty())
			now = now.Add(interval + 1)
			g.Expect(told()).To(ContainSubstring("was last seen at"), "it ended")
		})
	}
}

func TestTheOperatorsOfTwoKubernetesClustersAreToldApart(t *testing.T) {
	g := NewWithT(t)
	var beats Beats
	now := time.Unix(1e9, 0)
	for range 3 {
		now = now.Add(interval)
		for _, cluster := range []string{"east", "west"} {
			a := &Agent{Client: fake.NewClientBuilder().Build(), Namespace: "ns"}
			at := time.Unix(1, 0) // for ever
			if cluster == "west" {
				at = now.Add(-time.Hour)
			}
			g.Expect(a.renew(t.Context(), at)).To(Succeed())
			b, err := beats.Read(t.Context(), a.Client, cluster, "ns", now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(b.Lives(now)).To(Equal(cluster == "west" && now.After(time.Unix(1e9, 0).Add(interval))))
		}
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
