// Package validate finds what is wrong with a Kafka object and its KafkaNodePools beyond what their schemas say. It is pure.
//
// Messages and reasons are Strimzi's, literally, where it has them, because users' runbooks and alerts know them. Each problem has a code
// besides, which stays when a message changes.
//
// What other steps decide is not looked at here: node ids (package topology), the Secrets of CAs (package pki).
package validate
