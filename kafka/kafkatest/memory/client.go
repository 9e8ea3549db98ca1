package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/internal/rules"
)

// Client implements kafka.Admin for one principal.
type Client struct {
	principal string
	observe   func(request string, took time.Duration, err error)

	mu      sync.Mutex
	cluster *Cluster // the target of its calls
	pinned  string
}

var _ kafka.Admin = (*Client)(nil)

// Redirect sends later calls to another cluster, like a DNS name or load balancer that was changed. A client that is bound to the first
// cluster then returns ClassWrongCluster, until it is redirected back.
func (c *Client) Redirect(other *Cluster) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cluster = other
}

// Pin implements kafka.ClusterPinner.
func (c *Client) Pin(clusterID string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := kafka.CheckPin(c.pinned, clusterID); err != nil {
		return err
	}
	c.pinned = clusterID
	return nil
}

// visit is one call of a client. The whole call uses the cluster at which it began.
type visit struct {
	cluster   *Cluster
	principal string
	observe   func(request string, took time.Duration, err error)
	strayed   error // the cluster is not the one that the client is bound to
}

func (c *Client) visit() *visit {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &visit{cluster: c.cluster, principal: c.principal, observe: c.observe}
	if id := c.cluster.ClusterID(); c.pinned != "" && c.pinned != id {
		v.strayed = kafka.NewWrongClusterError(c.pinned, id)
	}
	return v
}

// requestDescribeCluster is the request that each cluster answers, even to a client that is bound to another one.
const requestDescribeCluster = "DescribeCluster"

// do runs one call: the hooks, and between them the effect, under the cluster's lock.
func (v *visit) do(ctx context.Context, request string, call Call, effect func(*Cluster)) error {
	call.Principal = v.principal
	cluster := v.cluster
	if err := ended(ctx); err != nil {
		return err
	}
	if v.strayed != nil && request != requestDescribeCluster {
		return v.strayed
	}
	cluster.mu.Lock()
	cluster.log(call)
	before, after := cluster.before, cluster.after
	cluster.mu.Unlock()
	err := run(ctx, before, call)
	if err == nil {
		cluster.mu.Lock()
		effect(cluster)
		cluster.mu.Unlock()
		err = run(ctx, after, call)
	}
	v.observe(request, 0, err)
	return err
}

// run calls a hook. If the hook returns nil after ctx has ended, run returns ctx's error.
func run(ctx context.Context, hook Hook, call Call) error {
	if hook == nil {
		return nil
	}
	if err := hook(ctx, call); err != nil {
		return err
	}
	return ended(ctx)
}

func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return kafka.NewTransportError("the call ended before the cluster answered", context.Cause(ctx))
}

// refused returns why an item of a call is rejected: by the test's Refuse, or because a right is missing. The caller holds the cluster's
// lock.
func (v *visit) refused(call Call, item, topic string, operation Operation) error {
	if err := v.vetoed(call, item); err != nil {
		return err
	}
	return v.denied(topic, operation)
}

// refusedAtCluster is refused for an item that is no topic.
func (v *visit) refusedAtCluster(call Call, item string, operation Operation) error {
	if err := v.vetoed(call, item); err != nil {
		return err
	}
	if may := v.cluster.options.Authorize; may != nil && !may(v.principal, operation, "") {
		return kafka.NewError(kafka.CodeClusterAuthorization, "")
	}
	return nil
}

func (v *visit) vetoed(call Call, item string) error {
	if v.cluster.item == nil {
		return nil
	}
	call.Principal = v.principal
	return v.cluster.item(call, item)
}

func (v *visit) denied(topic string, operation Operation) error {
	if may := v.cluster.options.Authorize; may != nil && !may(v.principal, operation, topic) {
		return kafka.NewError(kafka.CodeTopicAuthorizationFailed, "")
	}
	return nil
}

// DescribeCluster implements kafka.ClusterReader.
func (c *Client) DescribeCluster(ctx context.Context) (kafka.Cluster, error) {
	var out kafka.Cluster
	v := c.visit()
	err := v.do(ctx, requestDescribeCluster, Call{Method: "DescribeCluster"}, func(cluster *Cluster) {
		out.ID = cluster.options.ClusterID
		out.FencedIncluded = true
		for _, id := range cluster.registered() {
			out.Brokers = append(out.Brokers, kafka.Node{ID: id, Host: "memory", Port: 9092 + id, Fenced: cluster.state.away[id]})
		}
	})
	return out, err
}

// DescribeTopics implements kafka.TopicReader.
func (c *Client) DescribeTopics(ctx context.Context, names []string) (map[string]kafka.TopicResult, error) {
	out := make(map[string]kafka.TopicResult, len(names))
	if len(names) == 0 {
		return out, nil
	}
	call := Call{Method: "DescribeTopics", Items: names}
	v := c.visit()
	err := v.do(ctx, "Metadata", call, func(cluster *Cluster) {
		state := cluster.read()
		for _, name := range names {
			if _, done := out[name]; done {
				continue
			}
			t := state.topics[name]
			err := v.refused(call, name, name, Describe)
			switch {
			case rules.Name(name) != nil:
				out[name] = kafka.TopicResult{Err: rules.Name(name)}
			case err != nil:
				out[name] = kafka.TopicResult{Err: err}
			case t == nil:
				out[name] = kafka.TopicResult{Err: kafka.NewError(kafka.CodeUnknownTopicOrPartition, "")}
			default:
				out[name] = kafka.TopicResult{Topic: copied(t)}
			}
		}
	})
	return answer(out, err)
}

// answer returns out, or nil if the call failed.
func answer[M ~map[K]V, K comparable, V any](out M, err error) (M, error) {
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ListTopics implements kafka.TopicReader.
func (c *Client) ListTopics(ctx context.Context) ([]kafka.Topic, error) {
	return c.listTopics(ctx, Call{Method: "ListTopics"}, func(*Cluster) error { return nil })
}

// listTopics lists the topics that the principal may describe. If the broker does not respond, it returns the error of away.
func (c *Client) listTopics(ctx context.Context, call Call, away func(*Cluster) error) ([]kafka.Topic, error) {
	var (
		out     []kafka.Topic
		refused error
	)
	v := c.visit()
	err := v.do(ctx, "Metadata", call, func(cluster *Cluster) {
		if refused = away(cluster); refused != nil {
			return
		}
		for _, t := range cluster.read().topics {
			if v.denied(t.Name, Describe) == nil {
				out = append(out, copied(t))
			}
		}
	})
	if err = errors.Join(err, refused); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b kafka.Topic) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// DescribeConfigs implements kafka.TopicReader.
func (c *Client) DescribeConfigs(ctx context.Context, resources []kafka.ConfigResource,
	keys []string) (map[kafka.ConfigResource]kafka.ConfigResult, error) {
	out := make(map[kafka.ConfigResource]kafka.ConfigResult, len(resources))
	if len(resources) == 0 {
		return out, nil
	}
	for _, key := range keys {
		if err := kafka.CheckConfigKey(key); err != nil {
			return nil, err
		}
	}
	call := Call{Method: "DescribeConfigs", Items: resourceNames(resources)}
	v := c.visit()
	err := v.do(ctx, "DescribeConfigs", call, func(cluster *Cluster) {
		for _, r := range resources {
			if _, done := out[r]; !done {
				entries, err := v.describeConfig(call, r, keys)
				out[r] = kafka.ConfigResult{Entries: entries, Err: err}
			}
		}
	})
	return answer(out, err)
}

func (v *visit) describeConfig(call Call, r kafka.ConfigResource, keys []string) (map[string]kafka.ConfigEntry, error) {
	if err := kafka.CheckResource(r); err != nil {
		return nil, err
	}
	if r.Type == kafka.ResourceBroker {
		return v.describeNodes(call, r.Name, keys)
	}
	if err := v.refused(call, r.Name, r.Name, DescribeConfigs); err != nil {
		return nil, err
	}
	t := v.cluster.read().topics[r.Name]
	if t == nil {
		return nil, kafka.NewError(kafka.CodeUnknownTopicOrPartition, "")
	}
	return v.cluster.configs(t, keys), nil
}

// ListReassignments implements kafka.ReassignmentReader. No request starts a reassignment, so there is none.
func (c *Client) ListReassignments(ctx context.Context, topics []string) (map[kafka.TopicPartition]kafka.Reassignment, error) {
	out := map[kafka.TopicPartition]kafka.Reassignment{}
	if topics != nil && len(topics) == 0 {
		return out, nil
	}
	v := c.visit()
	err := v.do(ctx, "ListPartitionReassignments", Call{Method: "ListReassignments", Items: topics}, func(*Cluster) {})
	return answer(out, err)
}

func resourceNames(resources []kafka.ConfigResource) []string {
	names := make([]string, len(resources))
	for i, r := range resources {
		names[i] = r.Name
	}
	return names
}
