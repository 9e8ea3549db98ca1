package model

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Prometheus reads the metrics of the topic operator of each Kafka, without which no alert covers it.
func TestThePodMonitorFindsTheTopicOperator(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile("../../../config/cluster-operator/monitoring/topicoperators.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var monitor struct {
		Spec struct {
			Selector            metav1.LabelSelector `json:"selector"`
			PodMetricsEndpoints []struct {
				Port string `json:"port"`
			} `json:"podMetricsEndpoints"`
		} `json:"spec"`
	}
	g.Expect(yaml.Unmarshal(text, &monitor)).To(Succeed())
	selector, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
	g.Expect(err).NotTo(HaveOccurred())
	template := (&cluster{rich(t)}).topicOperatorDeployment().Spec.Template
	g.Expect(selector.Matches(labels.Set(template.Labels))).To(BeTrue(), "%s of %v", selector, template.Labels)
	g.Expect(template.Labels).To(HaveKey("strimzi.io/name"), "which becomes the job")
	g.Expect(template.Spec.Containers[0].Ports).To(ContainElement(HaveField("Name", monitor.Spec.PodMetricsEndpoints[0].Port)))
}
