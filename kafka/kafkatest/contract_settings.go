package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
)

var describeCases = map[string]func(*suite){
	"a missing topic is not found, and stays missing": func(s *suite) {
		there, missing := s.topic("there"), s.topic("missing")
		s.create(1, there)
		for range 3 { // a broker with auto.create.topics.enable=true would have created it the first time
			described, err := s.admin.DescribeTopics(s.Context(), []string{there, missing, missing, "no topic!"})
			s.must(err)
			s.must(described[there].Err)
			s.refused(missing, described[missing].Err, kafka.ClassNotFound, "UnknownTopicOrPartitionException")
			if described["no topic!"].Err == nil || len(described) != 3 {
				s.Errorf("got %v", described)
			}
		}
		topics, err := s.admin.ListTopics(s.Context())
		s.must(err)
		for _, topic := range topics {
			if topic.Name == missing {
				s.Error("describing the topic created it")
			}
		}
	},
	"all topics": func(s *suite) {
		ids := s.create(2, s.topic("x"), s.topic("y"))
		s.eventually(func() error {
			topics, err := s.admin.ListTopics(s.Context())
			if err != nil {
				return err
			}
			found := 0
			for _, topic := range topics {
				if id, ok := ids[topic.Name]; ok && id == topic.ID && len(topic.Partitions) == 2 {
					found++
				}
			}
			if found != 2 {
				return fmt.Errorf("%d of 2 topics are listed", found)
			}
			return nil
		})
	},
	"many topics in few requests": func(s *suite) {
		var names []string
		for i := range 2500 {
			names = append(names, s.topic(fmt.Sprintf("missing-%d", i)))
		}
		described, err := s.admin.DescribeTopics(s.Context(), names)
		s.must(err)
		if len(described) != len(names) {
			s.Errorf("%d answers for %d topics", len(described), len(names))
		}
		if n := s.count("Metadata"); n < 1 || n > 5 {
			s.Errorf("it took %d requests", n)
		}
	},
}

var configCases = map[string]func(*suite){
	"set, change, delete, and where a value comes from": func(s *suite) {
		name := s.topic("settings")
		s.createAll(kafka.NewTopic{Name: name, Partitions: 1, ReplicationFactor: 1,
			Configs: map[string]*string{"retention.ms": ptr("1000"), "cleanup.policy": ptr("compact")}})
		s.entry(name, "retention.ms", "1000", kafka.SourceTopic)
		s.alter(kafka.ConfigChange{Resource: kafka.TopicResource(name),
			Set: map[string]string{"retention.ms": "2000", "max.message.bytes": "5000"}, Delete: []string{"cleanup.policy"}})
		s.entry(name, "retention.ms", "2000", kafka.SourceTopic)
		s.entry(name, "max.message.bytes", "5000", kafka.SourceTopic)
		s.entry(name, "cleanup.policy", "delete", kafka.SourceDefault)
		// Keys that the change does not name stay. A key may be deleted again.
		s.alter(kafka.ConfigChange{Resource: kafka.TopicResource(name), Delete: []string{"max.message.bytes", "cleanup.policy"}})
		s.entry(name, "max.message.bytes", "1048588", kafka.SourceDefault)
		s.entry(name, "retention.ms", "2000", kafka.SourceTopic)
	},
	"a value that equals the default is the topic's own once it is set": func(s *suite) {
		name := s.topic("defaults")
		s.create(1, name)
		s.entry(name, "retention.ms", "604800000", kafka.SourceDefault)
		s.alter(kafka.ConfigChange{Resource: kafka.TopicResource(name), Set: map[string]string{"retention.ms": "604800000"}})
		s.entry(name, "retention.ms", "604800000", kafka.SourceTopic)
	},
	"all keys, or the named ones": func(s *suite) {
		name := s.topic("keys")
		s.create(1, name)
		resource := kafka.TopicResource(name)
		all, err := s.admin.DescribeConfigs(s.Context(), []kafka.ConfigResource{resource}, nil)
		s.must(err)
		s.must(all[resource].Err)
		if len(all[resource].Entries) < 25 {
			s.Errorf("only %d keys", len(all[resource].Entries))
		}
		some, err := s.admin.DescribeConfigs(s.Context(), []kafka.ConfigResource{resource}, []string{"retention.ms", "cleanup.policy"})
		s.must(err)
		if len(some[resource].Entries) != 2 {
			s.Errorf("got %v", some[resource].Entries)
		}
	},
	"bad changes harm no others": func(s *suite) {
		good, key, value := s.topic("good"), s.topic("key"), s.topic("value")
		s.create(1, good, key, value)
		missing, contradictory := s.topic("missing"), s.topic("contradictory")
		errs, err := s.admin.AlterConfigs(s.Context(), []kafka.ConfigChange{
			{Resource: kafka.TopicResource(key), Set: map[string]string{"no.such.key": "1", "retention.ms": "1"}},
			{Resource: kafka.TopicResource(missing), Set: map[string]string{"retention.ms": "1"}},
			{Resource: kafka.TopicResource(good), Set: map[string]string{"retention.ms": "7"}},
			{Resource: kafka.TopicResource(value), Set: map[string]string{"retention.ms": "soon"}},
			{Resource: kafka.TopicResource(contradictory), Set: map[string]string{"retention.ms": "1"}, Delete: []string{"retention.ms"}},
		}, false)
		s.must(err)
		s.must(errs[kafka.TopicResource(good)])
		s.refused(key, errs[kafka.TopicResource(key)], kafka.ClassInvalid, "InvalidConfigurationException")
		s.refused(value, errs[kafka.TopicResource(value)], kafka.ClassInvalid, "InvalidConfigurationException")
		s.refused(missing, errs[kafka.TopicResource(missing)], kafka.ClassNotFound, "UnknownTopicOrPartitionException")
		s.refused(contradictory, errs[kafka.TopicResource(contradictory)], kafka.ClassInvalid, "InvalidRequestException")
		if len(errs) != 5 {
			s.Errorf("got %v", errs)
		}
		s.entry(good, "retention.ms", "7", kafka.SourceTopic)
		s.entry(key, "retention.ms", "604800000", kafka.SourceDefault)
		if n := s.count("IncrementalAlterConfigs"); n != 1 {
			s.Errorf("it took %d requests", n)
		}
	},
	"validateOnly changes nothing": func(s *suite) {
		name := s.topic("validated")
		s.create(1, name)
		resource := kafka.TopicResource(name)
		errs, err := s.admin.AlterConfigs(s.Context(), []kafka.ConfigChange{{Resource: resource,
			Set: map[string]string{"retention.ms": "1"}}}, true)
		s.must(err)
		s.must(errs[resource])
		s.entry(name, "retention.ms", "604800000", kafka.SourceDefault)
		errs, err = s.admin.AlterConfigs(s.Context(), []kafka.ConfigChange{{Resource: resource,
			Set: map[string]string{"no.such.key": "1"}}}, true)
		s.must(err)
		s.refused("unknown key", errs[resource], kafka.ClassInvalid, "InvalidConfigurationException")
	},
	"a missing topic has no configuration": func(s *suite) {
		name := s.topic("there")
		s.create(1, name)
		there, missing := kafka.TopicResource(name), kafka.TopicResource(s.topic("missing"))
		configs, err := s.admin.DescribeConfigs(s.Context(), []kafka.ConfigResource{missing, there}, nil)
		s.must(err)
		s.must(configs[there].Err)
		s.refused("missing", configs[missing].Err, kafka.ClassNotFound, "UnknownTopicOrPartitionException")
		if n := s.count("DescribeConfigs"); n != 1 {
			s.Errorf("it took %d requests", n)
		}
	},
}

// alter changes one resource, which must succeed.
func (s *suite) alter(c kafka.ConfigChange) {
	s.Helper()
	errs, err := s.admin.AlterConfigs(s.Context(), []kafka.ConfigChange{c}, false)
	s.must(err)
	s.must(errs[c.Resource])
}

// entry waits until a topic's key has a value from a source.
func (s *suite) entry(topic, key, value string, source kafka.ConfigSource) {
	s.Helper()
	resource := kafka.TopicResource(topic)
	s.eventually(func() error {
		configs, err := s.admin.DescribeConfigs(s.Context(), []kafka.ConfigResource{resource}, []string{key})
		if err != nil {
			return err
		}
		if err := configs[resource].Err; err != nil {
			return err
		}
		if e := configs[resource].Entries[key]; e.Value != value || e.Source != source || e.ReadOnly || e.Sensitive {
			return fmt.Errorf("%s of %s is %+v, not %s from %d", key, topic, e, value, source)
		}
		return nil
	})
}

var partitionCases = map[string]func(*suite){
	"more, and never fewer": func(s *suite) {
		grow, same, fewer, missing := s.topic("grow"), s.topic("same"), s.topic("fewer"), s.topic("missing")
		s.create(2, grow, same, fewer)
		errs, err := s.admin.CreatePartitions(s.Context(), []kafka.PartitionIncrease{{Topic: fewer, Total: 1}, {Topic: missing, Total: 3},
			{Topic: grow, Total: 5}, {Topic: same, Total: 2}}, false)
		s.must(err)
		s.must(errs[grow])
		s.refused(same, errs[same], kafka.ClassInvalid, "InvalidPartitionsException")
		s.refused(fewer, errs[fewer], kafka.ClassInvalid, "InvalidPartitionsException")
		s.refused(missing, errs[missing], kafka.ClassNotFound, "UnknownTopicOrPartitionException")
		if len(errs) != 4 || s.count("CreatePartitions") != 1 {
			s.Errorf("got %v in %d requests", errs, s.count("CreatePartitions"))
		}
		s.partitions(grow, 5)
		s.partitions(fewer, 2)
	},
	"validateOnly adds nothing": func(s *suite) {
		name, fewer := s.topic("validated"), s.topic("fewer")
		s.create(2, name, fewer)
		errs, err := s.admin.CreatePartitions(s.Context(), []kafka.PartitionIncrease{{Topic: name, Total: 4}, {Topic: fewer, Total: 1}}, true)
		s.must(err)
		s.must(errs[name])
		s.refused(fewer, errs[fewer], kafka.ClassInvalid, "InvalidPartitionsException")
		s.partitions(name, 2)
	},
	"contradictory wishes": func(s *suite) {
		name := s.topic("torn")
		s.create(1, name)
		errs, err := s.admin.CreatePartitions(s.Context(), []kafka.PartitionIncrease{{Topic: name, Total: 2}, {Topic: name, Total: 3}}, false)
		s.must(err)
		s.refused(name, errs[name], kafka.ClassInvalid, "InvalidRequestException")
		s.partitions(name, 1)
	},
}

// partitions waits until a topic has this many partitions.
func (s *suite) partitions(name string, n int) {
	s.Helper()
	s.eventually(func() error {
		topic, err := s.one(name)
		if err != nil {
			return err
		}
		if len(topic.Partitions) != n {
			return fmt.Errorf("%s has %d partitions, not %d", name, len(topic.Partitions), n)
		}
		return nil
	})
}

var contextCases = map[string]func(*suite){
	"a cancelled call returns at once": func(s *suite) {
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		for call, f := range everyCall(s.admin, s.topic("cancelled")) {
			start := time.Now()
			err := f(ctx)
			if !errors.Is(err, context.Canceled) || kafka.ClassOf(err) != kafka.ClassRetriable {
				s.Errorf("%s: got %v", call, err)
			}
			if took := time.Since(start); took > shortly {
				s.Errorf("%s took %s", call, took)
			}
		}
		if _, err := s.one(s.topic("cancelled")); !kafka.IsNotFound(err) {
			s.Errorf("a call that was cancelled before it began was carried out: %v", err)
		}
	},
	"a call whose time is over returns at once": func(s *suite) {
		ctx, cancel := context.WithDeadline(s.Context(), time.Now().Add(-time.Second))
		defer cancel()
		for call, f := range everyCall(s.admin, s.topic("late")) {
			if err := f(ctx); !errors.Is(err, context.DeadlineExceeded) || kafka.ClassOf(err) != kafka.ClassRetriable {
				s.Errorf("%s: got %v", call, err)
			}
		}
	},
}

var authorizationCases = map[string]func(*suite){
	"whoever may do nothing is told so": func(s *suite) {
		if s.target.Restricted == nil {
			s.Skip("the target authorizes nobody")
		}
		name := s.topic("secret")
		id := s.create(1, name)[name]
		nobody, resource := s.target.Restricted(s), kafka.TopicResource(name)
		described, err := nobody.DescribeTopics(s.Context(), []string{name})
		s.must(err)
		s.forbidden("describe", described[name].Err)
		topics, err := nobody.ListTopics(s.Context())
		s.must(err)
		if len(topics) != 0 {
			s.Errorf("topics are shown: %v", topics)
		}
		configs, err := nobody.DescribeConfigs(s.Context(), []kafka.ConfigResource{resource}, nil)
		s.must(err)
		s.forbidden("describe configs", configs[resource].Err)
		created, err := nobody.CreateTopics(s.Context(), []kafka.NewTopic{{Name: s.topic("mine"), Partitions: 1, ReplicationFactor: 1}}, false)
		s.must(err)
		s.forbidden("create", created[s.topic("mine")].Err)
		altered, err := nobody.AlterConfigs(s.Context(), []kafka.ConfigChange{{Resource: resource,
			Set: map[string]string{"retention.ms": "1"}}}, false)
		s.must(err)
		s.forbidden("alter", altered[resource])
		increased, err := nobody.CreatePartitions(s.Context(), []kafka.PartitionIncrease{{Topic: name, Total: 9}}, false)
		s.must(err)
		s.forbidden("add partitions", increased[name])
		deleted, err := nobody.DeleteTopics(s.Context(), []kafka.TopicID{id})
		s.must(err)
		s.forbidden("delete", deleted[id])

		topic, err := s.one(name)
		s.must(err)
		if topic.ID != id || len(topic.Partitions) != 1 {
			s.Errorf("the topic changed: %+v", topic)
		}
		s.entry(name, "retention.ms", "604800000", kafka.SourceDefault)
	},
	"whoever may do nothing may ask, change and unregister no node, elect no leader and move no feature": func(s *suite) {
		if s.target.Restricted == nil {
			s.Skip("the target authorizes nobody")
		}
		nobody, p := s.target.Restricted(s), kafka.TopicPartition{Topic: s.topic("led")}
		s.create(1, p.Topic)
		refused := func(what string, err error) {
			s.Helper()
			s.refused(what, err, kafka.ClassForbidden, "ClusterAuthorizationException")
		}
		nodes, err := nobody.DescribeNodeConfigs(s.Context(), []int32{0}, nil)
		s.must(err)
		refused("ask", nodes[0].Err)
		for _, r := range []kafka.ConfigResource{kafka.BrokerResource(0), kafka.ClusterResource()} {
			changed, err := nobody.AlterConfigs(s.Context(), []kafka.ConfigChange{{Resource: r,
				Set: map[string]string{"max.connections": "9"}}}, false)
			s.must(err)
			refused("change", changed[r])
		}
		elected, err := nobody.ElectPreferredLeaders(s.Context(), []kafka.TopicPartition{p})
		s.must(err)
		refused("elect", elected[p])
		refused("update features", nobody.UpdateFeatures(s.Context(),
			map[string]kafka.FeatureUpdate{movable: {Level: 1, Downgrade: true}}, false))
		refused("unregister", nobody.UnregisterBroker(s.Context(), 4711))
		if features := s.features(); features.Finalized[movable] != movableLevel {
			s.Errorf("it was changed: %+v", features)
		}
		nodes, err = s.admin.DescribeNodeConfigs(s.Context(), []int32{0}, []string{"max.connections"})
		s.must(err)
		s.must(nodes[0].Err)
		if e := nodes[0].Entries["max.connections"]; e.Source != kafka.SourceDefault {
			s.Errorf("it was changed: %+v", e)
		}
	},
}

func (s *suite) forbidden(what string, err error) {
	s.Helper()
	s.refused(what, err, kafka.ClassForbidden, "TopicAuthorizationException")
}

// everyCall returns Calls, and a call that only broker 0 can answer.
func everyCall(a kafka.Admin, topic string) map[string]func(context.Context) error {
	calls := Calls(a, topic)
	calls["DescribeNodeConfigs"] = func(ctx context.Context) error {
		r, err := a.DescribeNodeConfigs(ctx, []int32{0}, []string{kafka.KeyNodeID})
		return errors.Join(err, r[0].Err)
	}
	return calls
}

// Calls returns one call of each method of the port that every broker can answer, for one topic. A call returns the method's error or, if
// that is nil, the error of an item.
func Calls(a kafka.Admin, topic string) map[string]func(context.Context) error {
	resource := kafka.TopicResource(topic)
	id := kafka.TopicID{1}
	return map[string]func(context.Context) error{
		"DescribeCluster": func(ctx context.Context) error { _, err := a.DescribeCluster(ctx); return err },
		"DescribeTopics": func(ctx context.Context) error {
			r, err := a.DescribeTopics(ctx, []string{topic})
			return errors.Join(err, r[topic].Err)
		},
		"ListTopics": func(ctx context.Context) error { _, err := a.ListTopics(ctx); return err },
		"DescribeConfigs": func(ctx context.Context) error {
			r, err := a.DescribeConfigs(ctx, []kafka.ConfigResource{resource}, nil)
			return errors.Join(err, r[resource].Err)
		},
		"CreateTopics": func(ctx context.Context) error {
			r, err := a.CreateTopics(ctx, []kafka.NewTopic{{Name: topic, Partitions: 1, ReplicationFactor: 1}}, false)
			return errors.Join(err, r[topic].Err)
		},
		"DeleteTopics": func(ctx context.Context) error {
			r, err := a.DeleteTopics(ctx, []kafka.TopicID{id})
			return errors.Join(err, r[id])
		},
		"CreatePartitions": func(ctx context.Context) error {
			r, err := a.CreatePartitions(ctx, []kafka.PartitionIncrease{{Topic: topic, Total: 3}}, false)
			return errors.Join(err, r[topic])
		},
		"AlterConfigs": func(ctx context.Context) error {
			r, err := a.AlterConfigs(ctx, []kafka.ConfigChange{{Resource: resource, Set: map[string]string{"retention.ms": "1"}}}, false)
			return errors.Join(err, r[resource])
		},
		"ElectPreferredLeaders": func(ctx context.Context) error {
			p := kafka.TopicPartition{Topic: topic}
			r, err := a.ElectPreferredLeaders(ctx, []kafka.TopicPartition{p})
			return errors.Join(err, r[p])
		},
		"ListReassignments": func(ctx context.Context) error { _, err := a.ListReassignments(ctx, nil); return err },
		"DescribeQuorum":    func(ctx context.Context) error { _, err := a.DescribeQuorum(ctx); return err },
		"DescribeFeatures":  func(ctx context.Context) error { _, err := a.DescribeFeatures(ctx); return err },
		"UpdateFeatures": func(ctx context.Context) error {
			return a.UpdateFeatures(ctx, map[string]kafka.FeatureUpdate{movable: {Level: movableLevel}}, false)
		},
		"UnregisterBroker": func(ctx context.Context) error {
			if err := a.UnregisterBroker(ctx, 4711); !kafka.IsNotFound(err) {
				return err
			}
			return nil // not found is the expected answer: there never was such a broker
		},
	}
}
