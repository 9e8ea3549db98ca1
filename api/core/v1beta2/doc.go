// Package v1beta2 holds the kinds of the API group core.strimzi.io in the version that Strimzi used for years. It is served, not stored.
// Its kinds are made of the spec and status types of v1, so that the two schemas are one and no conversion is needed; no logic is ever
// added here.
//
// +kubebuilder:object:generate=true
// +groupName=core.strimzi.io
package v1beta2
