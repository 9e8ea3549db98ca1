package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/operator/election"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/batch"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/controller"
)

// identify generates a unique identity for a replica that takes part in an election.
func identify(o *election.Options) {
	if !o.Enabled || o.Identity != "" {
		return
	}
	host, err := os.Hostname()
	if err != nil {
		host = name
	}
	o.Identity = host + "_" + rand.Text()
}

// gathering is how long a read of the Lease waits for others, because the changes of one batch need it at the same moment.
const gathering = 2 * time.Millisecond

// leaseTimeout bounds a read of the Lease: one that hangs would hold up all later ones.
const leaseTimeout = 5 * time.Second

// leads returns a function that reads the Lease to check whether this replica holds it. The elector's own state does not suffice: after a
// replica was suspended, the elector assumes for a while that it still leads.
func leads(ctx context.Context, api client.Reader, o election.Options) func(context.Context) error {
	if !o.Enabled {
		return nil
	}
	var questions atomic.Int64 // a distinct key for each question, so that one batch can hold all of them
	live := batch.New(ctx, func(n int64) int64 { return n }, func(ctx context.Context, asked []int64) ([]batch.Result[struct{}], error) {
		ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
		defer cancel()
		return make([]batch.Result[struct{}], len(asked)), holdsLease(ctx, api, o)
	}, batch.Options{Linger: gathering})
	return func(ctx context.Context) error {
		_, err := live.Do(ctx, questions.Add(1))
		return err
	}
}

func holdsLease(ctx context.Context, api client.Reader, o election.Options) error {
	lease := &coordinationv1.Lease{}
	if err := api.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, lease); err != nil {
		return fmt.Errorf("read the Lease %s/%s before a change in Kafka: %w", o.Namespace, o.Name, err)
	}
	holder := lease.Spec.HolderIdentity
	switch {
	case holder == nil || *holder == "":
		return fmt.Errorf("%w: nobody holds the Lease %s/%s", controller.ErrNotLeader, o.Namespace, o.Name)
	case *holder != o.Identity:
		return fmt.Errorf("%w: the Lease %s/%s is held by '%s'", controller.ErrNotLeader, o.Namespace, o.Name, *holder)
	}
	return nil
}
