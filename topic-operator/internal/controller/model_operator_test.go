package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	kafkamemory "github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
	"github.com/kafka-operators/kafka-operators/operator/events"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/identity"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/schema"
)

// modelOperator is the part of an operator that survives the end of its process.
type modelOperator struct {
	index   int
	process *modelProcess
	starts  int
	// leads is the cluster that the bootstrap address leads to. mute makes Kafka hide its cluster id.
	leads int
	mute  bool
	// mutes counts the changes of mute.
	mutes int
	// noLease reports whether the operator's Lease is deleted; the next election creates it again.
	noLease bool
	// denied reports whether the API server refuses the operator's dry runs.
	denied bool
	// lockedOut reports whether the operator's Secret has a password that Kafka rejects.
	lockedOut bool
}

func (o *modelOperator) name() string { return string("AB"[o.index]) }

// clusterID returns the id of the operator's own cluster.
func (o *modelOperator) clusterID() string { return modelClusterIDs[o.index] }

// selects reports whether the operator's label selector matches.
func (o *modelOperator) selects(labels map[string]string) bool {
	return labels[modelLabel] == o.name() || labels[modelLabel] == "AB"
}

// modelProcess is one process of an operator, from its start to its end.
type modelProcess struct {
	w     *model
	op    *modelOperator
	life  int
	r     *Reconciler
	guard *identity.Guard
	admin *modelAdmin
	kafka *kafkamemory.Client
	// cache is the state after the first events of the API server's log; events counts them.
	cache  map[types.NamespacedName]*v1.KafkaTopic
	events int
	queue  []types.NamespacedName
	due    map[types.NamespacedName]time.Time
	passes []*modelPass
	dead   bool
	// showing reports whether an event handler runs, outside of any pass.
	showing bool
	// read is each object as a pass read it last. gaveUp is the number of births at which the process stopped managing an object.
	read   map[types.NamespacedName]*v1.KafkaTopic
	gaveUp map[types.UID]int
	// gaps reports whether the watch had a gap, so that the process may have missed a deletion.
	gaps bool
	// missed are the objects whose deletion fell into such a gap.
	missed map[types.UID]bool
	// leftAt is the cluster that the operator's address led to when another replica took over.
	leftAt int
	// fields are the fields that the API server keeps, as far as the process knows.
	fields *schema.Watcher
	// armed reports whether the process knows the id of its cluster.
	armed bool
}

// modelSchema reports to a process which fields the API server keeps.
type modelSchema struct{ p *modelProcess }

func (s *modelSchema) KeepsClusterID() bool { return s.p.fields.KeepsClusterID() }

func (s *modelSchema) DroppedClusterID() {
	if s.p.w.config.plant != plantedDeaf {
		s.p.fields.DroppedClusterID()
	}
}

func (s *modelSchema) KeepsManaged(context.Context, *v1.KafkaTopic) (bool, error) {
	switch {
	case s.p.op.denied && s.p.w.config.plant == plantedDismissive:
		return false, nil
	case s.p.op.denied:
		return false, errModelTimeout
	}
	return !s.p.w.server.prunes || s.p.w.config.plant == plantedTrusting, nil
}

func (p *modelProcess) String() string { return fmt.Sprintf("operator %s%d", p.op.name(), p.life) }

// modelPass is one pass over one object, as the rules see it.
type modelPass struct {
	key types.NamespacedName
	// view is the object as the pass knows it: as read, or as its last write stored it. cached are all cached objects at the pass's last
	// search for claimants.
	view   *v1.KafkaTopic
	cached []*v1.KafkaTopic
	// vanished reports whether the pass handles an object that no longer exists.
	vanished bool
	// own is the operator's cluster as the guard returned it, without the id if the id can't be stored. knows is the id in both cases.
	own   ownership.Cluster
	knows string
	// began is the number of births at the start of the pass. muted and mutes record whether Kafka hid its cluster id then.
	began         int
	muted         bool
	mutes         int
	calls, writes int
	// policy is the namespace policy at the start of the pass.
	policy map[string]string
	// observed is the generation that a write of the pass reported as reconciled; 0 if there was none.
	observed int64
	plan     modelStep
}

// vanishes records that the pass found no object. The pass then handles the tombstone, if there is one.
func (p *modelPass) vanishes(by *modelProcess) {
	p.view = by.r.vanish.get(p.key)
	p.vanished = p.view != nil
}

func (p *modelPass) uid() types.UID {
	if p.view == nil {
		return ""
	}
	return p.view.UID
}

// modelEnd is the panic that ends a pass of a crashed process.
type modelEnd struct{}

func (p *modelProcess) passing() bool   { return len(p.passes) > 0 }
func (p *modelProcess) top() *modelPass { return p.passes[len(p.passes)-1] }
func (p *modelProcess) now() time.Time  { return p.w.clock.now() }
func (p *modelProcess) crash(how string) {
	p.w.tell("  %s dies %s", p, how)
	p.dead = true
	panic(modelEnd{})
}

// leads reports whether the process holds the operator's lease.
func (p *modelProcess) leads(context.Context) error {
	switch {
	case p.w.config.plant == plantedNoLease:
	case p.op.noLease:
		return fmt.Errorf("read the Lease: %w", apierrors.NewNotFound(coordinationv1.Resource("leases"), p.op.name()))
	case p.op.process != p:
		return ErrNotLeader
	}
	return nil
}

// violation describes how the namespace policy forbids a namespace a topic.
func (p *modelProcess) violation(namespace, topic string) string {
	policy := p.w.policy
	if p.w.config.plant == plantedEarlyPolicy && p.passing() {
		policy = p.top().policy
	}
	if forbids(policy, namespace, topic) {
		return "topic '" + topic + "' is another namespace's"
	}
	return ""
}

// start starts a new process of the operator, with a cache filled from the first events of the log. The old process ends; or, if the new
// one usurps it, the old one was suspended and continues its pass.
func (w *model) start(o *modelOperator, known int, usurps bool) {
	o.starts++
	p := &modelProcess{w: w, op: o, life: o.starts, events: known,
		cache: map[types.NamespacedName]*v1.KafkaTopic{}, due: map[types.NamespacedName]time.Time{},
		read: map[types.NamespacedName]*v1.KafkaTopic{}, gaveUp: map[types.UID]int{}, missed: map[types.UID]bool{}}
	p.kafka = w.clusters[0].memory.Client("User:"+o.name(), nil)
	p.kafka.Redirect(w.clusters[o.leads].memory)
	p.admin = &modelAdmin{p: p}
	ignore := func(bool) {}
	p.guard = identity.New(p.admin, identity.Options{CallTimeout: time.Hour, Interval: time.Nanosecond, Armed: ignore, Changed: ignore,
		Restored: p.restored, Now: p.now, Log: logr.Discard()})
	p.fields = schema.New(schema.Options{Get: w.published, Client: &modelProbe{p: p}, Log: logr.Discard(),
		Changed: func(bool) { p.lookAtAll() }})
	dropped := events.New(nil, events.Limits{}, func() {})
	p.r = NewReconciler(&modelClient{p: p}, &modelKafka{p: p}, dropped, w.metrics, Options{
		Selects: o.selects, Identity: &modelIdentity{p: p}, Claims: &modelClaims{p: p}, Interval: interval,
		Violation: p.violation, Leads: p.leads, Schema: &modelSchema{p: p}, UseFinalizers: w.config.finalizers,
		Ownership: ownership.Rules{OldestWins: w.config.oldestWins, BlockUnknown: w.config.blockUnknown}, Now: p.now,
	})
	if o.process != nil {
		o.process.dead, o.process.leftAt = !usurps, o.leads
	}
	o.process = p
	for i := range known {
		e := w.server.log[i]
		p.cache[e.key] = e.after
		if e.gone {
			delete(p.cache, e.key)
		}
	}
	w.tell("%s starts, with the first %d of %d events", p, known, len(w.server.log))
	for _, key := range modelKeys {
		if kt := p.cache[key]; kt != nil {
			p.created(key, kt)
		}
	}
}

// all returns the cached objects.
func (p *modelProcess) all() (all []*v1.KafkaTopic) {
	for _, key := range modelKeys {
		if kt := p.cache[key]; kt != nil {
			all = append(all, kt)
		}
	}
	return all
}

// enter is called at each call of a pass, and plays the inner steps that are planned for this call.
func (p *modelProcess) enter(what string) {
	pass := p.top()
	pass.calls++
	p.goOn()
	if pass.calls == pass.plan.at && pass.plan.fault != faultRepeated {
		p.meanwhile(what)
	}
}

// meanwhile plays the inner steps of the pass.
func (p *modelProcess) meanwhile(what string) {
	if inner := p.top().plan.inner; len(inner) > 0 {
		p.w.tell("  before %s goes on to %s:", p, what)
		for _, s := range inner {
			p.w.apply(s)
		}
		p.goOn()
	}
}

// goOn ends the pass if its process crashed meanwhile, or if the history is over.
func (p *modelProcess) goOn() {
	if p.dead || p.w.violation != "" {
		panic(modelEnd{})
	}
}

// write makes one write of a pass, with the fault that the step plans for it.
func (p *modelProcess) write(what string, do func() error, lost error) error {
	p.enter(what)
	pass := p.top()
	pass.writes++
	fault := ""
	if pass.writes == pass.plan.n {
		fault = pass.plan.fault
	}
	switch fault {
	case faultCrashBefore:
		p.crash("before it can " + what)
	case faultRefused, faultUnserved:
		p.w.tell("  %s cannot %s", p, what)
		return lost
	}
	err := do()
	if err == nil {
		p.w.writes++
		p.w.tell("  %s: %s", p, what)
	} else {
		p.w.tell("  %s: %s: %v", p, what, err)
	}
	p.goOn()
	switch {
	case fault == faultCrashAfter:
		p.crash("right after")
	case fault == faultLost && err == nil:
		p.w.tell("  %s does not hear of it", p)
		return lost
	}
	return err
}

var errModelTimeout = errors.New("the API server did not answer in time")

func (p *modelProcess) patch(what string, obj client.Object, patch client.Patch, status bool) error {
	if p.passing() {
		data, _ := patch.Data(obj)
		what = fmt.Sprintf("%s %s with %s", what, client.ObjectKeyFromObject(obj), data)
	}
	pass := p.top()
	lost := errModelTimeout
	if pass.plan.fault == faultUnserved {
		lost = apierrors.NewNotFound(modelResource, obj.GetName())
	}
	var stored *v1.KafkaTopic
	err := p.write(what, func() error {
		return p.w.server.patch(obj, patch, status, func(w modelWrite) {
			p.w.checkPatch(p, w)
			stored = w.after
		})
	}, lost)
	if err == nil && stored != nil {
		pass.view = stored
	}
	return err
}

// pass runs one pass. If the process crashes in it, a new process starts.
func (p *modelProcess) pass(key types.NamespacedName, plan modelStep) {
	pass := &modelPass{key: key, began: p.w.births, muted: p.op.mute, mutes: p.op.mutes,
		policy: maps.Clone(p.w.policy), plan: plan}
	p.passes = append(p.passes, pass)
	p.queue = slices.DeleteFunc(p.queue, func(k types.NamespacedName) bool { return k == key })
	delete(p.due, key)
	p.plantInMemory(key)
	p.w.tell("%s looks at %s", p, key)
	result, err, ended := p.reconcile(key)
	p.passes = p.passes[:len(p.passes)-1]
	defer func() {
		if pass.own.ID == "" {
			key = types.NamespacedName{}
		}
		p.checkAwake(key)
	}()
	defer p.checkNotForgotten(key)
	switch {
	case p.dead && p.op.process == p && p.w.violation == "":
		p.w.start(p.op, p.w.relist(p.op, plan.arg), false)
	case ended:
	case err != nil:
		p.due[key] = p.now().Add(time.Second)
	case result.RequeueAfter > 0:
		p.due[key] = p.now().Add(result.RequeueAfter)
	}
}

// checkNotForgotten checks that another pass follows if the object still exists, or its tombstone does.
func (p *modelProcess) checkNotForgotten(key types.NamespacedName) {
	if _, due := p.due[key]; due || slices.Contains(p.queue, key) || p.dead || p.op.process != p {
		return
	}
	active := func(kt *v1.KafkaTopic) bool {
		return kt != nil && p.op.selects(kt.Labels) && (kt.DeletionTimestamp == nil || modelHeld(kt))
	}
	cached, stored := p.cache[key], p.w.server.objects[key]
	switch {
	case active(cached) && active(stored) && cached.UID == stored.UID:
		p.w.fail("%s never looks at %s again, which still exists", p, key)
	case p.r.vanish.get(key) != nil:
		p.w.fail("%s never looks at %s again, whose topic may have to be deleted", p, key)
	}
}

// reconcile runs one pass, and reports whether the process ended in it.
//
//nolint:revive // the end is no error
func (p *modelProcess) reconcile(key types.NamespacedName) (result reconcile.Result, err error, ended bool) {
	defer func() {
		switch x := recover(); x.(type) {
		case nil:
		case modelEnd:
			ended = true
		default:
			ended = true
			p.w.fail("a pass panics: %v\n%s", x, debug.Stack())
		}
	}()
	ctx := log.IntoContext(context.Background(), p.w.logger(p))
	result, err = p.r.Reconcile(ctx, reconcile.Request{NamespacedName: key})
	return result, err, false
}

// busy reports whether a pass over the object is running; a second one never starts.
func (p *modelProcess) busy(key types.NamespacedName) bool {
	return slices.ContainsFunc(p.passes, func(pass *modelPass) bool { return pass.key == key })
}

type modelQueue struct {
	queue
	p *modelProcess
}

func (q *modelQueue) Add(r reconcile.Request) { q.p.ask(r.NamespacedName) }

func (p *modelProcess) ask(key types.NamespacedName) {
	if !slices.Contains(p.queue, key) {
		p.queue = append(p.queue, key)
	}
}

func (p *modelProcess) lookAtAll() {
	for _, key := range modelKeys {
		if p.cache[key] != nil {
			p.ask(key)
		}
	}
}

// restored is called when the guard learns the id of the cluster.
func (p *modelProcess) restored() {
	if p.w.config.plant != plantedDrowsy {
		p.lookAtAll()
	}
}

// ready returns the objects that a worker may take now.
func (p *modelProcess) ready() []types.NamespacedName {
	keys := slices.Clone(p.queue)
	for _, key := range modelKeys {
		if at, ok := p.due[key]; ok && !at.After(p.now()) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return slices.DeleteFunc(keys, p.busy)
}

// deliver delivers the next event of the log to the process. It reports whether there was one.
func (p *modelProcess) deliver() bool {
	if p.events >= len(p.w.server.log) {
		return false
	}
	e := p.w.server.log[p.events]
	p.events++
	switch before := p.cache[e.key]; {
	case e.gone && before != nil:
		p.deleted(e.key, e.after, false)
	case e.gone:
	case before == nil:
		p.created(e.key, e.after)
	default:
		p.updated(e.key, before, e.after)
	}
	return true
}

// gap brings the cache up to date as after a broken watch: with a list instead of the missed events.
func (p *modelProcess) gap() {
	p.events = len(p.w.server.log)
	for _, key := range modelKeys {
		before, after := p.cache[key], p.w.server.objects[key]
		switch {
		case after == nil && before != nil:
			p.missed[before.UID] = true
			p.deleted(key, before, p.w.config.plant != plantedBelieving)
		case after == nil:
		case before == nil:
			p.created(key, after)
		default:
			p.updated(key, before, after)
		}
	}
}

// show runs the event handlers, outside of any pass.
func (p *modelProcess) show(key types.NamespacedName, passes bool, handlers func(queue)) {
	if passes {
		p.ask(key)
	}
	p.showing = true
	handlers(&modelQueue{p: p})
	p.showing = false
}

func (p *modelProcess) created(key types.NamespacedName, kt *v1.KafkaTopic) {
	p.cache[key] = kt
	e := event.CreateEvent{Object: kt}
	p.show(key, p.r.watched().Create(e), func(q queue) { p.r.rivals().Create(context.Background(), e, q) })
}

func (p *modelProcess) updated(key types.NamespacedName, before, after *v1.KafkaTopic) {
	p.cache[key] = after
	e := event.UpdateEvent{ObjectOld: before, ObjectNew: after}
	p.show(key, p.r.watched().Update(e), func(q queue) { p.r.rivals().Update(context.Background(), e, q) })
}

func (p *modelProcess) deleted(key types.NamespacedName, last *v1.KafkaTopic, unknown bool) {
	delete(p.cache, key)
	e := event.DeleteEvent{Object: last, DeleteStateUnknown: unknown}
	p.show(key, p.r.watched().Delete(e), func(q queue) { p.r.rivals().Delete(context.Background(), e, q) })
}

// tick lets the guard check once which cluster answers, as its loop does.
func (p *modelProcess) tick() {
	defer p.checkAwake(types.NamespacedName{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if p.w.config.plant != plantedDeaf {
		p.fields.Look(ctx)
	}
	if p.guard.Current().ID == "" {
		p.guard.Ask(ctx, p.now().Add(time.Nanosecond))
		return
	}
	asked := false
	p.admin.asked = func() bool {
		if asked {
			cancel()
			return true
		}
		asked = true
		return false
	}
	_ = p.guard.Start(ctx)
	p.admin.asked = nil
}
