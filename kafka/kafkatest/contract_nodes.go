package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// NodeTarget is an implementation of the port's methods for single nodes, with a cluster behind it, for the contract tests. No other client
// may use the cluster.
type NodeTarget struct {
	// Admin returns a client of the brokers with all rights and this timeout for a single node. The client is closed at the end of the
	// test.
	Admin func(t testing.TB, nodeTimeout time.Duration) kafka.Admin
	// Controllers returns the same for the controllers; nil if the target's controllers can't be asked.
	Controllers func(t testing.TB, nodeTimeout time.Duration) kafka.Controllers
	// ClusterID is the cluster's id.
	ClusterID string
	// Brokers and ControllerIDs are the ids of the nodes, at least two brokers, and three controllers if they can be asked. No node is
	// both.
	Brokers, ControllerIDs []int32
	// Stop stops a node, and Start starts it again. They are nil if the target does not support that.
	Stop, Start func(t testing.TB, id int32)
	// Hang makes a node accept connections without responding until resume. It is nil if the target does not support that.
	Hang func(t testing.TB, id int32) (resume func())
	// Prefer makes the brokers the replicas of a topic's partition 0, the first of them the preferred leader, and keeps the present leader.
	// It is nil if the target does not support that.
	Prefer func(t testing.TB, topic string, replicas []int32)
}

// nodePatience is the timeout for a single node in the contract.
const nodePatience = 2 * time.Second

// RunNodeContract checks that a target keeps the promises of the port about single nodes, controllers and leaders (nodes.go).
func RunNodeContract(t *testing.T, target NodeTarget) {
	groups := map[string]map[string]func(*nodeSuite){
		"Read": nodeReadCases, "Change": nodeChangeCases, "Elect": electionCases, "Controllers": controllerCases, "Away": awayCases,
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		t.Run(group, func(t *testing.T) {
			for _, name := range slices.Sorted(maps.Keys(groups[group])) {
				if lacks := target.lacks(group, name); lacks != "" {
					t.Logf("%s: not asked of a target that %s", name, lacks)
					continue
				}
				t.Run(name, func(t *testing.T) {
					s := &nodeSuite{suite: &suite{T: t}, target: target, admin: target.Admin(t, nodePatience)}
					groups[group][name](s)
				})
			}
		})
	}
}

// lacks describes what a case needs and the target does not support; empty if nothing is missing. Such a case is left out instead of being
// skipped, because real Kafka supports all of them.
func (target NodeTarget) lacks(group, name string) string {
	needs := nodeNeeds[name]
	switch {
	case (group == "Controllers" || needs.controllers) && target.Controllers == nil:
		return "has no controllers that can be asked"
	case needs.stop && target.Stop == nil:
		return "can't stop nodes"
	case needs.hang && target.Hang == nil:
		return "can't make nodes hang"
	case needs.prefer && target.Prefer == nil:
		return "can't move replicas"
	}
	return ""
}

// nodeNeeds are what cases need of a target beyond its brokers.
var nodeNeeds = map[string]struct{ controllers, stop, hang, prefer bool }{
	"a broker that hangs holds up no other":                                      {hang: true},
	"a broker that is away is fenced, and the only one that fails":               {stop: true},
	"a broker that left is unregistered, and registers again when it comes back": {stop: true},
	"a controller that hangs does not end the search for the leader":             {controllers: true, hang: true},
	"controllers that run and have no leader say so":                             {controllers: true, stop: true},
	"controllers that start and find no leader say so":                           {controllers: true, stop: true},
	"the leader of the quorum is away":                                           {controllers: true, stop: true},
	"the preferred replica takes over":                                           {prefer: true},
}

// nodeSuite is one case's access to the nodes.
type nodeSuite struct {
	*suite
	target NodeTarget
	admin  kafka.Admin
}

// controllers returns a client of the controllers.
func (s *nodeSuite) controllers() kafka.Controllers {
	s.Helper()
	return s.target.Controllers(s.T, nodePatience)
}

var nodeReadCases = map[string]func(*nodeSuite){
	"each broker tells of itself": func(s *nodeSuite) { s.tellOfThemselves(s.admin, s.target.Brokers) },
	"synonyms are there for nodes only": func(s *nodeSuite) {
		id := s.target.Brokers[0]
		e := s.node(s.admin, id, "num.network.threads")
		if len(e.Synonyms) == 0 || e.Synonyms[0].Value != e.Value || e.Synonyms[0].Source != e.Source ||
			e.Synonyms[0].Key != "num.network.threads" ||
			e.Synonyms[len(e.Synonyms)-1].Source != kafka.SourceDefault {
			s.Errorf("got %+v", e)
		}
		resource := kafka.BrokerResource(id)
		configs, err := s.admin.DescribeConfigs(s.Context(), []kafka.ConfigResource{resource}, []string{"num.network.threads"})
		s.must(err)
		s.must(configs[resource].Err)
		if plain := configs[resource].Entries["num.network.threads"]; plain.Synonyms != nil || plain.Value != e.Value {
			s.Errorf("got %+v", plain)
		}
	},
	"all keys, or the named ones": func(s *nodeSuite) {
		id := s.target.Brokers[0]
		all, err := s.admin.DescribeNodeConfigs(s.Context(), []int32{id}, nil)
		s.must(err)
		s.must(all[id].Err)
		some, err := s.admin.DescribeNodeConfigs(s.Context(), []int32{id, id}, []string{kafka.KeyNodeID, "num.io.threads"})
		s.must(err)
		if len(all[id].Entries) < 10 || len(some) != 1 || len(some[id].Entries) != 2 {
			s.Errorf("%d keys, and %+v", len(all[id].Entries), some)
		}
	},
	"the topics as each broker knows them": func(s *nodeSuite) {
		const name = "known-to-all"
		s.topic(name, s.target.Brokers[0])
		for _, id := range s.target.Brokers {
			s.eventually(func() error {
				topics, err := s.admin.ListTopicsOf(s.Context(), id)
				if err == nil && !slices.ContainsFunc(topics, func(t kafka.Topic) bool { return t.Name == name && len(t.Partitions) == 1 }) {
					err = fmt.Errorf("broker %d knows %d topics, and not %s", id, len(topics), name)
				}
				return err
			})
		}
		_, err := s.admin.ListTopicsOf(s.Context(), 4711)
		if kafka.ClassOf(err) != kafka.ClassRetriable {
			s.Errorf("of a broker that nobody knows: %v", err)
		}
	},
	"the topics of which each broker has replicas": func(s *nodeSuite) {
		const name = "on-one-broker"
		id := s.target.Brokers[0]
		s.topic(name, id)
		s.eventually(func() error {
			topics, err := s.admin.TopicsOn(s.Context(), id)
			if err == nil && !slices.Contains(topics, name) {
				err = fmt.Errorf("broker %d has replicas of %v, and not of %s", id, topics, name)
			}
			return err
		})
		_, err := s.admin.TopicsOn(s.Context(), 4711)
		if kafka.ClassOf(err) != kafka.ClassRetriable {
			s.Errorf("of a broker that nobody knows: %v", err)
		}
	},
	"the log directories of each broker": func(s *nodeSuite) {
		id := s.target.Brokers[0]
		s.topic("in-a-directory", id)
		s.eventually(func() error {
			dirs, err := s.admin.DescribeLogDirs(s.Context(), id)
			s.must(err)
			held := 0
			for _, dir := range dirs {
				if held += dir.Replicas; dir.Path == "" || dir.Failed || dir.Cordoned {
					s.Errorf("got %+v", dir)
				}
			}
			if held == 0 {
				return fmt.Errorf("broker %d holds a replica, and reports %+v", id, dirs)
			}
			return nil
		})
		_, err := s.admin.DescribeLogDirs(s.Context(), 4711)
		if kafka.ClassOf(err) != kafka.ClassRetriable {
			s.Errorf("of a broker that nobody knows: %v", err)
		}
	},
	"the quorum tells how far each node has come": func(s *nodeSuite) {
		s.eventually(func() error {
			q := s.quorum(s.admin)
			told := caughtUp(q)
			for _, id := range s.target.Brokers {
				if lag := told[q.Leader] - told[id]; told[id] <= 0 || lag > 10_000 {
					return fmt.Errorf("broker %d was caught up %d ms before the leader %d answered: %v", id, lag, q.Leader, told)
				}
			}
			return nil
		})
	},
	"no node asks nobody": func(s *nodeSuite) {
		s.must(s.admin.Pin(elsewhere))
		none, err := s.admin.DescribeNodeConfigs(s.Context(), nil, nil)
		s.must(err)
		elected, err := s.admin.ElectPreferredLeaders(s.Context(), nil)
		s.must(err)
		if none == nil || elected == nil || len(none)+len(elected) != 0 {
			s.Error("an answer to nothing")
		}
	},
	"a node that nobody knows harms no other": func(s *nodeSuite) {
		const stranger = 4711
		id := s.target.Brokers[0]
		nodes, err := s.admin.DescribeNodeConfigs(s.Context(), []int32{stranger, id}, []string{kafka.KeyNodeID})
		s.must(err)
		s.must(nodes[id].Err)
		if got := nodes[stranger].Err; kafka.ClassOf(got) != kafka.ClassRetriable {
			s.Errorf("got %v", got)
		}
		if _, ok := nodes[stranger]; !ok || len(nodes) != 2 {
			s.Errorf("got %v", nodes)
		}
	},
}

// caughtUp returns when each node was last caught up, by the leader's clock.
func caughtUp(q kafka.Quorum) map[int32]int64 {
	told := map[int32]int64{}
	for _, r := range slices.Concat(q.Voters, q.Observers) {
		told[r.ID] = r.LastCaughtUp
	}
	return told
}

// tellOfThemselves checks that each node answers for itself.
func (s *nodeSuite) tellOfThemselves(reader kafka.NodeConfigReader, ids []int32) {
	s.Helper()
	nodes, err := reader.DescribeNodeConfigs(s.Context(), ids, []string{kafka.KeyNodeID})
	s.must(err)
	for _, id := range ids {
		s.must(nodes[id].Err)
		e := nodes[id].Entries[kafka.KeyNodeID]
		if e.Value != fmt.Sprint(id) || e.Source != kafka.SourceStaticBroker || !e.ReadOnly || e.Sensitive {
			s.Errorf("node %d answers %+v", id, e)
		}
	}
	if len(nodes) != len(ids) {
		s.Errorf("%d answers of %d nodes", len(nodes), len(ids))
	}
}

// node returns a key of one node, which must answer.
func (s *nodeSuite) node(reader kafka.NodeConfigReader, id int32, key string) kafka.ConfigEntry {
	s.Helper()
	nodes, err := reader.DescribeNodeConfigs(s.Context(), []int32{id}, []string{key})
	s.must(err)
	s.must(nodes[id].Err)
	return nodes[id].Entries[key]
}

// becomes waits until a node runs with a value from a source.
func (s *nodeSuite) becomes(reader kafka.NodeConfigReader, id int32, key, value string, source kafka.ConfigSource) {
	s.Helper()
	s.eventually(func() error {
		if e := s.node(reader, id, key); e.Value != value || e.Source != source {
			return fmt.Errorf("%s of node %d is %+v, not %s from %d", key, id, e, value, source)
		}
		return nil
	})
}

// changes changes one resource, and returns the resource's error.
func (s *nodeSuite) changes(w kafka.ConfigWriter, c kafka.ConfigChange, validateOnly bool) error {
	s.Helper()
	errs, err := w.AlterConfigs(s.Context(), []kafka.ConfigChange{c}, validateOnly)
	s.must(err)
	result, ok := errs[c.Resource]
	if !ok {
		s.Errorf("no answer about %+v", c.Resource)
	}
	return result
}

func set(r kafka.ConfigResource, key, value string) kafka.ConfigChange {
	return kafka.ConfigChange{Resource: r, Set: map[string]string{key: value}}
}

var nodeChangeCases = map[string]func(*nodeSuite){
	"one broker, all of them, and back": func(s *nodeSuite) {
		const key = "message.max.bytes"
		one, other := s.target.Brokers[0], s.target.Brokers[1]
		s.must(s.changes(s.admin, set(kafka.BrokerResource(one), key, "2000000"), false))
		s.becomes(s.admin, one, key, "2000000", kafka.SourceDynamicBroker)
		if e := s.node(s.admin, other, key); e.Source == kafka.SourceDynamicBroker {
			s.Errorf("the other broker has it too: %+v", e)
		}
		s.must(s.changes(s.admin, set(kafka.ClusterResource(), key, "3000000"), false))
		s.becomes(s.admin, other, key, "3000000", kafka.SourceDynamicBrokerDefault)
		s.becomes(s.admin, one, key, "2000000", kafka.SourceDynamicBroker)
		s.must(s.changes(s.admin, kafka.ConfigChange{Resource: kafka.BrokerResource(one), Delete: []string{key}}, false))
		s.becomes(s.admin, one, key, "3000000", kafka.SourceDynamicBrokerDefault)
		defaults, err := s.admin.DescribeConfigs(s.Context(), []kafka.ConfigResource{kafka.ClusterResource()}, []string{key})
		s.must(err)
		if e := defaults[kafka.ClusterResource()].Entries[key]; e.Value != "3000000" || e.Source != kafka.SourceDynamicBrokerDefault {
			s.Errorf("got %+v", defaults)
		}
		s.must(s.changes(s.admin, kafka.ConfigChange{Resource: kafka.ClusterResource(), Delete: []string{key}}, false))
		s.becomes(s.admin, one, key, "1048588", kafka.SourceDefault)
	},
	"validateOnly changes nothing": func(s *nodeSuite) {
		for _, r := range []kafka.ConfigResource{kafka.BrokerResource(s.target.Brokers[0]), kafka.ClusterResource()} {
			s.must(s.changes(s.admin, set(r, "message.max.bytes", "4000000"), true))
		}
		if e := s.node(s.admin, s.target.Brokers[0], "message.max.bytes"); e.Source == kafka.SourceDynamicBroker ||
			e.Source == kafka.SourceDynamicBrokerDefault {
			s.Errorf("got %+v", e)
		}
	},
	"what a broker refuses": func(s *nodeSuite) {
		for _, r := range []kafka.ConfigResource{kafka.BrokerResource(s.target.Brokers[1]), kafka.ClusterResource()} {
			for _, kv := range [][2]string{{"log.cleaner.threads", "many"}, {"min.insync.replicas", "0"}, {"log.dirs", "/elsewhere"},
				{kafka.KeyNodeID, "9"}} {
				for _, validateOnly := range []bool{true, false} {
					s.refused(kv[0], s.changes(s.admin, set(r, kv[0], kv[1]), validateOnly), kafka.ClassInvalid, "InvalidRequestException")
				}
			}
		}
		s.refused("for all", s.changes(s.admin, set(kafka.ClusterResource(), "listeners", "PLAINTEXT://:1"), true), kafka.ClassInvalid,
			"InvalidRequestException")
	},
	"a change of a node that nobody knows harms no other": func(s *nodeSuite) {
		stranger, known := kafka.BrokerResource(4711), kafka.BrokerResource(s.target.Brokers[0])
		errs, err := s.admin.AlterConfigs(s.Context(), []kafka.ConfigChange{set(stranger, "num.io.threads", "5"),
			set(known, "num.io.threads", "5")}, true)
		s.must(err)
		s.must(errs[known])
		if kafka.ClassOf(errs[stranger]) != kafka.ClassRetriable || errs[stranger] == nil {
			s.Errorf("got %v", errs[stranger])
		}
	},
}

var electionCases = map[string]func(*nodeSuite){
	"the preferred replica takes over": func(s *nodeSuite) {
		one, other := s.target.Brokers[0], s.target.Brokers[1]
		s.topic("moved", one, other)
		s.target.Prefer(s.T, "moved", []int32{other, one})
		s.led("moved", one)
		p := kafka.TopicPartition{Topic: "moved"}
		for range 2 { // the second election is not needed
			s.must(s.elect(p)[p])
		}
		s.led("moved", other)
	},
	"who leads is followed": func(s *nodeSuite) {
		one, other := s.target.Brokers[0], s.target.Brokers[1]
		s.topic("followed", one, other)
		described, err := s.admin.DescribeTopics(s.Context(), []string{"followed"})
		s.must(err)
		// If the target can't move replicas, any broker may lead, even a third one.
		leader, follower := described["followed"].Topic.Partitions[0].Leader, other
		if leader == other {
			follower = one
		}
		p, missing := kafka.TopicPartition{Topic: "followed"}, kafka.TopicPartition{Topic: "missing"}
		s.eventually(func() error {
			checked, err := s.admin.CheckLeader(s.Context(), leader, []kafka.TopicPartition{p})
			return errors.Join(err, checked[p])
		})
		// A follower that has not heard of the topic yet can't tell who leads it.
		var checked map[kafka.TopicPartition]error
		s.eventually(func() (err error) {
			checked, err = s.admin.CheckLeader(s.Context(), follower, []kafka.TopicPartition{p, missing})
			if err == nil && kafka.ClassOf(checked[p]) == kafka.ClassNotFound {
				return checked[p]
			}
			return err
		})
		s.refused("follower", checked[p], kafka.ClassRetriable, "NotLeaderOrFollowerException")
		s.refused("topic", checked[missing], kafka.ClassNotFound, "UnknownTopicOrPartitionException")
		if _, err := s.admin.CheckLeader(s.Context(), 4711, []kafka.TopicPartition{p}); kafka.ClassOf(err) != kafka.ClassRetriable {
			s.Errorf("of a broker that nobody knows: %v", err)
		}
	},
	"what cannot be elected harms no other": func(s *nodeSuite) {
		s.topic("still", s.target.Brokers[0], s.target.Brokers[1])
		good, beyond, missing := kafka.TopicPartition{Topic: "still"}, kafka.TopicPartition{Topic: "still", Partition: 7},
			kafka.TopicPartition{Topic: "missing"}
		errs := s.elect(missing, good, beyond, good)
		s.must(errs[good])
		s.refused("topic", errs[missing], kafka.ClassNotFound, "UnknownTopicOrPartitionException")
		s.refused("partition", errs[beyond], kafka.ClassNotFound, "UnknownTopicOrPartitionException")
		if len(errs) != 3 {
			s.Errorf("got %v", errs)
		}
	},
}

// topic creates a topic of one partition on these brokers, and waits for its leader.
func (s *nodeSuite) topic(name string, replicas ...int32) {
	s.Helper()
	placed := kafka.NewTopic{Name: name, Partitions: -1, ReplicationFactor: -1, Assignments: map[int32][]int32{0: replicas}}
	results, err := s.admin.CreateTopics(s.Context(), []kafka.NewTopic{placed}, false)
	s.must(err)
	s.must(results[name].Err)
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), patience)
		defer cancel()
		if deleted, err := s.admin.DeleteTopics(ctx, []kafka.TopicID{results[name].ID}); err != nil || deleted[results[name].ID] != nil {
			s.Errorf("cleaning up: %v, %v", err, deleted)
		}
	})
	s.eventually(func() error {
		described, err := s.admin.DescribeTopics(s.Context(), []string{name})
		if err == nil {
			err = described[name].Err
		}
		if err == nil && (len(described[name].Topic.Partitions[0].ISR) < len(replicas) || described[name].Topic.Partitions[0].Leader < 0) {
			err = fmt.Errorf("got %+v", described[name].Topic)
		}
		return err
	})
}

// elect elects the preferred leaders.
func (s *nodeSuite) elect(partitions ...kafka.TopicPartition) map[kafka.TopicPartition]error {
	s.Helper()
	errs, err := s.admin.ElectPreferredLeaders(s.Context(), partitions)
	s.must(err)
	return errs
}

// led waits until a broker leads the topic's partition.
func (s *nodeSuite) led(topic string, leader int32) {
	s.Helper()
	s.eventually(func() error {
		described, err := s.admin.DescribeTopics(s.Context(), []string{topic})
		if err != nil {
			return err
		}
		if t := described[topic]; t.Err != nil || t.Topic.Partitions[0].Leader != leader {
			return errors.Join(t.Err, fmt.Errorf("%d leads %s", t.Topic.Partitions[0].Leader, topic))
		}
		return nil
	})
}
