// Package topicoperator holds the end-to-end tests of the topic-operator: its real binary between a real kube-apiserver and a real Apache
// Kafka. There is nothing else in it.
//
// A spec is named after the test of Strimzi's whose promise it keeps, where there is one. Where docs/decisions differs from Strimzi, so
// does the spec.
//
// Specs share one control plane, a cluster of one broker, and, where one broker will not do, one of three. Each spec has a namespace
// and topics of its own. There is one operator process per configuration.
package topicoperator
