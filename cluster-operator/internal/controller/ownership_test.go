package controller

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

const conflictsTotal = "strimzi_stretch_ownership_conflicts_total"

func TestOwnershipThatIsRestoredIsTold(t *testing.T) {
	w := newStretchedWorld(t)
	registry := prometheus.NewRegistry()
	w.r.Metrics = metrics.New(registry, "")
	w.form()
	tells := func(event string) {
		t.Helper()
		w.events = nil
		w.pass()
		w.Expect(w.events).To(ContainElement(event))
		w.events = nil
		w.pass()
		w.Expect(w.events).NotTo(ContainElement(event), "once")
	}
	for _, name := range []string{model.AnchorName("my-cluster"), "my-cluster-west-2"} {
		config := &corev1.ConfigMap{}
		w.in("west", config, name)
		config = config.DeepCopy()
		delete(config.Annotations, ownership.MarkTerm)
		w.Expect(w.members["west"].Update(t.Context(), config)).To(Succeed())
		tells("OwnershipRestored: ConfigMap " + name + " in cluster 'west' had lost its ownership annotations, and got them back")
	}
	k := w.kafka()
	delete(k.Annotations, v1.AnnotationOwnerEpoch)
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	tells("OwnershipRestored: The Kafka had lost the annotations that name the owner of its objects in other Kubernetes clusters, and got " +
		"them back")
	w.Expect(gaugeIn(registry, conflictsTotal)).To(BeZero())
}

func TestAKafkaThatContinuesWithWhatAnEarlierOneLeftTellsThat(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, keptCAs)
	h.deleteWithoutFinalizer()
	h.collect()
	again := stretchedKafka()
	again.Namespace = historyNamespace
	keptCAs(again)
	h.must(h.k8s.Create(t.Context(), again))
	events := &world{}
	h.leader().r.Events = events
	for range 6 {
		_, _ = h.pass(h.leader(), -1)
	}
	for _, id := range []string{"east", "west"} {
		note := "OwnershipResumed: Cluster '" + id + "' has objects of an earlier Kafka object of this name: this one continues with them"
		told := slices.DeleteFunc(slices.Clone(events.events), func(event string) bool { return event != note })
		g.Expect(told).To(HaveLen(1), id)
	}
}

func TestConflictsOfOwnersAreCounted(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	registry, events := prometheus.NewRegistry(), &world{}
	rival := h.rivalWith(untouched)
	r := rival.operators[0].r
	r.Metrics, r.Events = metrics.New(registry, ""), events
	_, _ = h.pass(rival.operators[0], -1)
	g.Expect(rival.ready()).To(HaveField("Reason", reasonConflict))
	g.Expect(gaugeIn(registry, conflictsTotal)).To(BeNumerically(">", 0))
}

func TestACopyInTheWayIsTold(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	registry, events := prometheus.NewRegistry(), &world{}
	h.leader().r.Metrics, h.leader().r.Events = metrics.New(registry, ""), events
	east := h.servers[2]
	anchor := east.objects[anchorKey].object().(*corev1.ConfigMap).DeepCopy()
	east.terminate(anchorKey)
	anchor.Annotations[ownership.MarkSelf] = ownership.Self("ConfigMap", historyNamespace, model.AnchorName("other"))
	anchor.UID, anchor.ResourceVersion = "", ""
	h.must(east.client().Create(t.Context(), anchor))
	for range 4 {
		_, _ = h.pass(h.leader(), -1)
	}
	told := slices.DeleteFunc(events.events, func(event string) bool { return !strings.HasPrefix(event, "CopiedOwnerMark: ") })
	g.Expect(told).To(ConsistOf(And(HavePrefix("CopiedOwnerMark: In cluster 'east': ConfigMap"), ContainSubstring("so it is a copy"))))
	g.Expect(gaugeIn(registry, conflictsTotal)).To(BeNumerically(">", 1))
}

// TestAnAnchorWhoseProofIsLostIsNotSomebodyElses checks that the status tells what helps where an anchor names the Kafka, and nothing
// proves any more under which epoch.
func TestAnAnchorWhoseProofIsLostIsNotSomebodyElses(t *testing.T) {
	w := newStretchedWorld(t)
	w.formTwo()
	anchor, record := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	w.in("east", anchor, model.AnchorName("my-cluster"))
	delete(anchor.Annotations, ownership.MarkTerm)
	w.Expect(w.members["east"].Update(t.Context(), anchor)).To(Succeed())
	w.in("central", record, model.RecordName("my-cluster"))
	record.Data = map[string]string{"record": "garbage"}
	w.Expect(w.k8s.Update(t.Context(), record)).To(Succeed())
	kafka := w.kafka()
	id := kafka.Annotations[ownership.MarkID]
	delete(kafka.Annotations, v1.AnnotationOwnerEpoch)
	w.Expect(w.k8s.Update(t.Context(), kafka)).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "OwnershipConflict"), HaveField("Message", And(
		HavePrefix("ConfigMap my-cluster-kafka-gc in cluster 'east' is of this Kafka"),
		HaveSuffix("Annotate the Kafka with strimzi.io/owner-id: "+id+` and strimzi.io/owner-epoch: "1"`)))))
	w.edit(func(k *v1.Kafka) {
		k.Annotations[ownership.MarkID], k.Annotations[v1.AnnotationOwnerEpoch] = id, "1"
	})
	w.settle()
	w.Expect(w.ready().Status).To(BeEquivalentTo("True"))
}
