package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// rivalWith creates a Kafka of the same name in the other central cluster, with a pool in east. It names the owner of the first one's
// objects, in a later epoch.
func (h *stretched) rivalWith(edit func(*v1.Kafka)) *central {
	h.t.Helper()
	c := h.centrals[1]
	k := stretchedKafka()
	k.Namespace = historyNamespace
	k.Annotations[ownership.MarkID] = h.centrals[0].kafka().Annotations[ownership.MarkID]
	k.Annotations[v1.AnnotationOwnerEpoch] = "2"
	edit(k)
	h.must(c.k8s.Create(h.t.Context(), k))
	h.must(c.k8s.Create(h.t.Context(), h.pool("east", 1, v1.RoleBroker, v1.RoleController)))
	return c
}

func TestAnnotationsTakeNoKafkaFromAnotherCentralCluster(t *testing.T) {
	conflict := And(HaveField("Status", v1.ConditionFalse), HaveField("Reason", reasonConflict), HaveField("Message", And(
		ContainSubstring("has another Kafka "+historyNamespace+"/my-cluster"), ContainSubstring("delete nothing there"))))
	for name, c := range map[string]struct {
		deleted bool
		before  func(h *stretched)
	}{
		"to run it":    {false, func(*stretched) {}},
		"to delete it": {true, func(*stretched) {}},
		"to run it, and the anchor lost its marks": {false, func(h *stretched) {
			anchor := h.servers[2].objects[anchorKey].object().(*corev1.ConfigMap).DeepCopy()
			anchor.Annotations = nil
			h.must(h.servers[2].client().Update(t.Context(), anchor))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, untouched)
			c.before(h)
			before := h.snapshot()
			rival := h.rivalWith(func(k *v1.Kafka) { k.Finalizers = []string{v1.FinalizerStretch} })
			if c.deleted {
				h.must(rival.k8s.Delete(t.Context(), rival.kafka()))
			}
			for range 3 {
				_, _ = h.pass(rival.operators[0], -1)
				h.now = h.now.Add(time.Hour)
			}
			g.Expect(rival.ready()).To(conflict)
			g.Expect(rival.kafka().Finalizers).To(ContainElement(v1.FinalizerStretch))
			h.collect()
			g.Expect(h.snapshot()).To(Equal(before))

			h.rest()
			g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
		})
	}
}

// An anchor that another central cluster makes after it was looked for is not taken over either.
func TestAnAnchorThatAppearsIsNotTakenOver(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	east, west := h.servers[2].objects, h.servers[3].objects
	theirs, alsoTheirs := east[anchorKey], west[anchorKey]
	delete(east, anchorKey)
	delete(west, anchorKey)
	rival := h.rivalWith(untouched)
	h.window = func(*apiServer, facts.Key) { east[anchorKey], west[anchorKey] = theirs, alsoTheirs }
	for range 2 {
		_, _ = h.pass(rival.operators[0], -1)
		g.Expect(east[anchorKey]).To(Equal(theirs))
		g.Expect(west[anchorKey]).To(Equal(alsoTheirs))
	}
	g.Expect(rival.ready()).To(HaveField("Reason", reasonConflict))
}

func TestWhatLostItsAnchorIsNotTakenOver(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	delete(h.servers[2].objects, anchorKey) // the garbage collector comes soon
	delete(h.servers[3].objects, anchorKey)
	before := h.snapshot()
	rival := h.rivalWith(untouched)
	for range 2 {
		_, _ = h.pass(rival.operators[0], -1)
	}
	g.Expect(rival.ready()).To(HaveField("Message", ContainSubstring("it was made for another Kafka object, whose anchor is gone")))
	after := h.snapshot()
	for name, version := range before {
		g.Expect(after).To(HaveKeyWithValue(name, version))
	}
}
