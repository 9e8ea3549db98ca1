// Package clusters connects to several Kubernetes clusters. Remote clusters join and leave while the process runs, with the kubeconfigs in
// Secrets. The package reports the health of each cluster with hysteresis, and applies changed credentials. It has no code about Kafka.
package clusters
