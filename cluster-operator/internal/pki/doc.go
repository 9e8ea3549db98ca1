// Package pki decides about the certificates of a Kafka cluster: the cluster CA, which signs the certificates of nodes and of the
// operators, and the clients CA, which signs those of users.
//
// [Plan] is a pure function: the clock, the randomness and the keys are arguments, and nothing is read or written. It is given the Secrets
// and the pods that exist, and returns the Secrets that should exist, the annotations that pods should carry, and what it decided and why.
// It remembers nothing: a pass that was cut off anywhere is continued by the next one.
//
// Names, labels, annotations and contents of the Secrets are Strimzi's. What differs, and why, is in docs/decisions.
package pki
