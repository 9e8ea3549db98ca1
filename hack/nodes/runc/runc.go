//go:build tools

// Package runc pins the program that runs a node's containers. Nothing imports it: hack/assets.sh builds the program named here, at the
// version in go.mod.
package runc

import _ "github.com/opencontainers/runc"
