package controller

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// TestARestoredRecordChangesNoNode restores an older record of the same Kafka while a Kubernetes cluster is away that it knows less of, and
// checks that the configurations of all nodes, and their Secrets, stay.
func TestARestoredRecordChangesNoNode(t *testing.T) {
	for name, older := range map[string]func(r *record){
		"from before the addresses were known": func(r *record) { r.Peers, r.Names = nil, nil },
		"from before the cluster had nodes": func(r *record) {
			there := r.Clusters["west"]
			there.Nodes, there.Volumes = nil, nil
			r.Clusters["west"] = there
		},
		"from before the cluster was used": func(r *record) {
			delete(r.Clusters, "west")
			delete(r.Peers, 2)
			delete(r.Names, 2)
		},
		"from when not all anchors were made": func(r *record) { r.Claiming = true },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, untouched)
			kept := func() map[string]string {
				all := map[string]string{}
				for _, s := range h.servers {
					for key, o := range s.objects {
						if config, is := o.object().(*corev1.ConfigMap); is && config.Data["server.config"] != "" {
							all[s.id+" "+key.Name] = config.Data["server.config"]
						} else if key.Kind == "Secret" || key.Kind == "StrimziPodSet" || key.Kind == "PersistentVolumeClaim" {
							all[s.id+" "+key.Kind+" "+key.Name] = o.GetResourceVersion()
						}
					}
				}
				return all
			}
			before := kept()
			h.leader().links["west"].lost = true
			now := h.object(facts.Key{Kind: "ConfigMap", Name: model.RecordName("my-cluster")}).DeepCopyObject().(*corev1.ConfigMap)
			var r record
			h.must(json.Unmarshal([]byte(now.Data[recordKey]), &r))
			older(&r)
			text, err := json.Marshal(r)
			h.must(err)
			now.Data[recordKey] = string(text)
			h.must(h.k8s.Update(t.Context(), now))
			for range 3 {
				_, _ = h.pass(h.leader(), -1)
			}
			ready := h.centrals[0].ready()
			g.Expect(ready).To(HaveField("Status", v1.ConditionFalse))
			if !r.Claiming {
				g.Expect(ready).To(And(HaveField("Reason", reasonRecord), HaveField("Message", ContainSubstring("until it can read cluster 'west'"))))
			}
			g.Expect(kept()).To(Equal(before))
			h.leader().links["west"].lost = false
			h.rest()
			g.Expect(h.centrals[0].ready()).To(HaveField("Status", v1.ConditionTrue))
			g.Expect(kept()).To(Equal(before))
		})
	}
}

// A record that was written in a pass that then failed is not taken for one that was restored.
func TestAScaleDownThatIsInterruptedGoesOn(t *testing.T) {
	for fail := range 12 {
		g := NewWithT(t)
		h := formInMemory(t, untouched)
		h.targets["more"] = "central"
		h.must(h.k8s.Create(t.Context(), h.pool("more", 2, v1.RoleBroker)))
		h.rest()
		h.brokers.replicas = map[int32]int{}
		h.leader().links["west"].lost = true
		pool := &v1.KafkaNodePool{}
		h.must(h.k8s.Get(t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: "more"}, pool))
		pool.Spec.Replicas = 1
		h.must(h.k8s.Update(t.Context(), pool))
		_, _ = h.pass(h.leader(), fail)
		for range 3 {
			_, _ = h.pass(h.leader(), -1)
		}
		g.Expect(h.centrals[0].ready()).NotTo(HaveField("Reason", reasonRecord), "after %d writes", fail)
		set := h.object(facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-more"}).(*core.StrimziPodSet)
		g.Expect(set.Spec.Pods).To(HaveLen(1), "after %d writes", fail)
	}
}
