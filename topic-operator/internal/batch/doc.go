// Package batch combines concurrent single calls into batches: the calls that arrive while a batch runs form the next one.
//
// A single call never waits, and batches grow with the load, so that nobody has to choose between latency and throughput. The package is
// independent of Kafka. It has no queue: each item belongs to a caller that waits for its result.
package batch
