// Package standin has what stands in for parts of a platform that real nodes in tests do not have: a cloud's load balancers, and an
// implementation of the Multi-Cluster Services API (KEP-1645). Each does only what Kafka clusters need of it, and is not for use anywhere
// else.
package standin
