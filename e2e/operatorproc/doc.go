// Package operatorproc runs the topic-operator as in production, in its own process: built from this checkout, configured by its
// environment, observed through its probes, metrics and log, and ended by signals.
package operatorproc
