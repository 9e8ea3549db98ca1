package controller

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	kafkamemory "github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
)

// modelStep is one step of a history. It is a plain value that is interpreted when it is played, so a history stays valid if steps are
// removed.
type modelStep struct {
	do string
	// key selects an object, and who an operator or a Kafka cluster.
	key, who int
	// arg selects everything else.
	arg int
	// fault applies to the n-th write of a pass. inner is played before the pass's call number at.
	fault string
	n, at int
	inner []modelStep
}

// The faults of a write.
const (
	faultCrashBefore = "crash-before"
	faultCrashAfter  = "crash-after"
	faultRefused     = "refused"
	faultLost        = "answer-lost"
	faultRepeated    = "sent-again"
	faultUnserved    = "not-served" // the API server answers 404 for an object that exists, as while its definition is replaced
)

// String returns the step in Go syntax.
func (s modelStep) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "{do: %q, key: %d, who: %d, arg: %d", s.do, s.key, s.who, s.arg)
	if s.fault != "" {
		fmt.Fprintf(&b, ", fault: %q, n: %d", s.fault, s.n)
	}
	if len(s.inner) > 0 {
		fmt.Fprintf(&b, ", at: %d, inner: []modelStep{", s.at)
		for _, inner := range s.inner {
			b.WriteString(inner.String() + ", ")
		}
		b.WriteByte('}')
	}
	return b.String() + "}"
}

// modelDeed is a kind of step; its weight is how often it occurs.
type modelDeed struct {
	name   string
	weight int
	run    func(w *model, s modelStep)
	// fault excludes it from histories without faults.
	fault bool
}

var modelDeeds []modelDeed

func init() { // avoids an initialization cycle
	modelDeeds = []modelDeed{
		{name: "deliver", weight: 30, run: (*model).deliverSome},
		{name: "work", weight: 45, run: (*model).work},
		{name: "timer", weight: 4, run: (*model).timer},
		{name: "wait", weight: 8, run: (*model).wait},
		{name: "tick", weight: 2, run: func(w *model, s modelStep) { w.process(s).tick() }},
		{name: "create", weight: 9, run: (*model).createObject},
		{name: "edit", weight: 5, run: (*model).edit},
		{name: "retarget", weight: 1, run: (*model).retarget},
		{name: "delete", weight: 7, run: (*model).deleteObject},
		{name: "pause", weight: 3, run: (*model).pause},
		{name: "unmanage", weight: 4, run: (*model).unmanage},
		{name: "relabel", weight: 3, run: (*model).relabel},
		{name: "restart", weight: 2, run: (*model).restart},
		{name: "gap", weight: 1, run: (*model).gap, fault: true},
		{name: "make", weight: 3, run: (*model).makeTopic},
		{name: "drop", weight: 2, run: (*model).dropTopic},
		{name: "remake", weight: 2, run: (*model).remakeTopic},
		{name: "alter", weight: 2, run: (*model).alterTopic},
		{name: "lag", weight: 3, run: (*model).lag, fault: true},
		{name: "backup", weight: 2, run: (*model).backup, fault: true},
		{name: "restore", weight: 2, run: (*model).restore, fault: true},
		{name: "outage", weight: 2, run: (*model).outage, fault: true},
		{name: "mute", weight: 1, run: (*model).mute, fault: true},
		{name: "redirect", weight: 1, run: (*model).redirect, fault: true},
		{name: "throttle", weight: 3, run: (*model).throttle},
		{name: "slow", weight: 1, run: (*model).slow},
		{name: "internal", weight: 1, run: (*model).makeInternal},
		{name: "claim-internal", weight: 1, run: (*model).claimInternal},
		{name: "swap", weight: 1, run: (*model).swap, fault: true},
		{name: "immigrate", weight: 2, run: (*model).immigrate},
		{name: "hold", weight: 2, run: (*model).hold},
		{name: "lease", weight: 1, run: (*model).lease, fault: true},
		{name: "usurp", weight: 1, run: (*model).usurp, fault: true},
		{name: "vanish", weight: 1, run: (*model).vanish, fault: true},
		{name: "deny", weight: 1, run: (*model).deny, fault: true},
		{name: "policy", weight: 1, run: (*model).restrict},
		{name: "secret", weight: 1, run: (*model).changeSecret, fault: true},
		{name: "default", weight: 1, run: (*model).changeDefault},
	}
}

// randomStep returns the next step of a random history.
func randomStep(r *rand.Rand, faults, nested bool) modelStep {
	for {
		n := r.IntN(200)
		for _, d := range modelDeeds {
			n -= d.weight
			if n >= 0 {
				continue
			}
			if d.fault && !faults {
				break
			}
			s := modelStep{do: d.name, key: r.IntN(len(modelKeys)), who: r.IntN(2), arg: r.IntN(1 << 16)}
			if d.name == "work" || d.name == "timer" {
				randomPass(r, &s, faults, nested)
			}
			return s
		}
	}
}

// randomPass chooses the faults and the inner steps of a pass.
func randomPass(r *rand.Rand, s *modelStep, faults, nested bool) {
	if faults && r.IntN(8) == 0 {
		s.fault = []string{faultCrashBefore, faultCrashAfter, faultRefused, faultLost, faultRepeated, faultUnserved}[r.IntN(6)]
		s.n = 1 + r.IntN(4)
	}
	if !nested && (s.fault == faultRepeated || r.IntN(5) == 0) {
		s.at = 1 + r.IntN(8)
		for range 1 + r.IntN(4) {
			s.inner = append(s.inner, randomStep(r, faults, true))
		}
	}
}

// apply plays a step.
func (w *model) apply(s modelStep) {
	if w.violation != "" {
		return
	}
	at := slices.IndexFunc(modelDeeds, func(d modelDeed) bool { return d.name == s.do })
	modelDeeds[at].run(w, s)
}

func (w *model) process(s modelStep) *modelProcess { return w.operators[s.who%2].process }

func (w *model) deliverSome(s modelStep) {
	p := w.process(s)
	for range 1 + s.arg%4 {
		if !p.deliver() {
			return
		}
	}
}

func (w *model) work(s modelStep) {
	p := w.process(s)
	if keys := p.ready(); len(keys) > 0 {
		p.pass(keys[s.arg%len(keys)], s)
	}
}

func (w *model) timer(s modelStep) {
	p := w.process(s)
	if key := modelKeys[s.key]; !p.busy(key) {
		p.pass(key, s)
	}
}

func (w *model) wait(s modelStep) {
	steps := []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 4 * time.Second, 31 * time.Second, interval,
		10 * time.Minute}
	w.pass(steps[s.arg%len(steps)])
}

// longestLag bounds how long a broker lags.
const longestLag = settle - time.Second

// pass advances the clock. A lagging broker catches up after longestLag.
func (w *model) pass(d time.Duration) {
	w.clock.step(d)
	w.tell("%s go by", d)
	for i := range w.clusters {
		if c := &w.clusters[i]; c.lagging && w.clock.now().Sub(c.since) > longestLag {
			c.lagging = false
			c.memory.Lag(nil)
		}
	}
}

// pick returns one of the values.
func pick[T any](arg, shift int, values ...T) T { return values[(arg>>shift)%len(values)] }

func (w *model) createObject(s modelStep) {
	key := modelKeys[s.key]
	kt := &v1.KafkaTopic{Spec: &v1.KafkaTopicSpec{}}
	kt.Namespace, kt.Name = key.Namespace, key.Name
	kt.Labels = map[string]string{modelLabel: pick(s.arg, 0, "A", "B", "A", "B", "AB", "A", "B", "")}
	kt.Annotations = map[string]string{}
	if name := pick(s.arg, 3, "", "", "x", "y"); name != "" {
		kt.Spec.TopicName = &name
	}
	shape(kt, s.arg>>5)
	if pick(s.arg, 11, 0, 0, 0, 0, 0, 0, 0, 1) == 1 {
		kt.Annotations[v1.AnnotationPauseReconciliation] = "true"
	}
	if w.server.create(kt) {
		w.tell("a user creates %s %s for topic %s, label %q, partitions %s, config %v", kt.UID, key, modelName(kt), kt.Labels[modelLabel],
			shown(kt.Spec.Partitions), kt.Spec.Config)
	}
}

func shown(n *int64) string {
	if n == nil {
		return "default"
	}
	return fmt.Sprint(*n)
}

// shape sets the specification of an object.
func shape(kt *v1.KafkaTopic, arg int) {
	kt.Spec.Partitions, kt.Spec.Config, kt.Spec.Replicas = nil, nil, nil
	if n := pick(arg, 0, int64(0), 1, 2, 3); n > 0 {
		kt.Spec.Partitions = &n
	}
	if value := pick(arg, 2, "", "1000", "2000", "3000"); value != "" {
		kt.Spec.Config = map[string]v1.ConfigValue{configKeys[0]: {Raw: []byte(strconv.Quote(value))}}
	}
	switch pick(arg, 4, 0, 0, 0, 0, 0, 0, 1, 2) {
	case 1:
		kt.Spec.Managed = new(bool)
	case 2:
		kt.Spec.Replicas = new(int64(2)) // more replicas than a cluster has brokers
	}
}

func (w *model) user(s modelStep, what string, f func(*v1.KafkaTopic)) {
	key := modelKeys[s.key]
	if w.server.change(key, f) {
		kt := w.server.objects[key]
		if kt == nil {
			w.tell("a user %s %s, which goes", what, key)
			return
		}
		w.unmanaged[kt.UID] = w.unmanaged[kt.UID] || !modelManaged(kt)
		w.tell("a user %s %s: label %q, annotations %v, partitions %s, config %v, managed %t", what, key, kt.Labels[modelLabel], kt.Annotations,
			shown(kt.Spec.Partitions), kt.Spec.Config, modelManaged(kt))
	}
}

func (w *model) edit(s modelStep) {
	w.user(s, "edits", func(kt *v1.KafkaTopic) { shape(kt, s.arg) })
}

func (w *model) retarget(s modelStep) {
	w.user(s, "retargets", func(kt *v1.KafkaTopic) { kt.Spec.TopicName = new(pick(s.arg, 0, "x", "y", "z")) })
}

func (w *model) deleteObject(s modelStep) {
	key := modelKeys[s.key]
	if w.server.delete(key) {
		w.tell("a user deletes %s", key)
		if w.server.objects[key] == nil {
			w.vanishes(key)
		}
	}
}

// vanish removes an object although its finalizer was stored in time, as the API server may do.
func (w *model) vanish(s modelStep) {
	if kt := w.server.objects[modelKeys[s.key]]; kt != nil && kt.DeletionTimestamp == nil {
		w.server.vanish(modelKeys[s.key])
		w.tell("%s is deleted at once", modelKeys[s.key])
		w.vanishes(modelKeys[s.key])
	}
}

// vanishes records which processes may have to delete the topic of an object that was just removed.
func (w *model) vanishes(key types.NamespacedName) {
	last := w.server.log[len(w.server.log)-1].after
	for _, o := range w.operators {
		w.tombs = append(w.tombs, modelTomb{key: key, last: last, process: o.process})
	}
}

func (w *model) pause(s modelStep) {
	w.user(s, "pauses or resumes", func(kt *v1.KafkaTopic) {
		kt.Annotations[v1.AnnotationPauseReconciliation] = pick(s.arg, 0, "true", "false", "false")
	})
}

func (w *model) unmanage(s modelStep) {
	w.user(s, "unmanages or manages", func(kt *v1.KafkaTopic) {
		switch pick(s.arg, 0, 0, 1, 2, 2) {
		case 0:
			kt.Annotations[v1.AnnotationManaged] = "false"
		case 1:
			kt.Spec.Managed = new(bool)
		default:
			delete(kt.Annotations, v1.AnnotationManaged)
			kt.Spec.Managed = nil
		}
	})
}

func (w *model) relabel(s modelStep) {
	w.user(s, "relabels", func(kt *v1.KafkaTopic) { kt.Labels[modelLabel] = pick(s.arg, 0, "A", "B", "A", "B", "AB", "") })
}

func (w *model) restart(s modelStep) {
	w.tell("%s is stopped", w.process(s))
	o := w.operators[s.who%2]
	w.start(o, w.relist(o, s.arg), false)
}

// relist returns how many events the first list of a new process includes. The answer of an API server may be a little old, but not older
// than an earlier one.
func (w *model) relist(o *modelOperator, arg int) int {
	shownBefore := o.process.events
	return shownBefore + arg%(len(w.server.log)-shownBefore+1)
}

func (w *model) gap(s modelStep) {
	w.tell("the watch of %s breaks off and begins anew", w.process(s))
	w.process(s).gap()
	w.process(s).gaps = true
}

// topicName returns a name that an object may have.
func topicName(s modelStep) string { return pick(s.arg, 0, "x", "y", "z") }

var modelContext = modelBackground()

func (w *model) makeTopic(s modelStep) {
	c := &w.clusters[s.who%2]
	name := topicName(s)
	made, err := c.hand.CreateTopics(modelContext, []kafka.NewTopic{{Name: name, Partitions: 1 + int32(s.arg>>4)%3,
		ReplicationFactor: 1}}, false)
	if err != nil || made[name].Err != nil {
		return // it exists already
	}
	t := &modelTopic{cluster: s.who % 2, name: name, id: marked(made[name].ID, s.who%2)}
	w.topicMade(t)
	w.tell("somebody makes topic %s in cluster %s", t, modelClusterNames[s.who%2])
}

func (w *model) dropTopic(s modelStep) {
	at := s.who % 2
	t := w.topicOf(at, topicName(s))
	if t == nil || w.config.undeletable {
		return
	}
	if _, err := w.clusters[at].hand.DeleteTopics(modelContext, []kafka.TopicID{unmarked(t.id, at)}); err != nil {
		panic(err)
	}
	w.topicGone(t.id)
	w.tell("somebody deletes topic %s in cluster %s", t, modelClusterNames[at])
}

func (w *model) remakeTopic(s modelStep) {
	w.dropTopic(s)
	w.makeTopic(s)
}

func (w *model) alterTopic(s modelStep) {
	at, name := s.who%2, topicName(s)
	if w.topicOf(at, name) == nil {
		return
	}
	key, value := pick(s.arg, 2, configKeys...), pick(s.arg, 4, "4000", "1048576")
	change := kafka.ConfigChange{Resource: kafka.TopicResource(name), Set: map[string]string{key: value}}
	if _, err := w.clusters[at].hand.AlterConfigs(modelContext, []kafka.ConfigChange{change}, false); err != nil {
		panic(err)
	}
	w.tell("somebody sets %s=%s on topic %s in cluster %s", key, value, name, modelClusterNames[at])
}

func (w *model) changeDefault(s modelStep) {
	key, value := configKeys[0], pick(s.arg, 0, "604800000", "1000", "2000", "3000")
	w.clusters[s.who%2].memory.SetDefault(key, value)
	w.tell("the brokers of cluster %s have the default %s=%s", modelClusterNames[s.who%2], key, value)
}

func (w *model) lag(s modelStep) {
	c := &w.clusters[s.who%2]
	if c.lagging = !c.lagging; !c.lagging {
		c.memory.Lag(nil)
		return
	}
	c.since = w.clock.now()
	c.memory.Lag(c.memory.Snapshot())
	w.tell("the brokers of cluster %s fall behind", modelClusterNames[s.who%2])
}

func (w *model) backup(modelStep) {
	w.saved = map[types.NamespacedName]v1.KafkaTopicStatus{}
	for key, kt := range w.server.objects {
		w.saved[key] = kt.Status
	}
	w.tell("somebody makes a backup")
}

func (w *model) restore(s modelStep) {
	key := modelKeys[s.key]
	status, ok := w.saved[key]
	if !ok {
		return
	}
	switch pick(s.arg, 0, "all", "all", "all", "name", "cluster", "id") { // the fields that an older version did not back up
	case "name":
		status.TopicName, status.TopicID = "", ""
	case "cluster":
		status.ClusterID = ""
	case "id":
		status.TopicID = ""
	}
	if w.server.replaceStatus(key, status) {
		w.restored[w.server.objects[key].UID] = len(w.server.log)
		// Earlier reports no longer count: a restored status without a topicId looks like a paused object's, and its topic is found by
		// name.
		maps.DeleteFunc(w.denied, func(d modelDenial, _ bool) bool { return d.object == w.server.objects[key].UID })
		w.tell("somebody restores the status of %s: topicName %q, topicId %q, clusterId %q", key, status.TopicName, modelID(status.TopicID),
			status.ClusterID)
	}
}

func (w *model) outage(s modelStep) {
	c := &w.clusters[s.who%2]
	c.down = pick(s.arg, 0, true, false, false)
	w.tell("cluster %s is down: %t", modelClusterNames[s.who%2], c.down)
}

func (w *model) mute(s modelStep) {
	o := w.operators[s.who%2]
	o.mute = pick(s.arg, 0, true, false)
	o.mutes++
	w.tell("Kafka hides its id from operator %s: %t", o.name(), o.mute)
}

func (w *model) lease(s modelStep) {
	o := w.operators[s.who%2]
	o.noLease = pick(s.arg, 0, true, false)
	w.tell("the Lease of operator %s is deleted: %t", o.name(), o.noLease)
}

func (w *model) redirect(s modelStep) {
	o := w.operators[s.who%2]
	w.lead(o, pick(s.arg, 0, o.index, o.index, 1-o.index))
}

func (w *model) lead(o *modelOperator, to int) {
	if o.leads != to {
		o.leads = to
		o.process.kafka.Redirect(w.clusters[to].memory)
		w.tell("the address of operator %s leads to cluster %s", o.name(), modelClusterNames[to])
	}
}

// modelCluster is one of the two Kafka clusters.
type modelCluster struct {
	memory *kafkamemory.Cluster
	// hand is another client of the cluster.
	hand *kafkamemory.Client
	down bool
	// lagging reports whether brokers report an older state, since that time.
	lagging bool
	since   time.Time
}
