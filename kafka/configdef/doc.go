// Package configdef has the definitions of node configuration from Apache Kafka's own classes: which keys each version knows, how they
// can be changed, and which values are legal. It is pure, and imports nothing but the standard library.
package configdef
