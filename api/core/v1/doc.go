// Package v1 holds the kinds of the API group core.strimzi.io in their stored version, and the labels and annotations of pods that the
// components which create, restart or watch them must agree on.
//
// It states facts only. Nothing here talks to Kubernetes or decides what to do about an object.
//
// +kubebuilder:object:generate=true
// +groupName=core.strimzi.io
package v1
