// Package v1 holds the kinds of the API group kafka.strimzi.io in their stored version, and what everybody who reads or
// writes them must agree on: annotations, labels, finalizers, condition types and reasons.
//
// It states facts only. Nothing here talks to Kubernetes or Kafka or decides what to do about an object.
//
// +kubebuilder:object:generate=true
// +groupName=kafka.strimzi.io
package v1
