// Package topic is the pure core of the topic-operator: it decides what happens to one topic, and writes nothing.
//
// Desired is the state that a KafkaTopic requests, Actual that in Kafka; Compare returns the Plan between the two, and StatusAfter converts
// its result into the KafkaTopic's status. Every decision is a value that can be printed and compared.
//
// It must not import a client of any kind, read a clock, or log.
package topic
