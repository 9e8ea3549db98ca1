// Package operatorproc runs the topic-operator as what it is in production, a process of its own: built from this checkout,
// configured by its environment, watched through its probes, its metrics and its log, and ended by signals.
package operatorproc
