module github.com/kafka-operators/kafka-operators/roller

go 1.26.0
