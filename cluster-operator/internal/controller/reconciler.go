// Package controller reconciles Kafka objects: it reads the live objects, lets the pure packages beside it decide, and writes their
// results.
package controller

import (
	"cmp"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/apply"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/heartbeat"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/status"
	"github.com/kafka-operators/kafka-operators/operator/passes"
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
	// Passing, if set, is told of each pass that begins, and returns what to call when it ends.
	Passing func(types.NamespacedName) (ended func())

	// Serial runs steps in one Kubernetes cluster after the other instead of concurrently, so that tests are repeatable.
	Serial bool
	// Stretching is nil if the operator is not configured for stretched Kafkas.
	Stretching *Stretching

	unknown        unknownFields
	orphans        orphans
	plannedWatches plannedWatches
	conflicts      conflicts
	beats          heartbeat.Beats
	// kafkas and nodePools are the versions that this process has replaced.
	kafkas, nodePools apply.Replaced
	// reportedKept are, by Kafka, the uids of objects that are not wanted, and of which was reported that they stay.
	reportedKept sync.Map
	// topicOperators are the Kafkas, by namespace and name, for which this process deployed a topic operator whose KafkaTopics were not
	// released since.
	topicOperators sync.Map
}

// Reconcile carries out one pass over a Kafka.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if r.Passing != nil {
		defer r.Passing(req.NamespacedName)()
	}
	kafka := &v1.Kafka{}
	if err := r.Cache.Get(ctx, req.NamespacedName, kafka); apierrors.IsNotFound(err) {
		r.forget(req.NamespacedName)
		return r.cleanUp(ctx, req.NamespacedName)
	} else if err != nil {
		return reconcile.Result{}, err
	}
	r.orphans.exists(req.NamespacedName, isStretched(kafka))
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
	if conflict {
		if p.metElsewhere {
			return reconcile.Result{RequeueAfter: conflictDelay}, nil // that Kubernetes cluster is left out if conflicts last there
		}
		if err = r.lastingConflictAtHome(name, err); err == nil {
			return reconcile.Result{RequeueAfter: conflictDelay}, nil // the cache is behind; nothing is wrong
		}
	}
	next, retry := p.conclude(err)
	p.report(r.Now().Sub(began))
	pools := p.concludePools(ctx) // before the Kafka: once it is Ready, they are
	if apierrors.IsConflict(pools) && r.lastingConflictAtHome(name, pools) == nil {
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	switch err := errors.Join(r.writeStatus(ctx, kafka, status.Of(p.status)), pools); {
	case apierrors.IsConflict(err):
		return r.requeueStale(name, err) // the cache is behind
	case err != nil:
		return reconcile.Result{}, err
	}
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
}

// report counts the pass, and records an Event for a failure, for each warning that the status does not show yet, and for each Kubernetes
// cluster that was lost or is back.
func (p *pass) report(took time.Duration) {
	name := client.ObjectKeyFromObject(p.kafka)
	// Neither a pending deletion nor hibernation is a failure.
	failed := p.status.Failure != nil && p.status.Failure.Reason != reasonDeleting && p.status.Failure.Reason != reasonHibernated
	p.Metrics.Reconciled(name.Namespace, passes.Pass{Took: took, Periodical: wasReady(p.kafka), Succeeded: !failed})
	figures := p.figures
	figures.Ready = status.Converged(p.status)
	figures.Pending = len(p.status.Pending)
	if len(p.sites) > 0 { // else nothing is known but what is at home
		figures.Nodes, figures.NotReady = countNodes(p.podSets())
	}
	for id := range p.away {
		lost := len(p.record.Clusters[id].Nodes)
		figures.Nodes, figures.NotReady = figures.Nodes+lost, figures.NotReady+lost
	}
	if unread := figures.Created.IsZero(); !unread || !p.Metrics.Unread(name) {
		p.Metrics.Observe(name, figures)
	}
	problems := slices.Clone(p.status.Warnings)
	if failed {
		problems = append(problems, *p.status.Failure)
	}
	for _, problem := range problems {
		shown := func(c v1.Condition) bool { return c.Message == problem.Message }
		if !slices.ContainsFunc(p.kafka.Status.Conditions, shown) {
			p.Events.Warning(p.kafka, problem.Reason, "Reconcile", problem.Message)
		}
	}
	p.reportClusters()
}

// wasReady reports whether a Kafka was Ready, by its status.
func wasReady(kafka *v1.Kafka) bool {
	return kafka.Status.ObservedGeneration == kafka.Generation && slices.ContainsFunc(kafka.Status.Conditions,
		func(c v1.Condition) bool { return c.Type == v1.ConditionReady && c.Status == v1.ConditionTrue })
}

// figuresOf returns the metrics that follow from the objects of a Kafka, independent of the result of its pass.
func figuresOf(f facts.Cluster, kafka *v1.Kafka) metrics.Kafka {
	spec := kafka.Spec
	if spec == nil {
		spec = &v1.KafkaSpec{}
	}
	authority := func(secret string, config *v1.CertificateAuthority) metrics.Certificate {
		return metrics.Certificate(pki.CAValidity(f.Secret(secret), caConfig(config)))
	}
	figures := metrics.Kafka{
		Created:   kafka.CreationTimestamp.Time,
		ClusterCA: authority(pki.ClusterCACertSecret(kafka.Name), spec.ClusterCa),
		ClientsCA: authority(pki.ClientsCACertSecret(kafka.Name), spec.ClientsCa),
		Served:    nodeCertificates(f, spec),
		Listeners: listenerCertificates(f, kafka),
		// The topic operator of a Kafka that is being deleted goes.
		TopicOperator: model.WantsTopicOperator(kafka) && kafka.DeletionTimestamp == nil,
	}
	figures.Nodes, figures.NotReady = countNodes(f.PodSets())
	return figures
}

// countNodes counts the nodes that exist, and those of them that are not ready. A node that could not be created yet is none: who looks for
// its pod finds nothing, and the condition Ready says why. Nodes of a hibernated Kafka are to have no pods.
func countNodes(sets []*core.StrimziPodSet) (nodes, notReady int) {
	for _, set := range sets {
		nodes += len(set.Spec.Pods)
		if !set.IsHibernated() {
			notReady += max(0, len(set.Spec.Pods)-int(set.Status.ReadyPods))
		}
	}
	return nodes, notReady
}

// pausedRetry is when a Kubernetes cluster is asked again in which a paused Kafka's nodes could not be held.
const pausedRetry = 30 * time.Second

// passOver returns a pass over a Kafka.
func (r *Reconciler) passOver(ctx context.Context, kafka *v1.Kafka) *pass {
	p := &pass{Reconciler: r, kafka: kafka, log: log.FromContext(ctx)}
	if kafka.Spec == nil || kafka.Invalid != "" {
		p.standIn()
	}
	return p
}

// pause keeps the roller off the nodes, protects what is to outlive the Kafka, notes a topic operator, and changes nothing else.
func (r *Reconciler) pause(ctx context.Context, kafka *v1.Kafka) (reconcile.Result, error) {
	p := r.passOver(ctx, kafka)
	unread := p.readSites(ctx)
	if errors.Is(unread, errBehind) {
		return r.requeueStale(client.ObjectKeyFromObject(kafka), unread)
	}
	if len(p.sites) == 0 {
		return reconcile.Result{}, unread
	}
	if err := p.each(func(s *site) error { return s.holdPaused(ctx) }); err != nil {
		return reconcile.Result{}, err
	}
	unprotected := p.protect(ctx)
	if isStale(unprotected) {
		return r.requeueStale(client.ObjectKeyFromObject(kafka), unprotected)
	}
	if unprotected != nil {
		p.log.Error(unprotected, "Failed to protect volumes and CAs of a paused Kafka")
		r.Events.Warning(kafka, "NotProtected", "Reconcile",
			fmt.Sprintf("What is to outlive the Kafka would still be deleted with it: %s", unprotected))
	}
	noted := p.noteEarlierTopicOperator(ctx)
	if noted != nil {
		p.log.Info("Failed to record that the Kafka has a topic operator", "error", noted.Error())
	}
	r.conflicts.noneMet(client.ObjectKeyFromObject(kafka), r.Now())
	p.figures.Paused = true
	r.Metrics.Observe(client.ObjectKeyFromObject(kafka), p.figures)
	paused := func(pool *v1.KafkaNodePool) v1.KafkaNodePoolStatus { return status.PausedPool(pool, r.Now()) }
	if err := errors.Join(r.writeStatus(ctx, kafka, status.Paused(kafka, r.Now())), p.eachPool(ctx, paused)); err != nil {
		return reconcile.Result{}, err
	}
	if unread != nil {
		p.log.Info("Failed to hold the nodes in a Kubernetes cluster that can't be read", "error", unread.Error())
	}
	if unread != nil || unprotected != nil || noted != nil || len(p.away) > 0 {
		return reconcile.Result{RequeueAfter: pausedRetry}, nil
	}
	return reconcile.Result{}, nil
}

// writeStatus writes the status of a Kafka if it differs from what is there.
func (r *Reconciler) writeStatus(ctx context.Context, kafka *v1.Kafka, wanted v1.KafkaStatus) error {
	if equality.Semantic.DeepEqual(kafka.Status, wanted) {
		return nil
	}
	changed := kafka.DeepCopy()
	changed.Status = wanted
	if err := r.Live.Status().Patch(ctx, changed, client.MergeFromWithOptions(kafka, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("status of Kafka %s/%s: %w", kafka.Namespace, kafka.Name, err))
	}
	r.kafkas.Note(kafka, changed)
	kafka.Status, kafka.ResourceVersion = changed.Status, changed.ResourceVersion
	return nil
}

// Failure is an error with its own reason in the status.
type Failure struct {
	status.Problem
	// Err is the cause; nil if the user's objects are invalid.
	Err error
	// Watched reports that an event requeues the Kafka when the problem may be over.
	Watched bool
	// Elsewhere reports that it concerns another Kubernetes cluster alone: the nodes in this one are the Kafka's.
	Elsewhere bool
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

// Unwrap returns what went wrong.
func (f *Failure) Unwrap() error { return f.Err }

// problemf returns a problem that a later pass may resolve by itself.
func problemf(reason, format string, args ...any) status.Problem {
	return status.Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// stalled returns a Failure that only a user can fix.
func stalled(reason, format string, args ...any) *Failure {
	return &Failure{Problem: status.Problem{Reason: reason, Message: fmt.Sprintf(format, args...), Stalled: true}}
}

// conclude fills in the input of the status, and returns after how long to requeue, or an error to retry with back-off.
func (p *pass) conclude(err error) (next time.Duration, retry error) {
	p.status.Kafka, p.status.Now = p.kafka, p.Now()
	p.status.OperatorVersion = p.OperatorVersion
	p.describeClusters()
	for _, pod := range p.pods() {
		if why := status.WaitsFor(pod); why != "" && pod.Labels[core.LabelKind] == core.KindKafka {
			p.waits(pod.Labels[core.LabelPoolName], "pod %s (%s)", pod.Name, why)
		}
	}
	for _, set := range p.status.Sets {
		if why := status.SetWaitsFor(set); why != "" {
			p.waits(set.Labels[core.LabelPoolName], "StrimziPodSet %s (%s)", set.Name, why)
		}
	}
	slices.SortFunc(p.status.Waiting, func(a, b status.Wait) int { return cmp.Compare(a.Message, b.Message) })
	next = p.Interval
	if p.next > 0 && p.next < next {
		next = p.next
	}
	retry = p.failedElsewhere
	var failure *Failure
	switch {
	case err == nil:
	case errors.As(err, &failure) && (failure.Stalled || failure.Watched):
		p.status.Failure = &failure.Problem
	case errors.As(err, &failure):
		p.status.Failure, retry = &failure.Problem, err
	default:
		p.status.Failure, retry = &status.Problem{Reason: "ReconciliationFailed", Message: err.Error()}, err
	}
	p.omitLocalAddresses()
	return next, retry
}

// omitLocalAddresses takes out of messages what differs in each pass though the problem is the same: the status would be written each time.
func (p *pass) omitLocalAddresses() {
	for i := range p.status.Warnings {
		p.status.Warnings[i].Message = withoutLocalAddress(p.status.Warnings[i].Message)
	}
	if p.status.Failure != nil {
		failure := *p.status.Failure
		failure.Message = withoutLocalAddress(failure.Message)
		p.status.Failure = &failure
	}
}
