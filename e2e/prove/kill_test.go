package prove

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// TestKillNine kills (SIGKILL) an operator again and again at random times, while KafkaTopics and topics are created, changed and deleted,
// also without the operator. The operator must not lose a topic or record that it may not delete, and must change no topic that is not its
// KafkaTopic's. Once the kills end, all topics are as requested.
func TestKillNine(t *testing.T) {
	p := newProof(t, "kill -9", 150, 1000)
	k := &kills{proof: p, world: newWorld(p, 1), bystanders: map[string]state{}}
	NewWithT(t).Expect(k.prepare()).To(Succeed())
	k.run()
	k.converge()
	k.final()
	t.Logf("%d operations, %d kills, %d of them before the operator was ready", p.count, k.killed, k.unready)
	t.Logf("deletions that were refused, and let go: %d NotReadyForDeletion (of which %d had a topic: killed between its creation and the "+
		"status), %d TopicIdMismatch",
		k.blocked.notReady.Load(), k.blocked.made.Load(), k.blocked.mismatch.Load())
	p.end(k.story)
}

// kills is the state of the proof.
type kills struct {
	*world
	proof    *proof
	subjects [][]*subject // by player
	// bystanders are topics without a KafkaTopic.
	bystanders map[string]state
	// log has the logs of all operators.
	log     string
	op      *operatorproc.Process
	killed  int
	unready int
	blocked struct{ notReady, made, mismatch atomic.Int64 }
}

// prepare creates the topics with records, and the subjects of all players.
func (k *kills) prepare() error {
	ctx := k.proof.t.Context()
	k.log = filepath.Join(k.proof.t.TempDir(), "operators.log")
	players, keepers, aloof, bystanders := 10, 4, 2, 3
	if k.proof.full {
		players, keepers, aloof, bystanders = 16, 12, 6, 10
	}
	k.subjects = make([][]*subject, players)
	deal := func(i int, s *subject) { k.subjects[i%players] = append(k.subjects[i%players], s) }
	const each = 3
	for i := range players * each {
		deal(i, &subject{name: fmt.Sprintf("topic-%03d", i)})
	}
	for i := range keepers {
		deal(i, &subject{name: fmt.Sprintf("keeper-%03d", i), keeper: true})
	}
	for i := range aloof {
		deal(keepers+i, &subject{name: fmt.Sprintf("aloof-%03d", i), aloof: true})
	}
	d := k.proof.dice(0)
	records := map[string]int{}
	var topics []kafka.NewTopic
	add := func(name string) {
		records[name] = 1 + d.IntN(100)
		topics = append(topics, newTopic(name, 1, map[string]string{"retention.ms": "1000000000"}))
	}
	for _, all := range k.subjects {
		for _, s := range all {
			if s.keeper || s.aloof {
				add(s.name)
			}
		}
	}
	for i := range bystanders {
		add(fmt.Sprintf("topic-%03d-bystander", i)) // names that are similar to the others
	}
	if err := k.kafka[0].make(ctx, topics...); err != nil {
		return err
	}
	if err := k.kafka[0].fill(ctx, records); err != nil {
		return err
	}
	return k.take(ctx)
}

// take records the state of all topics with records, and creates the KafkaTopics of those that get one.
func (k *kills) take(ctx context.Context) error {
	all, err := k.kafka[0].all(ctx)
	if err != nil {
		return err
	}
	for _, some := range k.subjects {
		for _, s := range some {
			s.start = all[s.name]
			s.left, s.frozen = s.start, true
			delete(all, s.name)
			if !s.start.exists() {
				continue
			}
			s.dice = k.proof.dice(0)
			if _, err := k.begin(ctx, s); err != nil {
				return err
			}
		}
	}
	k.bystanders = all
	return nil
}

// run runs all operations while the operator is killed again and again. The last operator keeps running.
func (k *kills) run() {
	ctx, end := context.WithCancel(k.proof.t.Context())
	var tormentor, players sync.WaitGroup
	tormentor.Go(func() { k.torment(ctx, k.proof.dice(1)) })
	var budget atomic.Int64
	budget.Store(int64(k.proof.count))
	for i, subjects := range k.subjects {
		players.Go(func() { k.play(ctx, k.proof.dice(1000+i), subjects, &budget) })
	}
	players.Wait()
	end()
	tormentor.Wait()
	k.history.note("", "no more operations, no more kills")
	if k.op != nil {
		k.proof.t.Cleanup(func() { k.op.Close() })
	}
}

// torment starts the operator and kills it, until the context ends: sometimes while it starts or catches up, otherwise within some seconds.
// Changes accumulate while it does not run.
func (k *kills) torment(ctx context.Context, d dice) {
	for {
		op, err := k.startOperator(ctx, k.kafka[0], map[string]string{"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "2000"})
		if err != nil {
			k.proof.violated("the operator", "does not start: %v", err)
			return
		}
		k.op = op
		uptime := d.between(300*time.Millisecond, 2500*time.Millisecond)
		if d.yes(1, 3) {
			uptime = d.between(0, 700*time.Millisecond)
		}
		pause(ctx, uptime)
		switch {
		case !op.Running():
			k.proof.violated("the operator", "ended by itself with code %d: %s", op.ExitCode(), op.LogTail(20))
		case ctx.Err() != nil:
			return
		}
		k.killed++
		if len(op.LogLines("Starting workers")) == 0 {
			k.unready++
		}
		op.Kill()
		k.history.note("", "kill -9 after %v", uptime.Round(time.Millisecond))
		k.keepLog(op)
		op.Close()
		pause(ctx, d.between(0, 600*time.Millisecond))
	}
}

// keepLog appends the operator's log to those of the earlier ones.
func (k *kills) keepLog(op *operatorproc.Process) {
	f, err := os.OpenFile(k.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		k.proof.t.Log(err)
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "%s\n", op.Log())
}

// play runs operations on the player's subjects, one after the other, until the budget is used up.
func (k *kills) play(ctx context.Context, d dice, subjects []*subject, budget *atomic.Int64) {
	rest := 2 * time.Second
	if k.proof.full {
		rest = 4 * time.Second // more kills per operation
	}
	for budget.Add(-1) >= 0 {
		pause(ctx, d.between(0, rest))
		for {
			s := subjects[d.IntN(len(subjects))]
			if s.lost {
				pause(ctx, look)
				continue
			}
			s.dice = d
			done, err := k.step(ctx, s)
			if err != nil {
				s.lost = true
				k.proof.violated(s.name, "%v", err)
			}
			if done || err != nil || ctx.Err() != nil {
				break
			}
			pause(ctx, look)
		}
	}
}

// converge waits until all subjects are as last requested.
func (k *kills) converge() {
	ctx := k.proof.t.Context()
	var subjects sync.WaitGroup
	for _, some := range k.subjects {
		for _, s := range some {
			if s.lost {
				continue
			}
			subjects.Go(func() {
				if err := k.come(ctx, s); err != nil {
					k.proof.violated(s.name, "%v", err)
				}
			})
		}
	}
	subjects.Wait()
}

// come waits until a subject is as last requested.
func (k *kills) come(ctx context.Context, s *subject) error {
	if s.deleted {
		if err := k.history.await(ctx, s.kt.UID, "deleted or refused", over); err != nil {
			return err
		}
		_, err := k.finish(ctx, s)
		return err
	}
	if s.kt == nil || s.frozen {
		return k.stays(ctx, s)
	}
	return await(ctx, patience, func() error {
		o := k.history.object(s.kt.UID)
		now, err := k.kafka[0].states(ctx, s.name)
		switch topic := now[s.name]; {
		case err != nil:
			return err
		case !isReady(o.last):
			return fmt.Errorf("%w ready: %s", errNotYet, describe(o.last))
		case !s.matches(topic):
			return fmt.Errorf("%w as asked for (%d partitions, configuration %v): %s", errNotYet, s.partitions, s.config, topic)
		case o.last.Status.TopicID != topic.id:
			return fmt.Errorf("%w: the status names topicId %s, in Kafka there is %s", errNotYet, o.last.Status.TopicID, topic)
		}
		return nil
	})
}

// final checks that Kafka has exactly the topics that it must have.
func (k *kills) final() {
	now, err := k.kafka[0].all(k.proof.t.Context())
	if err != nil {
		k.proof.violated("Kafka", "%v", err)
		return
	}
	for name, was := range k.bystanders {
		if what := was.differs(now[name]); what != "" {
			k.proof.violated(name, "a topic without a KafkaTopic was changed: %s", what)
		}
		delete(now, name)
	}
	for _, some := range k.subjects {
		for _, s := range some {
			topic := now[s.name]
			delete(now, s.name)
			k.judge(s, topic)
		}
	}
	for name, topic := range now {
		k.proof.violated(name, "nobody asked for this topic: %s", topic)
	}
}

// judge reports the promises that were broken for a subject.
func (k *kills) judge(s *subject, topic state) {
	if s.keeper || s.aloof {
		if what := s.start.lost(topic); what != "" {
			k.proof.violated(s.name, "a topic with records that nobody deleted: %s", what)
		}
	}
	switch {
	case s.lost: // reported already
	case s.frozen:
		if what := s.left.differs(topic); what != "" {
			k.proof.violated(s.name, "a topic that no operator may touch (paused %t, unmanaged %t, KafkaTopic %t): %s", s.paused, s.unmanaged,
				s.kt != nil, what)
		}
	case !topic.exists():
		k.proof.violated(s.name, "its KafkaTopic is ready, but the topic is not there")
	}
}

// story returns the history of a name, and the operators' log lines about it.
func (k *kills) story(name string) string {
	var b strings.Builder
	b.WriteString(k.history.story(name))
	if k.op != nil {
		k.keepLog(k.op)
	}
	text, err := os.ReadFile(k.log)
	if err != nil {
		return b.String() + err.Error()
	}
	fmt.Fprintf(&b, "--- the operators about %s ---\n", name)
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, mention(name)) || strings.Contains(line, "Starting the topic-operator") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// over reports whether a deletion has completed or is blocked.
func over(o object) bool { return o.gone || blocked(o) }

// countBlocked counts a blocked deletion, and reports those that must not be blocked.
func (k *kills) countBlocked(s *subject, o object, had bool) {
	switch reason := refusal(o.last); reason {
	case v1.ReasonNotReadyForDeletion:
		k.blocked.notReady.Add(1)
		if had {
			k.blocked.made.Add(1)
		}
		if o.last.Status.ClusterID != "" {
			k.proof.violated(s.name, "its deletion is refused (%s) although it is claimed for cluster %s", reason, o.last.Status.ClusterID)
		}
	case v1.ReasonTopicIDMismatch:
		k.blocked.mismatch.Add(1)
		if !s.tampered {
			k.proof.violated(s.name, "its deletion is refused (%s) although nobody else made the topic", reason)
		}
	}
}
