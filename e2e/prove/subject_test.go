package prove

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// subject is one name, of a topic and, if there is one, of a KafkaTopic. Only one player at a time uses it.
type subject struct {
	name string
	dice dice
	// keeper is true for a topic with records that is never deleted; aloof is true for such a topic whose KafkaTopic is never managed.
	keeper, aloof bool
	start         state

	// kt is the object; nil if there is none. partitions and config are its specification; the partitions of a name never decrease.
	kt         *v1.KafkaTopic
	partitions int32
	config     map[string]string
	paused     bool
	unmanaged  bool
	deleted    bool
	// tampered is true if the proof deleted or created the topic since the object was created.
	tampered bool
	// altered is true if the proof changed the topic's configuration since then.
	altered bool

	// frozen is true while no operator may change the topic, which has to stay as in left.
	frozen bool
	left   state
	// lost is true after a violation; later results say nothing.
	lost bool
}

// matches reports whether the topic is as the object requests.
func (s *subject) matches(topic state) bool {
	return topic.exists() && topic.partitions == int(s.partitions) && maps.Equal(topic.config, s.config)
}

// operation runs an operation, or returns false if it is not possible now.
type operation func(ctx context.Context, s *subject) (bool, error)

// step runs one random operation on the subject.
func (k *kills) step(ctx context.Context, s *subject) (bool, error) {
	switch {
	case s.kt == nil && s.dice.yes(1, 3):
		return k.flash(ctx, s)
	case s.kt == nil:
		return k.begin(ctx, s)
	case s.deleted:
		return k.finish(ctx, s)
	}
	operations := []operation{k.configure, k.configure, k.raise}
	if !s.aloof {
		operations = append(operations, k.turnPaused, k.turnManaged, k.alterBehind)
	}
	if !s.aloof && !s.keeper {
		operations = append(operations, k.delete, k.delete, k.recreate, k.recreate, k.removeBehind, k.replaceBehind)
	}
	return operations[s.dice.IntN(len(operations))](ctx, s)
}

// begin creates the object, for a new topic or for the existing one.
func (k *kills) begin(ctx context.Context, s *subject) (bool, error) {
	if err := k.stays(ctx, s); err != nil {
		return false, err
	}
	s.partitions = max(s.partitions, 1+s.dice.Int32N(3), int32(s.left.partitions)) // few
	s.config = map[string]string{}
	for range s.dice.IntN(3) {
		key, value := s.setting()
		s.config[key] = value
	}
	s.paused, s.unmanaged, s.deleted, s.tampered, s.altered, s.frozen = false, s.aloof, false, false, false, s.aloof
	s.kt = newObject(s.name, s.partitions, s.config)
	if s.aloof {
		no := false
		s.kt.Spec.Managed = &no
	}
	return true, k.create(ctx, s.kt)
}

// setting returns a random configuration that deletes no records. Some equal the brokers' defaults.
func (s *subject) setting() (key, value string) {
	if s.dice.yes(1, 4) {
		defaults := [...][2]string{{"retention.ms", "604800000"}, {"segment.ms", "604800000"}, {"compression.type", "producer"}}
		one := defaults[s.dice.IntN(len(defaults))]
		return one[0], one[1]
	}
	switch s.dice.IntN(4) {
	case 0:
		return "retention.ms", strconv.Itoa(1_000_000_000 + s.dice.IntN(1000))
	case 1:
		return "max.message.bytes", strconv.Itoa(1_000_000 + s.dice.IntN(1000))
	case 2:
		return "segment.ms", strconv.Itoa(500_000_000 + s.dice.IntN(1000))
	}
	return "compression.type", [...]string{"lz4", "gzip", "zstd", "snappy"}[s.dice.IntN(4)]
}

// flash creates the object and deletes it shortly after.
func (k *kills) flash(ctx context.Context, s *subject) (bool, error) {
	if _, err := k.begin(ctx, s); err != nil {
		return false, err
	}
	pause(ctx, s.dice.between(0, 300*time.Millisecond))
	return k.delete(ctx, s)
}

// configure sets a key of the specification, or removes one.
func (k *kills) configure(ctx context.Context, s *subject) (bool, error) {
	key, value := s.setting()
	var change any = value
	if _, ok := s.config[key]; ok && s.dice.yes(1, 3) {
		change = nil
		delete(s.config, key)
	} else {
		s.config[key] = value
	}
	return true, k.patch(ctx, s.kt, map[string]any{"spec": map[string]any{"config": map[string]any{key: change}}})
}

// raise increases the partitions.
func (k *kills) raise(ctx context.Context, s *subject) (bool, error) {
	const most = 8
	if s.partitions >= most {
		return false, nil
	}
	s.partitions += 1 + s.dice.Int32N(2)
	return true, k.patch(ctx, s.kt, map[string]any{"spec": map[string]any{"partitions": s.partitions}})
}

// turnPaused starts or ends a pause.
func (k *kills) turnPaused(ctx context.Context, s *subject) (bool, error) {
	if s.paused {
		s.paused = false
		return true, k.thaw(ctx, s, func() error { return k.annotate(ctx, s.kt, v1.AnnotationPauseReconciliation, nil) })
	}
	if s.unmanaged || hasCondition(k.history.object(s.kt.UID).last, v1.ConditionReconciliationPaused) {
		return false, nil // the earlier condition could not be distinguished from the next one
	}
	s.paused = true
	return true, k.freeze(ctx, s, v1.ConditionReconciliationPaused, k.annotate(ctx, s.kt, v1.AnnotationPauseReconciliation, "true"))
}

// turnManaged makes the topic unmanaged or managed.
func (k *kills) turnManaged(ctx context.Context, s *subject) (bool, error) {
	if s.unmanaged {
		s.unmanaged = false
		return true, k.thaw(ctx, s, func() error {
			return k.patch(ctx, s.kt, map[string]any{
				"metadata": map[string]any{"annotations": map[string]any{v1.AnnotationManaged: nil}},
				"spec":     map[string]any{"managed": nil},
			})
		})
	}
	if s.paused || hasCondition(k.history.object(s.kt.UID).last, v1.ConditionUnmanaged) {
		return false, nil
	}
	s.unmanaged = true
	if s.dice.yes(1, 2) {
		return true, k.freeze(ctx, s, v1.ConditionUnmanaged, k.annotate(ctx, s.kt, v1.AnnotationManaged, "false"))
	}
	return true, k.freeze(ctx, s, v1.ConditionUnmanaged, k.patch(ctx, s.kt, map[string]any{"spec": map[string]any{"managed": false}}))
}

// freeze waits until the operator has acknowledged that it must not change the topic. From then on, the topic has to stay unchanged.
func (k *kills) freeze(ctx context.Context, s *subject, condition string, asked error) error {
	if asked != nil {
		return asked
	}
	err := k.history.await(ctx, s.kt.UID, condition, func(o object) bool { return hasCondition(o.last, condition) })
	if err != nil {
		return err
	}
	s.frozen = true
	return k.note(ctx, s)
}

// note records the state of the topic, if only the proof may change it.
func (k *kills) note(ctx context.Context, s *subject) error {
	if !s.frozen {
		return nil
	}
	var err error
	s.left, err = k.kafka[0].settled(ctx, s.name)
	k.history.note(s.name, "from now on, nobody touches the topic: %s", s.left)
	return err
}

// thaw checks that the topic is unchanged, and then lets the operator manage it.
func (k *kills) thaw(ctx context.Context, s *subject, ask func() error) error {
	if err := k.stays(ctx, s); err != nil {
		return err
	}
	s.frozen = false
	return ask()
}

// stays checks that the topic is unchanged.
func (k *kills) stays(ctx context.Context, s *subject) error {
	now, err := k.kafka[0].settled(ctx, s.name)
	if err != nil {
		return err
	}
	if what := s.left.differs(now); what != "" {
		return fmt.Errorf("a topic that no operator may touch (paused %t, unmanaged %t, KafkaTopic %t): %s", s.paused, s.unmanaged,
			s.kt != nil, what)
	}
	return nil
}

// alterBehind changes the topic's configuration without the operator.
func (k *kills) alterBehind(ctx context.Context, s *subject) (bool, error) {
	key, value := s.setting()
	if s.dice.yes(1, 2) {
		key, value = "delete.retention.ms", strconv.Itoa(80_000_000+s.dice.IntN(1000))
	}
	s.altered = true
	k.history.note(s.name, "in Kafka: set %s=%s", key, value)
	if err := k.kafka[0].alter(ctx, s.name, map[string]string{key: value}); err != nil {
		return false, err
	}
	return true, k.note(ctx, s)
}

// removeBehind deletes the topic without the operator.
func (k *kills) removeBehind(ctx context.Context, s *subject) (bool, error) {
	s.tampered = true
	k.history.note(s.name, "in Kafka: delete the topic")
	if err := k.kafka[0].remove(ctx, s.name); err != nil {
		return false, err
	}
	return true, k.note(ctx, s)
}

// replaceBehind deletes and creates the topic without the operator, unless the operator creates it first.
func (k *kills) replaceBehind(ctx context.Context, s *subject) (bool, error) {
	s.tampered = true
	k.history.note(s.name, "in Kafka: delete the topic and create it again")
	if err := k.kafka[0].remove(ctx, s.name); err != nil {
		return false, err
	}
	if err := k.kafka[0].make(ctx, newTopic(s.name, 1, nil)); err != nil && !errors.Is(err, errTaken) {
		return false, err
	}
	return true, k.note(ctx, s)
}

// delete requests the object's deletion.
func (k *kills) delete(ctx context.Context, s *subject) (bool, error) {
	s.deleted = true
	return true, k.world.delete(ctx, s.kt)
}

// recreate deletes the object and creates it again as soon as it is removed.
func (k *kills) recreate(ctx context.Context, s *subject) (bool, error) {
	if _, err := k.delete(ctx, s); err != nil {
		return false, err
	}
	if err := k.history.await(ctx, s.kt.UID, "deleted or refused", over); err != nil {
		return false, err
	}
	if _, err := k.finish(ctx, s); err != nil {
		return false, err
	}
	return k.begin(ctx, s)
}

// finish handles a deleted object once it is removed, or its deletion is blocked. In the latter case it lets the object go, which counts as
// an operation.
func (k *kills) finish(ctx context.Context, s *subject) (bool, error) {
	o := k.history.object(s.kt.UID)
	if o.gone {
		return false, k.bury(ctx, s, o)
	}
	if !blocked(o) {
		return false, nil
	}
	before, err := k.kafka[0].settled(ctx, s.name)
	if err != nil {
		return false, err
	}
	k.countBlocked(s, o, before.exists())
	if err := k.letGo(ctx, s.kt); err != nil {
		return false, err
	}
	s.kt, s.deleted, s.left, s.frozen = nil, false, before, true
	return true, k.stays(ctx, s)
}

// overtaken reports whether an object was removed although its last version had a finalizer. If the object has no finalizer when the API
// server starts a deletion, the API server does not check again, so a finalizer that is added at the same time does not hold the object.
// The topic that was created for it stays.
func overtaken(last *v1.KafkaTopic) bool {
	return last.DeletionTimestamp == nil && len(last.Finalizers) > 0
}

// bury checks that the topic of a removed object was deleted if it was the object's, and stayed if it was not.
func (k *kills) bury(ctx context.Context, s *subject, o object) error {
	claimed := o.last.Status.ClusterID != "" && !s.unmanaged
	var now state
	err := await(ctx, lag, func() error {
		var err error
		if now, err = k.kafka[0].settled(ctx, s.name); err == nil && claimed && now.exists() {
			err = errNotYet // the broker learns of a deletion after the controller
		}
		return err
	})
	if err != nil && !errors.Is(err, errNotYet) {
		return err
	}
	switch {
	case s.unmanaged:
		if what := s.left.differs(now); what != "" {
			return fmt.Errorf("an unmanaged KafkaTopic was deleted, and with it the topic: %s", what)
		}
	case claimed && now.exists():
		return fmt.Errorf("the KafkaTopic is gone (claimed for %s, topicId %s), its topic is not: %s", o.last.Status.ClusterID,
			o.last.Status.TopicID, now)
	case !claimed && !s.tampered && !s.altered:
		madeAndOvertaken := !s.left.exists() && overtaken(o.last)
		if what := s.left.differs(now); what != "" && !madeAndOvertaken {
			return fmt.Errorf("a KafkaTopic that was never claimed is gone, and the topic of its name: %s", what)
		}
	}
	k.history.note(s.name, "gone; the topic: %s", now)
	s.kt, s.deleted, s.left, s.frozen = nil, false, now, true
	return nil
}
