// Package topicoperator has the end-to-end tests of the topic-operator. They use only real programs: its binary, a real kube-apiserver, and
// a real Apache Kafka.
//
// A spec has the name of Strimzi's test with the same promise, if there is one. Where docs/decisions differs from Strimzi, so does the
// spec.
//
// Specs share one control plane, a cluster of one broker, and, for those that need it, a cluster of three. Each spec has its own namespace
// and topics. There is one operator process per configuration.
package topicoperator
