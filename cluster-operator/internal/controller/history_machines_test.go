package controller

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// machines are the Kubernetes nodes of a Kafka in one Kubernetes cluster.
var machines = []string{"machine-0", "machine-1", "machine-2"}

// silentKubelet is a finalizer that keeps a pod whose machine is gone, as the kubelet would that has to end it.
const silentKubelet = "example.com/kubelet"

// machineFor returns the machine that a pod is started on: always the same one, unless that is gone.
func (h *history) machineFor(pod string) string {
	if h.target != nil {
		return "node" // the one of each Kubernetes cluster of a stretched Kafka
	}
	id, _ := core.NodeID(pod)
	for range machines {
		if machine := machines[int(id)%len(machines)]; machine != h.gone {
			return machine
		}
		id++
	}
	return ""
}

// machine takes a machine with its pods, or brings it back. Its pods go at once if somebody deletes its Node, or stay and end for ever.
func (h *history) machine() string {
	if h.gone != "" {
		return h.machineReturns()
	}
	h.gone = machines[h.rand.Intn(len(machines))]
	ends := h.rand.Intn(2) == 0
	for _, key := range h.podsOn(h.gone) {
		if !ends {
			h.k8s.server.remove(key)
			continue
		}
		pod := &corev1.Pod{}
		h.must(h.k8s.Get(h.t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: key.Name}, pod))
		pod.Finalizers = []string{silentKubelet}
		h.must(h.k8s.Update(h.t.Context(), pod))
		h.must(h.k8s.Delete(h.t.Context(), pod))
	}
	return fmt.Sprintf("%s goes, and its pods stay and end: %v", h.gone, ends)
}

// machineReturns brings the machine back that is gone. Pods that were to end there end.
func (h *history) machineReturns() string {
	back := h.gone
	h.gone = ""
	for _, key := range h.podsOn(back) {
		if h.object(key).GetDeletionTimestamp() != nil {
			h.k8s.server.remove(key)
		}
	}
	return back + " is back"
}

// podsOn returns the pods on a machine, except those of others.
func (h *history) podsOn(machine string) []facts.Key {
	s := h.k8s.server
	return slices.DeleteFunc(sortedKeys(s.objects), func(k facts.Key) bool {
		pod, is := s.objects[k].object().(*corev1.Pod)
		return !is || pod.Spec.NodeName != machine || h.foreign[s][k] != nil
	})
}
