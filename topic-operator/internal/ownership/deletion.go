package ownership

import (
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// decideDeletion follows the order of docs/decisions/deletion.md. Releasing an object never deletes anything.
func decideDeletion(f Facts) Decision {
	o := f.Object
	switch {
	case !o.Held && !o.Vanished:
		return Decision{Action: Ignore} // the operator no longer owns it
	case !o.Managed:
		return release(leftUnmanaged(o))
	case o.Doubtful:
		return refuse(doubtful(o))
	}
	if rivals := f.deletionRivals(); len(rivals) > 0 {
		return release(leftToOthers(o, rivals))
	}
	switch {
	case !kafka.IsTopicName(o.Topic()):
		return release(topic.Refusal{}) // no cluster can have a topic with this name
	case f.Own.Answering != "":
		return refuse(f.anotherCluster())
	case !f.Own.protects() && f.Rules.BlockUnknown:
		return refuse(f.unknownCluster())
	case f.mismatches():
		return refuse(mismatch(o, f.Own.ID))
	case f.Violation != "":
		return release(leftByPolicy(o))
	case o.Settled:
		return release(topic.Refusal{}) // the topic was deleted before, and only the object remained
	case !f.deletable():
		return refuse(neverClaimed(o))
	}
	return f.leaveInternal(f.decideByObservation())
}

// leaveInternal turns the deletion of an internal topic of Kafka into a release (docs/decisions/internal-topics.md).
func (f Facts) leaveInternal(d Decision) Decision {
	if d.Action == Delete && (f.Observed.Internal || topic.IsInternal(f.Object.Topic())) {
		return release(leftToKafka(f.Object))
	}
	return d
}

func release(note topic.Refusal) Decision { return Decision{Action: Release, Note: note} }

// deletable reports whether anything could prove that the object owns the topic. An object that vanished has no later chance, so only an id
// proves it.
func (f Facts) deletable() bool {
	o := f.Object
	switch {
	case o.TopicID != "" || o.Made != nil:
		return true
	case o.Vanished:
		return false
	}
	return !f.Own.protects() || o.ClusterID != "" // protection is disabled, or the fallback for paused topics
}

func (f Facts) decideByObservation() Decision {
	o := f.Object
	switch f.Observed.View {
	case NotAsked:
		return Decision{Action: Look}
	case Absent:
		if o.Made != nil {
			return Decision{Action: Delete, ID: o.Made.ID} // a lagging broker may not list it yet; the id proves that it is ours
		}
		return Decision{Action: Confirm}
	case Free:
		return f.alreadyGone()
	case Present:
		return f.decideByID()
	case Unknown, Taken:
	}
	return Decision{Action: Wait}
}

// alreadyGone decides about an absent topic. In the object's own cluster, that is the desired result; in another one it would be normal.
func (f Facts) alreadyGone() Decision {
	o := f.Object
	if o.Made == nil && f.Own.protects() && o.ClusterID == "" {
		return refuse(absentUnclaimed(o))
	}
	return release(topic.Refusal{})
}

func (f Facts) decideByID() Decision {
	o, id := f.Object, f.Observed.ID
	switch {
	case f.Observed.Outdated && o.Made != nil && o.Made.ID != id:
		return Decision{Action: Delete, ID: o.Made.ID} // created meanwhile, and this broker lags behind too
	case f.Observed.Outdated:
		return Decision{Action: Confirm}
	case o.TopicID == id.String(), o.Made != nil && o.Made.ID == id:
		return Decision{Action: Delete, ID: id}
	case o.TopicID != "" || o.Made != nil:
		return refuse(anotherTopic(o, id))
	}
	// The fallback by name. The claim of the cluster proves that the topic existed there under this name; an object without a name in its
	// status never had a topic.
	if f.Own.protects() && o.Name == "" {
		return refuse(neverClaimed(o))
	}
	return Decision{Action: Delete, ID: id, Claim: true}
}
