package podsets

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// Pool is a KafkaNodePool: nodes with the same roles, whose pods are in one StrimziPodSet.
type Pool struct {
	// Namespace and Cluster are those of the Kafka cluster, Name is the name of the pool.
	Namespace, Cluster, Name string
	// Broker and Controller are the roles of its nodes.
	Broker, Controller bool
	// Nodes are the ids of its nodes.
	Nodes []int32
	// Revision is the desired revision of the pods.
	Revision string
	// ClusterID is the id of the Kafka cluster in the ConfigMaps; if empty, they have none.
	ClusterID string
	// Edit, if set, changes each pod after all other fields were set, for example its image, its volumes and its node.
	Edit func(id int32, pod *corev1.Pod)
}

// SetName returns the name of the pool's StrimziPodSet.
func (p Pool) SetName() string { return p.Cluster + "-" + p.Name }

// PodName returns the name of a node's pod and ConfigMap.
func (p Pool) PodName(id int32) string { return fmt.Sprintf("%s-%d", p.SetName(), id) }

// labels returns the labels of the set, its pods and their ConfigMaps.
func (p Pool) labels() map[string]string {
	return map[string]string{v1.LabelCluster: p.Cluster, core.LabelKind: "Kafka", core.LabelName: p.Cluster + "-kafka",
		core.LabelPoolName: p.Name}
}

// PodSet returns the pool's StrimziPodSet, with Strimzi's labels and annotations.
func (p Pool) PodSet() (*core.StrimziPodSet, error) {
	set := &core.StrimziPodSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.SetName(), Labels: p.labels()},
		Spec:       &core.StrimziPodSetSpec{Selector: metav1.LabelSelector{MatchLabels: p.labels()}},
	}
	pods := make([]corev1.Pod, len(p.Nodes))
	for i, id := range p.Nodes {
		pods[i] = p.pod(id)
	}
	if err := set.SetDesiredPods(pods); err != nil {
		return nil, err
	}
	return set, nil
}

func (p Pool) pod(id int32) corev1.Pod {
	labels := p.labels()
	labels[core.LabelBrokerRole], labels[core.LabelControllerRole] = strconv.FormatBool(p.Broker), strconv.FormatBool(p.Controller)
	labels[core.LabelPodName] = p.PodName(id)
	pod := corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.PodName(id), Labels: labels, Annotations: map[string]string{core.AnnotationRevision: p.Revision},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: kafkaContainer, Image: "kafka"}}},
	}
	if p.Edit != nil {
		p.Edit(id, &pod)
	}
	return pod
}

// ConfigMap returns the ConfigMap with a node's desired configuration file.
func (p Pool) ConfigMap(id int32, properties string) *corev1.ConfigMap {
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.PodName(id), Labels: p.labels()},
		Data:       map[string]string{configKey: properties},
	}
	if p.ClusterID != "" {
		config.Data["cluster.id"] = p.ClusterID
	}
	return config
}
