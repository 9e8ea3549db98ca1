package controller

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// The model has its own functions to read objects, so that it does not share a fault of the operator's.

func modelName(kt *v1.KafkaTopic) string {
	switch {
	case kt.Status.TopicName != "":
		return kt.Status.TopicName
	case kt.Spec.TopicName != nil:
		return *kt.Spec.TopicName
	}
	return kt.Name
}

func modelManaged(kt *v1.KafkaTopic) bool {
	return kt.Annotations["strimzi.io/managed"] != "false" && (kt.Spec.Managed == nil || *kt.Spec.Managed)
}

func modelPaused(kt *v1.KafkaTopic) bool {
	return kt.Annotations["strimzi.io/pause-reconciliation"] == "true"
}

func modelHeld(kt *v1.KafkaTopic) bool {
	return slices.Contains(kt.Finalizers, "strimzi.io/topic-operator")
}

// made returns the topics that this process created for the pass's object.
func (w *model) made(p *modelProcess, pass *modelPass) (topics []*modelTopic) {
	for _, t := range w.topics {
		if t.by == p && t.uid == pass.uid() {
			topics = append(topics, t)
		}
	}
	return topics
}

// isMade reports whether this process created a topic of the name for the pass's object. The status may not have it yet, and the
// specification may ask for another one since.
func (w *model) isMade(p *modelProcess, name string) bool {
	return slices.ContainsFunc(w.made(p, p.top()), func(t *modelTopic) bool { return t.name == name })
}

// rivals returns the other claimants of these names that the pass could know of.
func (p *modelProcess) rivals(pass *modelPass, names ...string) (rivals []*v1.KafkaTopic) {
	mine := pass.view.Status.ClusterID
	if mine == "" {
		mine = pass.knows
	}
	for _, c := range pass.cached {
		foreign := c.Status.ClusterID != "" && mine != "" && c.Status.ClusterID != mine
		if client.ObjectKeyFromObject(c) != pass.key && !p.w.released(c) && slices.Contains(names, modelName(c)) && p.w.managed(c) &&
			p.op.selects(c.Labels) && !foreign {
			rivals = append(rivals, c)
		}
	}
	return rivals
}

func modelOlder(a, b *v1.KafkaTopic) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name
}

// released reports whether the operator removed its finalizer from an object that another owner's finalizer still holds.
func (w *model) released(kt *v1.KafkaTopic) bool {
	return w.config.finalizers && kt.DeletionTimestamp != nil && !modelHeld(kt)
}

// checkTruth checks a change of an existing topic against the API server's present objects, regardless of what the pass read.
func (w *model) checkTruth(p *modelProcess, what, name string, deletes bool) bool {
	pass := p.top()
	now := w.server.objects[pass.key]
	vanished := deletes && pass.vanished
	switch {
	case p.op.process != p:
		return w.fail("%s %s topic %s, though another replica leads", p, what, name)
	case vanished && now != nil:
		return w.fail("%s %s topic %s for a %s that is gone, though there is another one", p, what, name, pass.key)
	case vanished:
		now = pass.view
	case now == nil || now.UID != pass.uid():
		return w.fail("%s %s topic %s for %s, which is gone by now", p, what, name, pass.key)
	case !p.op.selects(now.Labels) || !modelManaged(now):
		return w.fail("%s %s topic %s for %s, which it does not select or manage by now", p, what, name, pass.key)
	case !w.managed(now):
		return w.fail("%s %s topic %s for %s, which was unmanaged before spec.managed was dropped", p, what, name, pass.key)
	case forbids(w.policy, now.Namespace, name):
		return w.fail("%s %s topic %s for %s, whose namespace may not by now", p, what, name, pass.key)
	case deletes && now.DeletionTimestamp == nil:
		return w.fail("%s %s topic %s for %s, which nobody deletes", p, what, name, pass.key)
	case !deletes && (modelPaused(now) || now.DeletionTimestamp != nil):
		return w.fail("%s %s topic %s for %s, which is paused or being deleted by now", p, what, name, pass.key)
	}
	for _, c := range w.all() {
		mine := now.Status.ClusterID
		if mine == "" {
			mine = pass.knows
		}
		foreign := c.Status.ClusterID != "" && mine != "" && c.Status.ClusterID != mine
		if client.ObjectKeyFromObject(c) == pass.key || w.released(c) || modelName(c) != name || !w.managed(c) ||
			!p.op.selects(c.Labels) || foreign || !w.counts(c, deletes) {
			continue
		}
		if deletes || !w.config.oldestWins || modelOlder(c, now) {
			return w.fail("%s %s topic %s for %s, which %s/%s claims too by now", p, what, name, pass.key, c.Namespace, c.Name)
		}
	}
	return true
}

// counts reports whether the namespace policy lets an object claim its topic. One that had the topic before keeps it from being deleted
// in any case.
func (w *model) counts(kt *v1.KafkaTopic, deletes bool) bool {
	return !w.forbids(kt) || deletes && (kt.Status.TopicID != "" || kt.Status.ClusterID != "")
}

// managed reports whether an object counts as managed. One that spec.managed unmanaged when the API server began to drop it does not.
func (w *model) managed(kt *v1.KafkaTopic) bool {
	return modelManaged(kt) && (!w.server.prunes || kt.Annotations["strimzi.io/managed"] == "true" ||
		!modelUnmanagedBySpec(kt))
}

// stored returns the object as the API server stores it, with the fields that the CustomResourceDefinition hides.
func (w *model) stored(kt *v1.KafkaTopic) *v1.KafkaTopic {
	if was, ok := w.server.hidden[kt.UID]; ok {
		return was.object
	}
	return kt
}

// modelUnmanagedBySpec reports whether the status of an object says that spec.managed unmanages it.
func modelUnmanagedBySpec(kt *v1.KafkaTopic) bool {
	return slices.ContainsFunc(kt.Status.Conditions, func(c v1.Condition) bool {
		return c.Type == "Unmanaged" && c.Status == "True" && c.Reason == "UnmanagedBySpec"
	})
}

// all returns the existing objects.
func (w *model) all() (all []*v1.KafkaTopic) {
	for _, key := range modelKeys {
		if kt := w.server.objects[key]; kt != nil {
			all = append(all, kt)
		}
	}
	return all
}

// checkMine checks the rules that all changes of a pass share.
func (w *model) checkMine(p *modelProcess, at int, what, name string) bool {
	pass := p.top()
	view := pass.view
	switch {
	case view == nil:
		return w.fail("%s %s topic %s for no object", p, what, name)
	case pass.own.ID == "" && !pass.muted && pass.mutes == p.op.mutes && !w.swapped:
		return w.fail("%s %s topic %s without protection, though Kafka tells its id", p, what, name)
	case pass.own.ID != "" && pass.own.ID != modelClusterIDs[at]:
		return w.fail("%s, of cluster %s, %s topic %s in cluster %s", p, pass.own.ID, what, name, modelClusterNames[at])
	case modelName(view) != name && !w.isMade(p, name):
		return w.fail("%s %s topic %s for %s, which stands for %s", p, what, name, pass.key, modelName(view))
	case !p.op.selects(view.Labels) || !modelManaged(view):
		return w.fail("%s %s topic %s for %s, which it does not select or manage", p, what, name, pass.key)
	case pass.observed != 0:
		return w.fail("%s %s topic %s for %s, after it reported that generation %d is reconciled", p, what, name, pass.key, pass.observed)
	}
	return true
}

// checkLive checks a change against the rules for an object that is not being deleted.
func (w *model) checkLive(p *modelProcess, at int, what, name string) bool {
	if !w.checkMine(p, at, what, name) {
		return false
	}
	pass := p.top()
	view := pass.view
	if modelPaused(view) || view.DeletionTimestamp != nil || p.r.vanish.get(pass.key) == view {
		return w.fail("%s %s topic %s for %s, which is paused or being deleted", p, what, name, pass.key)
	}
	for _, rival := range p.rivals(pass, name) {
		if (!w.config.oldestWins || modelOlder(rival, view)) && !w.restricted[name] && // the policy may not have let it claim
			!w.swapped { // the dropped field may be a rival's cluster
			return w.fail("%s %s topic %s for %s, which %s/%s claims too", p, what, name, pass.key, rival.Namespace, rival.Name)
		}
	}
	if pass.own.ID != "" && view.Status.ClusterID != "" && view.Status.ClusterID != pass.own.ID {
		return w.fail("%s %s topic %s for %s, which belongs to cluster %s", p, what, name, pass.key, view.Status.ClusterID)
	}
	return true
}

// checkCreate checks a creation. The claim is stored after the creation, so a failure in between leaves one new topic too many at worst.
func (w *model) checkCreate(p *modelProcess, at int, name string) {
	if !w.checkLive(p, at, "creates", name) {
		return
	}
	pass := p.top()
	view := pass.view
	if w.config.finalizers && !modelHeld(view) {
		w.fail("%s creates topic %s for %s before its finalizer is there", p, name, pass.key)
	}
	// The topic of this creation is already in made, so one topic means that there was none before.
	if pass.own.ID != "" && view.Status.ClusterID == "" && view.Status.TopicID != "" && len(w.made(p, pass)) == 1 && !w.swapped {
		w.fail("%s creates topic %s for %s, whose topic may be in any cluster", p, name, pass.key)
	}
	w.checkClaim(p, "creates", name, true)
}

// checkChange holds the change of an existing topic against the rules.
func (w *model) checkChange(p *modelProcess, at int, name string) {
	if w.checkTruth(p, "changes", name, false) && w.checkLive(p, at, "changes", name) {
		w.checkClaim(p, "changes", name, false)
	}
}

// checkDeleted checks which settings a change removes: none from internal topics of Kafka, and no throttle that the object never named.
func (w *model) checkDeleted(p *modelProcess, at int, c kafka.ConfigChange) {
	pass, t := p.top(), w.topicOf(at, c.Resource.Name)
	if _, set := c.Set[throttleKey]; set {
		t.throttledBy = pass.uid()
	}
	for _, key := range c.Delete {
		switch {
		case key == throttleKey && !w.throttled[pass.uid()] && w.restored[pass.uid()] == 0:
			w.fail("%s takes a throttle from topic %s that %s never named", p, t, pass.key)
		case key == throttleKey:
			t.throttledBy = ""
		case t.name == internalTopic:
			w.fail("%s takes %s from topic %s, which is Kafka's own", p, key, t)
		}
	}
}

// checkClaim checks the object's claim on the server. The server may have another claim than the pass only if that was stored after the
// pass read the object, and if the pass read its own cluster's claim. For a creation, an object without a claim is allowed as well.
func (w *model) checkClaim(p *modelProcess, what, name string, unclaimed bool) {
	pass := p.top()
	own, view := pass.own.ID, pass.view
	if own == "" {
		return // protection is disabled
	}
	if view.Status.ClusterID != own && (!unclaimed || view.Status.ClusterID != "") {
		w.fail("%s %s topic %s for %s without a claim of its cluster", p, what, name, pass.key)
		return
	}
	now := w.server.last[view.UID]
	if now.Status.ClusterID != view.Status.ClusterID && versionOf(now) <= versionOf(view) && !w.server.prunes { // which hides the claim
		w.fail("%s %s topic %s for %s, of which it knows another version %s than there is", p, what, name, pass.key, view.ResourceVersion)
	}
}

// checkDelete checks the deletion of a topic.
func (w *model) checkDelete(p *modelProcess, at int, t *modelTopic) {
	if t == nil {
		w.fail("%s deletes a topic that nobody knows", p)
		return
	}
	if t.name == internalTopic {
		w.fail("%s deletes topic %s, which is Kafka's own", p, t)
	}
	if !w.checkTruth(p, "deletes", t.name, true) || !w.checkMine(p, at, "deletes", t.name) {
		return
	}
	pass := p.top()
	view, now := pass.view, w.server.last[pass.uid()]
	there := w.server.objects[pass.key]
	if there != nil && there.UID == view.UID && there.DeletionTimestamp == nil {
		w.fail("%s deletes topic %s for %s, which nobody deletes", p, t, pass.key)
	}
	if rivals := p.rivals(pass, t.name); len(rivals) > 0 && !w.restricted[t.name] { // the policy may not have let them claim it
		w.fail("%s deletes topic %s for %s, though %s/%s claims it too", p, t, pass.key, rivals[0].Namespace, rivals[0].Name)
	}
	if read := p.read[pass.key]; read != nil && read.UID != view.UID && versionOf(read) > versionOf(view) {
		w.fail("%s deletes topic %s for a %s that is gone, though it has seen another one since", p, t, pass.key)
	}
	if pass.vanished && p.missed[view.UID] {
		w.fail("%s deletes topic %s for %s, whose end it did not see: a restored API server may lack it", p, t, pass.key)
	}
	mine := t.by == p && t.uid == view.UID && t.born > p.gaveUp[view.UID]
	if view.Status.TopicID != modelIDText(t) && !mine { // a deletion by name stores the id first: checkLateClaim
		w.fail("%s deletes topic %s for %s, whose topicId is %s", p, t, pass.key, modelID(view.Status.TopicID))
	}
	if pass.own.ID == "" {
		if w.config.blockUnknown {
			w.fail("%s deletes topic %s for %s without knowing its cluster", p, t, pass.key)
		}
		return
	}
	for _, kt := range []*v1.KafkaTopic{view, now} {
		stale := kt == now && versionOf(view) < versionOf(now)
		if id := kt.Status.ClusterID; id != "" && id != pass.own.ID && !stale {
			w.fail("%s deletes topic %s for %s, which belongs to cluster %s", p, t, pass.key, id)
		}
	}
}

// checkPatch checks a write to the API server.
func (w *model) checkPatch(p *modelProcess, write modelWrite) {
	pass := p.top()
	before, after := write.before, write.after
	if write.status && (isDispute(before, after) || w.server.prunes && before.Labels[modelLabel] == "AB") {
		w.disputes++
	}
	switch {
	case !write.bound:
		w.fail("%s writes to %s, whoever wrote in between", p, pass.key)
	case !p.op.selects(before.Labels):
		w.fail("%s writes to %s, which it does not select", p, pass.key)
	case write.status:
		w.checkStatus(p, before, after)
	case modelHeld(before) && !modelHeld(after):
		w.checkRelease(p, w.stored(before))
	case !w.config.finalizers || !modelManaged(before) && !w.swapped || before.DeletionTimestamp != nil: // it read this version otherwise
		w.fail("%s brings its finalizer to %s", p, pass.key)
	}
}

// isDispute reports whether the write is part of a known dispute. Without a clusterId, two operators that select one object can't know that
// it belongs to the other. Each of them rejects the object for another reason, such as different rivals, and repeats so at its timer.
func isDispute(before, after *v1.KafkaTopic) bool {
	old, now := before.Status, after.Status
	old.Conditions, now.Conditions = nil, nil
	return before.Labels[modelLabel] == "AB" && old.ClusterID == "" && equality.Semantic.DeepEqual(old, now)
}

// checkStatus checks that a status loses the identity of a topic only if the user asks for it.
func (w *model) checkStatus(p *modelProcess, before, after *v1.KafkaTopic) {
	pass := p.top()
	old, now := before.Status, after.Status
	managed, paused := w.managed(before) && modelManaged(w.stored(before)), modelPaused(before)
	lost := func(old, now string) bool { return old != "" && now != old }
	switch {
	case lost(old.ClusterID, now.ClusterID) && (now.ClusterID != "" || managed):
		w.fail("%s turns the clusterId of %s from %s into %q", p, pass.key, old.ClusterID, now.ClusterID)
	case lost(old.TopicName, now.TopicName) && (now.TopicName != "" || managed):
		w.fail("%s turns the topicName of %s from %s into %q", p, pass.key, old.TopicName, now.TopicName)
	case lost(old.TopicID, now.TopicID) && now.TopicID == "" && (managed && !paused || before.DeletionTimestamp != nil):
		w.fail("%s drops the topicId of %s", p, pass.key)
	case now.ClusterID != old.ClusterID && now.ClusterID != "" && now.ClusterID != pass.own.ID:
		w.fail("%s claims %s for cluster %s", p, pass.key, now.ClusterID)
	case now.ObservedGeneration != old.ObservedGeneration && now.ObservedGeneration > after.Generation:
		w.fail("%s has seen generation %d of %s before there was one", p, now.ObservedGeneration, pass.key)
	}
	if now.TopicName != old.TopicName && now.TopicName != "" && now.TopicID == "" && !w.isMade(p, now.TopicName) {
		w.fail("%s says of %s that topic %s is its own, of which it knows nothing", p, pass.key, now.TopicName)
	}
	if pass.own.ID != "" && old.ClusterID != "" && old.ClusterID != pass.own.ID && managed && !paused {
		old.Conditions, now.Conditions = nil, nil
		if !equality.Semantic.DeepEqual(old, now) && !w.swapped { // the version that it read lacked the clusterId
			w.fail("%s writes more than conditions into the status of %s, which belongs to cluster %s", p, pass.key, old.ClusterID)
		}
	}
	if modelSays(now, "Unmanaged") { // what the definition of the object hides, the process can't know
		p.gaveUp[before.UID] = w.births
	}
	if now.ObservedGeneration != old.ObservedGeneration {
		pass.observed = now.ObservedGeneration
	}
	if now.TopicID != old.TopicID && now.TopicID != "" {
		w.forgetThrottles(before.UID, now.TopicID)
		w.checkTopicID(p, now)
		w.checkLateClaim(p, before, now.TopicID)
	}
	if before.DeletionTimestamp != nil {
		w.noteDenied(before.UID, now.Conditions)
		w.checkMismatch(p, before, now.Conditions)
	}
}

// modelSays reports whether a status has a condition that is true.
func modelSays(s v1.KafkaTopicStatus, kind string) bool {
	return slices.ContainsFunc(s.Conditions, func(c v1.Condition) bool { return c.Type == kind && c.Status == "True" })
}

// forgetThrottles drops the record of throttles in other clusters when an object's status gets the id of a topic. Only an operator that
// knows no cluster ids moves an object to another cluster; its status then records the throttles of the new topic only.
func (w *model) forgetThrottles(uid types.UID, id string) {
	for _, now := range w.topics {
		for _, t := range w.topics {
			if modelIDText(now) == id && t.cluster != now.cluster && t.throttledBy == uid {
				t.throttledBy = ""
			}
		}
	}
}

// checkMismatch checks that no other topic is reported for an object whose own topic the process deleted.
func (w *model) checkMismatch(p *modelProcess, before *v1.KafkaTopic, conditions []v1.Condition) {
	if w.settled(p, w.stored(before)) && slices.ContainsFunc(conditions, func(c v1.Condition) bool { return c.Reason == "TopicIdMismatch" }) {
		w.fail("%s reports another topic for %s, whose topic it deleted itself", p, p.top().key)
	}
}

// noteDenied records which topics the status of an object that is being deleted reports as not its own.
func (w *model) noteDenied(uid types.UID, conditions []v1.Condition) {
	for _, c := range conditions {
		for _, t := range w.topics {
			if c.Reason == "TopicIdMismatch" && strings.Contains(c.Message, "has topicId '"+modelIDText(t)+"'") {
				w.denied[modelDenial{uid, t.id}] = true
			}
		}
	}
}

// checkLateClaim checks the topicId that an object that is being deleted gets. It may get one only if it has none: the id of the topic that
// the process created for it, or that of the topic of its name. The latter is forbidden once the status reported that the topic is not the
// object's own, even if the operator no longer remembers it; only a status that a user restored resets this. checkDelete checks the other
// conditions of a deletion.
func (w *model) checkLateClaim(p *modelProcess, before *v1.KafkaTopic, id string) {
	if before.DeletionTimestamp == nil {
		return
	}
	pass, old := p.top(), w.stored(before).Status
	for _, t := range w.topics {
		if modelIDText(t) != id || t.by == p && t.uid == before.UID && old.TopicID == "" {
			continue
		}
		switch fallback := old.TopicName == t.name && old.ClusterID == pass.own.ID || pass.own.ID == ""; {
		case old.TopicID != "" || !fallback:
			w.fail("%s claims topic %s for %s, which is being deleted, and does not own it", p, t, pass.key)
		case w.denied[modelDenial{before.UID, t.id}]:
			w.fail("%s claims topic %s for %s, after the status told that it is not its own", p, t, pass.key)
		}
	}
}

func (w *model) checkTopicID(p *modelProcess, now v1.KafkaTopicStatus) {
	pass := p.top()
	for _, t := range w.topics {
		if modelIDText(t) != now.TopicID {
			continue
		}
		if t.name != now.TopicName || pass.own.ID != "" && modelClusterIDs[t.cluster] != pass.own.ID && (t.by != p || !t.anywhere) {
			w.fail("%s says of %s that topic %s is its own", p, pass.key, t)
		}
		if pass.view.DeletionTimestamp == nil && t.deletedBy == p && t.ended <= pass.began && p.now().Sub(t.deletedAt) < settle {
			w.fail("%s says of %s that it has topic %s, which it deleted itself", p, pass.key, t)
		}
		return
	}
	w.fail("%s says of %s that it has a topic of id %s, which there never was", p, pass.key, now.TopicID)
}

// checkRelease checks that the operator releases an object only if its topic is deleted, or is meant to stay. The patch carries the
// version, so before is the state that the pass read.
func (w *model) checkRelease(p *modelProcess, before *v1.KafkaTopic) {
	pass := p.top()
	s, own := before.Status, pass.own.ID
	if before.DeletionTimestamp == nil {
		if w.config.finalizers && (s.TopicID != "" || s.ClusterID != "") {
			w.fail("%s takes its finalizer from %s, which has a topic", p, pass.key)
		}
		return
	}
	names := []string{modelName(before)}
	for _, t := range w.made(p, pass) {
		names = append(names, t.name)
	}
	switch {
	case !w.managed(before) || len(p.rivals(pass, names...)) > 0:
		return
	case own == "" && w.config.blockUnknown:
		w.fail("%s releases %s without knowing its cluster", p, pass.key)
	case own == "":
		return // protection is disabled
	case s.ClusterID != "" && s.ClusterID != own && !w.undone(p, before) && (!w.swapped || !w.forbids(before)): // it may not see the cluster
		w.fail("%s releases %s, which belongs to cluster %s", p, pass.key, s.ClusterID)
	}
	if !slices.ContainsFunc(names, func(name string) bool { return w.restricted[name] }) { // the policy may have forbidden it
		w.checkNothingLeft(p, before)
	}
}

// undone reports whether the CustomResourceDefinition hides the object's cluster, and all topics that the process created for the object
// are deleted, or the process deleted the topic of its status. The process can't know of the other cluster then, and nothing is left in
// its own.
func (w *model) undone(p *modelProcess, kt *v1.KafkaTopic) bool {
	made := w.made(p, p.top())
	allGone := len(made) > 0 && !slices.ContainsFunc(made, func(t *modelTopic) bool { return !t.gone })
	return w.server.objects[p.top().key].Status.ClusterID == "" && kt.Status.ClusterID != "" && (allGone || w.settled(p, kt))
}

// checkNothingLeft checks that the topic of a released object is deleted, if it was to be deleted; Kafka's own is not. If an operator that
// knew no cluster ids created a topic or wrote the status, the topic may be left in another cluster than the object's clusterId.
func (w *model) checkNothingLeft(p *modelProcess, before *v1.KafkaTopic) {
	pass := p.top()
	s, own := before.Status, pass.own.ID
	var latest *modelTopic // the latest topic that this process created for the object
	for _, t := range w.made(p, pass) {
		if latest == nil || t.born > latest.born {
			latest = t
		}
	}
	proven := s.ClusterID == own || latest != nil
	for _, t := range w.topics {
		owned := modelIDText(t) == s.TopicID
		proven = proven || owned
		here := modelClusterIDs[t.cluster] == own
		switch {
		case t.gone, w.config.undeletable, w.settled(p, before), t.name == internalTopic:
		case owned && (here || s.ClusterID == "" && latest == nil), t == latest && here && s.TopicID == "" && s.ClusterID == "":
			w.fail("%s releases %s, but its topic %s is there", p, pass.key, t)
		case here && t.name == modelName(before) && t.born <= pass.began && (s.TopicName != "" || latest == nil):
			w.fail("%s releases %s, though topic %s is there, which is not the one that it owns", p, pass.key, t)
		}
	}
	if !proven {
		w.fail("%s releases %s, of which nothing says in which cluster its topic is", p, pass.key)
	}
}
