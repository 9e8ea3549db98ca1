package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// maxHeap bounds a heap that the user did not size; the rest of the memory serves as page cache. Source: Strimzi.
const maxHeap = 5 << 30

// defaultPerformance are the options that Kafka's own start script uses where the user names none.
const defaultPerformance = "-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 " +
	"-XX:+ExplicitGCInvokesConcurrent -Djava.awt.headless=true"

// environment returns the environment of the Kafka container that the operator sets.
func (c *cluster) environment(n topology.Node) []corev1.EnvVar {
	jvm := c.jvmOptions(n.Pool)
	env := []corev1.EnvVar{
		{Name: "KAFKA_CLUSTER_NAME", Value: c.Kafka.Name},
		{Name: "KAFKA_HEAP_OPTS", Value: heap(jvm, c.resources(n.Pool))},
		{Name: "KAFKA_JVM_PERFORMANCE_OPTS", Value: performance(jvm)},
	}
	if facts := c.placement(n); len(facts) > 0 {
		var files []string
		for _, f := range facts {
			files = append(files, f.File)
		}
		env = append(env, corev1.EnvVar{Name: "KAFKA_PLACEMENT", Value: strings.Join(files, " ")})
	}
	if c.exports() {
		env = append(env, corev1.EnvVar{Name: "KAFKA_JMX_EXPORTER_ENABLED", Value: "true"})
	}
	var system []string
	for _, p := range jvm.JavaSystemProperties {
		system = append(system, "-D"+p.Name+"="+p.Value)
	}
	if len(system) > 0 {
		env = append(env, corev1.EnvVar{Name: "STRIMZI_JAVA_SYSTEM_PROPERTIES", Value: strings.Join(system, " ")})
	}
	return env
}

// withEnvironment adds the environment of the user's template to the operator's own, which keeps its values.
func withEnvironment(own []corev1.EnvVar, t v1.ContainerTemplate) []corev1.EnvVar {
	env := slices.Clone(own)
	for _, e := range t.Env {
		if slices.ContainsFunc(own, func(o corev1.EnvVar) bool { return o.Name == e.Name }) {
			continue
		}
		v := corev1.EnvVar{Name: e.Name, Value: e.Value}
		if e.ValueFrom != nil {
			v.ValueFrom = &corev1.EnvVarSource{SecretKeyRef: e.ValueFrom.SecretKeyRef, ConfigMapKeyRef: e.ValueFrom.ConfigMapKeyRef}
		}
		env = append(env, v)
	}
	return env
}

// jvmOptions returns a pool's options, or those of the Kafka object.
func (c *cluster) jvmOptions(pool string) v1.JvmOptions {
	if p := c.Pools[pool]; p != nil && p.Spec.JvmOptions != nil {
		return *p.Spec.JvmOptions
	}
	return value(c.spec().JvmOptions, v1.JvmOptions{})
}

// resources returns a pool's resources; older manifests have them in the Kafka object.
func (c *cluster) resources(pool string) *corev1.ResourceRequirements {
	if p := c.Pools[pool]; p != nil && p.Spec.Resources != nil {
		return p.Spec.Resources
	}
	return c.spec().Resources
}

// heapPercentages are the -XX options that size the heap.
var heapPercentages = []string{"InitialRAMPercentage", "MaxRAMPercentage"}

// heap sizes the heap: the user's setting, else half of the container's memory.
func heap(jvm v1.JvmOptions, resources *corev1.ResourceRequirements) string {
	var options []string
	if jvm.Xms != "" {
		options = append(options, "-Xms"+jvm.Xms)
	}
	if jvm.Xmx != "" {
		return strings.Join(append(options, "-Xmx"+jvm.Xmx), " ")
	}
	for _, percentage := range heapPercentages {
		if v, ok := jvm.XX[percentage]; ok {
			options = append(options, fmt.Sprintf("-XX:%s=%s", percentage, v))
		}
	}
	if _, sized := jvm.XX["MaxRAMPercentage"]; sized {
		return strings.Join(options, " ")
	}
	_, initial := jvm.XX["InitialRAMPercentage"] // -Xms would override it
	initial = initial || jvm.Xms != ""
	if memory := memoryOf(resources); memory > 0 {
		size := max(min(memory/2, maxHeap), HeapSize(jvm.Xms)) // Java does not start with a maximum below -Xms
		if !initial {
			options = append(options, fmt.Sprintf("-Xms%dK", size>>10))
		}
		return strings.Join(append(options, fmt.Sprintf("-Xmx%dK", size>>10)), " ")
	}
	if !initial {
		options = append(options, "-Xms128M")
	}
	return strings.Join(options, " ")
}

// HeapSize returns the bytes of a value of -Xms or -Xmx, 0 for none.
func HeapSize(text string) int64 {
	digits := strings.TrimRight(text, "mMgG")
	size, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	switch strings.ToLower(text[len(digits):]) {
	case "m":
		return size << 20
	case "g":
		return size << 30
	}
	return size
}

// memoryOf returns a container's memory in bytes: its limit, else its request, else 0.
func memoryOf(r *corev1.ResourceRequirements) int64 {
	if r == nil {
		return 0
	}
	if limit, ok := r.Limits[corev1.ResourceMemory]; ok {
		return limit.Value()
	}
	request := r.Requests[corev1.ResourceMemory]
	return request.Value()
}

// performance returns the -XX options.
func performance(jvm v1.JvmOptions) string {
	var options []string
	if value(jvm.GcLoggingEnabled, false) {
		options = append(options, "-Xlog:gc*:stdout:time")
	}
	xx := maps.Clone(jvm.XX)
	maps.DeleteFunc(xx, func(key, _ string) bool { return slices.Contains(heapPercentages, key) }) // they are with the heap
	if len(xx) == 0 {
		return strings.Join(append([]string{defaultPerformance}, options...), " ")
	}
	// Options that need unlocking come after what unlocks them.
	keys := slices.SortedFunc(maps.Keys(xx), func(a, b string) int {
		if first, second := strings.HasPrefix(a, "Unlock"), strings.HasPrefix(b, "Unlock"); first != second {
			if first {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, key := range keys {
		switch v := xx[key]; {
		case strings.EqualFold(v, "true"):
			options = append(options, "-XX:+"+key)
		case strings.EqualFold(v, "false"):
			options = append(options, "-XX:-"+key)
		default:
			options = append(options, "-XX:"+key+"="+v)
		}
	}
	return strings.Join(options, " ")
}
