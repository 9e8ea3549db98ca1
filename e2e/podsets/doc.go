// Package podsets stands in for what makes pods of StrimziPodSets, for tests of what restarts them.
//
// [Follow] plays the controller of StrimziPodSets, on Kubernetes clusters with nodes (e2e/realnodes): it makes the pods that are missing,
// owned by their set, makes those again that went away or ended, deletes those that are in no set any more, leaves those alone that are out
// of date, and tells of them in the set's status.
//
// [Run] plays two parts more, where there is an API server and no nodes (e2e/controlplane). As the scheduler it gives each pod a place. As
// the kubelet it has the node of a pod run as a process of a realkafka.Cluster: with the configuration that the pod's ConfigMap holds,
// ready once it serves, ended in order (SIGTERM) when the pod is deleted, and only then the pod is gone. It also serves the logs of the
// nodes to the API server. What goes wrong with pods in real life is had with [Fixture.Break].
//
// A pod stands for the node whose id ends its name, as in Strimzi. [Pool] makes the StrimziPodSet of a pool of nodes.
package podsets
