// Package identity finds out which Kafka cluster the operator works for, and detects when another one answers in its place
// (docs/decisions/another-cluster.md).
package identity
