// Package executor connects the decision about one topic with Kafka: it combines single calls into batches for the admin port, and converts
// the port's answers into the types of package topic. It contains no rules.
package executor
