// Package kafkatest proves implementations of the admin port and gives them something to talk to: one contract suite
// ([RunContract]), and an embedded cluster ([Embedded]) whose brokers can be stopped, delayed and made to fail.
//
// Production code must not import it.
package kafkatest
