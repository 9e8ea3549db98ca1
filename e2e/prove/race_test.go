package prove

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// TestTheRaceOfTwoOperators runs two operators, each for its own Kafka cluster, that watch the same KafkaTopics. Both clusters have a topic
// of each name. Whatever happens to a KafkaTopic, only the topic in the cluster that it was claimed for may be deleted or changed.
func TestTheRaceOfTwoOperators(t *testing.T) {
	g := NewWithT(t)
	p := newProof(t, "the race of two operators", 20, 200)
	r := &race{proof: p, world: newWorld(p, 2), expected: [2]map[string]state{{}, {}}}
	g.Expect(r.start()).To(Succeed())
	const together = 8
	for first := 0; first < p.count; first += together {
		g.Expect(r.play(first, min(together, p.count-first))).To(Succeed())
	}
	r.finally()
	t.Logf("of %d rounds: %s", p.count, r.tally)
	p.end(r.story)
}

// race is the state of the proof.
type race struct {
	*world
	proof *proof
	sides [2]*operatorproc.Process
	// expected maps the names of all topics of each cluster to their required states.
	expected [2]map[string]state
	tally    tally
}

// tally counts the results of rounds.
type tally struct{ neither, first, second int }

func (t tally) String() string {
	return fmt.Sprintf("%d times no cluster's topic was deleted, %d times A's, %d times B's", t.neither, t.first, t.second)
}

func (r *race) start() error {
	for i := range r.sides {
		op, err := r.startOperator(r.proof.t.Context(), r.kafka[i], nil)
		if err != nil {
			return err
		}
		r.sides[i] = op
		r.proof.t.Cleanup(func() { op.Close() })
	}
	for _, op := range r.sides {
		if err := awaitReady(r.proof.t.Context(), op); err != nil {
			return err
		}
	}
	return nil
}

// kind is the scenario of a round.
type kind int

const (
	// The object is deleted before any operator claims it, and both operators see the deletion at once.
	bothSeeTheDeletion kind = iota
	// The object is created and deleted at a random time while both operators process it.
	deletedAtAnyMoment
	// The object is claimed, its status loses the topic's id, and it is deleted.
	claimedAndForgotten
	// The object is created and claimed. Then it ends in one of the documented ways.
	livesUnclaimed
	kinds
)

func (k kind) String() string {
	return [...]string{"both see the deletion", "deleted at any moment", "claimed and forgotten", "lives unclaimed"}[k]
}

// round is one run of a scenario.
type round struct {
	name string
	kind kind
	dice dice
	kt   *v1.KafkaTopic
	// before are the topics of that name in both clusters.
	before [2]state
	// kept is true if the object was deleted without its topic.
	kept bool
}

// play runs several rounds at once.
func (r *race) play(first, n int) error {
	ctx := r.proof.t.Context()
	rounds := make([]*round, n)
	for i := range rounds {
		d := r.proof.dice(first + i)
		k := kind(i)
		if k >= kinds {
			k = kind(d.IntN(int(kinds)))
		}
		rounds[i] = &round{name: fmt.Sprintf("orders-%04d", first+i), kind: k, dice: d}
	}
	if err := r.prepare(ctx, rounds); err != nil {
		return err
	}
	if err := r.deleteUnseen(ctx, rounds); err != nil {
		return err
	}
	ctxStalls, end := context.WithCancel(ctx)
	var stalls, players sync.WaitGroup
	stalls.Go(func() { r.stall(ctxStalls, r.proof.dice(1_000_000+first)) })
	for _, x := range rounds {
		players.Go(func() {
			if err := r.run(ctx, x); err != nil {
				r.proof.violated(x.name, "%s: %v", x.kind, err)
			}
		})
	}
	players.Wait()
	end()
	stalls.Wait()
	if err := r.check(ctx, rounds); err != nil {
		return err
	}
	r.clear(ctx, rounds)
	return nil
}

// prepare creates the topics with records in both clusters, and the objects.
func (r *race) prepare(ctx context.Context, rounds []*round) error {
	for side, c := range r.kafka {
		var topics []kafka.NewTopic
		records, names := map[string]int{}, []string{}
		for _, x := range rounds {
			config := map[string]string{"retention.ms": strconv.Itoa(1_000_000_000 + side)}
			topics = append(topics, newTopic(x.name, 1, config))
			records[x.name] = 1 + x.dice.IntN(20)
			names = append(names, x.name)
		}
		if err := c.make(ctx, topics...); err != nil {
			return err
		}
		if err := c.fill(ctx, records); err != nil {
			return err
		}
		all, err := c.states(ctx, names...)
		if err != nil {
			return err
		}
		for _, x := range rounds {
			x.before[side] = all[x.name]
		}
	}
	for _, x := range rounds {
		// The object requests the state of one cluster's topic, of the other's, or of neither: with and without a change that has to wait for the
		// claim.
		asked := x.dice.IntN(4)
		x.kt = newObject(x.name, int32(1+asked/3), map[string]string{"retention.ms": strconv.Itoa(1_000_000_000 + asked)}) // few
		if x.kind == bothSeeTheDeletion || x.kind == deletedAtAnyMoment && x.dice.yes(1, 2) {
			x.kt.Finalizers = []string{v1.FinalizerTopicOperator}
		}
	}
	return nil
}

// deleteUnseen creates and deletes objects while both operators are stopped, and resumes both at once.
func (r *race) deleteUnseen(ctx context.Context, rounds []*round) error {
	for _, op := range r.sides {
		hang(op)
	}
	defer func() {
		for _, i := range rounds[0].dice.Perm(len(r.sides)) {
			goOn(r.sides[i])
		}
	}()
	for _, x := range rounds {
		if x.kind != bothSeeTheDeletion {
			continue
		}
		if err := r.create(ctx, x.kt); err != nil {
			return err
		}
		if err := r.delete(ctx, x.kt); err != nil {
			return err
		}
	}
	return nil
}

// stall repeatedly stops one of the operators for some milliseconds, so that either may be behind.
func (r *race) stall(ctx context.Context, d dice) {
	for ctx.Err() == nil {
		op := r.sides[d.IntN(len(r.sides))]
		pause(ctx, d.between(0, 100*time.Millisecond))
		hang(op)
		pause(ctx, d.between(0, 60*time.Millisecond))
		goOn(op)
	}
}

// run runs a round until no operator has anything to do for it.
func (r *race) run(ctx context.Context, x *round) error {
	if x.kind == bothSeeTheDeletion {
		return r.refusedByBoth(ctx, x)
	}
	if err := r.create(ctx, x.kt); err != nil {
		return err
	}
	if x.kind == deletedAtAnyMoment {
		pause(ctx, x.dice.between(0, 200*time.Millisecond))
		return r.deleted(ctx, x)
	}
	if err := r.claimed(ctx, x); err != nil {
		return err
	}
	if x.kind == claimedAndForgotten {
		return r.forget(ctx, x)
	}
	return r.live(ctx, x)
}

// refusedByBoth waits until both operators have logged that they delete nothing.
func (r *race) refusedByBoth(ctx context.Context, x *round) error {
	for i, op := range r.sides {
		err := await(ctx, patience, func() error {
			if r.history.object(x.kt.UID).gone {
				return nil // then there is no refusal to wait for
			}
			if len(op.LogLines(mention(x.name), v1.ReasonNotReadyForDeletion)) == 0 {
				return fmt.Errorf("%w: operator %c has not refused the deletion", errNotYet, 'A'+i)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return r.history.await(ctx, x.kt.UID, "refused", over)
}

// deleted deletes the object and waits until it is removed, or its deletion is blocked.
func (r *race) deleted(ctx context.Context, x *round) error {
	if err := r.delete(ctx, x.kt); err != nil {
		return err
	}
	return r.history.await(ctx, x.kt.UID, "deleted or refused", func(o object) bool { return o.gone || blocked(o) })
}

// claimed waits until the object is claimed, the owner has aligned the topic, and the other operator has refused the object.
func (r *race) claimed(ctx context.Context, x *round) error {
	err := r.history.await(ctx, x.kt.UID, "claimed", func(o object) bool { return o.last.Status.ClusterID != "" })
	if err != nil {
		return err
	}
	owner := r.owner(x)
	err = await(ctx, patience, func() error {
		now, err := r.kafka[owner].states(ctx, x.name)
		if err == nil && !asAsked(x.kt, now[x.name]) {
			err = fmt.Errorf("%w: in the owner's cluster there is %s", errNotYet, now[x.name])
		}
		return err
	})
	if err != nil {
		return err
	}
	return await(ctx, patience, func() error {
		if len(r.sides[1-owner].LogLines(mention(x.name), v1.ReasonClusterMismatch)) == 0 {
			return fmt.Errorf("%w: operator %c has not said that the KafkaTopic is not its own", errNotYet, 'A'+1-owner)
		}
		return nil
	})
}

// owner returns the side that the object is claimed for; -1 if it is not claimed.
func (r *race) owner(x *round) int {
	return slices.IndexFunc(r.kafka, func(c *cluster) bool { return c.ClusterID() == r.history.object(x.kt.UID).last.Status.ClusterID })
}

// asAsked reports whether a topic is as its object requests.
func asAsked(kt *v1.KafkaTopic, s state) bool {
	want := map[string]string{}
	for key, value := range kt.Spec.Config {
		want[key], _ = value.Text()
	}
	return s.exists() && s.partitions == int(*kt.Spec.Partitions) && maps.Equal(s.config, want)
}

// forget removes the topic's id from the object's status, as a restored backup or a pause does, and deletes the object.
func (r *race) forget(ctx context.Context, x *round) error {
	if x.dice.yes(1, 2) {
		if err := r.annotate(ctx, x.kt, v1.AnnotationPauseReconciliation, "true"); err != nil {
			return err
		}
		paused := func(o object) bool {
			return hasCondition(o.last, v1.ConditionReconciliationPaused) && o.last.Status.TopicID == ""
		}
		if err := r.history.await(ctx, x.kt.UID, "paused", paused); err != nil {
			return err
		}
	} else if err := r.patchStatus(ctx, x.kt, map[string]any{"topicId": nil}); err != nil {
		return err
	}
	return r.deleted(ctx, x)
}

// live ends a claimed object in one of the documented ways: with its topic, without it, or after it was claimed again.
func (r *race) live(ctx context.Context, x *round) error {
	way := x.dice.IntN(3)
	if way == 0 {
		return r.deleted(ctx, x)
	}
	if err := r.annotate(ctx, x.kt, v1.AnnotationManaged, "false"); err != nil {
		return err
	}
	free := func(o object) bool {
		return hasCondition(o.last, v1.ConditionUnmanaged) && o.last.Status.ClusterID == ""
	}
	if err := r.history.await(ctx, x.kt.UID, "unmanaged", free); err != nil {
		return err
	}
	if way == 1 {
		x.kept = true
		return r.deleted(ctx, x)
	}
	if err := r.annotate(ctx, x.kt, v1.AnnotationManaged, nil); err != nil {
		return err
	}
	err := r.history.await(ctx, x.kt.UID, "claimed again", func(o object) bool { return o.last.Status.ClusterID != "" })
	if err != nil {
		return err
	}
	return r.deleted(ctx, x)
}

// check compares the topics of both clusters with those that the history of the objects allows.
func (r *race) check(ctx context.Context, rounds []*round) error {
	var names []string
	for _, x := range rounds {
		names = append(names, x.name)
	}
	var now [2]map[string]state
	for side, c := range r.kafka {
		var err error
		// The state of a topic that is being deleted is unreliable, and a broker learns about a deletion after the controller.
		late := await(ctx, lag, func() error {
			if now[side], err = c.states(ctx, names...); err != nil {
				return err
			}
			for _, x := range rounds {
				if now[side][x.name].exists() && r.mayGo(x, side) {
					return fmt.Errorf("%w gone: %s", errNotYet, x.name)
				}
			}
			return nil
		})
		if err != nil {
			return late
		}
	}
	for _, x := range rounds {
		r.judge(x, [2]state{now[0][x.name], now[1][x.name]})
	}
	return nil
}

// mayGo reports whether the topic of a cluster may be deleted, and so must be: with the KafkaTopic that was claimed for it.
func (r *race) mayGo(x *round, side int) bool {
	o := r.history.object(x.kt.UID)
	return o.gone && !x.kept && o.last.Status.ClusterID == r.kafka[side].ClusterID()
}

// judge reports the promises that were broken in a round.
func (r *race) judge(x *round, now [2]state) {
	o := r.history.object(x.kt.UID)
	for side, c := range r.kafka {
		letter := string(rune('A' + side))
		may := r.mayGo(x, side)
		switch {
		case !now[side].exists() && !may:
			r.proof.violated(x.name, "%s: cluster %s (%s) LOST its topic, which was not the KafkaTopic's (claims: %v): %s", x.kind, letter,
				c.ClusterID(), o.claims, x.before[side])
		case now[side].exists() && may:
			r.proof.violated(x.name, "%s: cluster %s (%s) still has the topic of a KafkaTopic that was deleted: %s", x.kind, letter, c.ClusterID(),
				now[side])
		case now[side].exists() && !slices.Contains(o.claims, c.ClusterID()):
			if what := x.before[side].differs(now[side]); what != "" {
				r.proof.violated(x.name, "%s: the topic in cluster %s (%s) was changed, but never claimed (claims: %v): %s", x.kind, letter,
					c.ClusterID(), o.claims, what)
			}
		case now[side].exists():
			if what := x.before[side].lost(now[side]); what != "" {
				r.proof.violated(x.name, "%s: the topic in cluster %s (%s) lost what it had: %s", x.kind, letter, c.ClusterID(), what)
			}
		}
		r.expected[side][x.name] = now[side]
	}
	if x.kind == bothSeeTheDeletion && len(o.claims) > 0 {
		r.proof.violated(x.name, "%s: it was claimed nevertheless: %v", x.kind, o.claims)
	}
	r.count(now)
}

func (r *race) count(now [2]state) {
	switch {
	case now[0].exists() && now[1].exists():
		r.tally.neither++
	case now[1].exists():
		r.tally.first++
	default:
		r.tally.second++
	}
}

// clear resolves blocked deletions as documented.
func (r *race) clear(ctx context.Context, rounds []*round) {
	for _, x := range rounds {
		if o := r.history.object(x.kt.UID); o.gone || !blocked(o) {
			continue // an object in another state is already a violation
		}
		if err := r.letGo(ctx, x.kt); err != nil {
			r.proof.violated(x.name, "%v", err)
		}
	}
}

// finally checks that nothing changed later: both clusters have exactly the topics that they had at the end of each round.
func (r *race) finally() {
	for side, c := range r.kafka {
		now, err := c.all(r.proof.t.Context())
		if err != nil {
			r.proof.t.Fatal(err)
		}
		for name, was := range r.expected[side] {
			if what := was.differs(now[name]); what != "" {
				r.proof.violated(name, "after its round, in cluster %c: %s", 'A'+side, what)
			}
		}
		for name := range now {
			if !r.expected[side][name].exists() {
				r.proof.violated(name, "nobody asked for this topic in cluster %c", 'A'+side)
			}
		}
	}
}

// mention returns the text by which an operator's log names an object.
func mention(name string) string { return "KafkaTopic=" + namespace + "/" + name + " " }

// story returns the history of a round, and the log lines of both operators about it.
func (r *race) story(name string) string {
	text := r.history.story(name)
	for i, op := range r.sides {
		text += fmt.Sprintf("--- operator %c, of cluster %s ---\n", 'A'+i, r.kafka[i].ClusterID())
		for _, line := range op.LogLines(mention(name)) {
			text += line + "\n"
		}
	}
	return text
}
