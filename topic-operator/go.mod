module github.com/kafka-operators/kafka-operators/topic-operator

go 1.26.0

replace github.com/kafka-operators/kafka-operators/api => ../api

replace github.com/kafka-operators/kafka-operators/kafka => ../kafka
