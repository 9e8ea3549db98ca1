package release

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/operator/logging"
)

// This is a small model of an operator that stops. It plays every combination of what can be true then, and judges each release by the
// truth at the time of the write.

// What happened to the Kafka of the operator after it was seen.
const (
	neverSeen = "there was never one"
	stays     = "it stays"
	goes      = "it is being deleted"
	gone      = "it is gone"
	replaced  = "another one has its name"
)

// What happens to a KafkaTopic after it was listed.
const (
	nothing  = "nothing"
	edited   = "somebody adds a finalizer"
	succeeds = "another one has its name"
	removed  = "it goes"
)

// Faults that the test plants in what the operator reads, keeps or writes. A rule of the model has to find each.
const (
	plantedTerminating = "each namespace is being deleted"
	plantedEternal     = "no namespace is being deleted"
	plantedStandby     = "a standby leaves too"
	plantedUnread      = "a Kafka that can't be read is gone"
	plantedUnseen      = "a Kafka that was never seen is gone"
	plantedUnnoticed   = "no Kafka is ever deleted"
	plantedAll         = "all KafkaTopics are selected"
	plantedGreedy      = "all finalizers are removed"
	plantedBlind       = "no version is checked"
)

// modelCase is one combination.
type modelCase struct {
	leads, all                   bool
	terminating, namespaceHidden bool
	kafka                        string
	kafkaHidden                  bool
	meanwhile                    string
	plant                        string
}

// model is the API server of a case, and the truth.
type model struct {
	client.Client
	mu        sync.Mutex
	c         modelCase
	topics    map[client.ObjectKey]*v1.KafkaTopic
	listed    map[client.ObjectKey]types.UID
	kafka     *metav1.PartialObjectMetadata
	writes    int
	released  int
	violation string
}

var (
	modelKafkaKey = client.ObjectKey{Namespace: "a", Name: "mine"}
	errHidden     = apierrors.NewForbidden(schema.GroupResource{Resource: "objects"}, "", nil)
)

func newModel(c modelCase) *model {
	m := &model{c: c, topics: map[client.ObjectKey]*v1.KafkaTopic{}, listed: map[client.ObjectKey]types.UID{}}
	for _, ns := range []string{"a", "b"} {
		m.put(ns, "mine", "us", "mine", v1.FinalizerTopicOperator)
		m.put(ns, "shared", "us", "mine", foreign, v1.FinalizerTopicOperator)
		m.put(ns, "other", "us", "other", v1.FinalizerTopicOperator)
		m.put(ns, "theirs", "them", "mine", v1.FinalizerTopicOperator)
		m.put(ns, "free", "us", "mine", foreign)
	}
	for key, kt := range m.topics {
		m.listed[key] = kt.UID
	}
	return m
}

func (m *model) put(namespace, name, team, cluster string, finalizers ...string) {
	m.writes++
	version := strconv.Itoa(m.writes)
	m.topics[client.ObjectKey{Namespace: namespace, Name: name}] = &v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
		Name: name, UID: types.UID("uid-" + version), ResourceVersion: version, Finalizers: finalizers,
		Labels: map[string]string{"team": team, v1.LabelCluster: cluster}}}
}

func (m *model) fail(format string, args ...any) {
	if m.violation == "" {
		m.violation = fmt.Sprintf(format, args...)
	}
}

// due reports whether an object is to be released when the operator stops. With knowable, only what the operator can read counts.
func (m *model) due(kt *v1.KafkaTopic, knowable bool) bool {
	namespace := m.c.terminating && (!knowable || !m.c.namespaceHidden)
	kafka := slices.Contains([]string{goes, gone, replaced}, m.c.kafka) && kt.Labels[v1.LabelCluster] == modelKafkaKey.Name &&
		(!knowable || !m.c.kafkaHidden)
	return m.c.leads && kt.Namespace == "a" && kt.Labels["team"] == "us" && (namespace || kafka)
}

func (m *model) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	switch list := list.(type) {
	case *metav1.PartialObjectMetadataList:
		if m.kafka != nil {
			list.Items = append(list.Items, *m.kafka)
		}
	case *v1.KafkaTopicList:
		for _, kt := range m.topics {
			if (o.Namespace == "" || o.Namespace == kt.Namespace) && (o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(kt.Labels))) {
				list.Items = append(list.Items, *kt.DeepCopy())
			}
		}
	}
	return nil
}

func (m *model) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	none := apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	switch out := out.(type) {
	case *metav1.PartialObjectMetadata:
		switch {
		case m.c.kafkaHidden && m.c.plant == plantedUnread:
			return none
		case m.c.kafkaHidden:
			return errHidden
		case m.kafka == nil:
			return none
		}
		*out = *m.kafka.DeepCopy()
		return nil
	case *v1.KafkaTopic:
		if m.topics[key] == nil {
			return none
		}
		*out = *m.topics[key].DeepCopy()
		return nil
	}
	return errHidden
}

// Create answers a dry run.
func (m *model) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	terminating, hidden := m.c.terminating && object.GetNamespace() == "a", m.c.namespaceHidden && object.GetNamespace() == "a"
	if m.c.plant == plantedTerminating || m.c.plant == plantedEternal {
		terminating, hidden = m.c.plant == plantedTerminating, false
	}
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "objects"}, "", nil)
	switch {
	case hidden:
		return errHidden
	case terminating:
		refused.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return refused
	}
	return nil
}

func (m *model) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(object)
	m.happens(key)
	kt := m.topics[key]
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	var after v1.KafkaTopic
	if err := json.Unmarshal(data, &after); err != nil {
		return err
	}
	switch {
	case kt == nil:
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	case after.ResourceVersion != kt.ResourceVersion && m.c.plant != plantedBlind:
		return apierrors.NewConflict(schema.GroupResource{}, key.Name, nil)
	}
	if m.c.plant == plantedGreedy {
		after.Finalizers = nil
	}
	rest := slices.DeleteFunc(slices.Clone(kt.Finalizers), func(f string) bool { return f == v1.FinalizerTopicOperator })
	switch {
	case kt.UID != m.listed[key]:
		m.fail("%s loses its finalizer, though it replaced the one that was listed", key)
	case !m.due(kt, false):
		m.fail("%s is released, though nothing takes its operator away", key)
	case !slices.Equal(after.Finalizers, rest):
		m.fail("%s has the finalizers %q, and not %q", key, after.Finalizers, rest)
	}
	m.writes++
	m.released++
	kt.Finalizers, kt.ResourceVersion = after.Finalizers, strconv.Itoa(m.writes)
	return nil
}

// happens lets something happen to one object before it is written for the first time.
func (m *model) happens(key client.ObjectKey) {
	if key != modelKafkaKey || m.c.meanwhile == nothing {
		return
	}
	switch m.c.meanwhile {
	case edited:
		m.writes++
		m.topics[key].Finalizers = append(slices.Clone(m.topics[key].Finalizers), "example.com/late")
		m.topics[key].ResourceVersion = strconv.Itoa(m.writes)
	case succeeds:
		m.put(key.Namespace, key.Name, "us", "mine", v1.FinalizerTopicOperator)
	case removed:
		delete(m.topics, key)
	}
	m.c.meanwhile = nothing
}

// ends lets happen to the Kafka what the case says.
func (m *model) ends() {
	switch m.c.kafka {
	case goes:
		m.kafka.DeletionTimestamp = new(metav1.Now())
	case gone:
		m.kafka = nil
	case replaced:
		m.kafka.UID = "another"
	}
	if m.c.plant == plantedUnnoticed && m.c.kafka != neverSeen {
		m.kafka = kafkaOf("kafka")
	}
}

func kafkaOf(uid types.UID) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: modelKafkaKey.Namespace, Name: modelKafkaKey.Name, UID: uid}}
}

// play plays a case, and returns the broken rule; empty if none is broken.
func (c modelCase) play(ctx context.Context) string {
	m := newModel(c)
	if c.kafka != neverSeen {
		m.kafka = kafkaOf("kafka")
	}
	var log strings.Builder
	l := &Leaver{Client: m, Log: logging.New(&log, logging.Options{}), leads: c.leads || c.plant == plantedStandby,
		Selects: func(labels map[string]string) bool { return labels["team"] == "us" || c.plant == plantedAll }}
	if !c.all {
		l.Namespaces = []string{"a", "b"}
	}
	if err := l.note(ctx); err != nil {
		return err.Error()
	}
	if c.plant == plantedUnseen {
		l.kafkas[modelKafkaKey] = "nobody saw it"
	}
	m.ends()
	if err := l.Leave(ctx); err != nil {
		return err.Error()
	}
	for key, kt := range m.topics {
		if slices.Contains(kt.Finalizers, v1.FinalizerTopicOperator) && kt.UID == m.listed[key] && m.due(kt, true) {
			m.fail("%s is held for ever", key)
		}
	}
	// An object that went in the meantime has a line too.
	if lines := strings.Count(log.String(), "Released a KafkaTopic"); lines < m.released {
		m.fail("%d were released, and the log has %d lines", m.released, lines)
	}
	return m.violation
}

// cases calls f with each combination, until f returns false.
func cases(plant string, f func(modelCase) bool) {
	both := []bool{false, true}
	for i := range 1 << 5 {
		bit := func(n int) bool { return both[i>>n&1] }
		for _, kafka := range []string{neverSeen, stays, goes, gone, replaced} {
			for _, meanwhile := range []string{nothing, edited, succeeds, removed} {
				if !f(modelCase{leads: bit(0), all: bit(1), terminating: bit(2), namespaceHidden: bit(3), kafkaHidden: bit(4), kafka: kafka,
					meanwhile: meanwhile, plant: plant}) {
					return
				}
			}
		}
	}
}

func TestAStoppingOperatorReleasesWhatNobodyElseWould(t *testing.T) {
	g := NewWithT(t)
	cases("", func(c modelCase) bool {
		g.Expect(c.play(t.Context())).To(BeEmpty(), "%+v", c)
		return true
	})
}

func TestTheModelFindsPlantedFaults(t *testing.T) {
	for plant, says := range map[string]string{
		plantedTerminating: "though nothing takes its operator away",
		plantedEternal:     "is held for ever",
		plantedStandby:     "though nothing takes its operator away",
		plantedUnread:      "though nothing takes its operator away",
		plantedUnseen:      "though nothing takes its operator away",
		plantedUnnoticed:   "is held for ever",
		plantedAll:         "though nothing takes its operator away",
		plantedGreedy:      "has the finalizers",
		plantedBlind:       "though it replaced the one that was listed",
	} {
		t.Run(plant, func(t *testing.T) {
			found := map[string]bool{}
			cases(plant, func(c modelCase) bool {
				broken := c.play(t.Context())
				found[broken] = true
				return !strings.Contains(broken, says)
			})
			NewWithT(t).Expect(slices.Collect(maps.Keys(found))).To(ContainElement(ContainSubstring(says)))
		})
	}
}
