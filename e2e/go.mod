module github.com/kafka-operators/kafka-operators/e2e

go 1.26.0

replace github.com/kafka-operators/kafka-operators/api => ../api

replace github.com/kafka-operators/kafka-operators/kafka => ../kafka

replace github.com/kafka-operators/kafka-operators/topic-operator => ../topic-operator
