// Package clusteroperator proves the cluster-operator on real nodes: a Kafka of real pods with TLS and volumes is made from a Kafka and a
// KafkaNodePool, and is used, healed, rolled, deleted and made again, as users do it.
package clusteroperator
