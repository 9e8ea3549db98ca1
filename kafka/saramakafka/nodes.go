package saramakafka

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/IBM/sarama"

	"github.com/kafka-operators/kafka-operators/kafka"
)

const (
	// maxNodesAtOnce is how many single nodes are asked concurrently. Nodes that hang delay others only if there are more of them than
	// this.
	maxNodesAtOnce = 128
	// nodeRounds is how often a node is tried that does not answer: a second time in case it moved meanwhile, or the network was slow. More
	// attempts would only delay the result.
	nodeRounds = 2
)

// DescribeNodeConfigs implements kafka.NodeConfigReader.
func (c *client) DescribeNodeConfigs(ctx context.Context, nodes []int32, keys []string) (map[int32]kafka.ConfigResult, error) {
	out := make(map[int32]kafka.ConfigResult, len(nodes))
	if len(nodes) == 0 {
		return out, nil
	}
	ctx, r, done, err := c.call(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	unknown := slices.DeleteFunc(slices.Clone(nodes), r.knows)
	known := slices.DeleteFunc(slices.Clone(nodes), func(id int32) bool { return slices.Contains(unknown, id) })
	r.describeNodes(ctx, out, known, keys)
	if err := r.locate(ctx, unknown); err != nil { // it holds up nobody whose address is known
		return out, err
	}
	r.describeNodes(ctx, out, unknown, keys)
	return out, nil
}

// describeNodes asks nodes for their own configurations.
func (r *router) describeNodes(ctx context.Context, out map[int32]kafka.ConfigResult, nodes []int32, keys []string) {
	var (
		mu    sync.Mutex
		asked []func()
	)
	for _, id := range nodes {
		if _, twice := out[id]; twice {
			continue
		}
		out[id] = kafka.ConfigResult{}
		asked = append(asked, func() {
			result := r.describeNode(ctx, id, keys)
			mu.Lock()
			defer mu.Unlock()
			out[id] = result
		})
	}
	inParallel(maxNodesAtOnce, asked)
}

// inParallel runs functions concurrently, at most limit of them at once, and waits for all. They start in order.
func inParallel(limit int, functions []func()) {
	var wg sync.WaitGroup
	free := make(chan struct{}, limit)
	for _, f := range functions {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			f()
		})
	}
	wg.Wait()
}

// locate reads the nodes' addresses if some are unknown. A node that is not registered is no error.
func (r *router) locate(ctx context.Context, ids []int32) error {
	for _, id := range ids {
		if !r.knows(id) {
			return r.relearn(ctx)
		}
	}
	return nil
}

// describeNode asks one node for its own configuration.
func (r *router) describeNode(ctx context.Context, id int32, keys []string) kafka.ConfigResult {
	if !r.knows(id) {
		return kafka.ConfigResult{Err: r.unregistered(id)}
	}
	ctx, cancel := context.WithTimeout(ctx, r.settings.nodeTimeout)
	defer cancel()
	resource := kafka.BrokerResource(id)
	var answers map[kafka.ConfigResource]kafka.ConfigResult
	_, err := r.do(ctx, &request{name: "DescribeConfigs", broker: id, rounds: nodeRounds, run: func(ctx context.Context, c *conn) (err error) {
		answers, err = describeConfigs(ctx, c, []kafka.ConfigResource{resource}, keys, true)
		return err
	}})
	if err != nil {
		return kafka.ConfigResult{Err: err}
	}
	if result, ok := answers[resource]; ok {
		return result
	}
	return kafka.ConfigResult{Err: kafka.NewError(kafka.CodeUnknownServer, "The node's response does not contain its configuration.")}
}

// otherNode is the failure of an address at which another node listens than the requested one, because the node moved and another one got
// its address.
type otherNode struct{ message string }

func (e *otherNode) Error() string { return "the address belongs to another node: " + e.message }

// misdirected detects a node's refusal to answer for another node: "Unexpected broker id, expected 1 or empty string, but received 2"
// (ConfigHelper, ConfigAdminManager).
func misdirected(code int16, message string) error {
	if code == int16(sarama.ErrInvalidRequest) && strings.HasPrefix(message, "Unexpected broker id, expected ") {
		return &otherNode{message}
	}
	return nil
}
