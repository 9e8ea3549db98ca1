package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

var claimInEast = facts.Key{Kind: "PersistentVolumeClaim", Name: "data-my-cluster-east-1"}

// newcomer creates a Kafka of the same name in the other central cluster, with pools there and in east, whose volumes go with it.
func (h *stretched) newcomer(inEast string) *central {
	h.t.Helper()
	c := h.centrals[1]
	k := stretchedKafka()
	k.Namespace = historyNamespace
	h.must(c.k8s.Create(h.t.Context(), k))
	h.targets[inEast] = "east"
	h.must(c.k8s.Create(h.t.Context(), h.pool("central", 1, v1.RoleBroker, v1.RoleController)))
	p := h.pool(inEast, 1, v1.RoleBroker)
	p.Spec.Storage.DeleteClaim = new(true)
	h.must(c.k8s.Create(h.t.Context(), p))
	return c
}

// passes runs passes of the leader of a central cluster.
func (h *stretched) passes(c *central) {
	for range 6 {
		_, _ = h.pass(c.operators[0], -1)
	}
}

// claimOf returns the uid of a claim, and whom its annotations name.
func claimOf(s *apiServer, key facts.Key) []string {
	o := s.objects[key].object()
	if o == nil {
		return nil
	}
	marks := o.GetAnnotations()
	return []string{string(o.GetUID()), marks[ownership.MarkID], marks[ownership.MarkTerm], marks[ownership.MarkCentral]}
}

// note has all claims in remote Kubernetes clusters name a central cluster, or none, as earlier versions of the operator made them.
func (h *stretched) note(central string) {
	for _, s := range h.servers[2:] {
		for _, key := range sortedKeys(s.objects) {
			if claim, is := s.objects[key].object().(*corev1.PersistentVolumeClaim); is {
				claim = claim.DeepCopy()
				if delete(claim.Annotations, ownership.MarkCentral); central != "" {
					claim.Annotations[ownership.MarkCentral] = central
				}
				h.must(s.client().Update(h.t.Context(), claim))
			}
		}
	}
}

// TestVolumesAreNotTakenOverByAnotherCentralCluster checks that a Kafka of the same name with another central cluster takes neither the
// volumes of a Kafka that is gone, nor those of one that runs and lost its anchor, and does not learn its id from them.
func TestVolumesAreNotTakenOverByAnotherCentralCluster(t *testing.T) {
	for name, inEast := range map[string]string{"with a pool of that name": "east", "with another pool": "other"} {
		for when, unnoted := range map[string]bool{"noted": false, "made by an earlier version": true} {
			t.Run("of a Kafka that is gone, "+name+", "+when, func(t *testing.T) {
				g := NewWithT(t)
				h := formInMemory(t, untouched)
				id := h.centrals[0].kafka().Status.ClusterID
				h.must(h.k8s.Delete(t.Context(), h.centrals[0].kafka()))
				h.rest()
				if unnoted {
					h.note("")
				}
				before := claimOf(h.servers[2], claimInEast)
				g.Expect(before).NotTo(BeNil())
				rival := h.newcomer(inEast)
				h.passes(rival)
				g.Expect(claimOf(h.servers[2], claimInEast)).To(Equal(before))
				g.Expect(rival.kafka().Status.ClusterID).NotTo(Equal(id))
				g.Expect(rival.ready()).To(And(HaveField("Reason", reasonConflict), HaveField("Message", And(
					ContainSubstring("PersistentVolumeClaims data-my-cluster-east-1"), ContainSubstring("Rename this Kafka"),
					ContainSubstring(ownership.MarkCentral+": rival")))))
				h.must(rival.k8s.Delete(t.Context(), rival.kafka()))
				h.passes(rival)
				h.collect()
				g.Expect(claimOf(h.servers[2], claimInEast)).To(Equal(before))
			})
		}
	}
	t.Run("of a Kafka that runs", func(t *testing.T) {
		g := NewWithT(t)
		h := newStretched(newHistory(t, 1))
		h.create(h.centrals[0])
		h.targets["central"], h.targets["east"] = "central", "east"
		h.must(h.k8s.Create(t.Context(), h.pool("central", 1, v1.RoleBroker, v1.RoleController)))
		h.must(h.k8s.Create(t.Context(), h.pool("east", 1, v1.RoleBroker)))
		h.rest()
		before := claimOf(h.servers[2], claimInEast)
		g.Expect(before).NotTo(BeNil())
		h.servers[2].terminate(anchorKey)
		h.servers[2].collect()
		rival := h.newcomer("east")
		h.passes(rival)
		g.Expect(claimOf(h.servers[2], claimInEast)).To(Equal(before))
		g.Expect(rival.ready()).To(HaveField("Reason", reasonConflict))
		h.rest()
		g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue), "the first one has its cluster again")
	})
}

// A Kafka in the Kubernetes cluster itself does not take them either.
func TestVolumesOfACentralClusterElsewhereAreNotTakenOverAtHome(t *testing.T) {
	for name, unnoted := range map[string]bool{"noted": false, "made by an earlier version": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, untouched)
			id := h.centrals[0].kafka().Status.ClusterID
			h.must(h.k8s.Delete(t.Context(), h.centrals[0].kafka()))
			h.rest()
			if unnoted {
				h.note("")
			}
			claim := copied(h.servers[2].objects[claimInEast].Object).(*corev1.PersistentVolumeClaim)
			claim.UID, claim.ResourceVersion, claim.Name = "", "", "data-my-cluster-east-0"
			claim.Annotations[ownership.MarkSelf] = ownership.Self("PersistentVolumeClaim", claim.Namespace, claim.Name)
			local := h.centrals[1] // whose Kubernetes cluster is a remote one of the first
			h.must(local.k8s.Create(t.Context(), claim))
			k := newKafka()
			k.Namespace = historyNamespace
			h.must(local.k8s.Create(t.Context(), k))
			pool := h.pool("east", 1, v1.RoleBroker, v1.RoleController)
			pool.Annotations = nil
			h.must(local.k8s.Create(t.Context(), pool))
			key := facts.Key{Kind: "PersistentVolumeClaim", Name: claim.Name}
			before := local.server.objects[key].GetResourceVersion()
			h.passes(local)
			g.Expect(local.server.objects[key].GetResourceVersion()).To(Equal(before))
			g.Expect(local.kafka().Status.ClusterID).NotTo(Equal(id))
			g.Expect(local.ready()).To(And(HaveField("Reason", reasonConflict), HaveField("Message", And(
				ContainSubstring("PersistentVolumeClaims "+claim.Name), ContainSubstring(ownership.MarkID), ContainSubstring(ownership.MarkCentral)))))

			freed := local.server.objects[key].object().(*corev1.PersistentVolumeClaim).DeepCopy()
			delete(freed.Annotations, ownership.MarkCentral)
			delete(freed.Annotations, ownership.MarkID)
			h.must(local.k8s.Update(t.Context(), freed))
			h.passes(local)
			g.Expect(local.kafka().Status.ClusterID).To(Equal(id), "as the message says")
		})
	}
}

// What somebody kept of a stretched Kafka in a remote Kubernetes cluster, as by deleting its anchor with --cascade=orphan, is not what a
// Kafka of that cluster left.
func TestWhatAnotherCentralClusterMadeIsNotTakenForOrphans(t *testing.T) {
	for name, c := range map[string]struct {
		volumes bool
		reason  string
	}{"with volumes": {true, reasonConflict}, "without, and without certificates": {false, reasonNotOwned}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, untouched)
			id := h.centrals[0].kafka().Status.ClusterID
			local, kept := h.centrals[1], map[facts.Key]string{} // in whose Kubernetes cluster it is
			for _, key := range sortedKeys(h.servers[2].objects) {
				o := copied(h.servers[2].objects[key].Object)
				more := key.Kind == "PersistentVolumeClaim" || key.Kind == "Secret"
				if o.GetLabels()[v1.LabelCluster] != "my-cluster" || key == anchorKey || key.Kind == "Pod" || more && !c.volumes {
					continue
				}
				o.SetUID("")
				o.SetResourceVersion("")
				o.SetOwnerReferences(nil)
				h.must(local.k8s.Create(t.Context(), o))
				kept[key] = local.server.objects[key].GetResourceVersion()
			}
			g.Expect(kept).To(HaveKey(facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-east"}))
			k := newKafka()
			k.Namespace = historyNamespace
			h.must(local.k8s.Create(t.Context(), k))
			pool := h.pool("east", 1, v1.RoleBroker, v1.RoleController)
			pool.Annotations = nil
			h.must(local.k8s.Create(t.Context(), pool))
			h.passes(local)
			for key, version := range kept {
				g.Expect(local.server.objects[key].GetResourceVersion()).To(Equal(version), "%s %s", key.Kind, key.Name)
			}
			g.Expect(local.kafka().Status.ClusterID).NotTo(Equal(id))
			g.Expect(local.ready()).To(And(HaveField("Reason", c.reason), HaveField("Message", Not(ContainSubstring("Give it back")))))
		})
	}
}

// TestVolumesAreAdoptedByTheirOwnKafka checks that a Kafka which is deleted and created again continues with its volumes, whatever version
// of the operator made them, and whatever else proves whose they are.
func TestVolumesAreAdoptedByTheirOwnKafka(t *testing.T) {
	for name, c := range map[string]struct {
		unnoted bool
		lose    func(*stretched)
		asked   bool
	}{
		"noted":                      {false, func(*stretched) {}, false},
		"noted, and nothing else is": {false, func(h *stretched) { h.forgetPools(); h.removeClaims(h.servers[0]) }, false},
		"made by an earlier version": {true, func(*stretched) {}, false},
		"made by an earlier version, and the pools are made again": {true, (*stretched).forgetPools, false},
		"made by an earlier version, and none is at home":          {true, func(h *stretched) { h.removeClaims(h.servers[0]) }, false},
		"made by an earlier version, and nothing proves it": {true,
			func(h *stretched) { h.forgetPools(); h.removeClaims(h.servers[0]) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, untouched)
			id, uid := h.centrals[0].kafka().Status.ClusterID, h.servers[2].objects[claimInEast].GetUID()
			h.must(h.k8s.Delete(t.Context(), h.centrals[0].kafka()))
			h.rest()
			if c.unnoted {
				h.note("")
			}
			c.lose(h)
			h.create(h.centrals[0])
			h.annotate(v1.AnnotationSkipScaleDownCheck, "true") // the metadata log at home may be gone
			h.rest()
			if c.asked {
				g.Expect(h.centrals[0].ready()).To(And(HaveField("Reason", reasonConflict),
					HaveField("Message", ContainSubstring(ownership.MarkCentral+": central"))))
				h.note("central")
				h.rest()
			}
			g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
			g.Expect(h.centrals[0].kafka().Status.ClusterID).To(Equal(id))
			g.Expect(h.servers[2].objects[claimInEast].GetUID()).To(Equal(uid))
			g.Expect(h.servers[2].objects[claimInEast].GetAnnotations()).To(And(HaveKeyWithValue(ownership.MarkCentral, "central"),
				HaveKeyWithValue(ownership.MarkID, h.centrals[0].kafka().Annotations[ownership.MarkID])))
			g.Expect(h.servers[0].objects[facts.Key{Kind: "PersistentVolumeClaim", Name: "data-my-cluster-central-0"}].GetAnnotations()).
				NotTo(HaveKey(ownership.MarkCentral))
		})
	}
}

// An upgrade notes the central cluster on the volumes of a Kafka that runs.
func TestAnUpgradeNotesTheCentralClusterOnVolumes(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	h.note("")
	set := facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-east"}
	before := h.servers[2].objects[set].GetResourceVersion()
	h.now = h.now.Add(time.Hour)
	h.rest()
	g.Expect(h.servers[2].objects[claimInEast].GetAnnotations()).To(HaveKeyWithValue(ownership.MarkCentral, "central"))
	g.Expect(h.servers[2].objects[set].GetResourceVersion()).To(Equal(before), "nothing restarts")
	g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
}

// forgetPools makes the KafkaNodePools again, without a status.
func (h *stretched) forgetPools() {
	for _, id := range []string{"central", "east", "west"} {
		h.must(h.k8s.Delete(h.t.Context(), h.pool(id, 1)))
		h.must(h.k8s.Create(h.t.Context(), h.pool(id, 1, v1.RoleBroker, v1.RoleController)))
	}
}

// removeClaims deletes the claims in a Kubernetes cluster.
func (h *stretched) removeClaims(s *apiServer) {
	for _, key := range sortedKeys(s.objects) {
		if key.Kind == "PersistentVolumeClaim" {
			s.remove(key)
		}
	}
}

func TestAnAnchorOutlivesTheVolumesThatAreKept(t *testing.T) {
	w := newStretchedWorld(t)
	b := w.createDeletable()
	w.brokers.replicas = map[int32]int{0: 1, 1: 0}
	w.settle()
	claim := &corev1.PersistentVolumeClaim{}
	w.in("east", claim, "data-my-cluster-b-1")
	w.Expect(claim.OwnerReferences).To(ContainElement(HaveField("Name", "my-cluster-kafka-gc")))
	w.change("b", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 0 })
	for range 3 {
		w.pass()
	}
	set := &core.StrimziPodSet{}
	w.in("east", set, "my-cluster-b")
	w.Expect(set.Spec.Pods).To(BeEmpty())
	w.brokers.replicas[1] = 1 // it got one before it stopped
	w.settle()
	kept := ContainElement(HaveField("Reason", "VolumesKept"))
	w.Expect(w.conditions()).To(kept)
	w.Expect(w.k8s.Delete(t.Context(), b)).To(Succeed())
	w.settle()
	w.Expect(w.conditions()).To(kept)
	w.Expect(w.anchored("east")).To(BeTrue(), "the volume would go with it")
	w.unstretch("a")
	w.settle()
	w.Expect(w.conditions()).To(kept)
	w.Expect(w.anchored("east")).To(BeTrue(), "the volume would go with it")
	w.Expect(w.kafka().Finalizers).NotTo(BeEmpty())

	w.brokers.replicas[1] = 0
	w.settle()
	w.in("east", claim, "data-my-cluster-b-1")
	w.Expect(claim.DeletionTimestamp).NotTo(BeNil())
	w.Expect(w.anchored("east")).To(BeFalse())
	w.Expect(w.kafka().Finalizers).To(BeEmpty())
}

// The user decides to keep volumes, and deletes the Kafka before a pass could act on that where they are.
func TestAVolumeThatIsKeptAtTheLastMomentOutlivesItsStretchedKafka(t *testing.T) {
	byPool := func(w *stretchedWorld) {
		w.change("b", func(p *v1.KafkaNodePool) { p.Spec.Storage.DeleteClaim = nil })
	}
	byAnnotation := func(w *stretchedWorld) {
		claim := &corev1.PersistentVolumeClaim{}
		w.in("east", claim, "data-my-cluster-b-1")
		claim.Annotations[v1.AnnotationDeleteClaim] = "false"
		w.Expect(w.members["east"].Client.Update(t.Context(), claim)).To(Succeed())
	}
	withoutPool := func(w *stretchedWorld) {
		w.Expect(w.k8s.Delete(t.Context(), w.pool("b"))).To(Succeed())
	}
	deleted := func(w *stretchedWorld) { w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed()) }
	unfinished := (*stretchedWorld).deleteWithoutFinalizer
	for name, c := range map[string]struct {
		away           bool
		decide, delete func(*stretchedWorld)
		goes           bool
	}{
		"the Kafka is deleted at once":              {decide: byPool, delete: deleted},
		"the Kubernetes cluster is away":            {away: true, decide: byPool, delete: deleted},
		"by its annotation alone":                   {away: true, decide: byAnnotation, delete: deleted},
		"and the finalizer is removed":              {away: true, decide: byPool, delete: unfinished},
		"by its annotation, without the finalizer":  {away: true, decide: byAnnotation, delete: unfinished},
		"its pool is deleted with the Kafka":        {away: true, decide: withoutPool, delete: deleted, goes: true},
		"its pool is deleted without the finalizer": {away: true, decide: withoutPool, delete: unfinished, goes: true},
		"its pool is deleted, and its annotation keeps it": {away: true,
			decide: func(w *stretchedWorld) { byAnnotation(w); withoutPool(w) }, delete: deleted},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.createDeletable()
			w.brokers.replicas = map[int32]int{0: 1, 1: 1}
			w.settle()
			w.members["east"].lost = c.away
			c.decide(w)
			if c.away {
				w.pass()
			}
			c.delete(w)
			w.pass()
			w.members["east"].lost = false
			for range 3 {
				w.pass()
				w.now = w.now.Add(2 * w.r.Interval)
			}
			w.Expect(w.anchored("east")).To(BeFalse())
			claim := &corev1.PersistentVolumeClaim{}
			w.in("east", claim, "data-my-cluster-b-1")
			if c.goes {
				w.Expect(claim.OwnerReferences).To(HaveLen(1), "the garbage collector deletes it")
				return
			}
			w.Expect(claim.OwnerReferences).To(BeEmpty(), "the garbage collector would delete it")
			w.Expect(claim.Annotations).To(HaveKeyWithValue(v1.AnnotationDeleteClaim, "false"))
		})
	}
}

// The watch of KafkaNodePools may be behind that of Kafkas.
func TestAVolumeThatIsKeptAtTheLastMomentIsKeptThoughTheCacheIsBehind(t *testing.T) {
	w := newStretchedWorld(t)
	w.createDeletable()
	w.settle()
	stale := &staleStatuses{Reader: w.r.Cache}
	w.Expect(w.k8s.List(t.Context(), &stale.pools, client.InNamespace(w.namespace))).To(Succeed())
	w.change("b", func(p *v1.KafkaNodePool) { p.Spec.Storage.DeleteClaim = nil })
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.r.Cache = stale
	w.pass()
	w.Expect(w.anchored("east")).To(BeFalse())
	claim := &corev1.PersistentVolumeClaim{}
	w.in("east", claim, "data-my-cluster-b-1")
	w.Expect(claim.OwnerReferences).To(BeEmpty(), "the garbage collector would delete it")
}

func TestAVolumeThatIsNotDeletedKeepsItsAnchorAndSaysSo(t *testing.T) {
	for name, lost := range map[string][]string{
		"without the mark of its name": {ownership.MarkSelf},
		"without its term as well":     {ownership.MarkSelf, ownership.MarkTerm},
		"without any mark":             {ownership.MarkSelf, ownership.MarkTerm, ownership.MarkID},
		"only not said to be deleted":  {v1.AnnotationDeleteClaim},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			b := w.createDeletable()
			w.brokers.replicas = map[int32]int{0: 1, 1: 0}
			w.settle()
			w.Expect(w.k8s.Delete(t.Context(), b)).To(Succeed())
			for range 3 {
				w.pass() // the pod of its broker stops
			}
			claim := &corev1.PersistentVolumeClaim{}
			w.in("east", claim, "data-my-cluster-b-1")
			for _, mark := range lost {
				delete(claim.Annotations, mark)
			}
			w.Expect(w.members["east"].Update(t.Context(), claim)).To(Succeed())
			w.endPods("east")
			w.unstretch("a")
			w.settle()
			w.Expect(w.anchored("east")).To(BeTrue(), "the volume would go with it")
			w.Expect(w.kafka().Finalizers).NotTo(BeEmpty())
			w.Expect(w.conditions()).To(ContainElement(And(HaveField("Reason", "VolumesKept"), HaveField("Message", And(
				HavePrefix("In cluster 'east', PersistentVolumeClaims data-my-cluster-b-1 of removed nodes are not deleted: they lack the annotation "+
					lost[0]),
				ContainSubstring("delete-claim: \"false\""))))))

			w.in("east", claim, "data-my-cluster-b-1")
			claim.Annotations[v1.AnnotationDeleteClaim] = "false"
			w.Expect(w.members["east"].Update(t.Context(), claim)).To(Succeed())
			w.settle()
			w.in("east", claim, "data-my-cluster-b-1")
			w.Expect(claim.DeletionTimestamp).To(BeNil())
			w.Expect(claim.OwnerReferences).To(BeEmpty())
			w.Expect(w.conditions()).NotTo(ContainElement(HaveField("Reason", "VolumesKept")))
			w.Expect(w.anchored("east")).To(BeFalse())
			w.Expect(w.kafka().Finalizers).To(BeEmpty())
		})
	}
}

func TestAnAnchorOutlivesThePodsThatStop(t *testing.T) {
	w := newStretchedWorld(t)
	w.formTwo()
	w.brokers.replicas = map[int32]int{0: 1, 1: 0}
	b := &v1.KafkaNodePool{}
	w.get(b, "b")
	w.Expect(w.k8s.Delete(t.Context(), b)).To(Succeed())
	for range 3 {
		w.pass()
	}
	w.Expect(w.members["east"].Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-b"}, &core.StrimziPodSet{})).
		To(MatchError(apierrors.IsNotFound, "NotFound"))
	w.Expect(w.anchored("east")).To(BeTrue(), "the pod of its broker stops")
	w.endPods("east")
	w.settle()
	w.Expect(w.anchored("east")).To(BeFalse())
}
