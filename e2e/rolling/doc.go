// Package rolling rolls a real Kafka, whose nodes are processes, by the roller's own program on a real API server, while records are written. A fixture
// stands in for what makes pods of StrimziPodSets and for the kubelet: where a pod goes, it stops the node's process and starts it again with a new pod.
package rolling
