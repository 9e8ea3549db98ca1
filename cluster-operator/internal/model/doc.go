// Package model turns a Kafka, its pools and what was decided about them (nodes, endpoints, certificates) into the Kubernetes objects
// that are wanted. It is pure: the same input gives the same objects, so they can be printed, compared and tested without a cluster.
//
// One file holds one kind of object. Names, labels and annotations are Strimzi's where it has them, because users' selectors,
// dashboards and policies rely on them.
package model
