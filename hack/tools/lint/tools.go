//go:build tools

// Package lint pins the linter. It is a separate module, so that the linter's many requirements do not affect the other tools.
package lint

import _ "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"
