// Package identity finds out which Kafka cluster the operator works for, and notices when another one answers in its place (seed 000; ruling T9).
package identity
