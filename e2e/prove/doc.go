// Package prove has proofs: tests that make many random choices, and count how often a promise was broken. They use only real programs: the
// operator's binary as processes, a real kube-apiserver, a real Apache Kafka.
//
// A proof is short by default and full with PROVE=full. PROVE_SEED repeats the random choices of a run (timing still differs). Each proof
// that completes prints one line to standard output:
//
//	PROOF {"name":"...","count":200,"violations":0,"seed":42}
//
// If a promise was broken, the test fails and prints what was lost, with the history of the object.
package prove
