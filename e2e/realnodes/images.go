//go:build linux

package realnodes

import "github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/stock"

// KafkaImage is an image that every node has: Apache Kafka in /opt/kafka/libs (the jars, without the scripts), a Java runtime whose
// programs are on PATH, bash, and busybox's tools. Its user is 1000. Whoever uses it must not have it pulled: with a tag other
// than latest, Kubernetes does not.
const KafkaImage = stock.Kafka

// PreviousKafkaImage is the same with the version of Kafka before, for upgrades.
const PreviousKafkaImage = stock.PreviousKafka
