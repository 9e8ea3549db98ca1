package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/operator/events"
	"github.com/kafka-operators/kafka-operators/operator/health"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/schedule"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// The manifests in config/topic-operator/rbac are generated from these rules.
// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkatopics,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkatopics/status,verbs=patch
// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkas,verbs=get;list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler makes one topic at a time follow its KafkaTopic.
type Reconciler struct {
	client  client.Client
	kafka   Kafka
	events  *events.Recorder
	metrics *metrics.Metrics
	options Options
	memory  *memory
	busy    *health.Passes
	vanish  *tombstones
	// again receives the objects to requeue for a reason outside of them.
	again chan event.GenericEvent
	// elected reports whether this operator leads. A standby ignores deletions: when it leads, the topic's name may have another owner.
	elected func() bool
}

// NewReconciler returns a Reconciler. The client reads from a cache and writes to the API server.
func NewReconciler(c client.Client, k Kafka, recorder *events.Recorder, m *metrics.Metrics, o Options) *Reconciler {
	if o.Leads == nil {
		o.Leads = func(context.Context) error { return nil }
	}
	if o.Violation == nil {
		o.Violation = func(string, string) string { return "" }
	}
	if o.Schema == nil {
		o.Schema = keepsAll{}
	}
	return &Reconciler{client: c, kafka: k, events: recorder, metrics: m, options: o,
		memory: newMemory(o.Now), again: make(chan event.GenericEvent),
		busy: health.NewPasses("KafkaTopic", passTimeout, o.Now), vanish: &tombstones{names: map[types.NamespacedName]tombstone{}},
		elected: func() bool { return true }}
}

// pass is the state of one pass over one KafkaTopic.
type pass struct {
	key types.NamespacedName
	log logr.Logger
	// kt is the object, including the writes of the pass, such as the finalizer's.
	kt *v1.KafkaTopic
	// facts are the facts about the topic's owner that the pass has collected so far.
	facts ownership.Facts
	// desired is the requested topic, and actual the observed one; both are set after the first read from Kafka.
	desired topic.Desired
	actual  topic.Actual
	// bound is the time of the last write that proved the pass's version of the object to be current; zero if there was none.
	bound time.Time
	// uncached means that the object was read from the API server.
	uncached bool
	// wasReady means that, before the pass, the status was Ready for the present specification.
	wasReady bool
	// settling means that the operator wrote to Kafka for the object a moment ago, so that brokers may still show the old state.
	settling bool
	began    time.Time
}

// deleting reports whether the topic should be deleted.
func (p *pass) deleting() bool { return p.facts.Object.Deleting || p.facts.Object.Vanished }

// Reconcile implements reconcile.Reconciler: read the object; decide and act, until nothing is left to decide; show users what came of it;
// count the pass, and say when the next one is due.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	defer r.busy.Start(req.NamespacedName)()
	p := &pass{key: req.NamespacedName, log: log.FromContext(ctx), kt: &v1.KafkaTopic{}, began: r.options.Now()}
	found, err := r.read(ctx, p)
	if err == nil && !found {
		r.memory.forget(p.key)
		return reconcile.Result{}, nil
	}
	var v verdict
	if err == nil {
		v, err = r.act(ctx, p)
	}
	if unknown, ok := errors.AsType[*withheld](err); ok {
		v, err = r.notAllowed(p, unknown), nil
	}
	switch {
	case err != nil:
	case p.facts.Object.Vanished:
		v = r.bury(p, v)
	default:
		err = r.show(ctx, p, v)
	}
	return r.conclude(ctx, p, v, err)
}

// read reads the object of a pass from the cache, or from the API server if the cached version may lack fields. If the cache has none, it
// reads the tombstone.
func (r *Reconciler) read(ctx context.Context, p *pass) (found bool, _ error) {
	err := r.client.Get(ctx, p.key, p.kt)
	if err == nil && !r.memory.believes(p.kt.UID, p.kt.ResourceVersion) {
		p.kt, err = r.options.Claims.Object(ctx, p.key)
		p.uncached = true
	}
	switch {
	case apierrors.IsNotFound(err):
		p.kt = r.vanish.get(p.key)
		p.facts.Object.Vanished = true
		return p.kt != nil, nil
	case err != nil:
		return false, err
	case p.kt == nil:
		return false, errGone
	}
	r.vanish.replaced(p.key, p.kt.UID)
	p.wasReady, p.settling = topic.IsReady(p.kt), r.memory.settling(p.key)
	return true, nil
}

// maxDecisions bounds how often a pass decides again. Each time it has more facts, so a few are enough; the bound protects against bugs.
const maxDecisions = 10

// act decides who owns the topic and executes the decision. It collects further facts as decisions require them.
func (r *Reconciler) act(ctx context.Context, p *pass) (verdict, error) {
	if err := r.gather(ctx, p, nil); err != nil {
		return verdict{}, err
	}
	for range maxDecisions {
		d := ownership.Decide(p.facts)
		p.log.V(1).Info("Decided", "decision", d.String(), "seen", p.facts.Observed.View.String())
		v, err := r.carryOut(ctx, p, d)
		if err != nil || v.then != undecided {
			return v, err
		}
	}
	return verdict{}, fmt.Errorf("no decision about topic '%s' after %d attempts", p.facts.Object.Topic(), maxDecisions)
}

// carryOut executes a decision, or collects the facts that it requires.
func (r *Reconciler) carryOut(ctx context.Context, p *pass, d ownership.Decision) (verdict, error) {
	switch d.Action {
	case ownership.Ignore:
		return r.ignore(p), nil
	case ownership.Release:
		return r.release(ctx, p, d)
	case ownership.MarkUnmanaged:
		r.memory.forgetCreation(p.kt.UID)
		return report(topic.Outcome{State: topic.Unmanaged, Why: ownership.UnmanagedReason(p.kt, p.facts.Object)}), nil
	case ownership.MarkPaused:
		return markPaused(p.facts.Object), nil
	case ownership.Refuse:
		return r.refuse(p, d), nil
	case ownership.Look:
		return r.look(ctx, p), nil
	case ownership.Confirm:
		return r.confirm(ctx, p), nil
	case ownership.Wait:
		return r.wait(p), nil
	case ownership.Create:
		return r.create(ctx, p, d)
	case ownership.Align:
		return r.align(ctx, p, d)
	case ownership.Delete:
		return r.delete(ctx, p, d)
	}
	panic("unknown decision " + d.String())
}

// markPaused returns the verdict that reports a pause. The status may lack the topic that the operator created for the object. One that was
// paused from the start has no topic, and may still ask for another name (docs/decisions/unmanaged-and-paused.md).
func markPaused(o ownership.Object) verdict {
	outcome := topic.Outcome{State: topic.Paused}
	if o.Made != nil {
		outcome.Claimed = &topic.Claim{Name: o.Made.Name}
	}
	return report(outcome)
}

// show writes the outcome of a pass to the status, unless the status has it, or it is noise.
func (r *Reconciler) show(ctx context.Context, p *pass, v verdict) error {
	if v.outcome == nil || v.then == known || r.isNoise(ctx, p, v) {
		return nil
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // the pass used up its time on Kafka
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastRetry)
		defer cancel()
	}
	return r.writeStatus(ctx, p, *v.outcome)
}

// isNoise reports whether a temporary failure should not reach the status yet: a topic that was ready most likely still is, and a rolling
// restart of Kafka must not rewrite every status twice. A failure that lasts longer than an interval is reported.
func (r *Reconciler) isNoise(ctx context.Context, p *pass, v verdict) bool {
	quiet := v.quiet
	if p.wasReady && p.kt.DeletionTimestamp == nil {
		quiet = max(quiet, r.options.Interval)
	}
	return v.then == retried && (stopping(ctx) || r.memory.failingFor(p.key) < quiet)
}

// stopping reports whether the operator is stopping. An interrupted pass reports nothing: the next start repeats it.
func stopping(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// conclude counts the pass and returns when to repeat it.
func (r *Reconciler) conclude(ctx context.Context, p *pass, v verdict, err error) (reconcile.Result, error) {
	reason := ""
	switch {
	case errors.Is(err, errGone):
		// The watch delivers the deletion. Should the object still exist, such as after its CustomResourceDefinition was replaced, its
		// timed pass finds it.
		err = nil
		if v.then != retried {
			v.then = timed
		}
	case err != nil && (apierrors.IsConflict(err) || errors.Is(err, errHidden)):
		// Another client wrote in between, so our version of the object is old. Repeat the pass when the watch has caught up, with a
		// growing delay as long as the other client keeps writing.
		p.log.V(1).Info("The KafkaTopic changed in the meantime, requeueing it")
		return reconcile.Result{RequeueAfter: r.memory.failed(p.key)}, nil
	case stopping(ctx) && (err != nil || v.then == retried):
		return reconcile.Result{}, nil
	case err != nil:
		reason = v1.ReasonInternalError
	case v.then == retried:
		reason = "Retry"
	case v.outcome != nil && v.outcome.State == topic.Failed:
		reason = v.outcome.Failure.Reason
	}
	reportFailure(p, v)
	r.countRefusal(p, v)
	r.metrics.Reconciled(metrics.Pass{Namespace: p.key.Namespace, Periodical: p.wasReady, Reason: reason, Took: r.options.Now().Sub(p.began)})
	if err != nil {
		return reconcile.Result{}, err // controller-runtime backs off
	}
	return r.next(p, v), nil
}

// next returns when to repeat the pass.
func (r *Reconciler) next(p *pass, v verdict) reconcile.Result {
	low := handler.LowPriority
	if v.then == retried {
		return reconcile.Result{RequeueAfter: r.memory.failed(p.key), Priority: &low}
	}
	r.memory.succeeded(p.key)
	timer := schedule.Next(cmp.Or(v.slot, p.key.String()), r.options.Interval, r.options.Now())
	switch v.then {
	case over:
		return reconcile.Result{}
	case soon:
		return reconcile.Result{RequeueAfter: min(timer, v.after), Priority: &low}
	default:
		return reconcile.Result{RequeueAfter: timer + v.postpone, Priority: &low}
	}
}

// reportFailure logs why a pass failed.
func reportFailure(p *pass, v verdict) {
	if v.outcome == nil || v.outcome.State != topic.Failed {
		return
	}
	why, name := v.outcome.Failure, p.facts.Object.Topic()
	switch {
	case v.then == retried:
		logging.Warn(p.log, "Reconciliation failed, retrying", "topic", name, "error", why.Message, "cause", v.cause)
	case why.Advice != "":
		logging.Warn(p.log, "Reconciliation failed", "topic", name, "reason", why.Reason, "message", why.Message, "wayOut", why.Advice)
	default:
		logging.Warn(p.log, "Reconciliation failed", "topic", name, "reason", why.Reason, "message", why.Message)
	}
}
