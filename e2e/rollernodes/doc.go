// Package rollernodes runs the roller as its users do: as a Deployment made from config/roller, in an image of its own program, on real
// Kubernetes nodes (e2e/realnodes), over a real Kafka in pods. Nothing is played but the controller of StrimziPodSets (e2e/podsets).
//
// It is about what only shows there: the image and its user, probes, the rights of the ServiceAccounts, the lease when the leader is
// killed, Events and metrics as they are read, and several Kubernetes clusters with a network between them that can be cut. How a roll is
// decided on is proven elsewhere.
package rollernodes
