package kafkatest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka"
)

var clusterCases = map[string]func(*suite){
	"the cluster has its id and its brokers": func(s *suite) {
		s.eventually(func() error {
			cluster, err := s.admin.DescribeCluster(s.Context())
			if err != nil {
				return err
			}
			if cluster.ID != s.target.ClusterID || len(cluster.Brokers) != s.target.Brokers {
				return fmt.Errorf("got %+v", cluster)
			}
			if !slices.IsSortedFunc(cluster.Brokers, func(a, b kafka.Node) int { return int(a.ID - b.ID) }) {
				return fmt.Errorf("brokers are not sorted: %+v", cluster.Brokers)
			}
			for _, b := range cluster.Brokers {
				if b.Host == "" || b.Port <= 0 || b.Fenced {
					return fmt.Errorf("a broker without address, or fenced: %+v", b)
				}
			}
			return nil
		})
	},
	"the quorum has a leader among its voters": func(s *suite) {
		s.eventually(func() error {
			q, err := s.admin.DescribeQuorum(s.Context())
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(q.Voters, func(r kafka.Replica) bool { return r.ID == q.Leader && r.LogEndOffset > 0 }) ||
				q.HighWatermark <= 0 || q.LeaderEpoch <= 0 {
				return fmt.Errorf("got %+v", q)
			}
			return nil
		})
	},
	"nothing is being reassigned": func(s *suite) {
		name := s.topic("still")
		s.create(1, name)
		for _, topics := range [][]string{nil, {name}, {s.topic("missing")}, {}} {
			moves, err := s.admin.ListReassignments(s.Context(), topics)
			s.must(err)
			if len(moves) != 0 || moves == nil {
				s.Errorf("ListReassignments(%q) = %v", topics, moves)
			}
		}
		if n := s.count("ListPartitionReassignments"); n != 3 { // and none for no topic
			s.Errorf("it took %d requests", n)
		}
	},
	"a broker describes its configuration": func(s *suite) {
		cluster, err := s.admin.DescribeCluster(s.Context())
		s.must(err)
		for _, b := range cluster.Brokers {
			resource := kafka.BrokerResource(b.ID)
			configs, err := s.admin.DescribeConfigs(s.Context(), []kafka.ConfigResource{resource}, nil)
			s.must(err)
			s.must(configs[resource].Err)
			if len(configs[resource].Entries) == 0 {
				s.Errorf("broker %d has no configuration", b.ID)
			}
		}
	},
}

var createCases = map[string]func(*suite){
	"create, describe, delete": func(s *suite) {
		name := s.topic("orders")
		results, err := s.admin.CreateTopics(s.Context(), []kafka.NewTopic{{Name: name, Partitions: 3, ReplicationFactor: 1}}, false)
		s.must(err)
		r := results[name]
		s.must(r.Err)
		if r.ID.IsZero() || r.Partitions != 3 || r.ReplicationFactor != 1 || len(results) != 1 {
			s.Fatalf("got %+v", results)
		}
		s.eventually(func() error {
			topic, err := s.one(name)
			if err != nil {
				return err
			}
			if topic.ID != r.ID || topic.Name != name || topic.Internal || len(topic.Partitions) != 3 {
				return fmt.Errorf("got %+v", topic)
			}
			for i, p := range topic.Partitions {
				if p.Index != int32(i) || p.Leader < 0 || len(p.Replicas) != 1 || !slices.Equal(p.Replicas, p.ISR) || len(p.Offline) != 0 {
					return fmt.Errorf("got %+v", p)
				}
			}
			return nil
		})
		if id, err := kafka.ParseTopicID(r.ID.String()); err != nil || id != r.ID {
			s.Errorf("%s does not read back: %v, %v", r.ID, id, err)
		}
		deleted, err := s.admin.DeleteTopics(s.Context(), []kafka.TopicID{r.ID})
		s.must(err)
		if err, ok := deleted[r.ID]; err != nil || !ok || len(deleted) != 1 {
			s.Fatalf("got %v", deleted)
		}
		s.gone(name)
	},
	"defaults": func(s *suite) {
		name := s.topic("defaults")
		results, err := s.admin.CreateTopics(s.Context(), []kafka.NewTopic{{Name: name, Partitions: -1, ReplicationFactor: -1}}, false)
		s.must(err)
		s.must(results[name].Err)
		if results[name].Partitions < 1 || results[name].ReplicationFactor < 1 {
			s.Errorf("got %+v", results[name])
		}
	},
	"an existing topic": func(s *suite) {
		name := s.topic("twice")
		ids := s.create(1, name)
		results, err := s.admin.CreateTopics(s.Context(), []kafka.NewTopic{{Name: name, Partitions: 2, ReplicationFactor: 1}}, false)
		s.must(err)
		s.refused("create again", results[name].Err, kafka.ClassExists, "TopicExistsException")
		topic, err := s.one(name)
		s.must(err)
		if topic.ID != ids[name] || len(topic.Partitions) != 1 {
			s.Errorf("the existing topic changed: %+v", topic)
		}
	},
	"a name that is taken is taken, whatever else is asked": func(s *suite) {
		name := s.topic("taken")
		id := s.create(1, name)[name]
		for what, topic := range map[string]kafka.NewTopic{
			"the same": {Partitions: 1, ReplicationFactor: 1}, "defaults": {Partitions: -1, ReplicationFactor: -1},
			"no partitions": {Partitions: 0, ReplicationFactor: 1}, "fewer than none": {Partitions: -5, ReplicationFactor: 1},
			"no replicas": {Partitions: 1, ReplicationFactor: 0}, "too many replicas": {Partitions: 1, ReplicationFactor: 99},
			"an unknown key": {Partitions: 1, ReplicationFactor: 1, Configs: map[string]*string{"no.such.key": ptr("1")}},
			"null":           {Partitions: 1, ReplicationFactor: 1, Configs: map[string]*string{"retention.ms": nil}},
			"no such broker": {Partitions: -1, ReplicationFactor: -1, Assignments: map[int32][]int32{0: {9999}}},
			"placed twice":   {Partitions: 1, ReplicationFactor: 1, Assignments: map[int32][]int32{0: {0}}},
		} {
			topic.Name = name
			for _, validateOnly := range []bool{true, false} {
				results, err := s.admin.CreateTopics(s.Context(), []kafka.NewTopic{topic}, validateOnly)
				s.must(err)
				s.refused(fmt.Sprintf("%s, validateOnly %t", what, validateOnly), results[name].Err, kafka.ClassExists, "TopicExistsException")
			}
		}
		results, err := s.admin.CreateTopics(s.Context(), []kafka.NewTopic{{Name: name, Partitions: 10_001, ReplicationFactor: 1}}, true)
		s.must(err)
		s.refused("more than a request may carry", results[name].Err, kafka.ClassInvalid, "PolicyViolationException")
		deleted, err := s.admin.DeleteTopics(s.Context(), []kafka.TopicID{id})
		s.must(err)
		s.must(deleted[id])
		results, err = s.admin.CreateTopics(s.Context(), []kafka.NewTopic{{Name: name, Partitions: 1, ReplicationFactor: 1}}, true)
		s.must(err)
		if err := results[name].Err; err != nil {
			s.Errorf("the name is free since the deletion was acknowledged: %v", err)
		}
	},
	"one bad item harms no other": func(s *suite) {
		good, tooMany := s.topic("good"), s.topic("rf")
		none, negative, unplaced := s.topic("none"), s.topic("negative"), s.topic("unplaced")
		key, null, value := s.topic("key"), s.topic("null"), s.topic("value")
		long := s.topic(strings.Repeat("x", 250))
		results, err := s.admin.CreateTopics(s.Context(), []kafka.NewTopic{
			{Name: "contract bad name!", Partitions: 1, ReplicationFactor: 1},
			{Name: long, Partitions: 1, ReplicationFactor: 1},
			{Name: none, Partitions: 0, ReplicationFactor: 1},
			{Name: negative, Partitions: -5, ReplicationFactor: 1},
			{Name: unplaced, Partitions: 1},
			{Name: good, Partitions: 1, ReplicationFactor: 1},
			{Name: tooMany, Partitions: 1, ReplicationFactor: 99},
			{Name: key, Partitions: 1, ReplicationFactor: 1, Configs: map[string]*string{"no.such.key": ptr("1")}},
			{Name: null, Partitions: 1, ReplicationFactor: 1, Configs: map[string]*string{"retention.ms": nil}},
			{Name: value, Partitions: 1, ReplicationFactor: 1, Configs: map[string]*string{"retention.ms": ptr("soon")}},
		}, false)
		s.must(err)
		s.must(results[good].Err)
		for name, want := range map[string]string{
			"contract bad name!": "InvalidTopicException", long: "InvalidTopicException",
			none: "InvalidPartitionsException", negative: "InvalidPartitionsException", tooMany: "InvalidReplicationFactorException",
			unplaced: "InvalidReplicationFactorException",
			key:      "InvalidConfigurationException", null: "InvalidConfigurationException", value: "InvalidConfigurationException",
		} {
			s.refused(name, results[name].Err, kafka.ClassInvalid, want)
		}
		if len(results) != 10 {
			s.Errorf("got %d results for 10 topics", len(results))
		}
	},
	"validateOnly creates nothing": func(s *suite) {
		name, bad := s.topic("valid"), s.topic("invalid")
		results, err := s.admin.CreateTopics(s.Context(), []kafka.NewTopic{
			{Name: name, Partitions: 1, ReplicationFactor: 1},
			{Name: bad, Partitions: 1, ReplicationFactor: 99},
		}, true)
		s.must(err)
		if r := results[name]; r.Err != nil || !r.ID.IsZero() {
			s.Errorf("got %+v", r)
		}
		s.refused(bad, results[bad].Err, kafka.ClassInvalid, "InvalidReplicationFactorException")
		if _, err := s.one(name); !kafka.IsNotFound(err) {
			s.Errorf("the validated topic exists: %v", err)
		}
	},
	"manual placement": func(s *suite) {
		cluster, err := s.admin.DescribeCluster(s.Context())
		s.must(err)
		broker := cluster.Brokers[0].ID
		good, bad := s.topic("placed"), s.topic("misplaced")
		results, err := s.admin.CreateTopics(s.Context(), []kafka.NewTopic{
			{Name: good, Partitions: -1, ReplicationFactor: -1, Assignments: map[int32][]int32{0: {broker}, 1: {broker}}},
			{Name: bad, Partitions: -1, ReplicationFactor: -1, Assignments: map[int32][]int32{0: {9999}}},
		}, false)
		s.must(err)
		s.must(results[good].Err)
		if results[good].Partitions != 2 {
			s.Errorf("got %+v", results[good])
		}
		s.refused(bad, results[bad].Err, kafka.ClassInvalid, "InvalidReplicaAssignmentException")
	},
	"a batch is one request": func(s *suite) {
		var names []string
		for i := range 20 {
			names = append(names, s.topic(fmt.Sprintf("batch-%02d", i)))
		}
		s.create(1, s.topic("warm")) // a client may have to look up the controller first
		before := s.count("CreateTopics")
		s.create(1, names...)
		if n := s.count("CreateTopics") - before; n != 1 {
			s.Errorf("20 topics took %d CreateTopics requests", n)
		}
	},
	"an empty batch is no request": func(s *suite) {
		created, err := s.admin.CreateTopics(s.Context(), nil, false)
		s.must(err)
		deleted, err := s.admin.DeleteTopics(s.Context(), nil)
		s.must(err)
		described, err := s.admin.DescribeTopics(s.Context(), nil)
		s.must(err)
		increased, err := s.admin.CreatePartitions(s.Context(), nil, false)
		s.must(err)
		configs, err := s.admin.DescribeConfigs(s.Context(), nil, nil)
		s.must(err)
		altered, err := s.admin.AlterConfigs(s.Context(), nil, false)
		s.must(err)
		if len(created)+len(deleted)+len(described)+len(increased)+len(configs)+len(altered) != 0 {
			s.Error("an answer to nothing")
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.requests) != 0 {
			s.Errorf("requests were sent: %v", s.requests)
		}
	},
	"the same topic twice in one batch": func(s *suite) {
		same, other := s.topic("same"), s.topic("other")
		results, err := s.admin.CreateTopics(s.Context(), []kafka.NewTopic{
			{Name: same, Partitions: 1, ReplicationFactor: 1}, {Name: same, Partitions: 1, ReplicationFactor: 1},
			{Name: other, Partitions: 1, ReplicationFactor: 1}, {Name: other, Partitions: 2, ReplicationFactor: 1},
		}, false)
		s.must(err)
		s.must(results[same].Err)
		s.refused(other, results[other].Err, kafka.ClassInvalid, "InvalidRequestException")
		if _, err := s.one(other); !kafka.IsNotFound(err) {
			s.Errorf("a contradictory wish was carried out: %v", err)
		}
	},
	"more partitions than one request may carry": func(s *suite) {
		const topics, each = 60, 200 // 12,060 records
		batch := make([]kafka.NewTopic, topics)
		for i := range batch {
			batch[i] = kafka.NewTopic{Name: s.topic(fmt.Sprintf("large-%02d", i)), Partitions: each, ReplicationFactor: 1}
		}
		results, err := s.admin.CreateTopics(s.Context(), batch, true) // Kafka counts before it validates
		s.must(err)
		for name, r := range results {
			if r.Err != nil {
				s.Errorf("%s: %v", name, r.Err)
			}
		}
		if ids := s.createAll(batch[:s.target.LargeTopics]...); len(ids) != s.target.LargeTopics || len(results) != topics {
			s.Errorf("%d of %d topics were validated, %d of %d created", len(results), topics, len(ids), s.target.LargeTopics)
		}
	},
	"one topic that no request can carry": func(s *suite) {
		name, other := s.topic("huge"), s.topic("small")
		results, err := s.admin.CreateTopics(s.Context(), []kafka.NewTopic{
			{Name: name, Partitions: 10_001, ReplicationFactor: 1},
			{Name: other, Partitions: 1, ReplicationFactor: 1},
		}, true)
		s.must(err)
		s.must(results[other].Err)
		s.refused(name, results[name].Err, kafka.ClassInvalid, "PolicyViolationException")
	},
}

var deleteCases = map[string]func(*suite){
	"deletion never touches a recreated topic": func(s *suite) {
		name := s.topic("again")
		first := s.create(1, name)[name]
		deleted, err := s.admin.DeleteTopics(s.Context(), []kafka.TopicID{first})
		s.must(err)
		s.must(deleted[first])
		s.gone(name)
		second := s.create(2, name)[name]
		if first == second {
			s.Fatal("the id was reused")
		}
		deleted, err = s.admin.DeleteTopics(s.Context(), []kafka.TopicID{first})
		s.must(err)
		s.refused("delete by the old id", deleted[first], kafka.ClassNotFound, "UnknownTopicIdException")
		topic, err := s.one(name)
		s.must(err)
		if topic.ID != second {
			s.Errorf("got %+v", topic)
		}
	},
	"unknown ids and no id": func(s *suite) {
		name := s.topic("known")
		known := s.create(1, name)[name]
		unknown := kafka.TopicID{0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
		deleted, err := s.admin.DeleteTopics(s.Context(), []kafka.TopicID{unknown, known, {}, unknown})
		s.must(err)
		s.must(deleted[known])
		s.refused("unknown id", deleted[unknown], kafka.ClassNotFound, "UnknownTopicIdException")
		s.refused("no id", deleted[kafka.TopicID{}], kafka.ClassInvalid, "InvalidRequestException")
		if len(deleted) != 3 {
			s.Errorf("got %v", deleted)
		}
		s.gone(name)
	},
	"deletion disabled": func(s *suite) {
		if s.target.DeletionDisabled == nil {
			s.Skip("the target has no cluster with delete.topic.enable=false")
		}
		admin := s.target.DeletionDisabled(s)
		name := s.topic("keep")
		results, err := admin.CreateTopics(s.Context(), []kafka.NewTopic{{Name: name, Partitions: 1, ReplicationFactor: 1}}, false)
		s.must(err)
		s.must(results[name].Err)
		id := results[name].ID
		deleted, err := admin.DeleteTopics(s.Context(), []kafka.TopicID{id})
		s.must(err)
		s.refused("delete", deleted[id], kafka.ClassDisabled, "TopicDeletionDisabledException")
	},
	"a batch is one request": func(s *suite) {
		ids := s.create(1, s.topic("a"), s.topic("b"), s.topic("c"))
		deleted, err := s.admin.DeleteTopics(s.Context(), []kafka.TopicID{ids[s.topic("a")], ids[s.topic("b")]})
		s.must(err)
		for id, err := range deleted {
			if err != nil {
				s.Errorf("%s: %v", id, err)
			}
		}
		if n := s.count("DeleteTopics"); n != 1 {
			s.Errorf("2 topics took %d DeleteTopics requests", n)
		}
		s.gone(s.topic("a"))
		s.gone(s.topic("b"))
		if _, err := s.one(s.topic("c")); err != nil {
			s.Errorf("a topic that was not named is gone: %v", err)
		}
	},
}
