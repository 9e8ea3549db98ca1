// Package lease prevents two rollers from working on one Kafka cluster: the active one holds its Lease (docs/decisions/two-rollers.md).
package lease

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
)

// duration is how long a Lease is held without renewal. A look that takes longer carries out nothing more.
const duration = 30 * time.Second

// Name returns the name of the Lease of a Kafka cluster, in the namespace of its pods.
func Name(cluster string) string { return cluster + "-roller-leader" }

// Lease is the Lease of one Kafka cluster. It is not safe for concurrent use.
type Lease struct {
	// Client reads from the API server, and from no cache.
	Client             client.Client
	Namespace, Cluster string
	// Identity identifies this process.
	Identity string
	// Owners, if set, returns the objects with which Kubernetes deletes the Lease. They are set when it is created: to change them later takes
	// the right to delete it where the admission plugin OwnerReferencesPermissionEnforcement is on.
	Owners func(ctx context.Context) ([]metav1.OwnerReference, error)
	// Elected means that the same Lease elects the leader among the replicas of a Deployment, so that this package does not release it.
	Elected bool
	// Now returns the current time.
	Now func() time.Time

	// record is what was last read of another holder, and since when it has not changed.
	record string
	since  time.Time
	// owned means that the Lease had owners when this process last read or made it.
	owned bool
}

// HeldError names the holder of a Lease.
type HeldError struct {
	Lease, Holder string
	// Until is when the Lease expires unless it is renewed.
	Until time.Time
}

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%v: %s holds Lease %s until %s at least", engine.ErrHeld, e.Holder, e.Lease, e.Until.UTC().Format(time.TimeOnly))
}

// Is makes errors.Is report an engine.ErrHeld.
func (e *HeldError) Is(target error) bool { return target == engine.ErrHeld }

// Acquire acquires or renews the Lease. It fails with a HeldError while another process holds it: until the Lease has not changed for its
// duration by this process's own clock. The times in it are by the holder's clock, which may be any time off.
func (l *Lease) Acquire(ctx context.Context) error {
	now := l.Now()
	stored, err := l.get(ctx)
	if apierrors.IsNotFound(err) {
		next := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: l.Namespace, Name: Name(l.Cluster), Labels: map[string]string{v1.LabelCluster: l.Cluster},
		}}
		if err := l.own(ctx, next); err != nil {
			return l.wrap("made", err)
		}
		if l.owned && len(next.OwnerReferences) == 0 { // nothing would delete it
			return l.wrap("made", engine.ErrDeleted)
		}
		l.owned = len(next.OwnerReferences) > 0
		l.take(next, now)
		return l.wrap("made", l.Client.Create(ctx, next))
	}
	if err != nil {
		return l.wrap("read", err)
	}
	l.owned = len(stored.OwnerReferences) > 0
	until, holder := held(stored)
	if holder != "" && holder != l.Identity {
		if until = l.unchanged(stored, now); now.Before(until) {
			return l.heldBy(holder, until)
		}
	}
	switch {
	case holder == l.Identity && until.Sub(now) > duration*2/3:
		return nil
	case holder == l.Identity && l.Elected && now.Before(until):
		return nil
	}
	l.take(stored, now)
	return l.wrap("taken", l.Client.Update(ctx, stored))
}

// own sets the owners, in memory.
func (l *Lease) own(ctx context.Context, lease *coordinationv1.Lease) (err error) {
	if l.Owners != nil {
		lease.OwnerReferences, err = l.Owners(ctx)
	}
	return err
}

// Verify returns nil if this process holds the Lease now.
func (l *Lease) Verify(ctx context.Context) error {
	stored, err := l.get(ctx)
	if err != nil {
		return l.wrap("read", err)
	}
	until, holder := held(stored)
	switch {
	case holder != l.Identity:
		return l.heldBy(holder, l.unchanged(stored, l.Now()))
	case !l.Now().Before(until):
		return fmt.Errorf("Lease %s/%s has expired", l.Namespace, Name(l.Cluster))
	}
	return nil
}

// Release releases the Lease if this process holds it.
func (l *Lease) Release(ctx context.Context) error {
	if l.Elected {
		return nil
	}
	stored, err := l.get(ctx)
	if _, holder := held(stored); err != nil || holder != l.Identity {
		return client.IgnoreNotFound(err)
	}
	nobody := ""
	stored.Spec.HolderIdentity = &nobody
	return l.wrap("released", l.Client.Update(ctx, stored))
}

func (l *Lease) get(ctx context.Context) (*coordinationv1.Lease, error) {
	stored := &coordinationv1.Lease{}
	return stored, l.Client.Get(ctx, client.ObjectKey{Namespace: l.Namespace, Name: Name(l.Cluster)}, stored)
}

// take sets this process as the holder, in memory.
func (l *Lease) take(lease *coordinationv1.Lease, now time.Time) {
	at := metav1.NewMicroTime(now)
	if _, holder := held(lease); holder != l.Identity {
		lease.Spec.AcquireTime = &at
	}
	seconds := int32(duration.Seconds())
	lease.Spec.HolderIdentity, lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds = &l.Identity, &at, &seconds
}

// unchanged returns when the Lease of another holder expires unless it is renewed.
func (l *Lease) unchanged(lease *coordinationv1.Lease, now time.Time) time.Time {
	until, holder := held(lease)
	if record := holder + " " + until.String(); record != l.record {
		l.record, l.since = record, now
	}
	if holder == "" {
		return now
	}
	return l.since.Add(time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second)
}

// held returns the holder of the Lease and when it expires by the holder's clock. The holder is empty if the Lease is free.
func held(lease *coordinationv1.Lease) (until time.Time, holder string) {
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return time.Time{}, ""
	}
	return spec.RenewTime.Add(time.Duration(*spec.LeaseDurationSeconds) * time.Second), *spec.HolderIdentity
}

func (l *Lease) heldBy(holder string, until time.Time) error {
	return &HeldError{Lease: l.Namespace + "/" + Name(l.Cluster), Holder: holder, Until: until}
}

func (l *Lease) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("Lease %s/%s, which keeps two rollers from working on one Kafka cluster, can't be %s: %w", l.Namespace, Name(l.Cluster),
		what, err)
}
