// Package network is the interface of network providers, which connect the nodes of one Kafka cluster that run in several Kubernetes
// clusters.
//
// A provider plans objects, and reads addresses off objects that were observed. It has no credentials and never waits: the operator writes
// the objects, owns, watches and deletes them, and asks again when one of them changes. So a provider is a pair of functions that can be
// tested without a Kubernetes cluster; package conformance holds the tests that every provider must pass.
//
// The packages nodeport, loadbalancer and mcs are providers.
package network
