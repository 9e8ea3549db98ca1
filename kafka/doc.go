// Package kafka is the admin port: what our operators ask of an Apache Kafka cluster, in their own words.
//
// Most of it (Admin) is asked of brokers, any of which will do. What only one node knows is asked of that node. Controllers is the
// part that the controllers answer themselves, whatever the state of the brokers.
//
// The port is batch-first (many topics travel in one request), context-first (a call ends at its deadline, whatever the
// brokers do) and answers per item (one refused topic never fails its neighbours). No client library's type crosses it;
// package saramakafka implements it, package kafkatest proves implementations.
//
// It imports nothing of Kubernetes and nothing of ours.
package kafka
