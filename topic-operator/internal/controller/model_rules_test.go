package controller

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// The model reads objects by itself, so that a fault in the code that the operator reads them with is none of its own.

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

// made returns the topics that this process made for the pass's object.
func (w *model) made(p *modelProcess, pass *modelPass) (topics []*modelTopic) {
	for _, t := range w.topics {
		if t.by == p && t.uid == pass.uid() {
			topics = append(topics, t)
		}
	}
	return topics
}

// isMade reports whether this process made a topic of the name for the pass's object. The status may not tell of it, and the specification ask
// for another one since then.
func (w *model) isMade(p *modelProcess, name string) bool {
	return slices.ContainsFunc(w.made(p, p.top()), func(t *modelTopic) bool { return t.name == name })
}

// rivals are the others that claim a topic of these names, as the pass could know.
func (p *modelProcess) rivals(pass *modelPass, names ...string) (rivals []*v1.KafkaTopic) {
	mine := pass.view.Status.ClusterID
	if mine == "" {
		mine = pass.own.ID
	}
	for _, c := range pass.cached {
		foreign := c.Status.ClusterID != "" && mine != "" && c.Status.ClusterID != mine
		if client.ObjectKeyFromObject(c) != pass.key && slices.Contains(names, modelName(c)) && modelManaged(c) && p.op.selects(c.Labels) && !foreign {
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

// checkMine holds whatever a pass does for a live object against the rules that all changes share.
func (w *model) checkMine(p *modelProcess, at int, what, name string) bool {
	pass := p.top()
	view := pass.view
	switch {
	case view == nil:
		return w.fail("%s %s topic %s for no object", p, what, name)
	case pass.own.ID == "" && !pass.muted && pass.mutes == p.op.mutes:
		return w.fail("%s %s topic %s without protection, though Kafka tells its id", p, what, name)
	case pass.own.ID != "" && pass.own.ID != modelClusterIDs[at]:
		return w.fail("%s, of cluster %s, %s topic %s in cluster %s", p, pass.own.ID, what, name, modelClusterNames[at])
	case modelName(view) != name && !w.isMade(p, name):
		return w.fail("%s %s topic %s for %s, which stands for %s", p, what, name, pass.key, modelName(view))
	case !p.op.selects(view.Labels) || !modelManaged(view):
		return w.fail("%s %s topic %s for %s, which it does not select or manage", p, what, name, pass.key)
	}
	return true
}

// checkLive holds a change for a live object against the rules.
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
		if !w.config.oldestWins || modelOlder(rival, view) {
			return w.fail("%s %s topic %s for %s, which %s/%s claims too", p, what, name, pass.key, rival.Namespace, rival.Name)
		}
	}
	if pass.own.ID != "" && view.Status.ClusterID != "" && view.Status.ClusterID != pass.own.ID {
		return w.fail("%s %s topic %s for %s, which belongs to cluster %s", p, what, name, pass.key, view.Status.ClusterID)
	}
	return true
}

// checkCreate holds a creation against the rules. A claim is stored after it: the worst is a new topic too many.
func (w *model) checkCreate(p *modelProcess, at int, name string) {
	if !w.checkLive(p, at, "creates", name) {
		return
	}
	pass := p.top()
	view := pass.view
	if w.config.finalizers && !modelHeld(view) {
		w.fail("%s creates topic %s for %s before its finalizer is there", p, name, pass.key)
	}
	// All but the new one.
	if pass.own.ID != "" && view.Status.ClusterID == "" && view.Status.TopicID != "" && len(w.made(p, pass)) == 1 {
		w.fail("%s creates topic %s for %s, whose topic may be in any cluster", p, name, pass.key)
	}
	w.checkClaim(p, "creates", name, true)
}

// checkChange holds the change of an existing topic against the rules.
func (w *model) checkChange(p *modelProcess, at int, name string) {
	if w.checkLive(p, at, "changes", name) {
		w.checkClaim(p, "changes", name, false)
	}
}

// checkClaim asks whose the object is on the server at this very moment. It may be another one's than the pass's only if that was stored after
// the pass read the object, and if the pass had read that the object was its own cluster's; an object that nobody had claimed will do for a creation.
func (w *model) checkClaim(p *modelProcess, what, name string, unclaimed bool) {
	pass := p.top()
	own, view := pass.own.ID, pass.view
	if own == "" {
		return // seed 000: protection is disabled
	}
	if view.Status.ClusterID != own && (!unclaimed || view.Status.ClusterID != "") {
		w.fail("%s %s topic %s for %s without a claim of its cluster", p, what, name, pass.key)
		return
	}
	now := w.server.last[view.UID]
	if now.Status.ClusterID != view.Status.ClusterID && versionOf(now) <= versionOf(view) {
		w.fail("%s %s topic %s for %s, of which it knows another version %s than there is", p, what, name, pass.key, view.ResourceVersion)
	}
}

// checkDelete holds a deletion against the rules.
func (w *model) checkDelete(p *modelProcess, at int, t *modelTopic) {
	if t == nil {
		w.fail("%s deletes a topic that nobody knows", p)
		return
	}
	if !w.checkMine(p, at, "deletes", t.name) {
		return
	}
	pass := p.top()
	view, now := pass.view, w.server.last[pass.uid()]
	there := w.server.objects[pass.key]
	if there != nil && there.UID == view.UID && there.DeletionTimestamp == nil {
		w.fail("%s deletes topic %s for %s, which nobody deletes", p, t, pass.key)
	}
	if rivals := p.rivals(pass, t.name); len(rivals) > 0 {
		w.fail("%s deletes topic %s for %s, though %s/%s claims it too", p, t, pass.key, rivals[0].Namespace, rivals[0].Name)
	}
	if read := p.read[pass.key]; read != nil && read.UID != view.UID && versionOf(read) > versionOf(view) {
		w.fail("%s deletes topic %s for a %s that is gone, though it has seen another one since", p, t, pass.key)
	}
	mine := t.by == p && t.uid == view.UID && t.born > p.gaveUp[view.UID]
	if view.Status.TopicID != modelIDText(t) && !mine { // what goes by name is claimed first: checkLateClaim
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

// checkPatch holds a write to the API server against the rules.
func (w *model) checkPatch(p *modelProcess, write modelWrite) {
	pass := p.top()
	before, after := write.before, write.after
	if write.status && isDispute(before, after) {
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
		w.checkRelease(p, before)
	case !w.config.finalizers || !modelManaged(before) || before.DeletionTimestamp != nil:
		w.fail("%s brings its finalizer to %s", p, pass.key)
	}
}

// isDispute reports whether the write is one of a known dispute: nobody has claimed the object, two operators select it, and each refuses it for
// a reason of its own, such as other rivals, and says so at its timer.
func isDispute(before, after *v1.KafkaTopic) bool {
	old, now := before.Status, after.Status
	old.Conditions, now.Conditions = nil, nil
	return before.Labels[modelLabel] == "AB" && old.ClusterID == "" && equality.Semantic.DeepEqual(old, now)
}

// checkStatus: the identity of a topic is given up only where the user says so.
func (w *model) checkStatus(p *modelProcess, before, after *v1.KafkaTopic) {
	pass := p.top()
	old, now := before.Status, after.Status
	managed, paused := modelManaged(before), modelPaused(before)
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
	if pass.own.ID != "" && old.ClusterID != "" && old.ClusterID != pass.own.ID && managed && !paused {
		old.Conditions, now.Conditions = nil, nil
		if !equality.Semantic.DeepEqual(old, now) {
			w.fail("%s writes more than conditions into the status of %s, which belongs to cluster %s", p, pass.key, old.ClusterID)
		}
	}
	if !managed {
		p.gaveUp[before.UID] = w.births
	}
	if now.TopicID != old.TopicID && now.TopicID != "" {
		w.checkTopicID(p, now)
		w.checkLateClaim(p, before, now.TopicID)
	}
	if before.DeletionTimestamp != nil {
		w.noteDenied(before.UID, now.Conditions)
	}
}

// noteDenied notes which topics an object that is being deleted was told not to own.
func (w *model) noteDenied(uid types.UID, conditions []v1.Condition) {
	for _, c := range conditions {
		for _, t := range w.topics {
			if c.Reason == "TopicIdMismatch" && strings.Contains(c.Message, "has topicId '"+modelIDText(t)+"'") {
				w.denied[modelDenial{uid, t.id}] = true
			}
		}
	}
}

// checkLateClaim: an object that is being deleted gets a topicId only if it has none. It is that of the topic which the process made for it, or seed
// 000's fallback goes by the name, and not against what the user was told: that holds, whatever the operator forgets. Only a status that somebody
// else restored is news. The rest of what a deletion needs is asked when it comes (checkDelete).
func (w *model) checkLateClaim(p *modelProcess, before *v1.KafkaTopic, id string) {
	if before.DeletionTimestamp == nil {
		return
	}
	pass, old := p.top(), before.Status
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

// checkRelease: an object is let go when its topic is gone, or is to stay. The patch is bound to the version, so that before is what the pass saw.
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
	case !modelManaged(before) || len(p.rivals(pass, names...)) > 0:
		return
	case own == "" && w.config.blockUnknown:
		w.fail("%s releases %s without knowing its cluster", p, pass.key)
	case own == "":
		return // protection is disabled
	case s.ClusterID != "" && s.ClusterID != own:
		w.fail("%s releases %s, which belongs to cluster %s", p, pass.key, s.ClusterID)
	}
	w.checkNothingLeft(p, before)
}

// checkNothingLeft: the topic of an object that was let go for its sake is gone. Where an operator that knew no cluster ids made a topic, or wrote
// the status, the topic may be left in another cluster than the one that the object is found to belong to.
func (w *model) checkNothingLeft(p *modelProcess, before *v1.KafkaTopic) {
	pass := p.top()
	s, own := before.Status, pass.own.ID
	var latest *modelTopic // that this process made for the object
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
		case t.gone, w.config.undeletable:
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
