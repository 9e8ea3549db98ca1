// Package simulator plays whole rolls of simulated Kafka clusters against the code of package roller, in virtual time: there is no real
// clock, no goroutine and no randomness but that of a seed, so that what happened once happens again.
//
// A History is a plain value: a Cluster, and Steps that the roller, users and mishaps take in turn. Play plays it, and an oracle that knows
// nothing of package roller's own checks holds each decision, and the state of the partitions after each event, against the rules of
// docs/decisions. Shrink leaves out of a history that breaks a rule all that is not needed for it.
package simulator
