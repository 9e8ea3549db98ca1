// Package clusters connects to several Kubernetes clusters: those that kubeconfig Secrets name join and leave while the process runs, their
// health is told with hysteresis, and credentials that change are taken up. It knows nothing of Kafka.
package clusters
