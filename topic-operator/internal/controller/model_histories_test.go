package controller

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	kafkamemory "github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
)

// This is a model of two operators with two Kafka clusters and one API server. A test plays random histories of users, operators and faults
// in the model, one step at a time, and checks each write of the operators against rules that do not use package ownership.

const modelLabel = "operator"

var (
	modelClusterNames = []string{"a", "b"}
	modelClusterIDs   = []string{"kafkaClusterOfOperatorA", "kafkaClusterOfOperatorB"}
	modelKeys         = []types.NamespacedName{{Namespace: "n1", Name: "x"}, {Namespace: "n1", Name: "y"}, {Namespace: "n2", Name: "x"},
		{Namespace: "n2", Name: "z"}}
)

func modelBackground() context.Context { return context.Background() }

// modelConfig is the configuration of a history's operators.
type modelConfig struct {
	finalizers, oldestWins, blockUnknown, faults, undeletable bool
	// unpublished means that the operators can't read the schema that the API server publishes.
	unpublished bool
	// plant is the planted fault that a rule has to find; empty if there is none.
	plant string
}

// modelDenial is an object, and a topic that its status reported as not its own.
type modelDenial struct {
	object types.UID
	topic  kafka.TopicID
}

// model is the world of one history.
type model struct {
	config    modelConfig
	clock     *clock
	server    *modelServer
	clusters  [2]modelCluster
	operators [2]*modelOperator
	metrics   *metrics.Metrics
	// topics are all topics that ever existed. births numbers their creations and deletions.
	topics map[kafka.TopicID]*modelTopic
	births int
	// unmanaged are the objects that were unmanaged at some time. tombs are the objects that were removed at once.
	unmanaged map[types.UID]bool
	// throttled are the objects that named a throttle at some time. restored are those whose status a user replaced, so that it may lack
	// the throttle, and after how many events of the API server.
	throttled map[types.UID]bool
	restored  map[types.UID]int
	tombs     []modelTomb
	// denied are the topics that the status of an object that is being deleted reported as not its own.
	denied map[modelDenial]bool
	// policy is the namespace that the namespace policy gives a topic to; a topic that it lacks is everybody's. restricted are the topics that
	// it gave to a namespace at some time.
	policy     map[string]string
	restricted map[string]bool
	// swapped reports whether another CustomResourceDefinition was applied at some time.
	swapped bool
	// saved is the backup of all statuses.
	saved map[types.NamespacedName]v1.KafkaTopicStatus
	// writes counts the operators' changes. disputes counts those of them that two operators repeat against each other (isDispute).
	writes, disputes int
	// violation is the first rule that was broken.
	violation string
	// story records the history for a reader; nil if nobody reads it.
	story *strings.Builder
}

func newModel(config modelConfig, m *metrics.Metrics, story *strings.Builder) *model {
	w := &model{config: config, clock: newClock(), metrics: m, topics: map[kafka.TopicID]*modelTopic{}, unmanaged: map[types.UID]bool{},
		throttled: map[types.UID]bool{}, restored: map[types.UID]int{}, denied: map[modelDenial]bool{},
		policy: map[string]string{}, restricted: map[string]bool{}, story: story}
	w.server = newModelServer(w.clock.now)
	w.server.gullible = config.plant == plantedGullible
	for i := range w.clusters {
		c := kafkamemory.New(kafkamemory.Options{ClusterID: modelClusterIDs[i], Brokers: 2 - i, DeletionDisabled: config.undeletable})
		w.clusters[i] = modelCluster{memory: c, hand: c.Client("User:somebody", nil)}
	}
	for i := range w.operators {
		w.operators[i] = &modelOperator{index: i, leads: i}
		w.start(w.operators[i], 0, false)
	}
	return w
}

func (w *model) tell(format string, args ...any) {
	if w.story != nil {
		fmt.Fprintf(w.story, format+"\n", args...)
	}
}

// fail records the first violation. It returns false.
func (w *model) fail(format string, args ...any) bool {
	if w.violation == "" {
		w.violation = fmt.Sprintf(format, args...)
		w.tell("VIOLATION: %s", w.violation)
	}
	return false
}

// logger writes an operator's log lines into the story.
func (w *model) logger(p *modelProcess) logr.Logger {
	if w.story == nil {
		return logr.Discard()
	}
	return funcr.New(func(_, args string) { w.tell("    %s logs %s", p, args) }, funcr.Options{Verbosity: 1})
}

func (w *model) topicMade(t *modelTopic) {
	w.births++
	t.born = w.births
	w.topics[t.id] = t
}

func (w *model) topicGone(id kafka.TopicID) {
	w.births++
	t := w.topics[id]
	t.gone, t.ended = true, w.births
}

// topicOf returns the existing topic of a name in a cluster; nil if there is none.
func (w *model) topicOf(cluster int, name string) *modelTopic {
	for _, t := range w.topics {
		if t.cluster == cluster && t.name == name && !t.gone {
			return t
		}
	}
	return nil
}

func modelIDText(t *modelTopic) string { return t.id.String() }

// modelID shortens an id for stories.
func modelID(text string) string {
	if id, err := kafka.ParseTopicID(text); err == nil && text != "" {
		return shortID(id)
	}
	return text
}

// modelHistory is a history that can be played again.
type modelHistory struct {
	config modelConfig
	steps  []modelStep
}

// randomHistory returns the history of a seed.
func randomHistory(seed uint64) modelHistory {
	r := rand.New(rand.NewPCG(seed, 1)) // no secret depends on it
	h := modelHistory{config: modelConfig{finalizers: r.IntN(4) > 0, oldestWins: r.IntN(4) == 0, blockUnknown: r.IntN(4) == 0,
		faults: r.IntN(4) > 0, undeletable: r.IntN(16) == 0, unpublished: r.IntN(8) == 0}}
	for range 50 + r.IntN(300) {
		h.steps = append(h.steps, randomStep(r, h.config.faults, false))
	}
	return h
}

// play plays a history, and returns the broken rule; empty if none is broken.
func (h modelHistory) play(m *metrics.Metrics, story *strings.Builder) string {
	w := newModel(h.config, m, story)
	for i, s := range h.steps {
		w.tell("-- %d: %s", i+1, s.do)
		w.apply(s)
		if w.violation != "" {
			return w.violation
		}
	}
	w.converge()
	return w.violation
}

// shrink removes all steps that are not needed to break a rule: large parts first, then single steps, then the steps inside of passes.
func (h modelHistory) shrink(breaks func(modelHistory) bool) modelHistory {
	for size := len(h.steps) / 2; size > 0; {
		smaller := false
		for at := 0; at+size <= len(h.steps); {
			if shorter := h.without(at, size); breaks(shorter) {
				h, smaller = shorter, true
			} else {
				at += size
			}
		}
		if !smaller || size > 1 {
			size /= 2
		}
	}
	for i := range h.steps {
		for _, simpler := range simplerSteps(h.steps[i]) {
			try := modelHistory{config: h.config, steps: append([]modelStep{}, h.steps...)}
			try.steps[i] = simpler
			if breaks(try) {
				h = try
			}
		}
	}
	return h
}

func (h modelHistory) without(at, n int) modelHistory {
	steps := append([]modelStep{}, h.steps[:at]...)
	return modelHistory{config: h.config, steps: append(steps, h.steps[at+n:]...)}
}

// simplerSteps returns variants of the step: without its fault, without one of its inner steps, and without all of them.
func simplerSteps(s modelStep) (simpler []modelStep) {
	for i := range s.inner {
		one := s
		one.inner = []modelStep{s.inner[i]}
		simpler = append(simpler, one)
	}
	if len(s.inner) > 0 {
		none := s
		none.inner = nil
		simpler = append(simpler, none)
	}
	if s.fault != "" {
		none := s
		none.fault = ""
		simpler = append(simpler, none)
	}
	return simpler
}

// report shrinks the history, and reports the shortest one that breaks a rule.
func (h modelHistory) report(t *testing.T, seed uint64, m *metrics.Metrics) {
	t.Helper()
	small := h.shrink(func(h modelHistory) bool { return h.play(m, nil) != "" })
	var story strings.Builder
	small.play(m, &story)
	story.WriteString("As values:\n")
	for _, s := range small.steps {
		fmt.Fprintf(&story, "%s,\n", s)
	}
	t.Errorf("the history of PROVE_SEED=%d breaks a rule; %d of its %d steps are needed, with %+v:\n%s", seed, len(small.steps), len(h.steps),
		h.config, story.String())
}

// modelBudget returns how many steps a run plays, and how long a proof may take.
func modelBudget() (steps int, limit time.Duration) {
	if os.Getenv("PROVE") == "full" {
		return 20_000_000, 30 * time.Minute // a bound for a busy machine; an idle one needs little more than a minute
	}
	return 250_000, math.MaxInt64
}

func TestRandomHistoriesOfTwoOperators(t *testing.T) {
	steps, limit := modelBudget()
	seed := randomtest.Seed(t)
	m := metrics.New(prometheus.NewRegistry(), metrics.Options{})
	made, violations := 0, 0
	began := time.Now()
	for at := seed; made < steps && violations < 3 && time.Since(began) < limit; at++ {
		h := randomHistory(at)
		made += len(h.steps)
		if h.play(m, nil) != "" {
			violations++
			h.report(t, at, m)
		}
	}
	if violations == 0 && made < steps {
		t.Errorf("only %d of %d steps were played in %s", made, steps, time.Since(began).Round(time.Second))
	}
	fmt.Printf("PROOF {\"name\":\"random histories of two operators\",\"count\":%d,\"violations\":%d,\"seed\":%d}\n", made, violations, seed)
}
