//go:build tools

// Package controlplane pins the programs of the local control plane. Nothing imports it: hack/assets.sh
// builds the programs named here, at the versions in go.mod, for tests and for the demo.
package controlplane

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
