// Package podsets turns StrimziPodSets into running nodes of Kafka, for tests of what restarts them, where there is an API server and no kubelet.
//
// It plays three parts. As the controller of StrimziPodSets it makes the pods that are missing, owned by their set, deletes those that are in no set any
// more, leaves those alone that are out of date, and tells of them in the set's status. As the scheduler it gives each pod a place. As the kubelet it has
// the node of a pod run as a process of a realkafka.Cluster: with the configuration that the pod's ConfigMap holds, ready once it serves, ended in order
// (SIGTERM) when the pod is deleted, and only then the pod is gone. It also serves the logs of the nodes to the API server.
//
// A pod stands for the node whose id ends its name, as in Strimzi. What goes wrong with pods in real life is had with [Fixture.Break].
package podsets
