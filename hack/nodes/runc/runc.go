//go:build tools

// Package runc pins the program that makes a node's containers. Nothing imports it: hack/assets.sh builds the program
// named here, at the versions in go.mod.
package runc

import _ "github.com/opencontainers/runc"
