// Package topic is the pure core of the topic-operator: it decides what happens to one topic, and writes nothing.
//
// Desired is what a KafkaTopic asks for, Actual what Kafka has; Compare turns the two into a Plan, and StatusAfter turns what came of it
// into the KafkaTopic's status. Every decision is a value that can be printed and compared.
//
// It must not import a client of any kind, read a clock, or log.
package topic
