//go:build tools

// Package containerd pins the container runtime of a node. Nothing imports it: hack/assets.sh builds the programs named
// here, at the versions in go.mod.
package containerd

import (
	_ "github.com/containerd/containerd/v2/cmd/containerd"
	_ "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"
	_ "github.com/containerd/containerd/v2/cmd/ctr"
)
