//go:build tools

// Package lint pins the linter, apart from the other tools so that its many requirements move nothing else.
package lint

import _ "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"
