// Package apitest checks the promises of the API on a real API server: manifests for Strimzi apply unchanged, no field is lost, and invalid
// objects are rejected with a message that helps.
//
// No operator runs here. The server comes from KUBEBUILDER_ASSETS; `make test` builds it.
package apitest
