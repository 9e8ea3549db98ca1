package app

import (
	"errors"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kafka-operators/kafka-operators/operator/election"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/controller"
)

func TestOnlyTheHolderOfTheLeaseLeads(t *testing.T) {
	o := election.Options{Enabled: true, Namespace: "n", Name: "l"}
	identify(&o)
	if another := (election.Options{Enabled: true}); func() bool { identify(&another); return another.Identity == o.Identity }() {
		t.Fatalf("two replicas are named %s", o.Identity)
	}
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
			if (err == nil) != c.leads || errors.Is(err, controller.ErrNotLeader) != c.follower {
				t.Errorf("got %v", err)
			}
		})
	}
	if leads(t.Context(), nil, election.Options{}) != nil {
		t.Error("without an election nobody is asked")
	}
}
