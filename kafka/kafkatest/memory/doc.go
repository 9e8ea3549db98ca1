// Package memory implements the admin port without a Kafka, for tests of code that uses the port: a deterministic model of a cluster's
// topics and nodes. It does no I/O, starts no goroutine, and reads no clock.
//
// It rejects what Kafka rejects (package rules), and passes the same contract suites as the adapter for real clusters.
package memory
