module github.com/kafka-operators/kafka-operators/clusters

go 1.26.0
