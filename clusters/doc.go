// Package clusters connects to several Kubernetes clusters: those that kubeconfig Secrets name join and leave while the process runs, their
// health is reported with hysteresis, and changed credentials are applied. It knows nothing of Kafka.
package clusters
