// Package observe reads the facts for a roll into a roller.Snapshot: pods and pod sets of all Kubernetes clusters, and Kafka's own view. It
// contains no rules. A fact that can't be read is unknown in the Snapshot, with the error; it is never omitted.
package observe
