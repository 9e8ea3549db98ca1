package kafkatest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
)

var controllerCases = map[string]func(*nodeSuite){
	"the quorum is the same as through the brokers": func(s *nodeSuite) {
		direct := s.quorum(s.controllers())
		through := s.quorum(s.admin)
		if direct.Leader != through.Leader || direct.LeaderEpoch != through.LeaderEpoch {
			s.Errorf("%+v differs from %+v", direct, through)
		}
		for _, q := range []kafka.Quorum{direct, through} {
			if !slices.Equal(ids(q.Voters), s.target.ControllerIDs) || !slices.Equal(ids(q.Observers), s.target.Brokers) ||
				len(q.Nodes) != len(s.target.ControllerIDs) {
				s.Errorf("got %+v", q)
			}
		}
	},
	"each controller tells of itself": func(s *nodeSuite) {
		c := s.controllers()
		s.tellOfThemselves(c, s.target.ControllerIDs)
		if e := s.node(c, s.target.ControllerIDs[0], "process.roles"); e.Value != "controller" {
			s.Errorf("got %+v", e)
		}
	},
	"brokers are not among them, nor they among the brokers": func(s *nodeSuite) {
		c := s.controllers()
		for _, ask := range []struct {
			reader kafka.NodeConfigReader
			id     int32
		}{{c, s.target.Brokers[0]}, {s.admin, s.target.ControllerIDs[0]}} {
			nodes, err := ask.reader.DescribeNodeConfigs(s.Context(), []int32{ask.id}, []string{kafka.KeyNodeID})
			s.must(err)
			if got := nodes[ask.id].Err; got == nil || kafka.ClassOf(got) != kafka.ClassRetriable {
				s.Errorf("node %d: got %v", ask.id, got)
			}
		}
	},
	"they take changes of any node": func(s *nodeSuite) {
		const key = "num.network.threads"
		c := s.controllers()
		id := s.target.ControllerIDs[2]
		before := s.node(c, id, key)
		s.must(s.changes(c, set(kafka.BrokerResource(id), key, "2"), true))
		s.becomes(c, id, key, before.Value, before.Source)
		s.must(s.changes(c, set(kafka.BrokerResource(id), key, "4"), false))
		s.becomes(c, id, key, "4", kafka.SourceDynamicBroker)
		s.must(s.changes(c, kafka.ConfigChange{Resource: kafka.BrokerResource(id), Delete: []string{key}}, false))
		s.becomes(c, id, key, before.Value, before.Source)
		broker := s.target.Brokers[1]
		s.must(s.changes(c, set(kafka.BrokerResource(broker), "max.connections", "4000"), false))
		s.becomes(s.admin, broker, "max.connections", "4000", kafka.SourceDynamicBroker)
		s.must(s.changes(c, kafka.ConfigChange{Resource: kafka.BrokerResource(broker), Delete: []string{"max.connections"}}, false))
		s.must(s.changes(c, set(kafka.ClusterResource(), "max.connections", "5000"), false))
		for _, id := range s.target.ControllerIDs {
			s.becomes(c, id, "max.connections", "5000", kafka.SourceDynamicBrokerDefault)
		}
		s.must(s.changes(c, kafka.ConfigChange{Resource: kafka.ClusterResource(), Delete: []string{"max.connections"}}, false))
		s.becomes(c, id, "max.connections", "2147483647", kafka.SourceDefault)
	},
	"they check no value": func(s *nodeSuite) {
		c := s.controllers()
		id := s.target.ControllerIDs[0]
		for _, kv := range [][2]string{{"log.cleaner.threads", "many"}, {"log.dirs", "/elsewhere"}, {"no.such.key", "1"}} {
			s.must(s.changes(c, set(kafka.BrokerResource(id), kv[0], kv[1]), true))
		}
		s.refused("no such node", s.changes(c, set(kafka.BrokerResource(4711), "num.io.threads", "5"), true), kafka.ClassNotFound,
			"BrokerIdNotRegisteredException")
		// The node ignores a value that it can't parse. That shows only once the node has applied a later change.
		s.must(s.changes(c, set(kafka.BrokerResource(id), "log.cleaner.threads", "many"), false))
		s.must(s.changes(c, set(kafka.BrokerResource(id), "max.connections", "7000"), false))
		s.becomes(c, id, "max.connections", "7000", kafka.SourceDynamicBroker)
		if e := s.node(c, id, "log.cleaner.threads"); e.Value != "1" || e.Source != kafka.SourceDefault || len(e.Synonyms) != 1 {
			s.Errorf("got %+v", e)
		}
		s.must(s.changes(c, kafka.ConfigChange{Resource: kafka.BrokerResource(id),
			Delete: []string{"log.cleaner.threads", "max.connections"}}, false))
		s.becomes(c, id, "max.connections", "2147483647", kafka.SourceDefault)
	},
	"bound to its own cluster it does everything": func(s *nodeSuite) {
		c := s.controllers()
		s.must(c.Pin(s.target.ClusterID))
		s.quorum(c)
		s.tellOfThemselves(c, s.target.ControllerIDs)
		s.must(s.changes(c, set(kafka.ClusterResource(), "num.io.threads", "5"), true))
		s.refused("another id", c.Pin(elsewhere), kafka.ClassInvalid, "InvalidRequestException")
	},
	"bound to another cluster it asks and changes nothing": func(s *nodeSuite) {
		c := s.controllers()
		_, err := c.DescribeQuorum(s.Context()) // opens connections
		s.must(err)
		s.must(c.Pin(elsewhere))
		_, err = c.DescribeQuorum(s.Context())
		s.refused("quorum", err, kafka.ClassWrongCluster, "InconsistentClusterIdException")
		_, err = c.DescribeNodeConfigs(s.Context(), s.target.ControllerIDs, nil)
		s.refused("nodes", err, kafka.ClassWrongCluster, "InconsistentClusterIdException")
		_, err = c.AlterConfigs(s.Context(), []kafka.ConfigChange{set(kafka.ClusterResource(), "max.connections", "6000")}, false)
		s.refused("change", err, kafka.ClassWrongCluster, "InconsistentClusterIdException")
		if e := s.node(s.admin, s.target.Brokers[0], "max.connections"); e.Source != kafka.SourceDefault {
			s.Errorf("it was changed: %+v", e)
		}
	},
	"a call that is over is over": func(s *nodeSuite) {
		c := s.controllers()
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		_, err := c.DescribeQuorum(ctx)
		if kafka.ClassOf(err) != kafka.ClassRetriable {
			s.Errorf("got %v", err)
		}
	},
}

// quorum waits for a quorum with a leader.
func (s *nodeSuite) quorum(r kafka.QuorumReader) kafka.Quorum {
	s.Helper()
	var q kafka.Quorum
	s.eventually(func() (err error) {
		if q, err = r.DescribeQuorum(s.Context()); err == nil && !slices.Contains(ids(q.Voters), q.Leader) {
			err = fmt.Errorf("got %+v", q)
		}
		return err
	})
	return q
}

// ids returns the ids of replicas.
func ids(replicas []kafka.Replica) []int32 {
	var out []int32
	for _, r := range replicas {
		out = append(out, r.ID)
	}
	return out
}

// slack is how much longer than the node timeout a call may take, on any machine.
const slack = shortly

var awayCases = map[string]func(*nodeSuite){
	"a broker that is away is fenced, and the only one that fails": func(s *nodeSuite) {
		dead := s.target.Brokers[0]
		s.target.Stop(s.T, dead)
		s.failsAlone(s.admin, s.target.Brokers, dead)
		s.fenced(dead, true)
		s.failsAlone(s.admin, s.target.Brokers, dead) // after all brokers know that it is fenced
		if _, err := s.admin.ListTopicsOf(s.Context(), dead); kafka.ClassOf(err) != kafka.ClassRetriable {
			s.Errorf("the topics as it knows them: %v", err)
		}
		s.eventually(func() error {
			told := caughtUp(s.quorum(s.admin))
			if present, gone := told[s.target.Brokers[1]], told[dead]; gone > 0 && present-gone < 3000 {
				return fmt.Errorf("it was caught up %d ms before one that is there", present-gone)
			}
			return nil
		})
		errs, err := s.admin.AlterConfigs(s.Context(), []kafka.ConfigChange{set(kafka.BrokerResource(dead), "num.io.threads", "5"),
			set(kafka.BrokerResource(s.target.Brokers[1]), "num.io.threads", "5")}, true)
		s.must(err)
		s.must(errs[kafka.BrokerResource(s.target.Brokers[1])])
		if got := errs[kafka.BrokerResource(dead)]; got == nil || kafka.ClassOf(got) != kafka.ClassRetriable {
			s.Errorf("got %v", got)
		}
		s.target.Start(s.T, dead)
		s.fenced(dead, false)
		s.tellOfThemselves(s.admin, s.target.Brokers)
	},
	"a broker that left is unregistered, and registers again when it comes back": func(s *nodeSuite) {
		dead, other := s.target.Brokers[1], s.target.Brokers[0]
		s.refused("one that nobody knows", s.admin.UnregisterBroker(s.Context(), 4711), kafka.ClassNotFound, "BrokerIdNotRegisteredException")
		s.target.Stop(s.T, dead)
		s.fenced(dead, true)
		s.must(s.admin.UnregisterBroker(s.Context(), dead))
		s.eventually(func() error {
			cluster, err := s.admin.DescribeCluster(s.Context())
			if err == nil && (len(cluster.Brokers) != len(s.target.Brokers)-1 ||
				!slices.ContainsFunc(cluster.Brokers, func(n kafka.Node) bool { return n.ID == other })) {
				err = fmt.Errorf("got %+v", cluster)
			}
			return err
		})
		s.refused("a second time", s.admin.UnregisterBroker(s.Context(), dead), kafka.ClassNotFound, "BrokerIdNotRegisteredException")
		s.target.Start(s.T, dead)
		s.fenced(dead, false)
		s.tellOfThemselves(s.admin, s.target.Brokers)
	},
	"the leader of the quorum is away": func(s *nodeSuite) {
		c := s.controllers()
		dead := s.quorum(c).Leader
		s.target.Stop(s.T, dead)
		s.eventually(func() error {
			if q := s.quorum(c); q.Leader == dead {
				return fmt.Errorf("%d leads still", dead)
			}
			return nil
		})
		s.failsAlone(c, s.target.ControllerIDs, dead)
		s.must(s.changes(c, set(kafka.ClusterResource(), "num.io.threads", "5"), true))
		s.target.Start(s.T, dead)
		s.tellOfThemselves(c, s.target.ControllerIDs)
	},
	"controllers that run and have no leader say so": func(s *nodeSuite) {
		c := s.controllers()
		s.quorum(c)
		for _, id := range s.target.ControllerIDs[1:] {
			s.target.Stop(s.T, id)
		}
		s.eventually(func() error { // the leader takes a moment to notice that nobody follows it
			q, err := c.DescribeQuorum(s.Context())
			if kafka.NoLeader(err) != 1 || kafka.ClassOf(err) != kafka.ClassRetriable {
				return fmt.Errorf("got %+v, %w of %d controllers", q, err, kafka.NoLeader(err))
			}
			return nil
		})
		for _, id := range s.target.ControllerIDs[1:] {
			s.target.Start(s.T, id)
		}
		s.quorum(c)
		s.tellOfThemselves(c, s.target.ControllerIDs)
	},
	"controllers that start and find no leader say so": func(s *nodeSuite) {
		// They do not yet know the metadata version, without which they describe no cluster, so that a bound client has to ask otherwise.
		bound, stranger := s.controllers(), s.controllers()
		s.must(bound.Pin(s.target.ClusterID))
		s.must(stranger.Pin("someOtherKafkaCluster0"))
		for _, id := range s.target.ControllerIDs {
			s.target.Stop(s.T, id)
		}
		s.target.Start(s.T, s.target.ControllerIDs[0])
		s.eventually(func() error {
			q, err := bound.DescribeQuorum(s.Context())
			if kafka.NoLeader(err) != 1 || kafka.ClassOf(err) != kafka.ClassRetriable {
				return fmt.Errorf("got %+v, %w of %d controllers", q, err, kafka.NoLeader(err))
			}
			return nil
		})
		limited, cancel := context.WithTimeout(s.Context(), 2*nodePatience)
		defer cancel()
		if q, err := stranger.DescribeQuorum(limited); err == nil || kafka.NoLeader(err) != 0 {
			s.Errorf("a client of another cluster got %+v, %v of %d controllers", q, err, kafka.NoLeader(err))
		}
		for _, id := range s.target.ControllerIDs[1:] {
			s.target.Start(s.T, id)
		}
		s.quorum(bound)
		s.tellOfThemselves(bound, s.target.ControllerIDs)
	},
	"a controller that hangs does not end the search for the leader": func(s *nodeSuite) {
		c := s.controllers()
		hung := s.quorum(c).Leader
		resume := s.target.Hang(s.T, hung)
		defer resume()
		start := time.Now()
		ctx, cancel := context.WithTimeout(s.Context(), patience)
		defer cancel()
		q, err := c.DescribeQuorum(ctx)
		s.must(err)
		if q.Leader == hung {
			s.Errorf("the one that hangs leads still: %+v", q)
		}
		s.Logf("the new leader answered after %s", time.Since(start).Round(time.Millisecond))
		s.failsAlone(c, s.target.ControllerIDs, hung)
	},
	"a broker that hangs holds up no other": func(s *nodeSuite) {
		hung := s.target.Brokers[0]
		s.tellOfThemselves(s.admin, s.target.Brokers) // opens the connections that will hang
		resume := s.target.Hang(s.T, hung)
		defer resume()
		s.failsAlone(s.admin, s.target.Brokers, hung)
	},
}

// failsAlone asks all nodes, of which one is away.
func (s *nodeSuite) failsAlone(reader kafka.NodeConfigReader, all []int32, away int32) {
	s.Helper()
	start := time.Now()
	nodes, err := reader.DescribeNodeConfigs(s.Context(), all, []string{kafka.KeyNodeID})
	s.must(err)
	if took := time.Since(start); took > nodePatience+slack {
		s.Errorf("it took %s", took)
	}
	for _, id := range all {
		got := nodes[id].Err
		if id == away && (got == nil || kafka.ClassOf(got) != kafka.ClassRetriable) || id != away && got != nil {
			s.Errorf("node %d: got %v", id, got)
		}
	}
}

// fenced waits until a broker is known to be fenced, or not.
func (s *nodeSuite) fenced(id int32, want bool) {
	s.Helper()
	s.eventually(func() error {
		cluster, err := s.admin.DescribeCluster(s.Context())
		if err != nil {
			return err
		}
		at := slices.IndexFunc(cluster.Brokers, func(n kafka.Node) bool { return n.ID == id })
		if !cluster.FencedIncluded || at < 0 || cluster.Brokers[at].Fenced != want {
			return fmt.Errorf("got %+v", cluster)
		}
		return nil
	})
}
