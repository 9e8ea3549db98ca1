package model

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// The JMX exporter of Prometheus, which nodes run as an agent of Java: see docs/decisions/metrics.md.
const (
	// MetricsPort is where nodes serve metrics, and MetricsPortName the name of that port. Source: Strimzi.
	MetricsPort     = 9404
	MetricsPortName = "tcp-prometheus"

	// ExporterFile is the exporter in the image that brings it to nodes: the cluster operator's.
	ExporterFile = "/jmx_prometheus_javaagent.jar"
	// CopyExporter is the argument with which the program of that image copies ExporterFile to the folder that follows.
	CopyExporter = "copy-jmx-exporter"

	exporterDir    = "/opt/kafka/jmx-exporter"
	exporterVolume = "strimzi-jmx-exporter"
	metricsFile    = "metrics-config.json"

	reportersKey = "metric.reporters"
	jmxReporter  = "org.apache.kafka.common.metrics.JmxReporter"
)

// wantsExporter reports whether the user wants the JMX exporter.
func (c *cluster) wantsExporter() bool {
	m := c.spec().MetricsConfig
	return m != nil && m.Type == v1.MetricsJMXPrometheusExporter
}

// exports reports whether nodes run the JMX exporter.
func (c *cluster) exports() bool { return c.wantsExporter() && c.Settings.ExporterImage != "" }

// exporterConfig returns the user's metrics configuration as JSON. Package validate has checked it.
func (c *cluster) exporterConfig() string {
	text, err := yaml.YAMLToJSON([]byte(c.Metrics))
	if err != nil {
		return "{}"
	}
	return string(text)
}

// exporterFolder is the volume that the exporter is copied to. It is in memory: an autoscaler of Kubernetes nodes moves no pod that has
// files on a disk of its node.
func exporterFolder() corev1.Volume {
	return corev1.Volume{Name: exporterVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
		Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse("10Mi"))}}}
}

// initContainers bring what the image of Kafka does not have.
func (c *cluster) initContainers(n topology.Node) []corev1.Container {
	if !c.exports() {
		return nil
	}
	t := c.initTemplate(n.Pool)
	image := c.Settings.ExporterImage
	k := corev1.Container{
		Name: "kafka-init", Image: image, ImagePullPolicy: c.pullPolicy(image),
		Args:         []string{CopyExporter, exporterDir},
		Env:          withEnvironment(nil, t),
		VolumeMounts: append([]corev1.VolumeMount{{Name: exporterVolume, MountPath: exporterDir}}, t.VolumeMounts...),
		// A namespace that is strict about one container is about the other.
		SecurityContext: c.containerSecurity(cmp.Or(t.SecurityContext, c.containerTemplate(n.Pool).SecurityContext)),
	}
	if r := c.resources(n.Pool); r != nil {
		k.Resources = *r
	}
	return []corev1.Container{k}
}

// withJMXReporter adds the reporter that the exporter reads from to those of the user.
func withJMXReporter(reporters string) string {
	if strings.Contains(reporters, jmxReporter) {
		return reporters
	}
	return strings.Trim(reporters+","+jmxReporter, ",")
}
