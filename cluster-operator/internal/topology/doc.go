// Package topology decides which nodes a Kafka cluster has: their ids, roles, pools and Kubernetes clusters. It is pure, and
// stable: a node keeps its id over edits, scaling, lost statuses and pools that are deleted by mistake.
//
// A node that its user does not want any more is leaving. It keeps running until nothing depends on it.
package topology
