// Package simulator plays whole rolls of simulated Kafka clusters with the code of package roller, in virtual time. It uses no real clock
// and no goroutines, and all randomness comes from a seed, so that each history can be repeated.
//
// A History is a plain value: a Cluster, and Steps of the roller, users and faults. Play plays it. An oracle that does not use package
// roller's checks checks each decision, and the partitions after each event, against the rules of docs/decisions. Shrink removes all parts
// of a history that are not needed to break a rule.
package simulator
