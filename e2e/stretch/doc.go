// Package stretch holds the tests of a Kafka that is stretched over three real Kubernetes clusters.
package stretch
