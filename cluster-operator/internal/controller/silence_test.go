package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// TestSilentBrokersAreAskedLessOften checks that the operator asks brokers that do not respond less and less often, and at once after a
// response.
func TestSilentBrokersAreAskedLessOften(t *testing.T) {
	g := NewWithT(t)
	now, asked, refused := time.Unix(0, 0), 0, errors.New("connection refused")
	clients := &Clients{Now: func() time.Time { return now }, After: never,
		Connect: func(kafka.Config) (Admin, error) { asked++; return nil, refused }}
	silent := Connection{Kafka: types.NamespacedName{Namespace: "a", Name: "silent"}}
	silent.Config.TLS = &kafka.TLS{}
	other := silent
	other.Kafka.Name = "other"
	for i, wait := range []time.Duration{10, 20, 40, 80, 120, 120} {
		wait *= time.Second
		for _, passed := range []time.Duration{0, wait / 2, wait - 1} { // passes may come at any time
			before := now
			now = now.Add(passed)
			_, err := clients.Inspect(t.Context(), silent)
			again := &SilentError{}
			g.Expect(errors.As(err, &again)).To(BeTrue())
			g.Expect(again.Again).To(Equal(wait - passed))
			g.Expect(again.Lasting).To(Equal(i > 0))
			g.Expect(err).To(MatchError(refused))
			now = before
		}
		g.Expect(asked).To(Equal(i + 1))
		now = now.Add(wait)
	}
	_, err := clients.Inspect(t.Context(), other)
	g.Expect(err).To(HaveOccurred())
	g.Expect(asked).To(Equal(7), "other Kafkas are asked")

	clients.Forget(silent.Kafka)
	_, err = clients.Inspect(t.Context(), silent)
	g.Expect(err).To(MatchError(refused))
	g.Expect(clients.silent.note(silent.Kafka, "state", nil, now)).To(Succeed())
	g.Expect(clients.silent.lasts(silent.Kafka, "state", now)).To(Succeed(), "it answered")
}

// An operator that has just started may not reach brokers at first.
func TestBrokersThatDoNotAnswerOnceAreNotReported(t *testing.T) {
	w := newReadyWorld(t, "pool", 1)
	unreachable := ContainElement(HaveField("Reason", "KafkaUnreachable"))
	told := func() int {
		return len(slices.DeleteFunc(slices.Clone(w.events), func(e string) bool { return !strings.HasPrefix(e, "KafkaUnreachable: ") }))
	}
	w.brokers.err = &SilentError{Err: errors.New("they have not answered within 2s"), Again: 7 * time.Second}
	result, err := w.r.Reconcile(t.Context(),
		reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.RequeueAfter).To(Equal(7 * time.Second))
	w.Expect(w.conditions()).NotTo(unreachable)

	w.brokers.err = &SilentError{Err: errors.New("connection refused"), Again: time.Second, Lasting: true}
	w.reconcile()
	w.Expect(w.conditions()).To(unreachable)
	w.Expect(told()).To(Equal(1))
	shown := w.conditions()

	w.brokers.err = &SilentError{Err: errors.New("they have not answered within 2s"), Again: 7 * time.Second}
	w.reconcile()
	w.Expect(w.conditions()).To(Equal(shown), "another operator goes on with what is known")
	w.Expect(told()).To(Equal(1))

	w.brokers.err = nil
	w.reconcile()
	w.Expect(w.conditions()).NotTo(unreachable)
}

// TestQuestionsThatNobodyAsksAnyMoreAreForgotten checks that failed questions about nodes that are gone do not add up.
func TestQuestionsThatNobodyAsksAnyMoreAreForgotten(t *testing.T) {
	g := NewWithT(t)
	s, kafka, now, refused := &silences{}, types.NamespacedName{Name: "a"}, time.Unix(0, 0), errors.New("refused")
	for _, what := range []string{"state", "log directories of [1]", "log directories of [2]"} {
		g.Expect(s.note(kafka, what, refused, now)).NotTo(Succeed())
		now = now.Add(time.Minute)
	}
	g.Expect(s.of[kafka]).To(HaveLen(3))
	now = now.Add(longestSilence)
	g.Expect(s.note(kafka, "state", refused, now)).NotTo(Succeed())
	g.Expect(s.of[kafka]).To(HaveLen(1))
	g.Expect(s.of[kafka]["state"].wait).To(Equal(2 * firstSilence))
}

// unlisting answers all questions but the one for topics.
type unlisting struct{ hanging }

func (unlisting) ListTopics(context.Context) ([]kafka.Topic, error) {
	return nil, context.DeadlineExceeded
}

// TestAQuestionWithoutAnAnswerSilencesNoOther checks that brokers which are too slow to list topics still tell their state.
func TestAQuestionWithoutAnAnswerSilencesNoOther(t *testing.T) {
	g := NewWithT(t)
	let, now := make(chan struct{}), time.Unix(0, 0)
	close(let)
	clients := &Clients{Now: func() time.Time { return now }, After: never,
		Connect: func(kafka.Config) (Admin, error) { return unlisting{hanging{let: let, metadata: new(int16(30))}}, nil }}
	to := Connection{Kafka: types.NamespacedName{Namespace: "a", Name: "slow"}, ClusterID: "id"}
	to.Config.TLS = &kafka.TLS{}
	for _, wait := range []time.Duration{10, 20, 40} {
		_, err := clients.Holdings(t.Context(), to, []int32{1}, []int32{2})
		again, is := errors.AsType[*SilentError](err)
		g.Expect(is).To(BeTrue())
		g.Expect(again.Again).To(Equal(wait*time.Second), "another answer does not end it")
		_, err = clients.Inspect(t.Context(), to)
		g.Expect(err).NotTo(HaveOccurred())
		now = now.Add(wait * time.Second)
	}
}

func never(time.Duration) <-chan time.Time { return nil }

// hanging is a client of brokers that respond when let is closed, with this metadata version.
type hanging struct {
	Admin
	let      chan struct{}
	metadata *int16
}

func (h hanging) DescribeCluster(context.Context) (kafka.Cluster, error) {
	<-h.let
	return kafka.Cluster{ID: "id"}, nil
}

func (hanging) Close() {}

func (hanging) Reconfigure(kafka.Config) error { return nil }

func (hanging) ListTopics(context.Context) ([]kafka.Topic, error) { return nil, nil }

func (hanging) DescribeLogDirs(context.Context, int32) ([]kafka.LogDir, error) { return nil, nil }

func (h hanging) DescribeFeatures(context.Context) (kafka.Features, error) {
	return kafka.Features{Finalized: map[string]int16{kafka.FeatureMetadataVersion: *h.metadata}}, nil
}

func TestAPassDoesNotWaitForBrokersThatHang(t *testing.T) {
	g := NewWithT(t)
	let, connected := make(chan struct{}), 0
	elapsed := make(chan time.Time)
	close(elapsed)
	var waits []time.Duration
	clients := &Clients{
		Now: time.Now, After: func(wait time.Duration) <-chan time.Time {
			waits = append(waits, wait)
			return elapsed
		},
		Connect: func(kafka.Config) (Admin, error) {
			connected++
			return hanging{let: let, metadata: new(int16(30))}, nil
		},
	}
	to := Connection{Kafka: types.NamespacedName{Namespace: "a", Name: "hangs"}, ClusterID: "id"}
	to.Config.TLS, to.Config.RequestTimeout = &kafka.TLS{}, 10*time.Second
	for i := range 6 {
		_, err := clients.Inspect(t.Context(), to)
		switch i % 3 {
		case 1:
			_, err = clients.Holdings(t.Context(), to, []int32{1}, []int32{2})
		case 2:
			_, err = clients.LogDirs(t.Context(), to, []int32{1, 2})
		}
		again := &SilentError{}
		g.Expect(errors.As(err, &again)).To(BeTrue())
		g.Expect(again.Again).To(Equal(10 * time.Second))
		g.Expect(again.Lasting).To(BeFalse())
		g.Expect(err).To(MatchError(ContainSubstring("have not answered within 2s")))
	}
	g.Expect(waits).To(HaveExactElements(answerTimeout, answerTimeout, answerTimeout), "each is waited for once")
	refused := errors.New("connection refused")
	g.Expect(clients.silent.note(to.Kafka, "state", refused, time.Unix(0, 0))).To(MatchError(refused))
	_, err := clients.Inspect(t.Context(), to)
	g.Expect(err).To(MatchError(refused), "what is known stays as it is until there is an answer")
	close(let)
	for _, q := range clients.silent.asked[to.Kafka] {
		<-q.done
	}
	found, err := clients.Inspect(t.Context(), to)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.MetadataVersion).To(Equal(kafka.MetadataVersion(30)))
	g.Expect(found.Features).To(Equal(map[string]int16{kafka.FeatureMetadataVersion: 30}))
	g.Expect(connected).To(Equal(1))
}

func TestAnOldAnswerIsNone(t *testing.T) {
	g := NewWithT(t)
	let, metadata, now := make(chan struct{}), int16(29), time.Unix(0, 0)
	elapsed := make(chan time.Time)
	close(elapsed)
	clients := &Clients{
		Now: func() time.Time { return now }, After: func(time.Duration) <-chan time.Time { return elapsed },
		Connect: func(kafka.Config) (Admin, error) { return hanging{let: let, metadata: &metadata}, nil },
	}
	to := Connection{Kafka: types.NamespacedName{Namespace: "a", Name: "slow"}, ClusterID: "id"}
	to.Config.TLS = &kafka.TLS{}
	asked := func() *question {
		_, err := clients.Inspect(t.Context(), to)
		g.Expect(err).To(HaveOccurred())
		g.Expect(clients.silent.asked[to.Kafka]).To(HaveLen(1))
		for _, q := range clients.silent.asked[to.Kafka] {
			return q
		}
		return nil
	}
	first := asked()
	close(let)
	<-first.done
	metadata, now = 30, now.Add(answersLast)
	found, err := clients.Inspect(t.Context(), to)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.MetadataVersion).To(Equal(kafka.MetadataVersion(29)), "it was answered a moment ago")

	let = make(chan struct{})
	clients.Forget(to.Kafka) // the next client waits for the new channel
	second := asked()
	close(let)
	<-second.done
	metadata, now = 31, now.Add(answersLast+1)
	clients.After = never
	found, err = clients.Inspect(t.Context(), to)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.MetadataVersion).To(Equal(kafka.MetadataVersion(31)))
}
