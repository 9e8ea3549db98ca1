package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
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
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
)

// This is a model of two operators on two Kafka clusters and one API server. Random histories of users, operators and mishaps are played in
// it, one step at a time, and what the operators write is held against rules that know nothing of package ownership.

const modelLabel = "operator"

var (
	modelClusterNames = []string{"a", "b"}
	modelClusterIDs   = []string{"kafkaClusterOfOperatorA", "kafkaClusterOfOperatorB"}
	modelKeys         = []types.NamespacedName{{Namespace: "n1", Name: "x"}, {Namespace: "n1", Name: "y"}, {Namespace: "n2", Name: "x"},
		{Namespace: "n2", Name: "z"}}
)

func modelBackground() context.Context { return context.Background() }

// modelConfig is how the operators of a history are set up.
type modelConfig struct {
	finalizers, oldestWins, blockUnknown, faults, undeletable bool
	// plant is a fault in the operator that a rule has to find; empty if there is none.
	plant string
}

// modelDenial is an object, and a topic that is not its own.
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
	// topics are all that ever were; births counts their beginnings and ends.
	topics map[kafka.TopicID]*modelTopic
	births int
	// unmanaged are the objects that were unmanaged at some time. tombs are those that went at once.
	unmanaged map[types.UID]bool
	// throttled are the objects that named a throttle at some time, and restored those whose status somebody replaced, so that it may have
	// forgotten that.
	throttled, restored map[types.UID]bool
	tombs               []modelTomb
	// denied are the topics of which the status of an object that is being deleted told that they are not its own.
	denied map[modelDenial]bool
	// swapped: another CustomResourceDefinition was applied at some time.
	swapped bool
	// saved is the backup of all statuses.
	saved map[types.NamespacedName]v1.KafkaTopicStatus
	// writes counts what the operators changed; disputes are those among them that are due to the dispute of two operators (isDispute).
	writes, disputes int
	// violation is the first rule that was broken.
	violation string
	// story is told if somebody is to read it.
	story *strings.Builder
}

func newModel(config modelConfig, m *metrics.Metrics, story *strings.Builder) *model {
	w := &model{config: config, clock: newClock(), metrics: m, topics: map[kafka.TopicID]*modelTopic{}, unmanaged: map[types.UID]bool{},
		throttled: map[types.UID]bool{}, restored: map[types.UID]bool{}, denied: map[modelDenial]bool{}, story: story}
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

// fail notes the first violation. It returns false.
func (w *model) fail(format string, args ...any) bool {
	if w.violation == "" {
		w.violation = fmt.Sprintf(format, args...)
		w.tell("VIOLATION: %s", w.violation)
	}
	return false
}

// logger brings what an operator logs into the story.
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

// topicOf returns the topic of a name that there is in a cluster; nil if there is none.
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

// modelHistory is a history as a value.
type modelHistory struct {
	config modelConfig
	steps  []modelStep
}

// randomHistory is the history of a seed.
func randomHistory(seed uint64) modelHistory {
	r := rand.New(rand.NewPCG(seed, 1)) // a history is no secret
	h := modelHistory{config: modelConfig{finalizers: r.IntN(4) > 0, oldestWins: r.IntN(4) == 0, blockUnknown: r.IntN(4) == 0,
		faults: r.IntN(4) > 0, undeletable: r.IntN(16) == 0}}
	for range 50 + r.IntN(300) {
		h.steps = append(h.steps, randomStep(r, h.config.faults, false))
	}
	return h
}

// play plays a history, and returns which rule it breaks; empty if none.
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

// shrink leaves out all steps that are not needed to break a rule: large parts first, then one by one, then what happens within passes.
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

// simplerSteps are the step without its fault, and without one or all of its inner steps.
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

// report tells the shortest history that breaks a rule.
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

// modelBudget is how many steps a run has, and how long it may take.
func modelBudget() (steps int, limit time.Duration) {
	if os.Getenv("PROVE") == "full" {
		return 20_000_000, 30 * time.Minute // a bound for a machine that is busy: alone it takes little more than one
	}
	return 250_000, 5 * time.Minute
}

// modelSeed is the seed of a run: that of the environment, or always the same, or a new one where the proofs run in full.
func modelSeed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("PROVE_SEED")
	switch {
	case text == "" && os.Getenv("PROVE") == "full":
		return rand.Uint64() >> 12 // a history is no secret
	case text == "":
		return 1 // what a test finds must not depend on the day
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("PROVE_SEED: %v", err)
	}
	return seed
}

func TestRandomHistoriesOfTwoOperators(t *testing.T) {
	steps, limit := modelBudget()
	seed := modelSeed(t)
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
