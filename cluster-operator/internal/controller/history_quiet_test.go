package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
)

// quietly has only things happen that are no reason to restart a node: not for one pass may a StrimziPodSet list a node's pod anew.
func (h *history) quietly(steps int) {
	h.t.Helper()
	if ready := readyOf(h.kafka("my-cluster")); ready.Status != v1.ConditionTrue {
		return // what the user asked for waits until the rest is valid
	}
	h.quiet, h.spared = true, func(k facts.Key) bool { return k.Kind == "Secret" } // a node gets another certificate for one that is gone
	for range steps {
		h.told = append(h.told, "quietly: "+h.noReason())
		h.now = h.now.Add(time.Minute)
		h.reconcile(h.rand.Intn(2) == 0)
		h.runPods(h.k8s.server, 25*h.rand.Intn(5))
	}
}

// noReason is something that users do, or that happens, for which no node has to be restarted.
func (h *history) noReason() string {
	ctx := h.t.Context()
	kafka, pool := &v1.Kafka{}, &v1.KafkaNodePool{}
	h.must(h.k8s.Get(ctx, client.ObjectKey{Namespace: historyNamespace, Name: "my-cluster"}, kafka))
	name := []string{"a", "b", "c"}[h.rand.Intn(3)]
	exists := h.k8s.Get(ctx, client.ObjectKey{Namespace: historyNamespace, Name: name}, pool) == nil
	switch h.rand.Intn(12) {
	case 0:
		if !exists {
			h.must(h.k8s.Create(ctx, h.pool(name, int32(h.rand.Intn(4)), v1.RoleBroker)))
			return "create pool " + name
		}
		pool.Spec.Replicas = int32(h.rand.Intn(4))
		h.must(h.k8s.Update(ctx, pool))
		return fmt.Sprintf("scale pool %s to %d", name, pool.Spec.Replicas)
	case 1:
		if exists {
			pool.Spec.Storage.DeleteClaim = new(h.rand.Intn(2) == 0)
			h.must(h.k8s.Update(ctx, pool))
			return "deleteClaim of pool " + name
		}
	case 2:
		kafka.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.ms": v1.StringConfigValue(fmt.Sprint(1000 + h.rand.Intn(10)))}
		h.must(h.k8s.Update(ctx, kafka))
		return "change a setting that brokers take over while they run"
	case 3:
		h.brokers.err = nil
		if h.rand.Intn(2) == 0 {
			h.brokers.err = errors.New("no broker answers")
		}
		return "brokers"
	case 4:
		return h.moveReplicas()
	case 5:
		return h.upgradeOperator()
	case 6:
		kafka.Annotations = with(kafka.Annotations, v1.AnnotationPauseReconciliation, fmt.Sprint(h.rand.Intn(3) == 0))
		h.must(h.k8s.Update(ctx, kafka))
		return "pause or resume"
	case 7:
		return h.podDies()
	case 8, 9:
		return h.accident()
	case 10:
		return h.copySomething()
	case 11:
		if exists {
			h.must(h.k8s.Delete(ctx, pool))
			return "delete pool " + name
		}
	}
	return "nothing"
}

// forgetful is a cache that does not show, once all is quiet, what pods were made from.
type forgetful struct {
	client.Reader
	h *history
}

func (f forgetful) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := f.Reader.List(ctx, list, opts...)
	if sets, is := list.(*podset.StrimziPodSetList); is && err == nil && f.h.quiet {
		for i := range sets.Items {
			for j := range sets.Items[i].Spec.Pods {
				raw := &sets.Items[i].Spec.Pods[j]
				raw.Raw = withoutAnnotation(raw.Raw, model.AnnotationInputs)
			}
		}
	}
	return err
}

// withoutAnnotation is a pod in JSON without an annotation.
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
