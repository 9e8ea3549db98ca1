// Package prove holds proofs: tests that throw dice over and over, and count how often a promise was broken. They run on the real
// parts only: the operator's binary as processes, a real kube-apiserver, a real Apache Kafka.
//
// A proof runs small by default and in full with PROVE=full. PROVE_SEED repeats the dice of a run (what the machine makes of them differs).
// Each proof that comes to its end prints one line to standard output:
//
//	PROOF {"name":"...","count":200,"violations":0,"seed":42}
//
// If a promise was broken, the test fails and tells what was lost, with the history of the object in question.
package prove
