package controller

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

const (
	// mostRounds and mostPasses bound how long the operators may take to come to rest.
	mostRounds = 12
	mostPasses = 300
)

// converge ends a history: it ends all faults, lets the operators run until they write no more, and checks the final state.
func (w *model) converge() {
	w.tell("-- all faults end")
	for i := range w.clusters {
		w.clusters[i].down, w.clusters[i].lagging = false, false
		w.clusters[i].memory.Lag(nil)
	}
	for _, o := range w.operators {
		o.mute, o.noLease, o.denied = false, false, false
		w.lead(o, o.index)
		w.secret(o, true)
		if id := o.process.guard.Current().ID; id != "" && id != o.clusterID() {
			w.start(o, o.process.events, false) // a guard that found another cluster at its start accepts no other one
		}
	}
	for n := range mostRounds {
		before := w.writes - w.disputes
		w.round()
		if w.violation != "" {
			return
		}
		if n > 0 && w.writes-w.disputes == before { // a new process takes a failure for a lasting one at its second pass
			w.checkEnd()
			w.checkTombs()
			w.wayOut()
			return
		}
	}
	w.fail("there is no end of writing")
}

// wayOut marks each object whose deletion is blocked as unmanaged. It checks that the operator then releases the object, and that no topic
// is deleted.
func (w *model) wayOut() {
	was := w.alive()
	blocked := false
	for _, key := range modelKeys {
		kt := w.server.objects[key]
		if kt == nil || kt.DeletionTimestamp == nil || kt.Labels[modelLabel] == "" || w.violation != "" {
			continue
		}
		blocked = true
		w.unmanage(modelStep{key: slices.Index(modelKeys, key)})
	}
	if !blocked {
		return
	}
	w.round()
	for _, key := range modelKeys {
		if kt := w.server.objects[key]; kt != nil && kt.DeletionTimestamp != nil && kt.Labels[modelLabel] != "" &&
			(modelHeld(kt) || len(kt.Finalizers) == 0) {
			w.fail("%s is not let go, though it is not managed any more: %s", key, modelStatus(kt))
		}
	}
	for _, t := range was {
		if t.gone {
			w.fail("topic %s is gone, though its object was let go", t)
		}
	}
}

// alive returns the topics that exist.
func (w *model) alive() (alive []*modelTopic) {
	for _, t := range w.topics {
		if !t.gone {
			alive = append(alive, t)
		}
	}
	return alive
}

// round lets the timers of all objects fire once, then runs passes and delivers events until none are left.
func (w *model) round() {
	w.pass(interval)
	for _, o := range w.operators {
		o.process.tick()
		for _, key := range modelKeys {
			o.process.ask(key)
		}
	}
	for n := 0; w.violation == ""; {
		busy := false
		for _, o := range w.operators {
			for o.process.deliver() {
				busy = true
			}
			if keys := o.process.ready(); len(keys) > 0 {
				busy = true
				o.process.pass(keys[0], modelStep{})
				n++
			}
		}
		if !busy {
			return
		}
		if n > mostPasses {
			w.fail("there is no end of passes")
		}
	}
}

// checkEnd checks the final state of each remaining object.
func (w *model) checkEnd() {
	for _, o := range w.operators {
		if !w.server.prunes && !o.process.fields.KeepsClusterID() {
			w.fail("%s takes the clusterId for dropped, though it is kept again", o.process)
		}
	}
	for _, key := range modelKeys {
		kt := w.server.objects[key]
		if kt == nil {
			continue
		}
		var selecting []*modelOperator
		for _, o := range w.operators {
			if o.selects(kt.Labels) {
				selecting = append(selecting, o)
			}
		}
		switch {
		case kt.DeletionTimestamp != nil:
			for _, o := range selecting {
				w.checkBlocked(o, kt)
			}
		case len(selecting) == 1:
			w.checkSettled(selecting[0], key, kt)
		}
	}
}

// rivalsAtEnd returns the other claimants of an object's topic, or those that keep it from being deleted.
func (w *model) rivalsAtEnd(o *modelOperator, kt *v1.KafkaTopic, deletes bool) (rivals []*v1.KafkaTopic) {
	mine := kt.Status.ClusterID
	if mine == "" {
		mine = o.clusterID()
	}
	for _, key := range modelKeys {
		c := w.server.objects[key]
		if c != nil && c != kt && !w.released(c) && w.managed(c) && o.selects(c.Labels) && modelName(c) == modelName(kt) &&
			w.counts(c, deletes) &&
			(c.Status.ClusterID == "" || c.Status.ClusterID == mine) {
			rivals = append(rivals, c)
		}
	}
	return rivals
}

// checkBlocked fails if an operator still holds an object that is being deleted, without a valid reason.
func (w *model) checkBlocked(o *modelOperator, kt *v1.KafkaTopic) {
	s := kt.Status
	there := w.topicOf(o.index, modelName(kt))
	owned := there != nil && s.TopicID == there.id.String()
	why := ""
	switch {
	case !modelHeld(kt):
		return // its finalizer is not the operator's
	case !modelManaged(kt):
		why = "it is not managed"
	case w.server.prunes:
		return // no proof that the operator owns the topic, where the operator requires one
	case len(w.rivalsAtEnd(o, kt, true)) > 0:
		why = "there are other claimants"
	case s.ClusterID != "" && s.ClusterID != o.clusterID():
		return // it belongs to another cluster
	case w.forbids(kt):
		why = "the policy forbids to delete its topic"
	case owned:
		why = "its topic is there, and can be deleted"
	case w.settled(o.process, kt) && w.restored[kt.UID] == 0 && w.deletedFor(o.process, kt):
		why = "the operator deleted its topic"
	case s.ClusterID == "" && w.isOwnWork(o, kt, there):
		why = "it made the topic for it, and nothing happened since"
	case s.ClusterID == "" || there != nil && s.TopicID != "" || s.TopicID == "" && s.TopicName == "":
		return // no proof that the object owns the topic, or proof that it does not
	default:
		why = "its topic is gone, or can be deleted"
	}
	w.fail("%s/%s is held by operator %s for ever, though %s: %s", kt.Namespace, kt.Name, o.name(), why, modelStatus(kt))
}

// settled reports whether the process deleted the topic that the object owns, and still remembers the deletion. The object also owns
// the topic that the process created for it, which the status may lack.
func (w *model) settled(p *modelProcess, kt *v1.KafkaTopic) bool {
	for _, t := range w.topics {
		owned := modelIDText(t) == kt.Status.TopicID || t.by == p && t.uid == kt.UID && t.born > p.gaveUp[kt.UID] && t.name == modelName(kt) &&
			(w.restored[kt.UID] == 0 || t.events >= w.restored[kt.UID])
		if owned && t.deletedBy == p && w.clock.now().Sub(t.deletedAt) < longMemory {
			return true
		}
	}
	return false
}

// deletedFor reports whether the process deleted a topic for the object, and not for another one that claimed the topic.
func (w *model) deletedFor(p *modelProcess, kt *v1.KafkaTopic) bool {
	for _, t := range w.topics {
		if t.deletedBy == p && t.deletedFor == kt.UID {
			return true
		}
	}
	return false
}

// isOwnWork reports whether the operator's process must still remember that it created the topic for the object. Without faults no answer
// was lost.
func (w *model) isOwnWork(o *modelOperator, kt *v1.KafkaTopic, there *modelTopic) bool {
	return !w.config.faults && there != nil && there.by == o.process && there.uid == kt.UID && !w.unmanaged[kt.UID] &&
		w.clock.now().Sub(kt.CreationTimestamp.Time) < longMemory
}

// disputed reports whether the status may have another writer than the operator that selects the object now: a user who restored it, or the
// operator that selected it before.
func (w *model) disputed(kt *v1.KafkaTopic) bool {
	return w.restored[kt.UID] > 0 || slices.ContainsFunc(w.server.log, func(e modelEvent) bool {
		return e.after.UID == kt.UID && e.after.Labels[modelLabel] != kt.Labels[modelLabel]
	})
}

// modelTomb is an object that was removed at once, and a process that may have to delete its topic.
type modelTomb struct {
	key     types.NamespacedName
	last    *v1.KafkaTopic
	process *modelProcess
}

// checkTombs fails if the topic of an object that was removed at once still exists, although the process that created the topic saw all
// events, and no other object was involved.
func (w *model) checkTombs() {
	for _, tomb := range w.tombs {
		kt, p := tomb.last, tomb.process
		if p != p.op.process || p.gaps || w.server.prunes || !modelManaged(kt) || w.config.undeletable || !p.op.selects(kt.Labels) ||
			kt.Status.ClusterID != p.op.clusterID() || w.others(kt) || modelName(kt) == internalTopic ||
			w.restricted[modelName(kt)] {
			continue
		}
		if t := w.topicOf(p.op.index, modelName(kt)); t != nil && t.by == p && t.uid == kt.UID && t.id.String() == kt.Status.TopicID &&
			kt.DeletionTimestamp == nil {
			w.fail("topic %s stays, though its object %s is gone, and %s saw it go", t, tomb.key, p)
		}
	}
}

// others reports whether there ever was another object with the same key, or one that may have stood for the same topic.
func (w *model) others(kt *v1.KafkaTopic) bool {
	for _, e := range w.server.log {
		if other := e.after; other.UID != kt.UID && (client.ObjectKeyFromObject(other) == client.ObjectKeyFromObject(kt) ||
			modelName(other) == modelName(kt)) {
			return true
		}
	}
	return false
}

func modelStatus(kt *v1.KafkaTopic) string {
	s := kt.Status
	return fmt.Sprintf("topicName %q, topicId %q, clusterId %q, generation %d of %d, %+v", s.TopicName, modelID(s.TopicID), s.ClusterID,
		s.ObservedGeneration, kt.Generation, s.Conditions)
}

// checkSettled checks the final state of an object that exactly one operator selects.
func (w *model) checkSettled(o *modelOperator, key types.NamespacedName, kt *v1.KafkaTopic) {
	s := kt.Status
	has := func(kind, status string) bool {
		return slices.ContainsFunc(s.Conditions, func(c v1.Condition) bool { return c.Type == kind && c.Status == status })
	}
	ready := has("Ready", "True") && s.ObservedGeneration == kt.Generation
	rivals := w.rivalsAtEnd(o, kt, false)
	loses := slices.ContainsFunc(rivals, func(c *v1.KafkaTopic) bool { return !w.config.oldestWins || modelOlder(c, kt) })
	if !w.disputed(kt) { // it may be another writer's report
		w.checkStalled(key, kt)
	}
	switch {
	case modelManaged(kt) && !w.managed(kt):
		// It was unmanaged when spec.managed was dropped, so its present value is unknown.
	case !modelManaged(kt):
		if !has("Unmanaged", "True") || s.TopicName != "" || s.TopicID != "" || s.ClusterID != "" {
			w.fail("%s is not let go: %s", key, modelStatus(kt))
		}
		if kt.Spec.Managed != nil && !modelUnmanagedBySpec(kt) {
			w.fail("%s does not say that spec.managed unmanages it: %s", key, modelStatus(kt))
		}
	case modelPaused(kt):
		if !has("ReconciliationPaused", "True") || s.TopicID != "" {
			w.fail("%s does not pause: %s", key, modelStatus(kt))
		}
	case s.ClusterID != "" && s.ClusterID != o.clusterID():
		// If two operators selected the object, the one that wrote last reported this once for each generation. So disputed objects are not
		// checked.
		if says := "KafkaTopic is owned by cluster '" + s.ClusterID + "', not this cluster '" + o.clusterID() + "'."; !w.disputed(kt) &&
			!slices.ContainsFunc(s.Conditions, func(c v1.Condition) bool {
				return c.Status == "False" && c.Message == says
			}) {
			w.fail("%s does not say that it belongs to another cluster: %s", key, modelStatus(kt))
		}
	case kt.Spec.TopicName != nil && s.TopicName != "" && s.TopicName != *kt.Spec.TopicName, kt.Spec.TopicName == nil && s.TopicName != "" &&
		s.TopicName != kt.Name, w.forbids(kt), loses:
		if ready {
			w.fail("%s is ready, though it is refused: %s", key, modelStatus(kt))
		}
	default:
		w.checkReady(o, key, kt, ready)
	}
}

// checkStalled checks that an object that failed says whether only a user can help. Nothing passes by itself when all faults have ended.
func (w *model) checkStalled(key types.NamespacedName, kt *v1.KafkaTopic) {
	of := func(kind string) (found v1.Condition) {
		for _, c := range kt.Status.Conditions {
			if c.Type == kind {
				found = c
			}
		}
		return found
	}
	ready, stalled := of("Ready"), of("Stalled")
	switch {
	case ready.Status != "False" && stalled.Status != "":
		w.fail("%s is stalled, though it did not fail: %s", key, modelStatus(kt))
	case ready.Status == "False" && ready.Reason != "ClusterIdUnknown" && (stalled.Status != "True" || stalled.Message != ready.Message):
		w.fail("%s is not stalled, though only a user can help: %s", key, modelStatus(kt))
	}
}

// checkReady checks that the topic exists and matches the object.
func (w *model) checkReady(o *modelOperator, key types.NamespacedName, kt *v1.KafkaTopic, ready bool) {
	s := kt.Status
	t := w.topicOf(o.index, modelName(kt))
	if s.ClusterID == "" && s.TopicID != "" && (t == nil || t.id.String() != s.TopicID) {
		return // no field names the cluster of its topic
	}
	if kt.Spec.Replicas != nil {
		return // Kafka may have rejected it or not
	}
	if t == nil || t.id.String() != s.TopicID || s.ClusterID != o.clusterID() && !w.server.prunes {
		w.fail("%s has no topic: %s", key, modelStatus(kt))
		return
	}
	found, err := w.clusters[o.index].hand.DescribeTopics(modelContext, []string{t.name})
	if err != nil {
		panic(err)
	}
	r := kafka.TopicResource(t.name)
	configs, err := w.clusters[o.index].hand.DescribeConfigs(modelContext, []kafka.ConfigResource{r}, allConfigKeys)
	if err != nil {
		panic(err)
	}
	if t.name == internalTopic && configs[r].Entries[policyKey].Value == "delete" {
		w.fail("%s: topic %s loses what Kafka keeps in it", key, t)
	}
	have, want := len(found[t.name].Topic.Partitions), 0
	if kt.Spec.Partitions != nil {
		want = int(*kt.Spec.Partitions)
	}
	for name, entry := range configs[r].Entries {
		value, set := kt.Spec.Config[name]
		leftover := !set && entry.Source == kafka.SourceTopic
		switch {
		case name == throttleKey && leftover: // a throttle that another owner set stays
			leftover = t.throttledBy == kt.UID && !w.unmanaged[kt.UID] && w.restored[kt.UID] == 0
		case t.name == internalTopic:
			leftover = false
		}
		text, _ := value.Text()
		if set && text != entry.Value || leftover {
			w.fail("%s: topic %s has %s=%s", key, t, name, entry.Value)
		}
		if set && entry.Source != kafka.SourceTopic {
			w.fail("%s: topic %s leaves %s to the brokers", key, t, name)
		}
	}
	if differs := want > 0 && have != modelReliedOn; t.name == internalTopic && differs != modelReports(kt, "of the brokers is 1: ") {
		w.fail("%s says otherwise than that the brokers rely on %d partitions, and topic %s has %d: %s", key, modelReliedOn, t, have,
			modelStatus(kt))
	}
	switch {
	case have < want && t.name != internalTopic:
		w.fail("%s: topic %s has %d partitions", key, t, have)
	case ready != (want == 0 || have == want):
		w.fail("%s is ready: %t, with %d partitions: %s", key, ready, have, modelStatus(kt))
	case modelHeld(kt) != w.config.finalizers:
		w.fail("%s is held: %t", key, modelHeld(kt))
	}
}
