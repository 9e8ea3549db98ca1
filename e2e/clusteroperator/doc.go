// Package clusteroperator tests the cluster-operator on real nodes. The operator makes a Kafka of real pods with TLS and volumes from a
// Kafka and a KafkaNodePool; the tests use, damage, roll, delete and re-create it, as users do.
package clusteroperator
