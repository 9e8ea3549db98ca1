package controller

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// votersOf returns the voters that a node is configured with.
func votersOf(s *apiServer, node string) []int32 {
	config, is := s.objects[facts.Key{Kind: "ConfigMap", Name: node}].object().(*corev1.ConfigMap)
	if !is {
		return nil
	}
	return model.VotersIn(config)
}

// TestNoVoterIsForgottenWithItsNamespace checks that the voters stay the same where a controller is not wanted any more, and nothing is
// left of it because somebody emptied its namespace. The message names the ways out, and they work.
func TestNoVoterIsForgottenWithItsNamespace(t *testing.T) {
	pool := func(h *stretched, edit func(*v1.KafkaNodePool)) {
		west := h.servers[0].objects[facts.Key{Kind: "KafkaNodePool", Name: "west"}].object().(*v1.KafkaNodePool).DeepCopy()
		edit(west)
		h.must(h.k8s.Update(h.t.Context(), west))
	}
	for name, c := range map[string]struct{ change, undo func(*stretched) }{
		"the pool is deleted": {
			func(h *stretched) { h.must(h.k8s.Delete(h.t.Context(), h.pool("west", 1))) },
			func(h *stretched) {
				h.must(h.k8s.Create(h.t.Context(), h.pool("west", 1, v1.RoleBroker, v1.RoleController)))
			}},
		"the pool has no replicas": {
			func(h *stretched) { pool(h, func(p *v1.KafkaNodePool) { p.Spec.Replicas = 0 }) },
			func(h *stretched) { pool(h, func(p *v1.KafkaNodePool) { p.Spec.Replicas = 1 }) }},
		"the pool has no controllers": {
			func(h *stretched) {
				pool(h, func(p *v1.KafkaNodePool) { p.Spec.Roles = []v1.ProcessRole{v1.RoleBroker} })
			},
			func(h *stretched) {
				pool(h, func(p *v1.KafkaNodePool) { p.Spec.Roles = []v1.ProcessRole{v1.RoleBroker, v1.RoleController} })
			}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, untouched)
			c.change(h)
			h.rest()
			for _, key := range sortedKeys(h.servers[3].objects) {
				if key.Kind != "Node" && key.Kind != "Lease" {
					h.servers[3].remove(key)
				}
			}
			for range 5 {
				_, _ = h.pass(h.leader(), -1)
			}
			all := []int32{0, 1, 2}
			g.Expect(votersOf(h.servers[0], "my-cluster-central-0")).To(Equal(all))
			g.Expect(h.centrals[0].ready()).To(And(HaveField("Status", v1.ConditionFalse), HaveField("Message", And(
				ContainSubstring("controller 2"), ContainSubstring("KafkaNodePool west"), ContainSubstring(v1.AnnotationSkipScaleDownCheck)))))

			h.brokers.quorum = &kafka.Quorum{Leader: 0, Voters: []kafka.Replica{
				{ID: 0, LastCaughtUp: 100_000}, {ID: 1, LastCaughtUp: 1}, {ID: 2, LastCaughtUp: 100_000}}}
			c.undo(h)
			h.rest()
			claim := facts.Key{Kind: "PersistentVolumeClaim", Name: "data-my-cluster-west-2"}
			g.Expect(h.servers[3].objects).NotTo(HaveKey(claim), "controller 1 may lack metadata as well")
			g.Expect(h.centrals[0].kafka().Status.Conditions).To(warning("would start without metadata"))
			h.brokers.quorum.Voters[1].LastCaughtUp = 100_000
			h.rest()
			g.Expect(h.servers[3].objects).To(HaveKey(claim))
			g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue), "%v", h.centrals[0].kafka().Status.Conditions)
			g.Expect(votersOf(h.servers[0], "my-cluster-central-0")).To(Equal(all))
			g.Expect(votersOf(h.servers[3], "my-cluster-west-2")).To(Equal(all))
		})
		t.Run(name+", and the user gives it up", func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, untouched)
			c.change(h)
			h.rest()
			for _, key := range sortedKeys(h.servers[3].objects) {
				if key.Kind != "Node" && key.Kind != "Lease" {
					h.servers[3].remove(key)
				}
			}
			_, _ = h.pass(h.leader(), -1)
			h.annotate(v1.AnnotationSkipScaleDownCheck, "true")
			h.rest()
			g.Expect(votersOf(h.servers[0], "my-cluster-central-0")).To(Equal([]int32{0, 1}))
			g.Expect(votersOf(h.servers[2], "my-cluster-east-1")).To(Equal([]int32{0, 1}))
		})
	}
}
