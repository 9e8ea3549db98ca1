package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
	"github.com/kafka-operators/kafka-operators/roller/internal/lease"
)

func TestTwoRollersExcludeEachOther(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	k8s := fake.NewClientBuilder().Build()
	of := func(identity string) *lease.Lease {
		return &lease.Lease{Client: k8s, Namespace: "kafka", Cluster: "my-cluster", Identity: identity, Now: func() time.Time { return now }}
	}
	deployment, command := of("deployment"), of("command")
	version := func() string {
		var stored coordinationv1.Lease
		g.Expect(k8s.Get(t.Context(), client.ObjectKey{Namespace: "kafka", Name: "my-cluster-roller-leader"}, &stored)).To(Succeed())
		return stored.ResourceVersion
	}
	g.Expect(deployment.Verify(t.Context())).NotTo(Succeed(), "nobody has it")
	g.Expect(deployment.Acquire(t.Context())).To(Succeed())
	g.Expect(deployment.Verify(t.Context())).To(Succeed())
	var held *lease.HeldError
	g.Expect(errors.As(command.Acquire(t.Context()), &held)).To(BeTrue())
	g.Expect(held.Holder).To(Equal("deployment"))
	g.Expect(command.Verify(t.Context())).NotTo(Succeed())
	g.Expect(command.Release(t.Context())).To(Succeed(), "what is somebody else's is left alone")
	g.Expect(deployment.Verify(t.Context())).To(Succeed())

	written := version()
	now = now.Add(5 * time.Second)
	g.Expect(deployment.Acquire(t.Context())).To(Succeed())
	g.Expect(version()).To(Equal(written), "it is renewed now and then, and not at each look")
	now = now.Add(15 * time.Second)
	g.Expect(deployment.Acquire(t.Context())).To(Succeed())
	g.Expect(version()).NotTo(Equal(written))

	now = now.Add(time.Minute)
	g.Expect(deployment.Verify(t.Context())).To(MatchError(ContainSubstring("has expired")), "who slept does not act")
	g.Expect(errors.As(command.Acquire(t.Context()), &held)).To(BeTrue(), "it was renewed since the command last read it")
	g.Expect(held.Until).To(Equal(now.Add(30 * time.Second)))
	now = held.Until
	g.Expect(command.Acquire(t.Context())).To(Succeed())
	g.Expect(deployment.Verify(t.Context())).
		To(MatchError(ContainSubstring("another roller is already restarting this Kafka cluster: command holds Lease " +
			"kafka/my-cluster-roller-leader")))
	g.Expect(command.Release(t.Context())).To(Succeed())
	g.Expect(deployment.Acquire(t.Context())).To(Succeed(), "at once")
}

// The leader election renews and releases the Lease by which replicas elect a leader.
func TestTheLeaseOfAnElectionIsLeftToIt(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	k8s := fake.NewClientBuilder().Build()
	l := &lease.Lease{Client: k8s, Namespace: "kafka", Cluster: "my-cluster", Identity: "replica", Elected: true,
		Now: func() time.Time { return now }}
	g.Expect(l.Acquire(t.Context())).To(Succeed())
	now = now.Add(29 * time.Second)
	g.Expect(l.Acquire(t.Context())).To(Succeed())
	g.Expect(l.Release(t.Context())).To(Succeed())
	g.Expect(l.Verify(t.Context())).To(Succeed())
	now = now.Add(2 * time.Second)
	g.Expect(l.Verify(t.Context())).NotTo(Succeed())
}

// Clocks of machines differ. A Lease that is renewed is never taken, however old its times look; one that is not renewed is taken after its
// duration, however new they look.
func TestTheHoldersClockIsOfNoInterest(t *testing.T) {
	for name, off := range map[string]time.Duration{"behind": -time.Hour, "ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
			k8s := fake.NewClientBuilder().Build()
			of := func(identity string, off time.Duration) *lease.Lease {
				return &lease.Lease{Client: k8s, Namespace: "kafka", Cluster: "my-cluster", Identity: identity,
					Now: func() time.Time { return now.Add(off) }}
			}
			holder, other := of("holder", off), of("other", 0)
			for range 10 {
				g.Expect(holder.Acquire(t.Context())).To(Succeed())
				g.Expect(other.Acquire(t.Context())).To(MatchError(ContainSubstring("holder holds Lease")))
				now = now.Add(15 * time.Second)
			}
			now = now.Add(14 * time.Second)
			g.Expect(other.Acquire(t.Context())).NotTo(Succeed())
			now = now.Add(2 * time.Second)
			g.Expect(other.Acquire(t.Context())).To(Succeed())
			g.Expect(holder.Verify(t.Context())).NotTo(Succeed())
		})
	}
}

// A Lease is deleted with its Kafka. One that an earlier roller made gets its owner from the next one that takes it.
func TestTheLeaseBelongsToTheKafka(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	owners := []metav1.OwnerReference{{APIVersion: "kafka.strimzi.io/v1", Kind: "Kafka", Name: "my-cluster", UID: "u"}}
	k8s := fake.NewClientBuilder().Build()
	of := func(identity string, owners []metav1.OwnerReference, err error) *lease.Lease {
		return &lease.Lease{Client: k8s, Namespace: "kafka", Cluster: "my-cluster", Identity: identity, Now: func() time.Time { return now },
			Owners: func(context.Context) ([]metav1.OwnerReference, error) { return owners, err }}
	}
	stored := func() []metav1.OwnerReference {
		var l coordinationv1.Lease
		g.Expect(k8s.Get(t.Context(), client.ObjectKey{Namespace: "kafka", Name: "my-cluster-roller-leader"}, &l)).To(Succeed())
		return l.OwnerReferences
	}
	g.Expect(of("a", nil, errors.New("away")).Acquire(t.Context())).To(MatchError(ContainSubstring("away")))
	first := of("a", owners, nil)
	g.Expect(first.Acquire(t.Context())).To(Succeed())
	g.Expect(stored()).To(Equal(owners))
	g.Expect(first.Release(t.Context())).To(Succeed())
	g.Expect(of("b", nil, errors.New("away")).Acquire(t.Context())).To(Succeed(), "a Lease that exists keeps its owners")
	g.Expect(stored()).To(Equal(owners))
}

// Without an owner, nothing would delete the Lease of a Kafka that is gone.
func TestNoLeaseIsLeftOfADeletedKafka(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	owners := []metav1.OwnerReference{{APIVersion: "kafka.strimzi.io/v1", Kind: "Kafka", Name: "my-cluster", UID: "u"}}
	k8s := fake.NewClientBuilder().Build()
	l := &lease.Lease{Client: k8s, Namespace: "kafka", Cluster: "my-cluster", Identity: "a", Now: func() time.Time { return now },
		Owners: func(context.Context) ([]metav1.OwnerReference, error) { return owners, nil }}
	stored := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kafka", Name: "my-cluster-roller-leader"}}
	g.Expect(l.Acquire(t.Context())).To(Succeed())
	g.Expect(k8s.Delete(t.Context(), stored)).To(Succeed(), "by hand")
	g.Expect(l.Acquire(t.Context())).To(Succeed())
	g.Expect(k8s.Delete(t.Context(), stored)).To(Succeed(), "with its Kafka")
	owners = nil
	g.Expect(l.Acquire(t.Context())).To(MatchError(engine.ErrDeleted))
	g.Expect(apierrors.IsNotFound(k8s.Get(t.Context(), client.ObjectKeyFromObject(stored), stored))).To(BeTrue())

	other := &lease.Lease{Client: k8s, Namespace: "kafka", Cluster: "my-cluster", Identity: "b", Now: l.Now, Owners: l.Owners}
	g.Expect(other.Acquire(t.Context())).To(Succeed(), "of a Kafka cluster that never had a Kafka object")
}
