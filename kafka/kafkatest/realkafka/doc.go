// Package realkafka runs a real Apache Kafka, in KRaft mode, as processes of this machine, for tests and the demo.
//
// It needs a Java runtime (17 or later) and Kafka's jars: a Kafka installation named by KAFKA_HOME, else the jars that hack/assets.sh
// downloads once. [Available] returns in one line what is missing.
//
// Each cluster has its own ports on 127.0.0.1 and its own folder; [Cluster.Close] leaves neither a process nor a file. If a test process
// dies without Close, the kernel kills its nodes (on Linux), and the next Start removes the folder.
//
// The quorum is static (controller.quorum.voters): the controllers of a test are known before the first of them starts, each node can be
// formatted independently and in parallel, and the same files start Kafka 3.9 and 4.x.
package realkafka
