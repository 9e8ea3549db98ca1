// Package memory is the admin port without a Kafka: a deterministic model of a cluster's topics and nodes, for tests of whatever
// uses the port. It does no I/O, starts no goroutine, and reads no clock.
//
// It refuses what Kafka refuses (package rules) and passes the same contract suites as the adapter for real clusters.
package memory
