package controller

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/notify"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/schedule"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// The rules that the manifests in config/rbac are generated from.
//
// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkatopics,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkatopics/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Kafka is what the reconciler asks of Kafka; executor.Executor implements it.
type Kafka interface {
	Describe(ctx context.Context, name string, patient bool) (topic.Actual, error)
	Locate(ctx context.Context, name string) (kafka.Topic, error)
	Create(ctx context.Context, t kafka.NewTopic) (kafka.CreateResult, error)
	Alter(ctx context.Context, c kafka.ConfigChange) error
	Increase(ctx context.Context, p kafka.PartitionIncrease) error
	Reassignments(ctx context.Context, name string) (map[int32]kafka.Reassignment, error)
	Delete(ctx context.Context, id kafka.TopicID) error
}

// Options are the settings that the reconciler needs.
type Options struct {
	// Selects reports whether a KafkaTopic's labels make it the operator's business.
	Selects func(labels map[string]string) bool
	// Rules bear on plans.
	Rules topic.Rules
	// Interval is the longest time between two looks at a topic.
	Interval time.Duration
	// UseFinalizers holds deleted objects until their topic is deleted too.
	UseFinalizers bool
	// KeepWhenDeletionDisabled keeps a deleted object, as Strimzi does, where Kafka has topic deletion switched off; the
	// default releases it (ruling T8).
	KeepWhenDeletionDisabled bool
	// Now tells the time.
	Now func() time.Time
}

// Reconciler makes one topic at a time follow its KafkaTopic.
type Reconciler struct {
	client  client.Client
	kafka   Kafka
	events  *notify.Recorder
	metrics *metrics.Metrics
	options Options
	memory  *memory
	busy    *busyKeys
	vanish  *tombstones
	// queued tells how many objects wait; set when the queue is made.
	queued func() int
	// elected tells whether this operator is the one that acts, and no standby. A standby takes note of no deletion: by the time it is
	// elected, the topic's name may be somebody else's.
	elected func() bool
}

// NewReconciler returns a Reconciler. The client's reads come from a cache, its writes go to the API server.
func NewReconciler(c client.Client, k Kafka, events *notify.Recorder, m *metrics.Metrics, o Options) *Reconciler {
	return &Reconciler{client: c, kafka: k, events: events, metrics: m, options: o,
		memory: newMemory(o.Now), busy: newBusyKeys(), vanish: newTombstones(), queued: func() int { return 0 }, elected: func() bool { return true }}
}

// pass is all that is known in one pass over one KafkaTopic. It dies with the pass.
type pass struct {
	key types.NamespacedName
	log logr.Logger
	// kt is the object; writes of the pass itself, such as the finalizer's, are in it.
	kt *v1.KafkaTopic
	// wasReady: before the pass, the status said that the present specification was carried out.
	wasReady bool
	// settling: the operator wrote to Kafka for the object a moment ago, so that what a broker shows may be from before.
	settling bool
	began    time.Time
}

// verdict is how a pass goes on after its decision was carried out.
type verdict struct {
	// outcome goes to the status; nil leaves the status alone.
	outcome *topic.Outcome
	// retry: the failure passes by itself, so that the pass is repeated with back-off rather than at the timer.
	retry bool
	// cause is what lay under a failure on the way to Kafka, for the log.
	cause string
	// soon repeats the pass after this time, though nothing failed.
	soon time.Duration
	// done: the object is, or is about to be, gone; it is not looked at again.
	done bool
}

func says(o topic.Outcome) verdict { return verdict{outcome: &o} }

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	defer r.busy.start(req.NamespacedName)()
	r.metrics.QueueLength(r.queued())
	p := &pass{key: req.NamespacedName, log: log.FromContext(ctx), kt: &v1.KafkaTopic{}, began: r.options.Now()}
	if err := r.client.Get(ctx, p.key, p.kt); err != nil {
		if apierrors.IsNotFound(err) {
			return r.vanished(ctx, p)
		}
		return r.conclude(ctx, p, verdict{}, err)
	}
	r.vanish.replaced(p.key, p.kt.UID)
	p.wasReady = topic.IsReady(p.kt)
	p.settling = r.memory.settling(p.key)
	v, err := r.act(ctx, p)
	if err == nil && v.outcome != nil && !r.isNoise(ctx, p, v) {
		ctx, cancel := leeway(ctx)
		defer cancel()
		err = r.writeStatus(ctx, p, *v.outcome)
	}
	return r.conclude(ctx, p, v, err)
}

// leeway gives a pass that used up its time on Kafka a little more, to tell so.
func leeway(ctx context.Context) (context.Context, context.CancelFunc) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.WithTimeout(context.WithoutCancel(ctx), lastRetry)
	}
	return ctx, func() {}
}

// stopping reports whether the operator ends. A pass that is interrupted so has nothing to tell: the next start begins where it was.
func stopping(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// act carries out what the object asks for.
func (r *Reconciler) act(ctx context.Context, p *pass) (verdict, error) {
	what, refusal := topic.Assess(p.kt, r.options.Selects(p.kt.Labels))
	switch what {
	case topic.Ignore:
		p.log.V(1).Info("Ignoring KafkaTopic with labels that the selector does not match", "labels", p.kt.Labels)
		return verdict{done: true}, nil
	case topic.Gone:
		return verdict{done: true}, nil
	case topic.Release:
		r.events.Normal(reference(p.kt), "Released", "Delete", "The KafkaTopic is not managed: topic '"+topic.ClaimedName(p.kt)+"' stays in Kafka")
		return verdict{done: true}, r.removeFinalizer(ctx, p)
	case topic.Delete:
		return r.delete(ctx, p)
	case topic.MarkUnmanaged:
		return says(topic.Outcome{State: topic.Unmanaged}), nil
	case topic.MarkPaused:
		return says(topic.Outcome{State: topic.Paused, Claimed: pausedClaim(p.kt)}), nil
	case topic.Reject:
		return says(topic.Failure(refusal.Reason, "%s", refusal.Message)), nil
	case topic.Reconcile:
		return r.follow(ctx, p)
	}
	panic("unknown verdict " + what.String())
}

// pausedClaim keeps the name of the topic visible on an object that was paused from the start (Strimzi, ruling T4).
func pausedClaim(kt *v1.KafkaTopic) *topic.Claim { return &topic.Claim{Name: topic.ClaimedName(kt)} }

// isNoise reports whether a passing failure should not reach the status yet: a topic that was in order most likely still is, and a
// rolling restart of Kafka must not rewrite every status twice. A failure that outlasts an interval is told.
func (r *Reconciler) isNoise(ctx context.Context, p *pass, v verdict) bool {
	if !v.retry {
		return false
	}
	return stopping(ctx) || p.wasReady && p.kt.DeletionTimestamp == nil && r.memory.failingFor(p.key) < r.options.Interval
}

// conclude counts the pass and says when to look again.
func (r *Reconciler) conclude(ctx context.Context, p *pass, v verdict, err error) (reconcile.Result, error) {
	reason := ""
	switch {
	case err != nil && apierrors.IsNotFound(err):
		// The object vanished while we were at it; the watch tells the rest.
		err, v.done = nil, true
	case err != nil && apierrors.IsConflict(err):
		// Somebody wrote in between: what we know of the object is old. Look again when the watch has caught up.
		p.log.V(1).Info("The KafkaTopic was changed meanwhile, reconciling it again")
		return reconcile.Result{RequeueAfter: firstRetry / 2}, nil
	case stopping(ctx) && (err != nil || v.retry):
		return reconcile.Result{}, nil
	case err != nil:
		reason = v1.ReasonInternalError
	case v.retry:
		reason = "Retry"
	case v.outcome != nil && v.outcome.State == topic.Failed:
		reason = v.outcome.Failure.Reason
	}
	tellFailure(p, v)
	r.metrics.Reconciled(metrics.Pass{Namespace: p.key.Namespace, Periodical: p.wasReady, Reason: reason, Took: r.options.Now().Sub(p.began)})
	if err != nil {
		return reconcile.Result{}, err // controller-runtime backs off
	}
	return r.next(p, v), nil
}

// next says when the object is looked at again.
func (r *Reconciler) next(p *pass, v verdict) reconcile.Result {
	low := handler.LowPriority
	if v.retry {
		return reconcile.Result{RequeueAfter: r.memory.failed(p.key), Priority: &low}
	}
	r.memory.succeeded(p.key)
	if v.done {
		return reconcile.Result{}
	}
	wait := schedule.Next(p.key.String(), r.options.Interval, r.options.Now())
	if v.soon > 0 && v.soon < wait {
		wait = v.soon
	}
	return reconcile.Result{RequeueAfter: wait, Priority: &low}
}

// tellFailure logs why a pass failed.
func tellFailure(p *pass, v verdict) {
	switch {
	case v.outcome == nil || v.outcome.State != topic.Failed:
	case v.retry:
		logging.Warn(p.log, "Kafka could not be asked or did not answer, trying again", "topic", topic.ClaimedName(p.kt), "error", v.outcome.Failure.Message, "cause", v.cause)
	default:
		logging.Warn(p.log, "Reconciliation failed", "topic", topic.ClaimedName(p.kt), "reason", v.outcome.Failure.Reason, "message", v.outcome.Failure.Message)
	}
}

// vanished deals with an object that is gone: there is nothing left to do, but in the mode without finalizers.
func (r *Reconciler) vanished(ctx context.Context, p *pass) (reconcile.Result, error) {
	p.kt = r.vanish.get(p.key)
	if p.kt == nil {
		r.memory.forget(p.key)
		return reconcile.Result{}, nil
	}
	v := r.deleteAfterwards(ctx, p)
	if v.done {
		r.vanish.drop(p.key)
		r.memory.forget(p.key)
	}
	return r.conclude(ctx, p, v, nil)
}
