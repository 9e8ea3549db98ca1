// Package controller makes topics follow their KafkaTopics: it reads an object, lets package topic decide, has package executor act, and
// writes the status. It holds no decision of its own about a topic, and no type of a Kafka client.
//
// Each KafkaTopic is reconciled by itself; the executor batches its Kafka calls with those of others.
package controller
