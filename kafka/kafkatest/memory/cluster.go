package memory

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/internal/rules"
)

// Options describe a cluster. The zero value is one broker that allows everything.
type Options struct {
	// ClusterID is the cluster's id; a fixed one if empty.
	ClusterID string
	// Brokers is the number of brokers, 1 if not set; their ids count from 0.
	Brokers int
	// Controllers is the number of nodes that are only controllers; their ids follow those of the brokers. If 0, every broker is a controller
	// too.
	Controllers int
	// DefaultPartitions and DefaultReplicationFactor are num.partitions and default.replication.factor, 1 if not set.
	DefaultPartitions        int32
	DefaultReplicationFactor int16
	// DeletionDisabled is delete.topic.enable=false.
	DeletionDisabled bool
	// Authorize, if set, reports whether a principal may perform an operation on a topic, or on the cluster if topic is empty.
	Authorize func(principal string, operation Operation, topic string) bool
	// KeepCalls is how many calls the log keeps; the oldest are dropped first. Zero keeps none, which is fastest.
	KeepCalls int
}

// Operation is an operation on a topic, or on the cluster, as Kafka's ACLs name it.
type Operation string

// The operations.
const (
	Describe        Operation = "Describe"
	DescribeConfigs Operation = "DescribeConfigs"
	Create          Operation = "Create"
	Alter           Operation = "Alter"
	AlterConfigs    Operation = "AlterConfigs"
	Delete          Operation = "Delete"
)

// Call is one call of the port.
type Call struct {
	// Method is the method's name in the port ("CreateTopics").
	Method string
	// Principal is the caller.
	Principal string
	// Items are the topics' names, ids or resources' names, in the order of the call.
	Items []string
	// ValidateOnly is true for a call that only validates.
	ValidateOnly bool
}

// Hook is called with each call of the port. It may wait until ctx ends. If it returns an error, the call returns that error.
type Hook func(ctx context.Context, call Call) error

// Cluster is a model of a Kafka cluster. Its methods may be called from several goroutines.
type Cluster struct {
	options     Options
	brokers     []int32
	controllers []int32
	defaults    map[string]string

	mu     sync.Mutex
	state  state
	before Hook
	after  Hook
	item   func(call Call, item string) error
	lag    *Snapshot
	calls  []Call
}

// New returns an empty cluster.
func New(o Options) *Cluster {
	if o.ClusterID == "" {
		o.ClusterID = "memoryKafkaCluster0000"
	}
	o.Brokers = max(o.Brokers, 1)
	o.DefaultPartitions = max(o.DefaultPartitions, 1)
	o.DefaultReplicationFactor = max(o.DefaultReplicationFactor, 1)
	c := &Cluster{options: o, state: newState(), defaults: rules.Defaults()}
	for id := range int32(o.Brokers) {
		c.brokers = append(c.brokers, id)
	}
	c.controllers = c.brokers
	if o.Controllers > 0 {
		c.controllers = nil
		for i := range o.Controllers {
			c.controllers = append(c.controllers, int32(o.Brokers+i))
		}
	}
	return c
}

// Before sets a hook that runs before a call takes effect: its error means that nothing happened. Nil removes it.
func (c *Cluster) Before(h Hook) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = h
}

// After sets a hook that runs after a call took effect: its error takes the place of the answer, as when a connection breaks. Nil removes
// it.
func (c *Cluster) After(h Hook) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after = h
}

// Refuse sets a function that checks each item (see Call.Items) before it takes effect. Its error becomes the item's error. It must not
// call the cluster. Nil removes it.
func (c *Cluster) Refuse(f func(call Call, item string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.item = f
}

// Lag makes reads of topics and configurations return an earlier state, as from a lagging broker. Changes still apply to the present state.
// Nil ends it.
func (c *Cluster) Lag(s *Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag = s
}

// SetDefault changes the brokers' default of a topic configuration.
func (c *Cluster) SetDefault(key, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.defaults[key] = value
}

// Snapshot returns the present state.
func (c *Cluster) Snapshot() *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Snapshot{c.state.clone()}
}

// Restore resets the cluster to a state. Ids of topics that were created since may be used again.
func (c *Cluster) Restore(s *Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = s.state.clone()
}

// Calls returns the log of calls, the oldest first.
func (c *Cluster) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// ClusterID returns the cluster's id.
func (c *Cluster) ClusterID() string { return c.options.ClusterID }

// Client returns a client of the cluster for a principal, such as User:alice. observe may be nil; it is called as
// kafka.Config.ObserveRequest documents, with no time taken.
func (c *Cluster) Client(principal string, observe func(request string, took time.Duration, err error)) *Client {
	if observe == nil {
		observe = func(string, time.Duration, error) {}
	}
	return &Client{cluster: c, principal: principal, observe: observe}
}

// read returns the state that reads use. The caller holds the lock.
func (c *Cluster) read() *state {
	if c.lag != nil {
		return &c.lag.state
	}
	return &c.state
}

// log records a call. The caller holds c.mu.
func (c *Cluster) log(call Call) {
	if c.options.KeepCalls == 0 {
		return
	}
	if len(c.calls) >= c.options.KeepCalls {
		c.calls = slices.Delete(c.calls, 0, len(c.calls)-c.options.KeepCalls+1)
	}
	c.calls = append(c.calls, call)
}

// configs returns a topic's effective settings: all, or those named in keys.
func (c *Cluster) configs(t *topic, keys []string) map[string]kafka.ConfigEntry {
	entry := func(key string) kafka.ConfigEntry {
		if value, ok := t.configs[key]; ok {
			return kafka.ConfigEntry{Value: value, Source: kafka.SourceTopic}
		}
		return kafka.ConfigEntry{Value: c.defaults[key], Source: kafka.SourceDefault}
	}
	if len(keys) == 0 {
		out := make(map[string]kafka.ConfigEntry, len(c.defaults))
		for key := range c.defaults {
			out[key] = entry(key)
		}
		return out
	}
	out := make(map[string]kafka.ConfigEntry, len(keys))
	for _, key := range keys {
		if _, ok := c.defaults[key]; ok {
			out[key] = entry(key)
		}
	}
	return out
}
