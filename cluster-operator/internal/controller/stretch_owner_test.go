package controller

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ktypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
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
	h.note("rival") // a user gave it the volumes, which would show that there is another Kafka
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
	h.note("rival")
	delete(h.servers[2].objects, anchorKey) // the garbage collector comes soon
	delete(h.servers[3].objects, anchorKey)
	before := h.snapshot()
	rival := h.rivalWith(untouched)
	h.must(rival.k8s.Create(t.Context(), h.pool("west", 1, v1.RoleBroker, v1.RoleController)))
	for range 2 {
		_, _ = h.pass(rival.operators[0], -1)
	}
	g.Expect(rival.ready()).To(HaveField("Message", ContainSubstring("it was made for another Kafka object, whose anchor is gone")))
	after := h.snapshot()
	for name, version := range before {
		g.Expect(after).To(HaveKeyWithValue(name, version))
	}
}

// A Kafka that names another one's owner in a later epoch learns nothing of nodes whose anchor is gone, and does not touch them.
func TestNodesThatLostTheirAnchorAreNotThoseOfARival(t *testing.T) {
	for name, paused := range map[string]bool{"it runs": false, "it is paused": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, untouched)
			h.note("rival")
			delete(h.servers[2].objects, anchorKey) // the garbage collector comes soon
			delete(h.servers[3].objects, anchorKey)
			before := h.snapshot()
			rival := h.rivalWith(func(k *v1.Kafka) {
				if paused {
					k.Annotations[v1.AnnotationPauseReconciliation] = "true"
				}
			})
			for range 3 {
				_, _ = h.pass(rival.operators[0], -1)
			}
			for _, c := range rival.kafka().Status.StretchClusters {
				g.Expect(c).NotTo(And(HaveField("Name", "west"), HaveField("NodeIDs", Not(BeEmpty()))))
			}
			after := h.snapshot()
			for name, version := range before {
				g.Expect(after).To(HaveKeyWithValue(name, version))
			}
		})
	}
}

// What a deleted Kafka left in a Kubernetes cluster by kubectl delete --cascade=orphan of its anchor runs on, and is the next Kafka's once
// it names its anchor.
func TestWhatWasKeptInOneKubernetesClusterIsTakenOverByHand(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, keptCAs)
	west := h.servers[3]
	own := func(refs ...metav1.OwnerReference) {
		for _, key := range sortedKeys(west.objects) {
			if o := copied(west.objects[key].Object); key.Kind != "Pod" && key.Kind != "PersistentVolumeClaim" && key != anchorKey &&
				o.GetAnnotations()[ownership.MarkID] != "" {
				o.SetOwnerReferences(refs)
				h.must(west.client().Update(t.Context(), o))
			}
		}
	}
	own()
	west.terminate(anchorKey)
	h.deleteWithoutFinalizer()
	h.collect()
	for _, id := range []string{"west", "east", "central"} {
		h.must(h.k8s.Delete(t.Context(), h.pool(id, 1)))
		h.must(h.k8s.Create(t.Context(), h.pool(id, 1, v1.RoleBroker, v1.RoleController)))
	}
	set := facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-west"}
	before := west.objects[set].GetUID()
	again := stretchedKafka()
	again.Namespace = historyNamespace
	keptCAs(again)
	h.must(h.k8s.Create(t.Context(), again))
	h.rest()
	anchor := west.objects[anchorKey].object()
	g.Expect(h.centrals[0].kafka().Status.Conditions).To(ContainElement(HaveField("Message", And(
		ContainSubstring("it was made for another Kafka object, whose anchor is gone"),
		ContainSubstring("give it an owner reference to ConfigMap my-cluster-kafka-gc with uid "+string(anchor.GetUID()))))))
	g.Expect(west.objects[set].GetUID()).To(Equal(before))
	listed := func() []string {
		var stretch []string
		for _, c := range h.centrals[0].kafka().Status.StretchClusters {
			stretch = append(stretch, fmt.Sprint(c.Name, c.NodeIDs))
		}
		return stretch
	}
	g.Expect(listed()).To(ContainElements("east[1]", "west[2]"))
	h.start(h.leader())
	_, _ = h.pass(h.leader(), -1)
	g.Expect(listed()).To(ContainElements("east[1]", "west[2]"), "the record tells of the former object")

	own(metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: anchor.GetName(), UID: anchor.GetUID()})
	h.rest()
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
	g.Expect(west.objects[set].GetUID()).To(Equal(before))
}

// A ConfigMap with the name of an anchor that shows nothing, such as a copy of another Kafka's, changes nothing for a Kafka that runs at
// home alone, nor does what an earlier one left: that is told.
func TestAnAnchorElsewhereStopsNoKafkaThatRunsAtHome(t *testing.T) {
	for name, c := range map[string]struct {
		make func(anchor *corev1.ConfigMap, holder, own ownership.Holder)
		told types.GomegaMatcher // nil: nothing is told
	}{
		"a copy of another Kafka's": {func(anchor *corev1.ConfigMap, holder, _ ownership.Holder) {
			anchor.Name = model.AnchorName("other")
			ownership.Mark(anchor, "ConfigMap", ownership.Owner{ID: "id", Epoch: 1, Holder: holder})
			anchor.Name = anchorKey.Name
			anchor.Data[anchorHolder] = holder.String()
		}, nil},
		"one that somebody wrote": {func(anchor *corev1.ConfigMap, holder, _ ownership.Holder) {
			anchor.Data[anchorHolder] = holder.String()
		}, nil},
		"one that somebody wrote for it": {func(anchor *corev1.ConfigMap, _, own ownership.Holder) {
			anchor.Data[anchorHolder] = own.String()
		}, nil},
		"one whose marks name another holder": {func(anchor *corev1.ConfigMap, holder, own ownership.Holder) {
			ownership.Mark(anchor, "ConfigMap", ownership.Owner{ID: "id", Epoch: 1, Holder: holder})
			anchor.Data[anchorHolder] = own.String()
		}, nil},
		"that of an earlier Kafka": {func(anchor *corev1.ConfigMap, holder, _ ownership.Holder) {
			ownership.Mark(anchor, "ConfigMap", ownership.Owner{ID: "id", Epoch: 1, Holder: holder})
			anchor.Data[anchorHolder] = holder.String()
		}, ConsistOf(HaveField("Message", And(ContainSubstring("in cluster 'east', an earlier Kafka"),
			ContainSubstring("The operator does that 2h0m0s after this Kafka is deleted"))))},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := newStretched(newHistory(t, 1))
			k := newKafka()
			k.Namespace = historyNamespace
			h.must(h.k8s.Create(t.Context(), k))
			pool := h.pool("central", 1, v1.RoleBroker, v1.RoleController)
			pool.Annotations = nil
			h.must(h.k8s.Create(t.Context(), pool))
			h.rest()
			g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))

			own := ownership.Holder{Central: "central", Cluster: ktypes.UID(h.servers[0].id), Object: h.centrals[0].kafka().UID}
			holder := own
			holder.Object = "other"
			anchor := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: anchorKey.Name},
				Data: map[string]string{}}
			c.make(anchor, holder, own)
			h.must(h.servers[2].client().Create(t.Context(), anchor))
			before := h.servers[2].objects[anchorKey]
			changed := h.centrals[0].kafka()
			changed.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.hours": {Raw: []byte(`"1"`)}}
			h.must(h.k8s.Update(t.Context(), changed))
			h.rest()
			kafka := h.centrals[0].kafka()
			g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
			g.Expect(kafka.Finalizers).To(BeEmpty())
			g.Expect(kafka.Annotations).NotTo(HaveKey(ownership.MarkID))
			config := h.object(facts.Key{Kind: "ConfigMap", Name: "my-cluster-central-0"}).(*corev1.ConfigMap)
			g.Expect(config.Data["server.config"]).To(ContainSubstring("log.retention.hours=1"))
			var warnings []v1.Condition
			for _, condition := range kafka.Status.Conditions {
				if condition.Reason == reasonConflict {
					warnings = append(warnings, condition)
				}
			}
			if c.told == nil {
				g.Expect(warnings).To(BeEmpty())
			} else {
				g.Expect(warnings).To(c.told)
			}

			h.must(h.k8s.Delete(t.Context(), kafka))
			h.rest()
			g.Expect(h.centrals[0].kafka()).To(BeNil())
			g.Expect(h.servers[2].objects[anchorKey]).To(Equal(before))
			if c.told != nil {
				return // later, it is deleted as if the deleted Kafka had left it
			}
			h.now = h.now.Add(3 * time.Hour)
			h.rest()
			g.Expect(h.servers[2].objects[anchorKey]).To(Equal(before))
		})
	}
}

// The status of a Kafka can be restored from a backup that is older than its stretching. Its nodes elsewhere run on.
func TestAKafkaWithARestoredStatusRunsNotBesideItsNodesElsewhere(t *testing.T) {
	for name, away := range map[string]bool{"they are seen": false, "their cluster is away": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, untouched)
			clusterID := h.centrals[0].kafka().Status.ClusterID
			h.deleteWithoutFinalizer()
			h.collect()
			for _, id := range []string{"central", "east", "west"} {
				h.must(h.k8s.Delete(t.Context(), h.pool(id, 1, v1.RoleBroker, v1.RoleController)))
			}
			pool := h.pool("central", 1, v1.RoleBroker, v1.RoleController)
			pool.Annotations = nil
			h.must(h.k8s.Create(t.Context(), pool))
			restored := newKafka()
			restored.Namespace = historyNamespace
			h.must(h.k8s.Create(t.Context(), restored))
			restored.Status.ClusterID = clusterID
			h.must(h.k8s.Status().Update(t.Context(), restored))
			if away {
				h.leader().links["east"].lost, h.leader().links["west"].lost = true, true
			}
			for range 3 {
				_, _ = h.pass(h.leader(), -1)
			}
			g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionFalse))
			g.Expect(h.k8s.server.objects).NotTo(HaveKey(facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-central"}))
			if !away {
				g.Expect(h.centrals[0].ready()).To(HaveField("Reason", reasonConflict))
			}
		})
	}
}

// A copy where the Kafka needs its anchor is named, and taken for nobody's Kafka.
func TestACopyOfAnAnchorIsInTheWayOfItsKubernetesClusterAlone(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	east := h.servers[2]
	anchor := east.objects[anchorKey].object().(*corev1.ConfigMap).DeepCopy()
	east.terminate(anchorKey)
	anchor.Annotations[ownership.MarkSelf] = ownership.Self("ConfigMap", historyNamespace, model.AnchorName("other"))
	anchor.UID, anchor.ResourceVersion = "", ""
	h.must(east.client().Create(t.Context(), anchor))
	copied := east.objects[anchorKey]
	_, _ = h.pass(h.leader(), -1)
	_, _ = h.pass(h.leader(), -1)
	g.Expect(h.centrals[0].kafka().Status.Conditions).To(ContainElement(HaveField("Message", And(
		ContainSubstring("my-cluster-kafka-gc exists"), ContainSubstring("so it is a copy")))))
	g.Expect(east.objects[anchorKey]).To(Equal(copied))
	east.terminate(anchorKey)
	h.rest()
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
}

// TestAnEpochThatIsSetBackIsRestored checks that a manifest from an earlier life of the Kafka, with its epoch, stops nothing: the record of
// this very object has the epoch.
func TestAnEpochThatIsSetBackIsRestored(t *testing.T) {
	epoch := func(h *stretched) string { return h.centrals[0].kafka().Annotations[v1.AnnotationOwnerEpoch] }
	form := func(t *testing.T) *stretched {
		h := formInMemory(t, keptCAs)
		h.again()
		h.rest()
		NewWithT(t).Expect(epoch(h)).To(Equal("2"))
		NewWithT(t).Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
		return h
	}
	t.Run("to run it", func(t *testing.T) {
		g := NewWithT(t)
		h := form(t)
		before := h.snapshot()
		h.annotate(v1.AnnotationOwnerEpoch, "1")
		_, _ = h.pass(h.leader(), -1)
		g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
		g.Expect(epoch(h)).To(Equal("2"))
		g.Expect(h.snapshot()).To(Equal(before))
		g.Expect(h.leader().r.Events.(*world).events).To(ContainElement(ContainSubstring(reasonRestored)))
	})
	t.Run("to delete it", func(t *testing.T) {
		g := NewWithT(t)
		h := form(t)
		h.annotate(v1.AnnotationOwnerEpoch, "1")
		h.must(h.k8s.Delete(t.Context(), h.centrals[0].kafka()))
		_, _ = h.pass(h.leader(), -1)
		g.Expect(h.servers[2].objects).NotTo(HaveKey(anchorKey))
	})
	t.Run("and the record is lost", func(t *testing.T) {
		g := NewWithT(t)
		h := form(t)
		h.annotate(v1.AnnotationOwnerEpoch, "1")
		h.servers[0].terminate(facts.Key{Kind: "ConfigMap", Name: model.RecordName("my-cluster")})
		_, _ = h.pass(h.leader(), -1)
		g.Expect(h.centrals[0].ready()).To(And(HaveField("Reason", reasonFenced), HaveField("Message", And(
			ContainSubstring(v1.AnnotationOwnerEpoch), ContainSubstring(`"2"`), Not(ContainSubstring("another central cluster"))))))
		h.annotate(v1.AnnotationOwnerEpoch, "2")
		h.rest()
		g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue), "as the message says")
	})
}

// anchorOfAnother creates the anchor of a Kafka of the same namespace and name, whose central cluster is another one.
func (w *stretchedWorld) anchorOfAnother(cluster string) *corev1.ConfigMap {
	w.t.Helper()
	other := ownership.Owner{ID: string(uuid.NewUUID()), Epoch: 3, Holder: ownership.Holder{Central: "elsewhere", Cluster: "a", Object: "b"}}
	anchor := model.Anchor(model.Input{Kafka: newKafka(), At: cluster},
		map[string]string{"holder": other.Holder.String(), "central-cluster-id": "elsewhere"})
	anchor.Namespace = w.namespace
	ownership.Mark(anchor, "ConfigMap", other)
	w.Expect(w.members[cluster].Create(w.t.Context(), anchor)).To(Succeed())
	return anchor
}

func TestNothingIsGeneratedWhereAKafkaOfTheSameNameHasNodes(t *testing.T) {
	for name, cluster := range map[string]string{"in a cluster that no pool names": "west", "in the central cluster": "central"} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.anchorOfAnother(cluster)
			w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
			before := w.all()
			w.pass()
			w.pass()
			w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "OwnershipConflict"),
				HaveField("Message", ContainSubstring("delete nothing there"))))
			w.Expect(w.kafka().Status.ClusterID).To(BeEmpty())
			for id, objects := range before {
				if id != "central" {
					w.Expect(w.all()[id]).To(Equal(objects))
				}
			}
			var secrets corev1.SecretList
			w.Expect(w.k8s.List(t.Context(), &secrets, client.InNamespace(w.namespace))).To(Succeed())
			w.Expect(secrets.Items).To(BeEmpty())
		})
	}
}

func TestAKafkaOfTheSameNameInAnotherClusterIsLeftAlone(t *testing.T) {
	w := newStretchedWorld(t)
	anchor := w.anchorOfAnother("east")
	before := w.all()
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "OwnershipConflict")))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	// An anchor without marks does not belong to this Kafka either.
	anchor.Labels, anchor.Annotations = nil, nil
	w.Expect(w.members["east"].Update(t.Context(), anchor)).To(Succeed())
	before = w.all()
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "OwnershipConflict")))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
}

func TestAForeignAnchorStopsItsKubernetesClusterAlone(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	voters := w.setting("west", "my-cluster-west-2", "controller.quorum.voters")
	anchor := &corev1.ConfigMap{}
	w.in("east", anchor, "my-cluster-kafka-gc")
	own := anchor.DeepCopy()
	other := ownership.Owner{ID: string(uuid.NewUUID()), Epoch: 1, Holder: ownership.Holder{Central: "elsewhere", Cluster: "a", Object: "b"}}
	ownership.Mark(anchor, "ConfigMap", other)
	anchor.Data[anchorHolder] = other.Holder.String()
	w.Expect(w.members["east"].Update(t.Context(), anchor)).To(Succeed())
	before := w.all()
	w.configure("log.retention.hours", "1")
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "OwnershipConflict"), HaveField("Message", And(
		ContainSubstring("cluster 'east' has another Kafka"), ContainSubstring("the operator changes nothing there.")))))
	w.Expect(w.kafka().Status.StretchClusters[1]).To(And(HaveField("Name", "east"), HaveField("State", v1.StretchClusterUnknown),
		HaveField("NodeIDs", []int32{1})))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	for id, pod := range map[string]string{"central": "my-cluster-central-0", "west": "my-cluster-west-2"} {
		w.Expect(w.setting(id, pod, "log.retention.hours")).To(Equal("1"), id)
		w.Expect(w.setting(id, pod, "controller.quorum.voters")).To(Equal(voters))
	}

	// An owner's id that was changed by mistake makes all of them foreign.
	k := w.kafka()
	id := k.Annotations[ownership.MarkID]
	k.Annotations[ownership.MarkID] = "mistaken"
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.configure("log.retention.hours", "2")
	made := w.made()
	w.pass()
	w.Expect(w.ready()).To(HaveField("Reason", "OwnershipConflict"))
	w.Expect(w.made()).To(Equal(made))
	k = w.kafka()
	k.Annotations[ownership.MarkID] = id
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())

	w.in("east", anchor, "my-cluster-kafka-gc")
	anchor.Annotations, anchor.Data = own.Annotations, own.Data
	w.Expect(w.members["east"].Update(t.Context(), anchor)).To(Succeed())
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.setting("east", "my-cluster-east-1", "log.retention.hours")).To(Equal("2"))

	w.in("east", anchor, "my-cluster-kafka-gc")
	ownership.Mark(anchor, "ConfigMap", other)
	w.Expect(w.members["east"].Update(t.Context(), anchor)).To(Succeed())
	w.follow("west")
	w.configure("log.retention.hours", "3")
	made = w.made()
	w.pass()
	w.Expect(w.ready()).To(HaveField("Reason", "CentralFenced"), "that stops all")
	w.Expect(w.made()).To(Equal(made))
}

func TestWhatAnEarlierKafkaLeftIsNamed(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.deleteWithoutFinalizer()
	second := stretchedKafka()
	// as after a start in Kubernetes clusters without objects of an earlier Kafka
	second.Annotations[ownership.MarkID], second.Annotations[v1.AnnotationOwnerEpoch] = string(uuid.NewUUID()), "1"
	w.create(second)
	before := w.all()
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "OwnershipConflict"),
		HaveField("Message", MatchRegexp(`cluster '(east|west)' has objects of an earlier Kafka \S+/my-cluster .* delete that ConfigMap`))))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	w.Expect(w.all()["west"]).To(Equal(before["west"]))
}

// follow makes another central cluster the owner of the Kafka in a Kubernetes cluster.
func (w *stretchedWorld) follow(id string) {
	w.t.Helper()
	anchor := &corev1.ConfigMap{}
	w.in(id, anchor, "my-cluster-kafka-gc")
	next := ownership.Owner{ID: w.kafka().Annotations[ownership.MarkID], Epoch: 2,
		Holder: ownership.Holder{Central: "next", Cluster: "a", Object: "b"}}
	ownership.Mark(anchor, "ConfigMap", next)
	anchor.Data[anchorHolder] = next.Holder.String()
	w.Expect(w.members[id].Update(w.t.Context(), anchor)).To(Succeed())
}

func TestACentralClusterThatWasFollowedTouchesNothing(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.follow("east")
	before := w.all()
	k := w.kafka()
	k.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.hours": {Raw: []byte(`"1"`)}}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "CentralFenced"), HaveField("Message", ContainSubstring("next:a:b"))))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	w.Expect(w.all()["west"]).To(Equal(before["west"]), "not even where nobody else is yet")

	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.pass()
	w.Expect(w.k8s.Get(t.Context(), client.ObjectKeyFromObject(k), k)).To(MatchError(apierrors.IsNotFound, "NotFound"))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	w.Expect(w.all()["west"]).To(Equal(before["west"]))
}

func TestACentralClusterKeepsItsName(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	before, name := w.all(), w.r.Stretching.Central
	renamed := And(HaveField("Reason", "CentralClusterRenamed"), HaveField("Message", HaveSuffix(
		"this one is called 'other' now: the operator changes nothing. Set STRIMZI_CENTRAL_CLUSTER_ID back to '"+name+"'")))
	w.r.Stretching.Central = "other"
	w.pass()
	w.Expect(w.ready()).To(renamed)
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(renamed, "the objects elsewhere are not forgotten")
	for _, id := range []string{"east", "west"} {
		w.Expect(w.all()[id]).To(Equal(before[id]))
	}
	w.r.Stretching.Central = name
	w.pass()
	for _, id := range []string{"east", "west"} {
		w.Expect(w.anchored(id)).To(BeFalse())
	}
}
