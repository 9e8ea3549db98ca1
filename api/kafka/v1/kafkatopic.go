package v1

// TopicName is the topic's name in Kafka: spec.topicName if there is one, else the name of the resource. An empty
// spec.topicName is taken as written, as Strimzi does: Kafka refuses it, which is better than silently
// managing a topic of another name.
func (t *KafkaTopic) TopicName() string {
	if t.Spec != nil && t.Spec.TopicName != nil {
		return *t.Spec.TopicName
	}
	return t.Name
}

// IsManaged reports whether the operator may act on the topic. Either the annotation strimzi.io/managed, being exactly
// "false", or spec.managed being false unmanages; neither can overrule the other.
func (t *KafkaTopic) IsManaged() bool {
	if t.Annotations[AnnotationManaged] == "false" {
		return false
	}
	return t.Spec == nil || t.Spec.Managed == nil || *t.Spec.Managed
}

// IsPaused reports whether the user has paused reconciliation.
func (t *KafkaTopic) IsPaused() bool {
	return IsTrue(t.Annotations, AnnotationPauseReconciliation)
}
