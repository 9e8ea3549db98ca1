// Package configdef holds what Apache Kafka's own classes say of the configuration of its nodes: which keys each version knows, how they
// can be changed, and which values are legal. It is pure, and imports nothing but the standard library.
package configdef
