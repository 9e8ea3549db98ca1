package controller

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// quietly carries out edits and accidents that require no restart of a node, and checks that no pass changes the revision of a listed pod.
func (h *history) quietly(steps int) {
	h.t.Helper()
	if ready := readyOf(h.kafka("my-cluster")); ready.Status != v1.ConditionTrue {
		return // once the Kafka is valid, the operator applies pending edits and may restart nodes
	}
	h.quiet, h.spared = true, func(k facts.Key) bool { return k.Kind == "Secret" } // a node whose Secret was deleted gets a new certificate
	for range steps {
		h.told = append(h.told, "quietly: "+h.noReason())
		h.now = h.now.Add(time.Minute)
		h.reconcile(h.rand.Intn(2) == 0)
		h.runPods(h.k8s.server, 25*h.rand.Intn(5))
	}
}

// noReason carries out an edit or accident that requires no restart of a node, and returns its description.
func (h *history) noReason() string {
	switch h.rand.Intn(5) {
	case 4:
		return h.machine()
	case 0:
		return h.moveReplicas()
	case 1:
		return h.podDies()
	case 2:
		return h.copySomething()
	}
	edit := h.rand.Intn(edits)
	for edit == changeHeap {
		edit = h.rand.Intn(edits)
	}
	return h.carryOut(edit, []string{"a", "b", "c"}[h.rand.Intn(3)])
}

// forgetful is a cache that hides the inputs that pods were made from while the history is quiet.
type forgetful struct {
	client.Reader
	h *history
}

func (f forgetful) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := f.Reader.List(ctx, list, opts...)
	if sets, is := list.(*core.StrimziPodSetList); is && err == nil && f.h.quiet {
		for i := range sets.Items {
			for j := range sets.Items[i].Spec.Pods {
				raw := &sets.Items[i].Spec.Pods[j]
				raw.Raw = withoutAnnotation(raw.Raw, model.AnnotationInputs)
			}
		}
	}
	return err
}

// withoutAnnotation removes an annotation from a pod in JSON.
func withoutAnnotation(raw []byte, key string) []byte {
	pod := &corev1.Pod{}
	if json.Unmarshal(raw, pod) != nil {
		return raw
	}
	delete(pod.Annotations, key)
	text, err := json.Marshal(pod)
	if err != nil {
		return raw
	}
	return text
}
