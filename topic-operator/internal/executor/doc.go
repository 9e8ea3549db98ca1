// Package executor is the thin edge between one topic's decision and Kafka: it turns single calls into batches for the admin port, and
// the port's answers into the pure core's types. It decides nothing.
package executor
