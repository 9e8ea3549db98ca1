// Package podsets replaces the programs that create pods of StrimziPodSets, for tests of programs that restart the pods.
//
// [Follow] acts as the controller of StrimziPodSets, on Kubernetes clusters with nodes (e2e/realnodes). It creates missing pods with their
// set as the owner, creates again those that were deleted or ended, deletes those that are in no set, leaves outdated ones alone, and
// reports them in the set's status.
//
// [Run] also acts as two other programs, where there is an API server without nodes (e2e/controlplane). As the scheduler, it binds each pod
// to a node. As the kubelet, it runs the node of a pod as a process of a realkafka.Cluster, with the configuration in the pod's ConfigMap.
// The pod is ready when the process serves; when the pod is deleted, the process is shut down gracefully (SIGTERM), and then the pod is
// removed. Run also serves the logs of the nodes to the API server. [Fixture.Break] simulates failures of pods.
//
// The node of a pod is the one whose id is at the end of the pod's name, as in Strimzi. [Pool] returns the StrimziPodSet of a pool of
// nodes.
package podsets
