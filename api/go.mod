module github.com/kafka-operators/kafka-operators/api

go 1.26.0
