// Package kafka is the admin port: the requests of our operators to an Apache Kafka cluster, in their own terms.
//
// Most requests (Admin) go to any broker. Requests for what only one node knows go to that node. Controllers is the part that the
// controllers answer themselves, whatever the state of the brokers.
//
// The port is batch-first (many topics travel in one request), context-first (a call ends at its deadline, whatever the
// brokers do) and answers per item (one refused topic never fails its neighbours). No client library's type crosses it;
// package saramakafka implements it, package kafkatest proves implementations.
//
// It imports nothing of Kubernetes and nothing of ours.
package kafka
