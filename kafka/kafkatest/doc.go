// Package kafkatest tests implementations of the admin port and provides clusters for tests: contract suites ([RunContract], and
// [RunNodeContract] for single nodes and controllers), and an embedded cluster ([Embedded]) whose brokers can be stopped, delayed and made
// to fail.
//
// Production code must not import it.
package kafkatest
