// Package controller makes topics follow their KafkaTopics: it reads an object, lets package ownership decide who owns the topic
// and package topic what to change, has package executor act, and writes the status. It has no type of a Kafka client.
//
// Each KafkaTopic is reconciled by itself; the executor batches its Kafka calls with those of others.
package controller
