// Package realnodes runs whole Kubernetes clusters on this machine, without Docker and without a registry.
package realnodes
