// Package rollernodes runs the roller as its users do: as a Deployment from config/roller, in an image of its program, on real Kubernetes
// nodes (e2e/realnodes), for a real Kafka in pods. Only the controller of StrimziPodSets is replaced (e2e/podsets).
//
// It tests what only shows there: the image and its user, probes, the rights of the ServiceAccounts, the lease when the leader is killed,
// Events and metrics as they are read, the logs of pods with and without the right to read them, and several Kubernetes clusters with a
// network between them that can be cut. Other packages test the decisions in a roll.
package rollernodes
