package model

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

// OwnProperties are the system properties of Java that start.sh sets behind those of the user.
var OwnProperties = []string{"log4j2.configurationFile", "kafka.logs.dir"}

// OwnVariables returns the names of the environment variables that the operator sets in the Kafka container of a pool's nodes, so that a
// template can't.
func OwnVariables(kafka *v1.Kafka, pool *v1.KafkaNodePool, exporter bool) []string {
	c := &cluster{Input{Kafka: kafka, Pools: map[string]*v1.KafkaNodePool{pool.Name: pool}}}
	if exporter {
		c.Settings.ExporterImage = "any"
	}
	return namesOf(c.environment(topology.Node{Pool: pool.Name, Roles: topology.Roles{
		Broker: slices.Contains(pool.Spec.Roles, v1.RoleBroker), Controller: slices.Contains(pool.Spec.Roles, v1.RoleController)}}))
}

// OwnTopicOperatorVariables returns the names of those that it sets in the container of the topic operator.
func OwnTopicOperatorVariables(kafka *v1.Kafka) []string {
	if !WantsTopicOperator(kafka) {
		return nil
	}
	c := &cluster{Input{Kafka: kafka}}
	return namesOf(c.topicOperatorEnvironment())
}

func namesOf(env []corev1.EnvVar) []string {
	var names []string
	for _, e := range env {
		names = append(names, e.Name)
	}
	return names
}

// OwnLabel reports whether the operator decides about a label, so that a template can't.
func OwnLabel(key string) bool {
	return strings.HasPrefix(key, "strimzi.io/") || strings.HasPrefix(key, "app.kubernetes.io/")
}

// OwnListenerLabel is OwnLabel for the labels that a listener's configuration gives to its Services and Ingresses: those of
// app.kubernetes.io that the operator does not set itself are the user's, as in Strimzi.
func OwnListenerLabel(key string) bool {
	return strings.HasPrefix(key, "strimzi.io/") ||
		slices.Contains([]string{labelApp, labelInstance, labelPartOf, core.LabelManagedBy}, key)
}
