package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// TestRandomHistoriesOfHibernation plays histories in which users also hibernate the Kafka and wake it. PROVE=full plays many.
func TestRandomHistoriesOfHibernation(t *testing.T) {
	proveHistories(t, "random histories of hibernated Kafkas", 2, 400, 50, func(t *testing.T, seed int64, steps int) {
		h := newHistory(t, seed)
		h.hibernates = true
		h.play(steps)
		h.sleepAndWake()
	})
}

// TestHistoriesOfHibernationFindAPlantedFault has the operator see no broker that still runs.
func TestHistoriesOfHibernationFindAPlantedFault(t *testing.T) {
	const histories, steps = 20, 50
	for seed := range int64(histories) {
		h := newHistory(t, seed)
		h.hibernates, h.r.Cache = true, withoutBrokers{h.r.Cache}
		if found := h.violation(func() { h.play(steps); h.sleepAndWake() }); strings.Contains(found, "is to sleep, and broker") {
			t.Logf("found after %d histories: %s", seed+1, found)
			return
		}
	}
	t.Errorf("%d histories did not find it", histories)
}

// withoutBrokers is a cache that holds no pods but those of controllers.
type withoutBrokers struct{ client.Reader }

func (c withoutBrokers) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Reader.List(ctx, list, opts...)
	if pods, is := list.(*corev1.PodList); is {
		pods.Items = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.Labels[core.LabelControllerRole] != "true" })
	}
	return err
}

// hibernation sets or removes the annotation of the Kafka, as users do, not always correctly.
func (h *history) hibernation() string {
	value := []string{"true", "true", "false", "yes"}[h.rand.Intn(4)]
	kafka := h.kafka(h.name)
	kafka.Annotations = with(kafka.Annotations, v1.AnnotationHibernate, value)
	h.must(h.k8s.Update(h.t.Context(), kafka))
	return "hibernate: " + value
}

// sleepAndWake hibernates a Kafka that is as its user wants it. Nothing but its pods may go, and the pods that come back must be the same.
func (h *history) sleepAndWake() {
	h.t.Helper()
	defer h.report()
	h.quiet, h.spared = false, nil
	h.settle()
	if ready := readyOf(h.kafka(h.name)); ready.Status != v1.ConditionTrue {
		return
	}
	awake, before := h.pods(), h.all()
	kafka := h.kafka(h.name)
	kafka.Annotations = with(kafka.Annotations, v1.AnnotationHibernate, "true")
	h.must(h.k8s.Update(h.t.Context(), kafka))
	h.untilNothingChanges()
	kafka = h.kafka(h.name)
	switch ready := readyOf(kafka); {
	case ready.Reason == reasonHibernated:
		if running := h.pods(); len(running) > 0 {
			h.failf("the Kafka is hibernated, and pods run: %v: %+v", running, kafka.Status.Conditions)
		}
	case !strings.Contains(fmt.Sprint(kafka.Status.Conditions), "NotHibernated"):
		h.failf("the Kafka is not hibernated, and does not say why: %+v", kafka.Status.Conditions)
	}
	for key := range before {
		if h.all()[key] == nil {
			h.failf("%s %s went with the pods", key.Kind, key.Name)
		}
	}
	h.settle()
	if again := h.pods(); !maps.Equal(again, awake) {
		h.failf("the Kafka woke with the pods %v, and slept with %v", again, awake)
	}
}

// untilNothingChanges runs passes and updates pods until nothing changes.
func (h *history) untilNothingChanges() {
	h.t.Helper()
	last := int64(-1)
	for range 200 {
		if last == h.k8s.server.version {
			return
		}
		last = h.k8s.server.version
		h.reconcile(false)
		h.runPods(h.k8s.server, 100)
	}
	h.failf("each pass writes something: the last one from version %d to %d", last, h.k8s.server.version)
}

// pods returns the volumes of the Kafka's pods, by the names of these.
func (h *history) pods() map[string]string {
	found := map[string]string{}
	for key, o := range h.k8s.server.objects {
		pod, ok := o.object().(*corev1.Pod)
		if !ok || h.foreign[h.k8s.server][key] != nil {
			continue
		}
		for _, v := range pod.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				found[key.Name] += v.PersistentVolumeClaim.ClaimName + " "
			}
		}
	}
	return found
}

// sleep ends pods of a hibernated set, as the controller of StrimziPodSets does.
func (h *history) sleep(s *apiServer, set *core.StrimziPodSet, percent int) core.StrimziPodSetStatus {
	status := core.StrimziPodSetStatus{ObservedGeneration: set.Generation, Pods: int32(len(set.Spec.Pods))}
	for _, raw := range set.Spec.Pods {
		pod := &corev1.Pod{}
		h.must(json.Unmarshal(raw.Raw, pod))
		key := facts.Key{Kind: "Pod", Name: pod.Name}
		live := s.objects[key]
		switch {
		case live == nil || h.foreign[s][key] != nil:
		case live.GetDeletionTimestamp() != nil || h.rand.Intn(100) >= percent:
			status.CurrentPods++
		default:
			s.remove(key)
		}
	}
	return status
}

// judgeSleep checks that data is lost with no pod of a set that is to sleep from now on, and that controllers stop after brokers.
func (h *history) judgeSleep(s *apiServer, before, after *core.StrimziPodSet) {
	h.t.Helper()
	if before.IsHibernated() || !after.IsHibernated() {
		return
	}
	another := func(o *stored) bool {
		set, is := o.object().(*core.StrimziPodSet)
		return is && set.Name != after.Name && set.IsHibernated()
	}
	value := h.kafka(h.name).Annotations[v1.AnnotationHibernate]
	if value != "true" && (value != "yes" || !slices.ContainsFunc(slices.Collect(maps.Values(s.objects)), another)) {
		h.failf("set %s is to sleep, and the Kafka's annotation is %q", after.Name, value)
	}
	controllers := false
	for id, listed := range listedBy(h.t, after) {
		controllers = controllers || listed.Labels[core.LabelControllerRole] == "true"
		pod, ok := s.objects[facts.Key{Kind: "Pod", Name: listed.Name}].object().(*corev1.Pod)
		if !ok {
			continue
		}
		for _, v := range pod.Spec.Volumes {
			switch {
			case v.EmptyDir != nil && strings.HasPrefix(v.Name, "data"):
				h.failf("pod %s is to sleep, and its data ends with it", pod.Name)
			case v.PersistentVolumeClaim == nil:
			default:
				claim := s.objects[facts.Key{Kind: "PersistentVolumeClaim", Name: v.PersistentVolumeClaim.ClaimName}]
				if claim != nil && claim.GetDeletionTimestamp() != nil {
					h.failf("pod %s is to sleep, and its claim %s is being deleted", pod.Name, claim.GetName())
				}
			}
		}
		if pod.Labels[core.LabelBrokerRole] == "true" && listed.Labels[core.LabelBrokerRole] != "true" && h.brokers.replicas[id] > 0 {
			h.failf("pod %s is to sleep, and is a broker with replicas that is to be none", pod.Name)
		}
	}
	if !controllers {
		return
	}
	for key, o := range s.objects {
		pod, ok := o.object().(*corev1.Pod)
		if ok && h.foreign[s][key] == nil && pod.Labels[core.LabelControllerRole] != "true" && pod.Labels[core.LabelBrokerRole] == "true" {
			h.failf("set %s with controllers is to sleep, and broker %s runs", after.Name, pod.Name)
		}
	}
}
