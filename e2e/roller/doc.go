// Package roller tests the roller by its own program, with the rights that config/roller gives it, on a real API server and a real Kafka
// whose nodes are processes (package podsets makes them of StrimziPodSets).
package roller
