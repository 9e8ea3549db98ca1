package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kafka-operators/kafka-operators/operator/election"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/controller"
)

// hanging is an API server that does not answer the first request.
type hanging struct {
	client.Reader
	asked bool
}

func (h *hanging) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if !h.asked {
		h.asked = true
		<-ctx.Done()
		return ctx.Err()
	}
	return h.Reader.Get(ctx, key, o, opts...)
}

func TestAReadOfTheLeaseThatHangsHoldsUpNoOther(t *testing.T) {
	o := election.Options{Enabled: true, Namespace: "n", Name: "l", Identity: "me"}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "l"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &o.Identity}}
	api := fake.NewClientBuilder().WithObjects(lease).Build()
	synctest.Test(t, func(t *testing.T) {
		ask := leads(t.Context(), &hanging{Reader: api}, o)
		g := NewWithT(t)
		g.Expect(ask(t.Context())).To(MatchError(context.DeadlineExceeded), "the first read")
		g.Expect(ask(t.Context())).To(Succeed(), "the second read")
	})
}

func TestOnlyTheHolderOfTheLeaseLeads(t *testing.T) {
	o := election.Options{Enabled: true, Namespace: "n", Name: "l"}
	identify(&o)
	another := election.Options{Enabled: true}
	identify(&another)
	NewWithT(t).Expect(another.Identity).NotTo(Equal(o.Identity), "two replicas have one name")
	lease := func(holder string) client.Object {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "l"},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	}
	for what, c := range map[string]struct {
		there    []client.Object
		leads    bool
		follower bool
	}{
		"its own":       {there: []client.Object{lease(o.Identity)}, leads: true},
		"another one's": {there: []client.Object{lease("other")}, follower: true},
		"nobody's":      {there: []client.Object{lease("")}, follower: true},
		"not there":     {},
		"without holder": {there: []client.Object{&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "l"}}},
			follower: true},
	} {
		t.Run(what, func(t *testing.T) {
			err := leads(t.Context(), fake.NewClientBuilder().WithObjects(c.there...).Build(), o)(t.Context())
			g := NewWithT(t)
			g.Expect(err == nil).To(Equal(c.leads), "%v", err)
			g.Expect(errors.Is(err, controller.ErrNotLeader)).To(Equal(c.follower), "%v", err)
		})
	}
	NewWithT(t).Expect(leads(t.Context(), nil, election.Options{})).To(BeNil(), "without an election nobody is asked")
}
