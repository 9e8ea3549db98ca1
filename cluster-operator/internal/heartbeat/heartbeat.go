// Package heartbeat shows others that an operator is running, and its version: the roller, and in a remote Kubernetes cluster the central
// operator.
package heartbeat

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
)

// LeaseName names the Lease that is renewed in the operator's namespace.
const LeaseName = core.LeaseAgent

// Contract is the version of what the central cluster writes and the remote operator reads: StrimziPodSets. Operators with different ones
// don't work together.
const Contract = core.Contract

// Annotations of the Lease.
const (
	annotationVersion  = "kafka-operators.io/operator-version"
	annotationContract = core.AnnotationContract
)

const (
	// interval is how often the Lease is renewed.
	interval = 10 * time.Second
	// stale is how old a renewal is when the operator counts as gone.
	stale = core.AgentGone
)

// Agent renews the Lease. It is a Runnable for controller-runtime's manager.
type Agent struct {
	// Client writes past the cache.
	Client    client.Client
	Namespace string
	// Identity is the replica's, and Version the program's.
	Identity, Version string
}

// NeedLeaderElection is true: the replica that works renews the Lease.
func (*Agent) NeedLeaderElection() bool { return true }

// Start renews the Lease until ctx ends. One that can't be renewed is tried again at the next interval.
func (a *Agent) Start(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := a.renew(ctx, time.Now()); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Failed to renew the Lease that shows others that this operator is running", "lease", LeaseName)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (a *Agent) renew(ctx context.Context, now time.Time) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: LeaseName}}
	err := a.Client.Get(ctx, client.ObjectKeyFromObject(lease), lease)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	exists := err == nil
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[annotationVersion], lease.Annotations[annotationContract] = a.Version, Contract
	lease.Spec.HolderIdentity, lease.Spec.RenewTime = &a.Identity, &metav1.MicroTime{Time: now}
	lease.Spec.LeaseDurationSeconds = new(int32(stale / time.Second))
	if exists {
		return a.Client.Update(ctx, lease)
	}
	return a.Client.Create(ctx, lease)
}

// Beat is the last heartbeat of a remote operator.
type Beat struct {
	// Renewed is when it last did by its own clock; zero if it never did.
	Renewed time.Time
	// Seen is the time by this clock at which that is known to have happened at the earliest; zero if nothing is known.
	Seen time.Time
	// Version is the program's, and Contract its contract.
	Version, Contract string
}

// Read reads the heartbeat in a namespace of a Kubernetes cluster. When it was seen, only Beats know.
func Read(ctx context.Context, reader client.Reader, namespace string) (Beat, error) {
	lease := &coordinationv1.Lease{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: LeaseName}, lease)
	if apierrors.IsNotFound(err) {
		return Beat{}, nil
	}
	if err != nil {
		return Beat{}, fmt.Errorf("get Lease %s/%s: %w", namespace, LeaseName, err)
	}
	b := Beat{Version: lease.Annotations[annotationVersion], Contract: lease.Annotations[annotationContract]}
	if lease.Spec.RenewTime != nil {
		b.Renewed = lease.Spec.RenewTime.Time
	}
	return b, nil
}

// Beats remembers when the heartbeats in Kubernetes clusters were seen to change, whose clocks may be any time off. Its methods may be
// called concurrently.
type Beats struct {
	mu   sync.Mutex
	seen map[string]core.Beat
}

// Read reads the heartbeat in a namespace of a Kubernetes cluster.
func (b *Beats) Read(ctx context.Context, reader client.Reader, cluster, namespace string, now time.Time) (Beat, error) {
	read, err := Read(ctx, reader, namespace)
	if err != nil || read.Renewed.IsZero() {
		return read, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen == nil {
		b.seen = map[string]core.Beat{}
	}
	b.seen[cluster] = b.seen[cluster].Next(read.Renewed, now)
	read.Seen = b.seen[cluster].Seen
	return read, nil
}

// Lives reports whether the remote operator was seen to renew the Lease lately.
func (b Beat) Lives(now time.Time) bool { return now.Sub(b.Seen) <= stale }

// Problem describes what is wrong with the remote operator, empty if nothing is, and whether it must not get anything to do.
func (b Beat) Problem(version string, now time.Time) (problem string, mismatch bool) {
	switch {
	case b.Renewed.IsZero():
		return "no cluster-operator has been seen there: run one with STRIMZI_POD_SET_RECONCILIATION_ONLY=true, which creates the pods " +
			"(config/cluster-operator/overlays/remote)", false
	case b.Contract != Contract:
		return fmt.Sprintf("the cluster-operator there has version %s (contract %s), and this one has %s (contract %s): upgrade both to the "+
			"same "+
			"version",
			b.Version, b.Contract, version, Contract), true
	case !b.Lives(now):
		return fmt.Sprintf("the cluster-operator there was last seen at %s: terminated pods are not recreated",
			b.Renewed.UTC().Format(time.RFC3339)), false
	}
	return "", false
}

// Skew describes how the versions of two operators differ that work together, "" if they don't.
func (b Beat) Skew(version string) string {
	if b.Renewed.IsZero() || b.Contract != Contract || b.Version == version {
		return ""
	}
	return fmt.Sprintf("the cluster-operator there has version %s, and this one has %s. They are compatible; upgrade both to the same version",
		b.Version, version)
}
