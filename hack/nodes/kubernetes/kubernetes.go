//go:build tools

// Package kubernetes pins the programs of a node that come from Kubernetes, at the version of the control plane. Nothing
// imports it: hack/assets.sh builds the programs named here, at the versions in go.mod.
package kubernetes

import (
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
