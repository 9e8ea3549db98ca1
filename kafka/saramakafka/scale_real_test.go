package saramakafka_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// TestTheMinISROfManyTopics reads min.insync.replicas of 2,000 topics, as the availability check of a whole cluster does.
func TestTheMinISROfManyTopics(t *testing.T) {
	const many = 2000
	c := realCluster(t, realkafka.Options{Brokers: 2, HeapMB: 512})
	requests := 0
	a := connect(t, kafka.Config{Bootstrap: c.Bootstrap(), RequestTimeout: 3 * time.Minute,
		ObserveRequest: func(request string, _ time.Duration, _ error) {
			if request == "DescribeConfigs" {
				requests++
			}
		}})
	two := "2"
	topics, resources := make([]kafka.NewTopic, many), make([]kafka.ConfigResource, many)
	for i := range many {
		topics[i] = kafka.NewTopic{Name: fmt.Sprintf("many-%04d", i), Partitions: 1, ReplicationFactor: 1}
		if i%2 == 1 {
			topics[i].Configs = map[string]*string{"min.insync.replicas": &two}
		}
		resources[i] = kafka.TopicResource(topics[i].Name)
	}
	start := time.Now()
	created, err := a.CreateTopics(t.Context(), topics, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range created {
		if r.Err != nil {
			t.Fatal(name, r.Err)
		}
	}
	t.Logf("created in %s", time.Since(start).Round(time.Millisecond))
	// Brokers learn of topics a moment after the controller acknowledged them.
	for deadline := time.Now().Add(patience); ; {
		listed, err := a.ListTopics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(listed) >= many {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d topics are listed", len(listed))
		}
	}
	for range 3 {
		requests = 0
		start = time.Now()
		configs, err := a.DescribeConfigs(t.Context(), resources, []string{"min.insync.replicas"})
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		for i, r := range resources {
			e := configs[r].Entries["min.insync.replicas"]
			own := e.Value == "2" && e.Source == kafka.SourceTopic
			if configs[r].Err != nil || len(configs[r].Entries) != 1 || own != (i%2 == 1) {
				t.Fatalf("%s: %+v", r.Name, configs[r])
			}
		}
		if requests != many/500 {
			t.Errorf("it took %d requests", requests)
		}
		if took > patience {
			t.Errorf("it took %s", took)
		}
		t.Logf("%d topics in %d requests and %s", many, requests, took.Round(time.Millisecond))
	}
}
