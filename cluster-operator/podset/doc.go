// Package podset makes the pods of StrimziPodSets. It works the same way in every Kubernetes cluster, and never restarts a pod: the roller
// does.
//
// What is done is decided by [Decide], a pure function. [Reconciler] carries it out. A pod belongs to a set if the set is its controller by
// uid; nothing else is ever deleted.
//
//   - A pod that the set lists and that is missing is created.
//   - A pod of the set that the set lists no more, or that ended (Succeeded, Failed), is deleted; one that ended and is listed is created
//
// again.
//   - A pod that is listed and out of date is left alone: deleting it is the roller's business.
//   - A pod that terminates is waited for, also when its node does not answer: nobody knows then whether it still runs. Kubernetes removes
//
// it when the node
//
//	  comes back, is deleted, or gets the taint node.kubernetes.io/out-of-service. The condition says so.
//	- A pod of somebody else under a name of the set's is reported and not touched.
//
// The status is the contract with whoever waits for the pods: they are as the set says when observedGeneration is the set's generation, and
// pods, readyPods and currentPods are all the number of pods in the spec.
package podset
