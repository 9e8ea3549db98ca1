// Package roller tests the roller's program, with the rights that config/roller gives it, on a real API server and a real Kafka whose nodes
// are processes (package podsets runs them for StrimziPodSets).
package roller
