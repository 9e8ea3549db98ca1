package controller

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/metrics"
)

// A random history found this. While the operator creates the topic of a new object, a user restores the status of an older object of that
// name, which stood for another topic. So no object claims the created topic, and another object takes it over.
func TestACreatedTopicStaysIfTheStatusNamesAnother(t *testing.T) {
	w := newModel(modelConfig{finalizers: true}, metrics.New(prometheus.NewRegistry(), metrics.Options{}), nil)
	p := w.operators[1].process
	create := func(key types.NamespacedName) {
		kt := &v1.KafkaTopic{Spec: &v1.KafkaTopicSpec{TopicName: new("x")}}
		kt.Namespace, kt.Name, kt.Labels = key.Namespace, key.Name, map[string]string{modelLabel: "B"}
		w.server.create(kt)
	}
	look := func(key types.NamespacedName, s modelStep) {
		for p.deliver() {
		}
		p.pass(key, s)
	}
	first, second := modelKeys[1], modelKeys[2]
	w.saved = map[types.NamespacedName]v1.KafkaTopicStatus{first: {TopicName: "y", TopicID: "bm8gc3VjaCB0b3BpYyBpZA",
		ClusterID: modelClusterIDs[1]}}

	create(first)
	const statusCall = 6 // the first five: object, other claimants, topic, finalizer, creation
	look(first, modelStep{at: statusCall, inner: []modelStep{{do: "restore", key: 1}}})
	create(second)
	look(second, modelStep{})
	w.server.delete(first)
	look(first, modelStep{})

	g := NewWithT(t)
	g.Expect(w.violation).To(BeEmpty())
	g.Expect(w.server.objects[second].Status.TopicID).NotTo(BeEmpty())
	g.Expect(w.topicOf(1, "x")).NotTo(BeNil())
}

// checkKnown plays a history that once broke a rule.
func checkKnown(t *testing.T, h modelHistory) {
	t.Helper()
	var story strings.Builder
	if broken := h.play(metrics.New(prometheus.NewRegistry(), metrics.Options{}), &story); broken != "" {
		t.Errorf("%s", story.String())
	}
}

// A random history found this. A paused object has no topicId. It is resumed, its topic is recreated, and the object is deleted before its
// status has the new topic's id. Then somebody replaces that topic. The operator reported that the present topic is not the object's own,
// but did not store the id of the topic that is.
var modelReplacedAfterAPause = []modelStep{
	{do: "create", key: 3, who: 1, arg: 46354},
	{do: "deliver", key: 2, who: 0, arg: 54257},
	{do: "work", key: 0, who: 0, arg: 29389},
	{do: "pause", key: 3, who: 0, arg: 14250},
	{do: "deliver", key: 1, who: 0, arg: 19415},
	{do: "work", key: 3, who: 0, arg: 62839},
	{do: "deliver", key: 1, who: 0, arg: 8706},
	{do: "create", key: 1, who: 0, arg: 34602},
	{do: "pause", key: 3, who: 0, arg: 19643},
	{do: "delete", key: 3, who: 0, arg: 19273},
	{do: "drop", key: 1, who: 0, arg: 50448},
	{do: "deliver", key: 0, who: 0, arg: 21193},
	{do: "work", key: 1, who: 0, arg: 34091},
	{do: "remake", key: 0, who: 0, arg: 39984},
}

func TestATopicReplacedAfterAPauseIsNotTheObjectsOwn(t *testing.T) {
	checkKnown(t, modelHistory{config: modelConfig{finalizers: true, faults: true}, steps: modelReplacedAfterAPause})
}

// The same, found with another seed: an operator with a lagging watch created the topic.
func TestATopicReplacedUnderALaggingOperatorIsNotOwn(t *testing.T) {
	checkKnown(t, modelHistory{config: modelConfig{finalizers: true, faults: true}, steps: []modelStep{
		{do: "create", key: 3, who: 1, arg: 55238},
		{do: "create", key: 1, who: 1, arg: 47468},
		{do: "create", key: 2, who: 0, arg: 48422},
		{do: "deliver", key: 2, who: 1, arg: 7849},
		{do: "work", key: 1, who: 1, arg: 52756, at: 3, inner: []modelStep{{do: "deliver", key: 2, who: 1, arg: 16420}}},
		{do: "pause", key: 3, who: 1, arg: 13377},
		{do: "deliver", key: 2, who: 1, arg: 56846},
		{do: "work", key: 3, who: 1, arg: 50387},
		{do: "edit", key: 3, who: 1, arg: 20424},
		{do: "relabel", key: 1, who: 1, arg: 47148},
		{do: "wait", key: 1, who: 0, arg: 26738},
		{do: "pause", key: 3, who: 0, arg: 15965},
		{do: "work", key: 1, who: 1, arg: 65399},
		{do: "work", key: 0, who: 1, arg: 11372},
		{do: "work", key: 1, who: 1, arg: 4322, at: 1, inner: []modelStep{
			{do: "drop", key: 2, who: 1, arg: 46451}, {do: "work", key: 1, who: 0, arg: 42274}, {do: "timer", key: 2, who: 0, arg: 26802},
			{do: "relabel", key: 0, who: 1, arg: 4671},
		}},
		{do: "deliver", key: 3, who: 1, arg: 6022},
		{do: "work", key: 1, who: 1, arg: 22632},
		{do: "delete", key: 3, who: 0, arg: 16746},
		{do: "deliver", key: 1, who: 1, arg: 9457},
		{do: "work", key: 2, who: 1, arg: 7215},
		{do: "remake", key: 1, who: 1, arg: 43589},
	}})
}

// A restart loses which topic the operator created. It must not lose the id that the status reported.
func TestADeletionThatIsBlockedStaysSoWhenTheOperatorStartsAnew(t *testing.T) {
	steps := append(slices.Clone(modelReplacedAfterAPause),
		modelStep{do: "deliver", arg: 3}, modelStep{do: "timer", key: 3}, modelStep{do: "restart", arg: 0})
	checkKnown(t, modelHistory{config: modelConfig{finalizers: true, faults: true}, steps: steps})
}

// Random histories found these two. A deletion is blocked, the status records so with the id of the topic that the operator created, and
// the watch does not show that status yet. Later the operator no longer remembers the creation, and decides by the old state: it fell back
// to the name, and deleted the topic that it had refused to delete.
func TestADeletionThatIsBlockedStaysSoWhileTheWatchIsBehind(t *testing.T) {
	checkKnown(t, modelHistory{config: modelConfig{finalizers: true, faults: true}, steps: []modelStep{
		{do: "create", key: 2, who: 1, arg: 11081},
		{do: "gap", key: 1, who: 1, arg: 19913},
		{do: "work", key: 3, who: 1, arg: 12712},
		{do: "backup", key: 1, who: 1, arg: 21782},
		{do: "restore", key: 2, who: 1, arg: 9275},
		{do: "drop", key: 2, who: 1, arg: 28698},
		{do: "deliver", key: 1, who: 1, arg: 63863},
		{do: "make", key: 0, who: 1, arg: 30978},
		{do: "delete", key: 2, who: 1, arg: 2041},
		{do: "deliver", key: 2, who: 1, arg: 43970},
		{do: "work", key: 2, who: 1, arg: 15017},
		{do: "wait", key: 3, who: 1, arg: 8594},
		{do: "work", key: 0, who: 1, arg: 50146},
	}})
}

func TestABlockedDeletionStaysBlockedWhileTheWatchLags(t *testing.T) {
	checkKnown(t, modelHistory{config: modelConfig{finalizers: true, faults: true}, steps: []modelStep{
		{do: "create", key: 2, who: 1, arg: 50853},
		{do: "gap", key: 1, who: 0, arg: 43168},
		{do: "work", key: 3, who: 0, arg: 49187},
		{do: "create", key: 1, who: 1, arg: 38542},
		{do: "create", key: 3, who: 1, arg: 46984},
		{do: "relabel", key: 1, who: 1, arg: 19286},
		{do: "delete", key: 2, who: 1, arg: 28648},
		{do: "drop", key: 3, who: 0, arg: 61560},
		{do: "mute", key: 2, who: 0, arg: 43658},
		{do: "restart", key: 1, who: 0, arg: 53021},
		{do: "backup", key: 1, who: 0, arg: 2236},
		{do: "deliver", key: 2, who: 0, arg: 18524},
		{do: "restore", key: 2, who: 0, arg: 46407},
		{do: "work", key: 1, who: 0, arg: 44272, at: 6, inner: []modelStep{
			{do: "deliver", key: 1, who: 1, arg: 5846}, {do: "work", key: 0, who: 0, arg: 20516}, {do: "work", key: 1, who: 0, arg: 53617},
			{do: "deliver", key: 1, who: 0, arg: 26253},
		}},
		{do: "timer", key: 1, who: 0, arg: 53821},
		{do: "work", key: 3, who: 0, arg: 1810},
		{do: "remake", key: 2, who: 0, arg: 57093},
		{do: "deliver", key: 2, who: 0, arg: 19326},
		{do: "work", key: 1, who: 0, arg: 54703},
		{do: "wait", key: 0, who: 0, arg: 6383},
		{do: "work", key: 2, who: 0, arg: 19948},
	}})
}

// The operator does not remember what it wrote into a status: a later pass of its own may have overwritten it.
var modelMismatchAndPause = modelHistory{config: modelConfig{finalizers: true}, steps: []modelStep{
	{do: "immigrate"},
	{do: "deliver", arg: 3},
	{do: "work"},
	{do: "pause", arg: 0},
	{do: "deliver", arg: 3},
	{do: "work"},
	{do: "pause", arg: 1},
}}

func TestAMismatchIsToldAgainAfterAPause(t *testing.T) { checkKnown(t, modelMismatchAndPause) }

// Random histories find this one too, but only one of ten thousand does.
func TestTheModelFindsAPauseThatStays(t *testing.T) {
	h := modelMismatchAndPause
	h.config.plant = plantedFinal
	NewWithT(t).Expect(h.play(metrics.New(prometheus.NewRegistry(), metrics.Options{}), nil)).
		To(ContainSubstring("does not say that it belongs to another cluster"))
}

// A deletion waits for the id of the cluster, which Kafka tells while the operator has nothing else to do.
var modelDeletionWaitsForTheID = modelHistory{config: modelConfig{finalizers: true, blockUnknown: true, faults: true}, steps: []modelStep{
	{do: "create"},
	{do: "deliver", arg: 3},
	{do: "work"},
	{do: "deliver", arg: 3},
	{do: "outage"},
	{do: "restart"},
	{do: "delete"},
	{do: "deliver", arg: 3},
	{do: "work"},
	{do: "deliver", arg: 3},
	{do: "outage", arg: 1},
	{do: "tick"},
}}

func TestADeletionGoesOnAsSoonAsKafkaTellsItsID(t *testing.T) {
	checkKnown(t, modelDeletionWaitsForTheID)
}

// Random histories seldom find this one.
func TestTheModelFindsAWaitForATimer(t *testing.T) {
	h := modelDeletionWaitsForTheID
	h.config.plant = plantedDrowsy
	NewWithT(t).Expect(h.play(metrics.New(prometheus.NewRegistry(), metrics.Options{}), nil)).
		To(ContainSubstring("waits for its timer, though Kafka has told its id"))
}

// A random history found this. Two operators select a new object, and one created the object's topic before the other one claimed it. A
// user deletes that topic and the object, and a CustomResourceDefinition hides the claim. So the first operator can't know of the other's
// claim, and its own topic is deleted already.
func TestAnObjectWhoseClaimIsHiddenIsReleasedByWhoMadeItsTopic(t *testing.T) {
	checkKnown(t, modelHistory{config: modelConfig{finalizers: true, faults: true}, steps: []modelStep{
		{do: "create", key: 2, who: 0, arg: 37308},
		{do: "deliver", key: 3, who: 1, arg: 45970},
		{do: "work", key: 0, who: 1, arg: 44058, at: 6, inner: []modelStep{{do: "pause", key: 2, who: 1, arg: 4418}}},
		{do: "deliver", key: 3, who: 0, arg: 44638},
		{do: "work", key: 2, who: 0, arg: 37476},
		{do: "drop", key: 0, who: 1, arg: 30673},
		{do: "delete", key: 2, who: 1, arg: 3979},
		{do: "deliver", key: 1, who: 1, arg: 35886},
		{do: "swap", key: 0, who: 0, arg: 48582},
		{do: "deliver", key: 0, who: 1, arg: 16390},
		{do: "work", key: 3, who: 1, arg: 19279},
	}})
}

// A random history found this, without finalizers. The watch reports an object's deletion while a pass reads the object and gets NotFound
// from the API server.
func TestAnObjectThatGoesWhileItIsReadTakesItsTopicAlong(t *testing.T) {
	checkKnown(t, modelHistory{config: modelConfig{faults: true}, steps: []modelStep{
		{do: "create", key: 2, who: 0, arg: 1668},
		{do: "deliver", key: 2, who: 0, arg: 45690},
		{do: "work", key: 2, who: 0, arg: 18871},
		{do: "wait", key: 3, who: 1, arg: 39843},
		{do: "work", key: 1, who: 0, arg: 39518},
		{do: "delete", key: 2, who: 1, arg: 22138},
		{do: "wait", key: 2, who: 1, arg: 12270},
		{do: "work", key: 2, who: 0, arg: 51004, at: 2, inner: []modelStep{{do: "deliver", key: 0, who: 0, arg: 31657}}},
	}})
}

// A random history found this, without finalizers. Another owner's finalizer held an object, which is now removed, while another object
// claims its topic. The pass did not look for claimants, so the check before the deletion rejected each attempt until the other object was
// unmanaged.
func TestAnObjectThatWasHeldLeavesItsTopicToOthersWhenItGoes(t *testing.T) {
	checkKnown(t, modelHistory{config: modelConfig{faults: true}, steps: []modelStep{
		{do: "create", key: 1, who: 0, arg: 58645},
		{do: "deliver", key: 2, who: 1, arg: 24575},
		{do: "create", key: 0, who: 1, arg: 41473},
		{do: "deliver", key: 0, who: 1, arg: 64652},
		{do: "hold", key: 1, who: 0, arg: 62072},
		{do: "work", key: 2, who: 1, arg: 49849},
		{do: "hold", key: 0, who: 0, arg: 32007},
		{do: "delete", key: 0, who: 0, arg: 27975},
		{do: "relabel", key: 1, who: 0, arg: 44506},
		{do: "hold", key: 0, who: 0, arg: 17103},
		{do: "delete", key: 1, who: 1, arg: 14244},
	}})
}

// A random history found this. The status of an object of another cluster reported that cluster. Then a write whose answer was lost
// reported that Kafka answers as another cluster. When the operator's own cluster answered again, the status kept that report.
func TestAMismatchIsToldAgainAfterAnotherClusterAnswered(t *testing.T) {
	checkKnown(t, modelHistory{config: modelConfig{blockUnknown: true, faults: true}, steps: []modelStep{
		{do: "create", key: 0, who: 0, arg: 41196},
		{do: "immigrate", key: 3, who: 0, arg: 29956},
		{do: "deliver", key: 3, who: 0, arg: 63489},
		{do: "work", key: 3, who: 0, arg: 4557},
		{do: "redirect", key: 2, who: 0, arg: 26492},
		{do: "work", key: 1, who: 0, arg: 44278},
		{do: "deliver", key: 2, who: 0, arg: 46306},
		{do: "timer", key: 3, who: 0, arg: 48173, fault: "answer-lost", n: 1},
	}})
}

// A random history found this. An object that was released, and that another owner's finalizer still holds, waits for nothing.
func TestAReleasedObjectDoesNotWaitForTheID(t *testing.T) {
	checkKnown(t, modelHistory{config: modelConfig{finalizers: true, blockUnknown: true, faults: true}, steps: []modelStep{
		{do: "mute", key: 2, who: 1, arg: 1456},
		{do: "immigrate", key: 2, who: 1, arg: 8810},
		{do: "deliver", key: 2, who: 1, arg: 36682},
		{do: "work", key: 3, who: 1, arg: 39577},
		{do: "hold", key: 2, who: 0, arg: 38662},
		{do: "deliver", key: 1, who: 1, arg: 63642},
		{do: "delete", key: 2, who: 0, arg: 39376},
		{do: "deliver", key: 2, who: 0, arg: 37667},
		{do: "deliver", key: 1, who: 1, arg: 181},
		{do: "deliver", key: 1, who: 0, arg: 47493},
		{do: "work", key: 3, who: 1, arg: 17454},
		{do: "relabel", key: 2, who: 0, arg: 30428},
		{do: "deliver", key: 2, who: 0, arg: 20125},
		{do: "work", key: 3, who: 0, arg: 3490},
	}})
}

// A random history found this. A process that has just started does not know how long Kafka has been refusing a topic, and reports the
// failure as lasting at its second pass.
func TestAFailureIsToldAsLastingAfterARestartToo(t *testing.T) {
	checkKnown(t, modelHistory{config: modelConfig{faults: true}, steps: []modelStep{
		{do: "create", key: 3, who: 1, arg: 53171},
		{do: "deliver", key: 0, who: 1, arg: 10849},
		{do: "work", key: 1, who: 1, arg: 13048},
		{do: "restart", key: 0, who: 1, arg: 59717},
	}})
}
