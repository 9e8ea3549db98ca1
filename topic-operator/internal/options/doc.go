// Package options holds the topic-operator's settings: what they are, where they come from, and what is wrong with them.
//
// Each setting stands once, in the table of settings.go; reading the environment, the flags, --help and the table in
// docs/topic-operator/configuration.md all follow from it. Flags win over the environment, which wins over the default.
//
// It must not touch the operating system: the environment is handed in, and the content of Secrets is package credentials' business.
package options

//go:generate go test -run TestDocumentationIsUpToDate -update .
