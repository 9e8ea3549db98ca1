// Package configdef contains the definitions of node configuration from Apache Kafka's own classes: the keys of each version, how they can
// be changed, and which values are legal. It is pure, and imports only the standard library.
package configdef
