package controller

import (
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
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/operator/events"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/executor"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/schedule"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// The rules that the manifests in config/topic-operator/rbac are generated from.
//
// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkatopics,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkatopics/status,verbs=get;patch
// +kubebuilder:rbac:groups=kafka.strimzi.io,resources=kafkas,verbs=get;list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Kafka is what the reconciler asks of Kafka; executor.Executor implements it.
type Kafka interface {
	Describe(ctx context.Context, name string, patient bool) (topic.Actual, error)
	Locate(ctx context.Context, name string) (kafka.Topic, error)
	Create(ctx context.Context, t kafka.NewTopic, allowed executor.Check) (kafka.CreateResult, error)
	Validate(ctx context.Context, t kafka.NewTopic) error
	Alter(ctx context.Context, c kafka.ConfigChange, allowed executor.Check) error
	Increase(ctx context.Context, p kafka.PartitionIncrease, allowed executor.Check) error
	Reassignments(ctx context.Context, name string) (map[int32]kafka.Reassignment, error)
	Delete(ctx context.Context, id kafka.TopicID, allowed executor.Check) error
}

// Identity tells which Kafka cluster the operator works for; identity.Guard implements it.
type Identity interface {
	// Own returns what is known, and tries to find it out while that is nothing.
	Own(ctx context.Context) ownership.Cluster
	// Ask does the same, and at once if the last attempt began before the given time.
	Ask(ctx context.Context, since time.Time) ownership.Cluster
	// Current returns what is known, and asks nobody.
	Current() ownership.Cluster
	// Answered notes that a broker of another cluster answered.
	Answered(as string)
}

// Schema tells what the API server keeps of a KafkaTopic: another CustomResourceDefinition than the operator's may drop what its promises
// rest on. schema.Watcher implements it.
type Schema interface {
	// KeepsClusterID reports whether the API server keeps status.clusterId, as far as known.
	KeepsClusterID() bool
	// DroppedClusterID notes that the answer to a patch of a status lacked the clusterId.
	DroppedClusterID()
	// KeepsManaged asks the API server whether it keeps spec.managed of an object.
	KeepsManaged(ctx context.Context, kt *v1.KafkaTopic) (bool, error)
}

// Options are the settings that the reconciler needs.
type Options struct {
	// Selects reports whether a KafkaTopic's labels make it the operator's business.
	Selects func(labels map[string]string) bool
	// Rules bear on plans, Ownership on what may be touched at all.
	Rules     topic.Rules
	Ownership ownership.Rules
	// Violation describes how the namespace policy forbids a namespace a topic; empty if it does not. Nil allows everything.
	Violation func(namespace, topic string) string
	// Identity tells the operator's Kafka cluster.
	Identity Identity
	// Claims finds the claimants of a topic; nil takes those that the manager's watches show.
	Claims Claims
	// Leads returns an error if another replica of the operator leads by now, or if nobody can tell. It is asked right before each change in
	// Kafka. Nil means that there is no other replica.
	Leads func(context.Context) error
	// Schema tells what the API server keeps of a KafkaTopic; nil if it keeps everything.
	Schema Schema
	// Namespaces are the watched ones; none means all.
	Namespaces []string
	// Interval is the longest time between two looks at a topic.
	Interval time.Duration
	// UseFinalizers holds deleted objects until their topic is deleted too.
	UseFinalizers bool
	// KeepWhenDeletionDisabled keeps a deleted object, as Strimzi does, where Kafka has topic deletion switched off; the
	// default releases it (docs/decisions/deletion.md).
	KeepWhenDeletionDisabled bool
	// Now tells the time.
	Now func() time.Time
}

// Reconciler makes one topic at a time follow its KafkaTopic.
type Reconciler struct {
	client  client.Client
	kafka   Kafka
	events  *events.Recorder
	metrics *metrics.Metrics
	options Options
	memory  *memory
	busy    *busyKeys
	vanish  *tombstones
	// again takes the objects that have to be looked at again for a reason that lies outside of them.
	again chan event.GenericEvent
	// elected tells whether this operator is the one that acts, and no standby. A standby takes note of no deletion: by the time it is
	// elected, the topic's name may be another owner's.
	elected func() bool
}

// NewReconciler returns a Reconciler. The client's reads come from a cache, its writes go to the API server.
func NewReconciler(c client.Client, k Kafka, recorder *events.Recorder, m *metrics.Metrics, o Options) *Reconciler {
	if o.Leads == nil {
		o.Leads = always
	}
	if o.Schema == nil {
		o.Schema = keepsAll{}
	}
	return &Reconciler{client: c, kafka: k, events: recorder, metrics: m, options: o,
		memory: newMemory(o.Now), busy: newBusyKeys(), vanish: newTombstones(), again: make(chan event.GenericEvent),
		elected: func() bool { return true }}
}

// pass is all that is known in one pass over one KafkaTopic. It dies with the pass.
type pass struct {
	key types.NamespacedName
	log logr.Logger
	// kt is the object; writes of the pass itself, such as the finalizer's, are in it.
	kt *v1.KafkaTopic
	// facts are what the pass knows so far about who owns the topic.
	facts ownership.Facts
	// desired is what the object asks for, and actual the topic as it was seen; both once Kafka was looked at.
	desired topic.Desired
	actual  topic.Actual
	// bound is when a write of the pass proved last that the object is as the pass knows it; zero if none did.
	bound time.Time
	// uncached: the API server itself was asked for the object.
	uncached bool
	// wasReady: before the pass, the status said that the present specification was carried out.
	wasReady bool
	// settling: the operator wrote to Kafka for the object a moment ago, so that what a broker shows may be from before.
	settling bool
	began    time.Time
}

// deleting reports whether the topic is to go.
func (p *pass) deleting() bool { return p.facts.Object.Deleting || p.facts.Object.Vanished }

// verdict is how a pass goes on after its decision was carried out.
type verdict struct {
	// outcome goes to the status; nil leaves the status alone.
	outcome *topic.Outcome
	// reported: the outcome is in the status, or was, and is not written again.
	reported bool
	// retry: the failure passes by itself, so that the pass is repeated with back-off rather than at the timer.
	retry bool
	// cause is what lay under a failure on the way to Kafka, for the log.
	cause string
	// soon repeats the pass after this time, though nothing failed. later puts the timed pass off by this time.
	soon, later time.Duration
	// again: the facts have changed in the middle of the pass, so that it is decided again.
	again bool
	// done: the object is, or is about to be, gone; it is not looked at again.
	done bool
	// unselected: the object is being deleted, and waits for an operator that there most likely is not.
	unselected bool
}

// withOutcome is the verdict whose outcome is written to the status.
func withOutcome(o topic.Outcome) verdict { return verdict{outcome: &o} }

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	defer r.busy.start(req.NamespacedName, r.options.Now())()
	p := &pass{key: req.NamespacedName, log: log.FromContext(ctx), kt: &v1.KafkaTopic{}, began: r.options.Now()}
	if err := r.read(ctx, p); err != nil {
		if apierrors.IsNotFound(err) {
			return r.vanished(ctx, p)
		}
		return r.conclude(ctx, p, verdict{}, err)
	}
	r.vanish.replaced(p.key, p.kt.UID)
	p.wasReady = topic.IsReady(p.kt)
	p.settling = r.memory.settling(p.key)
	v, err := r.act(ctx, p)
	if err == nil && v.outcome != nil && !v.reported && !r.isNoise(ctx, p, v) {
		ctx, cancel := withTimeToReport(ctx)
		defer cancel()
		err = r.writeStatus(ctx, p, *v.outcome)
	}
	return r.conclude(ctx, p, v, err)
}

// read reads the object of a pass from the cache, or from the API server if what the cache has was found to be less than there is.
func (r *Reconciler) read(ctx context.Context, p *pass) error {
	if err := r.client.Get(ctx, p.key, p.kt); err != nil || r.memory.believes(p.kt.UID, p.kt.ResourceVersion) {
		return err
	}
	kt, err := r.options.Claims.Object(ctx, p.key)
	if err == nil && kt == nil {
		err = apierrors.NewNotFound(v1.GroupVersion.WithResource("kafkatopics").GroupResource(), p.key.Name)
	}
	if err == nil {
		p.kt, p.uncached = kt, true
	}
	return err
}

// withTimeToReport gives a pass that used up its time on Kafka a little more, to write its status.
func withTimeToReport(ctx context.Context) (context.Context, context.CancelFunc) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.WithTimeout(context.WithoutCancel(ctx), lastRetry)
	}
	return ctx, func() {}
}

// stopping reports whether the operator ends. A pass that is interrupted so has nothing to tell: the next start begins where it was.
func stopping(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// maxDecisions bounds how often a pass decides again. Each time it knows more, so that a few are enough; the bound is for faults of ours.
const maxDecisions = 10

// act decides whose the topic is and carries the decision out. What has to be known for it is asked as it goes.
func (r *Reconciler) act(ctx context.Context, p *pass) (verdict, error) {
	if err := r.gather(ctx, p, nil); err != nil {
		return verdict{}, err
	}
	for range maxDecisions {
		d := ownership.Decide(p.facts)
		p.log.V(1).Info("Decided", "decision", d.String(), "seen", p.facts.Observed.View.String())
		v, err := r.carryOut(ctx, p, d)
		if err != nil || !v.again {
			return v, err
		}
	}
	return verdict{}, fmt.Errorf("no decision about topic '%s' after %d attempts", p.facts.Object.Topic(), maxDecisions)
}

// gather collects what is known without asking Kafka for the topic. The claimants are those of newer, if it is set.
func (r *Reconciler) gather(ctx context.Context, p *pass, newer *changed) error {
	o := r.object(ctx, p.kt, p.facts.Object.Vanished)
	p.facts = ownership.Facts{Object: o, Rules: r.options.Ownership}
	if !o.Selected || !o.Managed || o.Paused && !p.deleting() || o.Deleting && !o.Held && !o.Vanished {
		return nil // nothing else matters
	}
	p.facts.Own = r.own(r.options.Identity.Own(ctx))
	r.reportUnprotected(p)
	p.facts.Violation = r.violation(o.Key.Namespace, o.Topic())
	if newer != nil && newer.topic == o.Topic() {
		p.facts.Others = r.others(ctx, p, newer.claimants)
		return nil
	}
	claimants, err := r.options.Claims.Of(ctx, o.Topic())
	if err != nil {
		return err
	}
	p.facts.Others = r.others(ctx, p, claimants)
	return nil
}

func (r *Reconciler) violation(namespace, topic string) string {
	if r.options.Violation == nil {
		return ""
	}
	return r.options.Violation(namespace, topic)
}

// others are the claimants of the pass's topic besides its object.
func (r *Reconciler) others(ctx context.Context, p *pass, claimants []v1.KafkaTopic) []ownership.Claimant {
	var others []ownership.Claimant
	for i := range claimants {
		kt := &claimants[i]
		if client.ObjectKeyFromObject(kt) == p.key || !kt.IsManaged() || !r.options.Selects(kt.Labels) || r.released(kt) || r.doubtful(ctx, kt) {
			continue
		}
		others = append(others, ownership.ClaimantOf(kt, r.violation(kt.Namespace, ownership.ClaimedName(kt)) != ""))
	}
	return others
}

// released reports whether the operator released an object that another finalizer still keeps: such an object can't act any more, so it
// claims nothing.
func (r *Reconciler) released(kt *v1.KafkaTopic) bool {
	return r.options.UseFinalizers && !kt.DeletionTimestamp.IsZero() && !ownership.HasFinalizer(kt)
}

// carryOut carries a decision out, or finds out what it asks for.
func (r *Reconciler) carryOut(ctx context.Context, p *pass, d ownership.Decision) (verdict, error) {
	switch d.Action {
	case ownership.Ignore:
		return r.ignore(p), nil
	case ownership.Release:
		return r.release(ctx, p, d)
	case ownership.MarkUnmanaged:
		r.memory.forgetCreation(p.kt.UID)
		return withOutcome(topic.Outcome{State: topic.Unmanaged}), nil
	case ownership.MarkPaused:
		// The name of the topic stays visible on an object that was paused from the start (Strimzi; docs/decisions/unmanaged-and-paused.md).
		return withOutcome(topic.Outcome{State: topic.Paused, Claimed: &topic.Claim{Name: d.Topic}}), nil
	case ownership.Refuse:
		return r.refuse(p, d), nil
	case ownership.Look:
		return r.look(ctx, p), nil
	case ownership.Confirm:
		return r.confirm(ctx, p), nil
	case ownership.Wait:
		return verdict{soon: firstRetry}, nil
	case ownership.Create:
		return r.create(ctx, p, d)
	case ownership.Align:
		return r.align(ctx, p, d)
	case ownership.Delete:
		return r.delete(ctx, p, d)
	}
	panic("unknown decision " + d.String())
}

// isNoise reports whether a passing failure should not reach the status yet: a topic that was in order most likely still is, and a
// rolling restart of Kafka must not rewrite every status twice. A failure that lasts longer than an interval is reported.
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
	case err != nil && (apierrors.IsConflict(err) || errors.Is(err, errHidden)):
		// Somebody wrote in between: what we know of the object is old. Look again when the watch has caught up, and less and less often while
		// somebody keeps writing.
		p.log.V(1).Info("The KafkaTopic changed in the meantime, requeueing it")
		return reconcile.Result{RequeueAfter: r.memory.failed(p.key)}, nil
	case stopping(ctx) && (err != nil || v.retry):
		return reconcile.Result{}, nil
	case err != nil:
		reason = v1.ReasonInternalError
	case v.retry:
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

// next describes when the object is looked at again.
func (r *Reconciler) next(p *pass, v verdict) reconcile.Result {
	low := handler.LowPriority
	if v.retry {
		return reconcile.Result{RequeueAfter: r.memory.failed(p.key), Priority: &low}
	}
	r.memory.succeeded(p.key)
	if v.done {
		return reconcile.Result{}
	}
	wait := schedule.Next(p.key.String(), r.options.Interval, r.options.Now()) + v.later
	if v.soon > 0 && v.soon < wait {
		wait = v.soon
	}
	return reconcile.Result{RequeueAfter: wait, Priority: &low}
}

// reportFailure logs why a pass failed.
func reportFailure(p *pass, v verdict) {
	if v.outcome == nil || v.outcome.State != topic.Failed {
		return
	}
	why, name := v.outcome.Failure, p.facts.Object.Topic()
	switch {
	case v.retry:
		logging.Warn(p.log, "Kafka did not answer, retrying", "topic", name, "error", why.Message, "cause", v.cause)
	case why.Advice != "":
		logging.Warn(p.log, "Reconciliation failed", "topic", name, "reason", why.Reason, "message", why.Message, "wayOut", why.Advice)
	default:
		logging.Warn(p.log, "Reconciliation failed", "topic", name, "reason", why.Reason, "message", why.Message)
	}
}

// vanished deals with an object that is gone: there is nothing left to do, but in the mode without finalizers. Then there is no object
// left to tell a failure on.
func (r *Reconciler) vanished(ctx context.Context, p *pass) (reconcile.Result, error) {
	p.kt = r.vanish.get(p.key)
	if p.kt == nil {
		r.memory.forget(p.key)
		return reconcile.Result{}, nil
	}
	p.facts.Object.Vanished = true
	v, err := r.act(ctx, p)
	own := p.facts.Own
	// There is no second chance: while the operator does not see its own cluster, the deletion waits.
	v.retry = v.retry || v.outcome != nil && (own.Answering != "" || (own.ID == "" || own.Unstorable) && r.options.Ownership.BlockUnknown)
	if err == nil && !v.retry && v.soon == 0 {
		v.done = true
	}
	if v.done {
		r.vanish.drop(p.key)
		r.memory.forget(p.key)
	}
	return r.conclude(ctx, p, v, err)
}
