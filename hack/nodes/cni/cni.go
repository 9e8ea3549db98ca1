//go:build tools

// Package cni pins the plugins for the network of a node's pods. Nothing imports it: hack/assets.sh builds the programs named here, at the
// versions in go.mod.
package cni

import (
	_ "github.com/containernetworking/plugins/plugins/ipam/host-local"
	_ "github.com/containernetworking/plugins/plugins/main/loopback"
	_ "github.com/containernetworking/plugins/plugins/main/ptp"
	_ "github.com/containernetworking/plugins/plugins/meta/portmap"
)
