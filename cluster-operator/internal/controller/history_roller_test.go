package controller

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// configOf returns the hash of a node's configuration in its ConfigMap; empty if there is none.
func configOf(s *apiServer, pod string) string {
	config, ok := s.objects[facts.Key{Kind: "ConfigMap", Name: pod}].object().(*corev1.ConfigMap)
	if !ok {
		return ""
	}
	return core.ConfigHash(config.Data[core.ConfigMapServerConfig])
}

// configure changes the configuration of a running pod to the desired one, and reports that, as the roller does.
func (h *history) configure(s *apiServer, listed *corev1.Pod) {
	pod, ok := s.objects[facts.Key{Kind: "Pod", Name: listed.Name}].object().(*corev1.Pod)
	wanted := listed.Annotations[core.AnnotationConfigHash]
	if !ok || configOf(s, listed.Name) != wanted {
		return // one of the two is not written yet
	}
	if h.configured[pod.UID] != wanted {
		h.takeOverCordon(s, pod.Name)
	}
	h.configured[pod.UID] = wanted
	for home := range h.foreign {
		if kafka, ok := home.objects[facts.Key{Kind: "Kafka", Name: h.name}].object().(*v1.Kafka); ok && kafka.DeletionTimestamp == nil {
			h.reportConfigured(home, kafka, pod)
		}
	}
}

// takeOverCordon cordons the log directories in the configuration of a broker, as Kafka 4.3 does when it changes, and not when it starts.
func (h *history) takeOverCordon(s *apiServer, pod string) {
	config, is := s.objects[facts.Key{Kind: "ConfigMap", Name: pod}].object().(*corev1.ConfigMap)
	id, _ := core.NodeID(pod)
	if !is {
		return
	}
	for line := range strings.Lines(config.Data[core.ConfigMapServerConfig]) {
		cordoned, found := strings.CutPrefix(strings.TrimSpace(line), "cordoned.log.dirs=")
		for i := range h.brokers.dirs[id] {
			dir := &h.brokers.dirs[id][i]
			if found {
				dir.Cordoned = cordoned == "*" || slices.Contains(strings.Split(cordoned, ","), dir.Path)
			}
		}
	}
}

// reportConfigured reports in the roller's ConfigMap what a pod runs with, if that is not what it was created with.
func (h *history) reportConfigured(home *apiServer, kafka *v1.Kafka, pod *corev1.Pod) {
	key := facts.Key{Kind: "ConfigMap", Name: core.RollerStatusName(h.name)}
	config, exists := home.objects[key].object().(*corev1.ConfigMap)
	all := core.RollerStatusIn(config)
	if all.ConfigurationOf(pod) == h.configured[pod.UID] {
		return
	}
	if all.Configurations == nil {
		all.Configurations = map[string]string{}
	}
	all.Configurations[string(pod.UID)] = h.configured[pod.UID]
	text, err := json.Marshal(all)
	h.must(err)
	data := map[string]string{core.RollerStatusKey: string(text)}
	if exists {
		config = config.DeepCopy()
		config.Data = data
		h.must(home.client().Update(h.t.Context(), config))
	} else {
		h.must(home.client().Create(h.t.Context(), &corev1.ConfigMap{Data: data, ObjectMeta: metav1.ObjectMeta{
			Namespace: historyNamespace, Name: key.Name,
			Labels:          map[string]string{core.LabelManagedBy: core.ManagedByRoller, v1.LabelCluster: h.name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "kafka.strimzi.io/v1", Kind: "Kafka", Name: h.name, UID: kafka.UID}},
		}}))
	}
	h.foreign[home][key] = home.objects[key].Object
}

// judgeKafka checks that a Kafka is not reported as ready before all nodes run with the configuration in their ConfigMaps.
func (h *history) judgeKafka(s *apiServer, kafka *v1.Kafka) {
	h.t.Helper()
	if ready := readyOf(kafka); ready == nil || ready.Status != v1.ConditionTrue || kafka.Status.ObservedGeneration != kafka.Generation {
		return
	}
	for _, key := range sortedKeys(s.objects) {
		set, ok := s.objects[key].object().(*core.StrimziPodSet)
		if !ok || h.foreign[s][key] != nil {
			continue
		}
		removed := h.k8s.Get(h.t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: set.Labels[core.LabelPoolName]},
			&v1.KafkaNodePool{}) != nil
		for _, listed := range h.podsOf(set) {
			pod, wanted := s.objects[facts.Key{Kind: "Pod", Name: listed.Name}], configOf(s, listed.Name)
			if removed && wanted != listed.Annotations[core.AnnotationConfigHash] {
				continue // somebody edited it, and the operator knows no other
			}
			if pod != nil && pod.GetDeletionTimestamp() == nil && h.configured[pod.GetUID()] != wanted {
				h.failf("the Kafka is called ready, and pod %s runs with an earlier configuration", listed.Name)
			}
		}
	}
}

// credulous is a cache in which all pods seem to run with their configuration.
type credulous struct {
	client.Reader
	h *history
}

func (c credulous) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Reader.List(ctx, list, opts...)
	switch l := list.(type) {
	case *corev1.PodList:
		for i := range l.Items {
			if _, made := l.Items[i].Annotations[core.AnnotationConfigHash]; made {
				l.Items[i].Annotations[core.AnnotationConfigHash] = configOf(c.h.k8s.server, l.Items[i].Name)
			}
		}
	case *corev1.ConfigMapList:
		l.Items = slices.DeleteFunc(l.Items, func(m corev1.ConfigMap) bool { return m.Name == core.RollerStatusName(c.h.name) })
	}
	return err
}
