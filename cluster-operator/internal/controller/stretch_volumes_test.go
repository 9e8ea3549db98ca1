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
