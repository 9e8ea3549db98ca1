// Package batch lets concurrent single calls travel together: what is asked for while a request is on its way goes with the next one.
//
// A lone call never waits, and under load the batches grow by themselves; nobody has to choose between latency and throughput.
// It knows nothing of Kafka, and it holds no queue: each item has a caller that waits for it.
package batch
