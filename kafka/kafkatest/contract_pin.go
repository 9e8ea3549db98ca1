package kafkatest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// elsewhere is the id of a cluster that is no target's.
const elsewhere = "someOtherKafkaCluster0"

var pinCases = map[string]func(*suite){
	"bound to its own cluster it does everything": func(s *suite) {
		s.must(s.admin.Pin(s.target.ClusterID))
		name := s.topic("bound")
		id := s.create(1, name)[name]
		for _, method := range slices.Sorted(maps.Keys(everyCall(s.admin, name))) {
			if method == "CreateTopics" || method == "DeleteTopics" {
				continue // called before and after the loop
			}
			if err := everyCall(s.admin, name)[method](s.Context()); err != nil {
				s.Errorf("%s: %v", method, err)
			}
		}
		deleted, err := s.admin.DeleteTopics(s.Context(), []kafka.TopicID{id})
		s.must(err)
		s.must(deleted[id])
		s.gone(name)
	},
	"bound to another cluster it asks and changes nothing": func(s *suite) {
		name := s.topic("safe")
		id := s.create(1, name)[name]
		stranger := s.target.Admin(s, nil)
		s.must(stranger.Pin(elsewhere))
		s.lost(stranger, name, id)
		s.untouched(name, id)
	},
	"bound after it was used": func(s *suite) {
		name := s.topic("late")
		id := s.create(1, name)[name]
		stranger := s.target.Admin(s, nil)
		_, err := stranger.ListTopics(s.Context())
		s.must(err)
		s.must(stranger.Pin(elsewhere))
		s.lost(stranger, name, id)
		s.untouched(name, id)
	},
	"bound once and for all": func(s *suite) {
		s.refused("no id", s.admin.Pin(""), kafka.ClassInvalid, "InvalidRequestException")
		s.must(s.admin.Pin(s.target.ClusterID))
		s.must(s.admin.Pin(s.target.ClusterID))
		s.refused("another id", s.admin.Pin(elsewhere), kafka.ClassInvalid, "InvalidRequestException")
		s.refused("no id", s.admin.Pin(""), kafka.ClassInvalid, "InvalidRequestException")
		s.create(1, s.topic("still"))
	},
	"an empty batch asks nobody": func(s *suite) {
		stranger := s.target.Admin(s, func(request string, _ time.Duration, _ error) { s.Errorf("%s was sent", request) })
		s.must(stranger.Pin(elsewhere))
		described, err := stranger.DescribeTopics(s.Context(), nil)
		s.must(err)
		created, err := stranger.CreateTopics(s.Context(), nil, false)
		s.must(err)
		if len(described)+len(created) != 0 {
			s.Error("an answer to nothing")
		}
	},
	"a call that is over is over": func(s *suite) {
		stranger := s.target.Admin(s, nil)
		s.must(stranger.Pin(elsewhere))
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		for method, call := range everyCall(stranger, s.topic("over")) {
			if err := call(ctx); kafka.ClassOf(err) != kafka.ClassRetriable {
				s.Errorf("%s: got %v of class %d", method, err, kafka.ClassOf(err))
			}
		}
	},
	"whoever may do nothing can be bound": func(s *suite) {
		if s.target.Restricted == nil {
			s.Skip("the target authorizes nobody")
		}
		name := s.topic("hidden")
		s.create(1, name)
		nobody := s.target.Restricted(s)
		s.must(nobody.Pin(s.target.ClusterID))
		described, err := nobody.DescribeTopics(s.Context(), []string{name})
		s.must(err)
		s.forbidden("describe", described[name].Err)
	},
}

// lost checks that each method of a client that is bound to another cluster fails for that reason, and that DescribeCluster returns the id
// of the cluster that responds.
func (s *suite) lost(stranger kafka.Admin, name string, id kafka.TopicID) {
	s.Helper()
	cluster, err := stranger.DescribeCluster(s.Context())
	s.must(err)
	if cluster.ID != s.target.ClusterID {
		s.Errorf("DescribeCluster tells of %s, not of %s", cluster.ID, s.target.ClusterID)
	}
	message := ""
	for range 2 {
		calls := refusals(stranger, name, id)
		for _, method := range slices.Sorted(maps.Keys(calls)) {
			items, err := calls[method](s.Context())
			s.refused(method, err, kafka.ClassWrongCluster, "InconsistentClusterIdException")
			if items != 0 {
				s.Errorf("%s: an answer in spite of the error", method)
			}
			if answering, ok := kafka.WrongCluster(err); !ok || answering != s.target.ClusterID {
				s.Errorf("%s: %q answered, want %q", method, answering, s.target.ClusterID)
			}
			if err == nil {
				continue
			}
			for _, want := range []string{s.target.ClusterID, elsewhere, "bootstrap"} {
				if !strings.Contains(err.Error(), want) {
					s.Errorf("%s: the message does not name %q: %v", method, want, err)
				}
			}
			if message != "" && err.Error() != message {
				s.Errorf("%s: the message changes from %q to %q", method, message, err)
			}
			message = err.Error()
		}
	}
}

// refusals are calls of all methods but DescribeCluster, each of which would change or show something. They return the number of items with
// an answer.
func refusals(a kafka.Admin, name string, id kafka.TopicID) map[string]func(context.Context) (int, error) {
	resource := kafka.TopicResource(name)
	create := func(validateOnly bool) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			r, err := a.CreateTopics(ctx, []kafka.NewTopic{{Name: name + "-new", Partitions: 1, ReplicationFactor: 1}}, validateOnly)
			return len(r), err
		}
	}
	return map[string]func(context.Context) (int, error){
		"CreateTopics":           create(false),
		"CreateTopics, validate": create(true),
		"DescribeTopics": func(ctx context.Context) (int, error) {
			r, err := a.DescribeTopics(ctx, []string{name})
			return len(r), err
		},
		"ListTopics": func(ctx context.Context) (int, error) {
			r, err := a.ListTopics(ctx)
			return len(r), err
		},
		"ListTopicsOf": func(ctx context.Context) (int, error) {
			r, err := a.ListTopicsOf(ctx, 0)
			return len(r), err
		},
		"TopicsOn": func(ctx context.Context) (int, error) {
			r, err := a.TopicsOn(ctx, 0)
			return len(r), err
		},
		"DescribeLogDirs": func(ctx context.Context) (int, error) {
			r, err := a.DescribeLogDirs(ctx, 0)
			return len(r), err
		},
		"DescribeConfigs": func(ctx context.Context) (int, error) {
			r, err := a.DescribeConfigs(ctx, []kafka.ConfigResource{resource}, nil)
			return len(r), err
		},
		"DescribeConfigs, broker": func(ctx context.Context) (int, error) {
			r, err := a.DescribeConfigs(ctx, []kafka.ConfigResource{kafka.BrokerResource(0)}, nil)
			return len(r), err
		},
		"DeleteTopics": func(ctx context.Context) (int, error) {
			r, err := a.DeleteTopics(ctx, []kafka.TopicID{id})
			return len(r), err
		},
		"CreatePartitions": func(ctx context.Context) (int, error) {
			r, err := a.CreatePartitions(ctx, []kafka.PartitionIncrease{{Topic: name, Total: 3}}, false)
			return len(r), err
		},
		"AlterConfigs": func(ctx context.Context) (int, error) {
			r, err := a.AlterConfigs(ctx, []kafka.ConfigChange{{Resource: resource, Set: map[string]string{"retention.ms": "1"}}}, false)
			return len(r), err
		},
		"AlterConfigs, broker": func(ctx context.Context) (int, error) {
			r, err := a.AlterConfigs(ctx, []kafka.ConfigChange{{Resource: kafka.BrokerResource(0),
				Set: map[string]string{"num.io.threads": "3"}}}, false)
			return len(r), err
		},
		"DescribeNodeConfigs": func(ctx context.Context) (int, error) {
			r, err := a.DescribeNodeConfigs(ctx, []int32{0}, nil)
			return len(r), err
		},
		"ElectPreferredLeaders": func(ctx context.Context) (int, error) {
			r, err := a.ElectPreferredLeaders(ctx, []kafka.TopicPartition{{Topic: name}})
			return len(r), err
		},
		"ListReassignments": func(ctx context.Context) (int, error) {
			r, err := a.ListReassignments(ctx, nil)
			return len(r), err
		},
		"DescribeQuorum": func(ctx context.Context) (int, error) {
			r, err := a.DescribeQuorum(ctx)
			return len(r.Voters), err
		},
		"DescribeFeatures": func(ctx context.Context) (int, error) {
			r, err := a.DescribeFeatures(ctx)
			return len(r.Finalized) + len(r.Supported), err
		},
		"UpdateFeatures": func(ctx context.Context) (int, error) {
			return 0, a.UpdateFeatures(ctx, map[string]kafka.FeatureUpdate{movable: {Level: 1, Downgrade: true}}, false)
		},
		"UnregisterBroker": func(ctx context.Context) (int, error) { return 0, a.UnregisterBroker(ctx, 4711) },
	}
}

// untouched checks with an unbound client that the refused calls changed nothing.
func (s *suite) untouched(name string, id kafka.TopicID) {
	s.Helper()
	topic, err := s.one(name)
	s.must(err)
	if topic.ID != id || len(topic.Partitions) != 1 {
		s.Errorf("the topic changed: %+v", topic)
	}
	s.entry(name, "retention.ms", "604800000", kafka.SourceDefault)
	if _, err := s.one(name + "-new"); !kafka.IsNotFound(err) {
		s.Errorf("a topic was created: %v", err)
	}
}
