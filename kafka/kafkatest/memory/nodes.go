package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/internal/rules"
)

// errAway is the cause of the error of a stopped node.
var errAway = errors.New("connection refused")

// StopNode makes a node stop responding until StartNode. A stopped broker is fenced. Leaders and replicas do not change: see
// ChangePartition.
func (c *Cluster) StopNode(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.away[id] = true
}

// StartNode makes a stopped node respond again. A broker that was unregistered registers again.
func (c *Cluster) StartNode(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.state.away, id)
	delete(c.state.unregistered, id)
}

// ChangePartition changes a reported partition, for example its leader or its ISR. change receives a copy, and must replace slices instead
// of modifying them.
func (c *Cluster) ChangePartition(name string, index int32, change func(*kafka.Partition)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.state.topics[name]
	if t == nil || index < 0 || int(index) >= len(t.Partitions) {
		return rules.MissingPartition(kafka.TopicPartition{Topic: name, Partition: index})
	}
	c.state.put(t.with(func(t *topic) { change(&t.Partitions[index]) }))
	return nil
}

// Controllers returns a client of the cluster's controllers for a principal, as Client returns one of its brokers.
func (c *Cluster) Controllers(principal string, observe func(request string, took time.Duration, err error)) *Controllers {
	return &Controllers{c.Client(principal, observe)}
}

// Controllers implements kafka.Controllers for one principal.
type Controllers struct{ client *Client }

var _ kafka.Controllers = (*Controllers)(nil)

// Pin implements kafka.ClusterPinner.
func (c *Controllers) Pin(clusterID string) error { return c.client.Pin(clusterID) }

// Redirect sends later calls to another cluster; see Client.Redirect.
func (c *Controllers) Redirect(other *Cluster) { c.client.Redirect(other) }

// There is no clock: these are the reported times, in milliseconds, of a stopped node and of a running one.
const longAgo, justNow = 1_000_000, 2_000_000

// DescribeQuorum implements kafka.QuorumReader.
func (c *Controllers) DescribeQuorum(ctx context.Context) (kafka.Quorum, error) {
	return c.client.DescribeQuorum(ctx)
}

// DescribeNodeConfigs implements kafka.NodeConfigReader.
func (c *Controllers) DescribeNodeConfigs(ctx context.Context, nodes []int32, keys []string) (map[int32]kafka.ConfigResult, error) {
	return c.client.describeAll(ctx, nodes, keys, func(cluster *Cluster) []int32 { return cluster.controllers })
}

// AlterConfigs implements kafka.ConfigWriter.
func (c *Controllers) AlterConfigs(ctx context.Context, changes []kafka.ConfigChange,
	validateOnly bool) (map[kafka.ConfigResource]error, error) {
	return c.client.alterAll(ctx, changes, validateOnly, (*visit).alterAtController)
}

// leader returns the first running controller, or -1 if too few for a quorum are running. The caller holds the lock.
func (c *Cluster) leader() int32 {
	if c.present() <= len(c.controllers)/2 {
		return -1
	}
	return c.controllers[slices.IndexFunc(c.controllers, func(id int32) bool { return !c.state.away[id] })]
}

// present counts the running controllers. The caller holds the lock.
func (c *Cluster) present() int {
	count := 0
	for _, id := range c.controllers {
		if !c.state.away[id] {
			count++
		}
	}
	return count
}

// DescribeQuorum implements kafka.QuorumReader. Each controller is a voter, and brokers that are no controllers are observers. All running
// nodes are caught up.
func (c *Client) DescribeQuorum(ctx context.Context) (kafka.Quorum, error) {
	var (
		out     kafka.Quorum
		refused error
	)
	v := c.visit()
	err := v.do(ctx, "DescribeQuorum", Call{Method: "DescribeQuorum"}, func(cluster *Cluster) {
		end := int64(cluster.state.created) + 1
		out = kafka.Quorum{Leader: cluster.leader(), LeaderEpoch: 1, HighWatermark: end}
		if out.Leader < 0 {
			refused = kafka.NewNoLeaderError(cluster.present(), "")
		}
		replica := func(id int32) kafka.Replica {
			if cluster.state.away[id] {
				return kafka.Replica{ID: id, LogEndOffset: end, LastFetch: longAgo, LastCaughtUp: longAgo}
			}
			return kafka.Replica{ID: id, LogEndOffset: end, LastFetch: justNow, LastCaughtUp: justNow}
		}
		for _, id := range cluster.controllers {
			out.Voters = append(out.Voters, replica(id))
			out.Nodes = append(out.Nodes, kafka.QuorumNode{ID: id,
				Listeners: []kafka.Listener{{Name: "CONTROLLER", Host: "memory", Port: 9092 + id}}})
		}
		for _, id := range cluster.registered() {
			if cluster.options.Controllers > 0 {
				out.Observers = append(out.Observers, replica(id))
			}
		}
	})
	if err = errors.Join(err, refused); err != nil {
		return kafka.Quorum{}, err
	}
	return out, nil
}

// ListTopicsOf implements kafka.NodeTopicReader. All brokers report the same topics.
func (c *Client) ListTopicsOf(ctx context.Context, broker int32) ([]kafka.Topic, error) {
	return c.listTopics(ctx, Call{Method: "ListTopicsOf", Items: []string{fmt.Sprint(broker)}},
		func(cluster *Cluster) error { return cluster.away(broker) })
}

// away returns why a broker does not respond. The caller holds the lock.
func (c *Cluster) away(broker int32) error {
	switch {
	case !slices.Contains(c.registered(), broker):
		return kafka.NewTransportError(fmt.Sprintf("node %d is not registered", broker), nil)
	case c.state.away[broker]:
		return kafka.NewTransportError(fmt.Sprintf("node %d does not answer", broker), errAway)
	}
	return nil
}

// TopicsOn implements kafka.NodeTopicReader.
func (c *Client) TopicsOn(ctx context.Context, broker int32) ([]string, error) {
	replicas, err := c.replicasOn(ctx, "TopicsOn", broker)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(replicas)), nil
}

// DescribeLogDirs implements kafka.LogDirReader. A broker has one directory.
func (c *Client) DescribeLogDirs(ctx context.Context, broker int32) ([]kafka.LogDir, error) {
	replicas, err := c.replicasOn(ctx, "DescribeLogDirs", broker)
	if err != nil {
		return nil, err
	}
	dir := kafka.LogDir{Path: "/memory"}
	for _, n := range replicas {
		dir.Replicas += n
	}
	return []kafka.LogDir{dir}, nil
}

// replicasOn counts the replicas of each topic that a broker has.
func (c *Client) replicasOn(ctx context.Context, method string, broker int32) (map[string]int, error) {
	var (
		replicas = map[string]int{}
		refused  error
	)
	v := c.visit()
	err := v.do(ctx, "DescribeLogDirs", Call{Method: method, Items: []string{fmt.Sprint(broker)}}, func(cluster *Cluster) {
		if refused = cluster.away(broker); refused != nil {
			return
		}
		if refused = v.refusedAtCluster(Call{Method: method}, fmt.Sprint(broker), Describe); refused != nil {
			return
		}
		for _, t := range cluster.read().topics {
			for _, p := range t.Partitions {
				if slices.Contains(p.Replicas, broker) {
					replicas[t.Name]++
				}
			}
		}
	})
	return replicas, errors.Join(err, refused)
}

// DescribeNodeConfigs implements kafka.NodeConfigReader.
func (c *Client) DescribeNodeConfigs(ctx context.Context, nodes []int32, keys []string) (map[int32]kafka.ConfigResult, error) {
	return c.describeAll(ctx, nodes, keys, func(cluster *Cluster) []int32 { return cluster.registered() })
}

func (c *Client) describeAll(ctx context.Context, nodes []int32, keys []string,
	registered func(*Cluster) []int32) (map[int32]kafka.ConfigResult, error) {
	out := make(map[int32]kafka.ConfigResult, len(nodes))
	if len(nodes) == 0 {
		return out, nil
	}
	call := Call{Method: "DescribeNodeConfigs"}
	for _, id := range nodes {
		call.Items = append(call.Items, fmt.Sprint(id))
	}
	v := c.visit()
	err := v.do(ctx, "DescribeConfigs", call, func(cluster *Cluster) {
		for _, id := range nodes {
			entries, err := v.describeNode(call, id, keys, registered(cluster))
			out[id] = kafka.ConfigResult{Entries: entries, Err: err}
		}
	})
	return answer(out, err)
}

func (v *visit) describeNode(call Call, id int32, keys []string, registered []int32) (map[string]kafka.ConfigEntry, error) {
	switch {
	case !slices.Contains(registered, id):
		return nil, kafka.NewTransportError(fmt.Sprintf("node %d is not registered", id), nil)
	case v.cluster.state.away[id]:
		return nil, kafka.NewTransportError(fmt.Sprintf("node %d does not answer", id), errAway)
	}
	if err := v.refusedAtCluster(call, fmt.Sprint(id), DescribeConfigs); err != nil {
		return nil, err
	}
	return v.cluster.state.nodes.Node(id, v.cluster.static(id), keys), nil
}

// describeNodes returns the configuration of one broker, or the defaults of all nodes, without synonyms, as DescribeConfigs does.
func (v *visit) describeNodes(call Call, name string, keys []string) (map[string]kafka.ConfigEntry, error) {
	if name == "" {
		if err := v.refusedAtCluster(call, name, DescribeConfigs); err != nil {
			return nil, err
		}
		return v.cluster.state.nodes.Cluster(keys), nil
	}
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return nil, rules.UnexpectedNode(name, "0")
	}
	entries, err := v.describeNode(call, int32(id), keys, v.cluster.registered())
	for key, e := range entries {
		e.Synonyms = nil
		entries[key] = e
	}
	return entries, err
}

// alterNode changes a broker's configuration, which that broker validates, or the defaults of all nodes.
func (v *visit) alterNode(call Call, change kafka.ConfigChange) error {
	name := change.Resource.Name
	if name != "" {
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil || !slices.Contains(v.cluster.registered(), int32(id)) {
			return kafka.NewTransportError(fmt.Sprintf("broker %s is not registered", name), nil)
		}
		if v.cluster.state.away[int32(id)] {
			return kafka.NewTransportError(fmt.Sprintf("broker %s does not answer", name), errAway)
		}
	}
	if err := v.refusedAtCluster(call, name, AlterConfigs); err != nil {
		return err
	}
	if err := rules.NodeChange(change); err != nil {
		return err
	}
	v.store(call, change)
	return nil
}

// alterAtController is alterNode at a controller, which validates no value.
func (v *visit) alterAtController(call Call, change kafka.ConfigChange) error {
	name := change.Resource.Name
	if change.Resource.Type != kafka.ResourceBroker {
		return v.alter(call, change)
	}
	if v.cluster.leader() < 0 {
		return kafka.NewError(kafka.CodeNotController, "")
	}
	if err := v.refusedAtCluster(call, name, AlterConfigs); err != nil {
		return err
	}
	if err := contradicts(change); err != nil {
		return err
	}
	id, err := strconv.ParseInt(name, 10, 32)
	known := err == nil && (slices.Contains(v.cluster.registered(), int32(id)) || slices.Contains(v.cluster.controllers, int32(id)))
	if name != "" && !known {
		return rules.UnknownNode(name)
	}
	v.store(call, change)
	return nil
}

func (v *visit) store(call Call, change kafka.ConfigChange) {
	if !call.ValidateOnly {
		v.cluster.state.nodes = v.cluster.state.nodes.With(change)
	}
}

// static returns the values in a node's file.
func (c *Cluster) static(id int32) map[string]string {
	out := map[string]string{kafka.KeyNodeID: fmt.Sprint(id), "log.dirs": "/var/lib/kafka/data", "process.roles": "broker,controller"}
	if c.options.Controllers > 0 {
		out["process.roles"] = "controller"
		if slices.Contains(c.brokers, id) {
			out["process.roles"] = "broker"
		}
	}
	if slices.Contains(c.brokers, id) {
		out["auto.create.topics.enable"] = "false"
		out["default.replication.factor"] = fmt.Sprint(c.options.DefaultReplicationFactor)
		out["delete.topic.enable"] = fmt.Sprint(!c.options.DeletionDisabled)
		out["num.partitions"] = fmt.Sprint(c.options.DefaultPartitions)
	}
	return out
}

// ElectPreferredLeaders implements kafka.LeaderElector.
func (c *Client) ElectPreferredLeaders(ctx context.Context, partitions []kafka.TopicPartition) (map[kafka.TopicPartition]error, error) {
	out := make(map[kafka.TopicPartition]error, len(partitions))
	if len(partitions) == 0 {
		return out, nil
	}
	call := Call{Method: "ElectPreferredLeaders"}
	for _, p := range partitions {
		call.Items = append(call.Items, fmt.Sprintf("%s-%d", p.Topic, p.Partition))
	}
	v := c.visit()
	err := v.do(ctx, "ElectLeaders", call, func(*Cluster) {
		for i, p := range partitions {
			if _, done := out[p]; !done {
				out[p] = v.elect(call, call.Items[i], p)
			}
		}
	})
	return answer(out, err)
}

// CheckLeader implements kafka.LeaderElector.
func (c *Client) CheckLeader(ctx context.Context, broker int32, partitions []kafka.TopicPartition) (map[kafka.TopicPartition]error, error) {
	out := make(map[kafka.TopicPartition]error, len(partitions))
	if len(partitions) == 0 {
		return out, nil
	}
	v := c.visit()
	var refused error
	err := v.do(ctx, "ListOffsets", Call{Method: "CheckLeader", Items: []string{fmt.Sprint(broker)}}, func(cluster *Cluster) {
		refused = cluster.away(broker)
		for _, p := range partitions {
			out[p] = v.leads(broker, p)
		}
	})
	return answer(out, errors.Join(err, refused))
}

// leads returns why a broker does not lead a partition.
func (v *visit) leads(broker int32, p kafka.TopicPartition) error {
	if err := rules.Name(p.Topic); err != nil {
		return err
	}
	t := v.cluster.state.topics[p.Topic]
	switch {
	case t == nil:
		return rules.MissingTopic(p.Topic)
	case p.Partition < 0 || int(p.Partition) >= len(t.Partitions):
		return rules.MissingPartition(p)
	case t.Partitions[p.Partition].Leader != broker:
		return kafka.NewError(kafka.CodeNotLeaderOrFollower, "")
	}
	return nil
}

func (v *visit) elect(call Call, item string, p kafka.TopicPartition) error {
	if err := rules.Name(p.Topic); err != nil {
		return err
	}
	if err := v.refusedAtCluster(call, item, Alter); err != nil {
		return err
	}
	t := v.cluster.state.topics[p.Topic]
	if t == nil {
		return rules.MissingTopic(p.Topic)
	}
	if p.Partition < 0 || int(p.Partition) >= len(t.Partitions) {
		return rules.MissingPartition(p)
	}
	present := t.Partitions[p.Partition]
	preferred := present.Replicas[0]
	switch {
	case present.Leader == preferred:
		return nil
	case v.cluster.state.away[preferred] || !slices.Contains(present.ISR, preferred):
		return kafka.NewError(kafka.CodePreferredLeaderNotAvailable, "The preferred leader was not available.")
	}
	v.cluster.state.put(t.with(func(t *topic) {
		t.Partitions[p.Partition].Leader = preferred
		t.Partitions[p.Partition].LeaderEpoch++
	}))
	return nil
}
