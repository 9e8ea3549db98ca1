// Package apitest proves the promises of the API on a real API server: what was written for Strimzi applies unchanged,
// nothing is lost on the way, and what is wrong is refused in words that help.
//
// No operator runs here. The server comes from KUBEBUILDER_ASSETS; `make test` builds it.
package apitest
