// Package standin replaces parts of a platform that real nodes in tests do not have: a cloud's load balancers, and an implementation of the
// Multi-Cluster Services API (KEP-1645). Each has only the features that Kafka clusters need, and is for tests only.
package standin
