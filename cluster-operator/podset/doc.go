// Package podset creates the pods of StrimziPodSets. It works the same way in every Kubernetes cluster, and never restarts a pod: the
// roller does.
//
// [Decide], a pure function, decides what to do, and [Reconciler] does it. A pod belongs to a set if the set is its controller by uid.
// Reconciler deletes no other pod.
//
//   - It creates a pod that the set lists and that is missing.
//   - It deletes a pod of the set that the set no longer lists, or that ended (Succeeded, Failed), and creates one that ended and is listed
//     again.
//   - It leaves a pod alone that is listed and out of date: the roller deletes it.
//   - It waits for a pod that terminates, also while the pod's node does not answer and the pod may still run. Kubernetes removes the pod
//     when the node comes back, is deleted, or gets the taint node.kubernetes.io/out-of-service. The condition says so.
//   - It gives a pod of the set its labels back if it has lost that of the Kafka, without which no cache has it.
//   - It deletes the pods of a set whose Kafka is hibernated, and creates none until that ends.
//   - It reports a pod of another owner under a name that the set lists, and does not touch it.
//
// The status is the contract with whoever waits for the pods: they are as the set says when observedGeneration is the set's generation, and
// pods, readyPods and currentPods are all the number of pods in the spec.
package podset
