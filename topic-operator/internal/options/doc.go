// Package options defines the settings of the topic-operator: a table of all settings, and the checks across them.
package options

//go:generate go test -run TestDocumentationIsUpToDate -update .
