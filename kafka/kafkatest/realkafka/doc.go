// Package realkafka runs a real Apache Kafka, in KRaft mode, as processes of this machine, for tests and the demo.
//
// It needs a Java runtime (17 or later) and Kafka's jars: a Kafka installation named by KAFKA_HOME, else the jars that
// hack/assets.sh fetches once. [Available] says in one line what is missing.
//
// Every cluster has its own ports on 127.0.0.1 and its own folder; [Cluster.Close] leaves neither a process nor a file.
// A test process that dies without Close takes its nodes along (on Linux), and the next Start sweeps the folder.
//
// The quorum is static (controller.quorum.voters): the controllers of a test are known before the first of them starts,
// every node can then be formatted independently and in parallel, and the same files start Kafka 3.9 and 4.x.
package realkafka
