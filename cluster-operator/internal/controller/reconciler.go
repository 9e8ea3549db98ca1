// Package controller reconciles Kafka objects: it reads the live objects, lets the pure packages beside it decide, and writes their
// results.
package controller

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/heartbeat"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/operator/health"
)

// conflictDelay is how long a pass waits for the cache that was behind.
const conflictDelay = 100 * time.Millisecond

// Recorder records Events; *events.Recorder of module operator is one.
type Recorder interface {
	Normal(regarding runtime.Object, reason, action, note string)
	Warning(regarding runtime.Object, reason, action, note string)
}

// Reconciler makes the nodes of a Kafka cluster follow Kafka and KafkaNodePool objects.
type Reconciler struct {
	// Cache holds what is watched.
	Cache client.Reader
	// Live reads and writes past the cache.
	Live client.Client
	// Events get what was done, and what failed again.
	Events Recorder
	// Metrics count passes and writes.
	Metrics *metrics.Metrics
	// Kafka asks the brokers.
	Kafka KafkaClients
	// Selects chooses Kafkas by their labels; nil chooses all. Nothing is read or written for any other, nor for its pools.
	Selects func(map[string]string) bool
	// Settings are the operator's.
	Settings model.Settings
	// DefaultVersion is the Kafka version of a Kafka object that names none.
	DefaultVersion string

	// OperatorVersion is this program's.
	OperatorVersion string
	// PKCS12 adds the certificates of CAs as PKCS #12 stores.
	PKCS12 bool
	// Interval is how long after a pass the next one is due though nothing changed.
	Interval time.Duration
	// AddressTimeout is how long nodes wait for the addresses of listeners, and how long a pod advertises one that its Kubernetes node lost.
	AddressTimeout time.Duration
	// WatchTimeout is how long a pass waits for the first watches in a Kubernetes cluster; watchTimeout if it is 0.
	WatchTimeout time.Duration
	// NewKey generates keys; nil means pki.GenerateKey.
	NewKey func(pki.Use) (crypto.Signer, error)
	// Now and Rand are the clock and the source of randomness.
	Now  func() time.Time
	Rand io.Reader
	// Passes contains the passes that run; nil if nobody asks for them.
	Passes *health.Passes

	// Serial runs steps in one Kubernetes cluster after the other instead of concurrently, so that tests are repeatable.
	Serial bool
	// Stretching is nil if the operator is not configured for stretched Kafkas.
	Stretching *Stretching

	unknown        unknownFields
	leftovers      leftovers
	plannedWatches plannedWatches
	conflicts      conflicts
	beats          heartbeat.Beats
	// kafkas and nodePools are the versions that this process has replaced.
	kafkas, nodePools apply.Replaced
	// reportedKept are, by Kafka, the uids of objects that are not wanted, and of which was reported that they stay.
	reportedKept sync.Map
	// toldWarnings are, by Kafka, the warnings that there are Events of (told). A pass that ends early has the status without those that it
	// did not come to.
	toldWarnings sync.Map
	// renewedCordons are, by Kafka, when the containers of brokers were last seen without a cordon that they were to forget.
	renewedCordons sync.Map
	// nodesUnwatched is true while a watch of the Kubernetes nodes at home has not begun in time.
	nodesUnwatched atomic.Bool
	// topicOperators are the Kafkas, by namespace and name, for which this process deployed a topic operator whose KafkaTopics were not
	// released since.
	topicOperators sync.Map
}

// Reconcile carries out one pass over a Kafka.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	defer r.Passes.Start(req.NamespacedName)()
	kafka := &v1.Kafka{}
	if err := r.Cache.Get(ctx, req.NamespacedName, kafka); apierrors.IsNotFound(err) {
		r.forget(req.NamespacedName)
		return r.cleanUp(ctx, req.NamespacedName)
	} else if err != nil {
		return reconcile.Result{}, err
	}
	r.leftovers.noteExists(req.NamespacedName, isStretched(kafka))
	if r.Selects != nil && !r.Selects(kafka.Labels) {
		r.forget(req.NamespacedName)
		r.conflicts.forget(req.NamespacedName)
		r.topicOperators.Delete(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	if r.kafkas.Behind(kafka) {
		return r.requeueStale(req.NamespacedName, fmt.Errorf("read Kafka %s: %w", req.NamespacedName, errBehind)) // no event reports its return
	}
	if kafka.DeletionTimestamp != nil {
		return r.finalize(ctx, kafka)
	}
	if theirs, err := r.ownedByStrimzi(ctx, kafka); theirs || err != nil {
		r.forget(req.NamespacedName)
		r.conflicts.forget(req.NamespacedName)
		return reconcile.Result{RequeueAfter: r.Interval}, err
	}
	if v1.IsTrue(kafka.Annotations, v1.AnnotationPauseReconciliation) {
		return r.pause(ctx, kafka)
	}
	return r.reconcile(ctx, kafka)
}

// reconcile carries out a pass over a Kafka that is neither paused nor being deleted, and reports it.
func (r *Reconciler) reconcile(ctx context.Context, kafka *v1.Kafka) (reconcile.Result, error) {
	name := client.ObjectKeyFromObject(kafka)
	p := r.passOver(ctx, kafka)
	began := r.Now()
	err := p.run(ctx)
	conflict := isStale(err)
	repeat, err := p.afterConflict(err)
	if repeat {
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	next, retry := p.conclude(err)
	p.count(r.Now().Sub(began))
	before := kafka.Status
	pools := p.concludePools(ctx) // before the Kafka: once it is Ready, they are
	if apierrors.IsConflict(pools) && r.lastingConflictAtHome(name, pools) == nil {
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	switch err := errors.Join(r.writeStatus(ctx, kafka, status.Of(p.status)), pools); {
	case apierrors.IsConflict(err):
		result, lasts := r.requeueStale(name, err) // the cache is behind
		if lasts != nil {
			p.tell(before)
		}
		return result, lasts
	case err != nil:
		p.tell(before) // the status may never say it
		return reconcile.Result{}, err
	}
	p.tell(before) // not before a pass that is repeated at once because of a conflict
	if !conflict {
		r.conflicts.noneMet(name, r.Now())
	}
	if retry != nil {
		return reconcile.Result{}, retry
	}
	return reconcile.Result{RequeueAfter: next}, nil
}

// cleanUp does what is left to do when a Kafka is gone.
func (r *Reconciler) cleanUp(ctx context.Context, kafka types.NamespacedName) (reconcile.Result, error) {
	next, swept := r.sweep(ctx, kafka)
	orphaned := r.orphanPools(ctx, kafka)
	wait, released := r.releaseTopicsOfGone(ctx, kafka)
	if wait && next == 0 {
		next = awayDelay
	}
	err := errors.Join(swept, orphaned, released)
	if isStale(orphaned) || apierrors.IsConflict(released) {
		return r.requeueStale(kafka, err)
	}
	r.conflicts.forget(kafka)
	return reconcile.Result{RequeueAfter: next}, err
}

// forget forgets a Kafka that is gone, or not for this operator.
func (r *Reconciler) forget(kafka types.NamespacedName) {
	r.Kafka.Forget(kafka)
	r.Metrics.Forget(kafka)
	r.unknown.remember(kafka, nil)
	r.kafkas.Forget(kafka)
	r.reportedKept.Delete(kafka)
	r.toldWarnings.Delete(kafka)
	r.renewedCordons.Delete(kafka)
}

// passOver returns a pass over a Kafka.
func (r *Reconciler) passOver(ctx context.Context, kafka *v1.Kafka) *pass {
	p := &pass{Reconciler: r, kafka: kafka, log: log.FromContext(ctx)}
	if kafka.Spec == nil || kafka.Invalid != "" {
		p.standIn()
	}
	return p
}
