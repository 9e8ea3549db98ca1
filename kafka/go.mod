module github.com/kafka-operators/kafka-operators/kafka

go 1.26.0
