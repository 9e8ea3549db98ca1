// Package options holds the settings of the topic-operator: the table, and what they mean together.
package options

//go:generate go test -run TestDocumentationIsUpToDate -update .
