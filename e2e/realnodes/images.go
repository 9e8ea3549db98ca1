//go:build linux

package realnodes

import "github.com/kafka-operators/kafka-operators/e2e/realnodes/internal/stock"

// KafkaImage is an image on every node: Apache Kafka in /opt/kafka/libs (the jars, without the scripts), a Java runtime whose programs are
// on PATH, bash, and busybox's tools. It runs as user 1000. Pods must not pull it: with a tag other than latest, Kubernetes does not by
// default.
const KafkaImage = stock.Kafka
