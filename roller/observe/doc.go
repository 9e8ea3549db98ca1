// Package observe reads what bears on a roll into a roller.Snapshot: pods and pod sets of all Kubernetes clusters, and Kafka's own view. It
// decides nothing. What can't be read is unknown in the Snapshot, with the error; it is never left out.
package observe
