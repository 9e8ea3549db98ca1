package simulator

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// The keys of the nodes' configurations. Nodes apply threads and connections at runtime; threads may at most double or halve in one change.
// requests needs a restart. No node starts with a value of less than 1.
const (
	threads = iota
	connections
	requests
	keyCount
)

var keyNames = [keyCount]string{"num.io.threads", "max.connections", "queued.max.requests"}

// settings are the configuration of a node: the values in use, those that it read from its file at its start, and those of the present
// file.
type settings struct {
	live, file, wanted [keyCount]int
	// deaf: the node applies no change at runtime.
	deaf bool
	// told caches the configuration that was last reported. shown are the values that it was made from.
	told  brokerconfig.Config
	shown shown
}

// shown are all values that the reported configuration of a node depends on.
type shown struct{ live, file, wanted, stored [keyCount]int }

// first returns the initial settings of a node.
func first() settings {
	values := [keyCount]int{8, 100, 500}
	return settings{live: values, file: values, wanted: values}
}

// legal reports whether a node starts with the value.
func legal(value int) bool { return value >= 1 }

// illegal returns a key whose value prevents the node from starting; negative if there is none.
func (c *settings) illegal() int {
	return slices.IndexFunc(c.wanted[:], func(value int) bool { return !legal(value) })
}

// read lets a starting node read its file. takeUp applies the values that Kafka stores once the node runs.
func (w *world) read(n *node) {
	n.config.file, n.config.live, n.config.deaf = n.config.wanted, n.config.wanted, false
}

// wish changes the desired value of a key for the nodes.
func (w *world) wish(nodes []*node, key, value int) {
	w.wished[key]++
	if slices.ContainsFunc(nodes, func(n *node) bool { return n.config.wanted[key] != value }) {
		w.untaken[key] = 0
	}
	for _, n := range nodes {
		n.config.wanted[key] = value
	}
	w.tell("%s of %s is to be %d", keyNames[key], about(nodes, w), value)
	for _, n := range w.nodes {
		if n.spoilt && n.pod == podStuck && n.config.illegal() < 0 { // the container in its crash loop reads the new value
			n.spoilt = false
			w.start(n)
		}
	}
}

func about(nodes []*node, w *world) string {
	if len(nodes) == len(w.nodes) {
		return "all nodes"
	}
	return fmt.Sprintf("node %d", nodes[0].ID)
}

// refuses returns a running node's error for a value; nil if the node accepts the value.
func (w *world) refuses(n *node, key, value int) error {
	live := n.config.live[key]
	switch {
	case !legal(value):
		return kafka.NewError(kafka.CodeInvalidRequest, "value must be at least 1")
	case w.forbidden[[2]int{key, value}]:
		return kafka.NewError(kafka.CodePolicyViolation, "somebody does not want it")
	case key == threads && (value > 2*live || value < live/2):
		return tooFar(value, live)
	case key != threads && w.spoils(n):
		return tooFar(w.stored[threads], n.config.live[threads])
	}
	return nil
}

// tooFar returns a node's error for too large a change of threads.
func tooFar(value, live int) error {
	const text = "Dynamic thread count update validation failed for %s=%d, value should be at least half, and at most double the current " +
		"value %d"
	return kafka.NewError(kafka.CodeInvalidRequest, fmt.Sprintf(text, keyNames[threads], value, live))
}

// spoils reports whether the stored threads keep a node from applying any stored value.
func (w *world) spoils(n *node) bool {
	stored, live := w.stored[threads], n.config.live[threads]
	return stored != 0 && (stored > 2*live || stored < live/2)
}

// store stores values in Kafka for all nodes. Nodes that can't apply them report no error, and neither do nodes that start and will not be
// able to.
func (w *world) store(values map[int]int) {
	for key, value := range values {
		w.stored[key] = value
	}
	for _, n := range w.nodes {
		w.takeUp(n)
	}
	for key, value := range values {
		if slices.ContainsFunc(w.nodes, func(n *node) bool {
			fails := n.process || n.pod == podStarting && w.spoils(n)
			return fails && n.config.live[key] != value && n.config.wanted[key] == value
		}) {
			w.untaken[key]++
		}
	}
}

// takeUp lets a running node apply the stored values. If it can't apply one of them, it applies none.
func (w *world) takeUp(n *node) {
	if !n.process || n.config.deaf {
		return
	}
	next := n.config.file
	next[requests] = n.config.live[requests]
	for key, value := range w.stored {
		if value != 0 {
			next[key] = value
		}
	}
	if live := n.config.live[threads]; next[threads] <= 2*live && next[threads] >= live/2 {
		n.config.live = next
	}
}

// writer is a client that changes configurations: through the brokers, which validate them, or through the controllers, which do not.
type writer struct {
	r           *run
	controllers bool
	fails       bool
}

// AlterConfigs implements kafka.ConfigWriter.
func (x *writer) AlterConfigs(_ context.Context, changes []kafka.ConfigChange, validateOnly bool) (map[kafka.ConfigResource]error, error) {
	asked := x.answering()
	if x.fails || len(asked) == 0 || !x.r.w.governed() {
		return nil, kafka.NewTransportError("nobody answers", nil)
	}
	answers := map[kafka.ConfigResource]error{}
	for _, c := range changes {
		values := map[int]int{}
		for name, text := range c.Set {
			value, _ := strconv.Atoi(text)
			values[slices.Index(keyNames[:], name)] = value
		}
		if c.Resource != kafka.ClusterResource() || len(c.Delete) > 0 {
			x.r.oracle.fail("configuration: %v is changed, and nobody wants anything of one node alone", c)
		}
		x.r.asked++
		answers[c.Resource] = x.alter(asked[x.r.asked%len(asked)], values, validateOnly)
	}
	return answers, nil
}

// answering returns the nodes that may be asked; a nil node stands for controllers outside of the cluster.
func (x *writer) answering() []*node {
	w := x.r.w
	var all []*node
	for _, n := range w.nodes {
		if w.answers(n) && (n.Roles.Broker && !x.controllers || n.Roles.Controller && x.controllers) {
			all = append(all, n)
		}
	}
	if x.controllers && len(w.voters()) == 0 {
		all = append(all, nil)
	}
	return all
}

func (x *writer) alter(n *node, values map[int]int, validateOnly bool) error {
	w := x.r.w
	for key := range keyCount {
		value, set := values[key]
		if !set {
			continue
		}
		x.r.oracle.asks(key, value, x.controllers)
		if x.controllers {
			continue
		}
		if err := w.refuses(n, key, value); err != nil {
			w.tell("node %d refuses %s=%d: %v", n.ID, keyNames[key], value, err)
			if legal(value) && !w.forbidden[[2]int{key, value}] && (key == threads || !w.spoils(n)) {
				x.r.oracle.refused[[2]int{key, value}] = true
			}
			if key != threads && legal(value) && !w.forbidden[[2]int{key, value}] {
				x.r.oracle.waits(key, value)
			}
			return err
		}
	}
	if !validateOnly {
		w.store(values)
		w.tell("Kafka takes %v", values)
	}
	return nil
}

// reconfigure carries out a change of configurations.
func (r *run) reconfigure(n *node, a roller.Action, fails bool) actuate.Outcome {
	r.oracle.reconfigured(n, a)
	actuator := actuate.Actuator{Brokers: &writer{r: r, fails: fails}, Controllers: &writer{r: r, controllers: true, fails: fails}}
	ctx := context.Background() //nolint:forbidigo // nobody waits: time is simulated
	return actuator.Do(ctx, a, &roller.Node{ID: n.ID, Roles: n.Roles})
}

// desired returns the desired configuration of the node.
func (c *settings) desired() map[string]string {
	if c.told.Desired != nil && c.shown.wanted == c.wanted {
		return c.told.Desired
	}
	desired := make(map[string]string, keyCount)
	for key, name := range keyNames {
		desired[name] = strconv.Itoa(c.wanted[key])
	}
	return desired
}

// observed returns the configuration as the node reports it.
func (w *world) observed(n *node) brokerconfig.Config {
	now := shown{live: n.config.live, file: n.config.file, wanted: n.config.wanted, stored: w.stored}
	if n.config.told.Live != nil && n.config.shown == now {
		return n.config.told
	}
	live := make(map[string]brokerconfig.Entry, keyCount)
	for key, name := range keyNames {
		file := strconv.Itoa(n.config.file[key])
		e := brokerconfig.Entry{Value: strconv.Itoa(n.config.live[key]), Source: brokerconfig.SourceStatic, ReadOnly: key == requests}
		e.Synonyms = []brokerconfig.Synonym{{Key: name, Value: file, Source: brokerconfig.SourceStatic}}
		if key != requests && w.stored[key] != 0 {
			stored := brokerconfig.Synonym{Key: name, Value: strconv.Itoa(w.stored[key]), Source: brokerconfig.SourceDynamicGlobal}
			e.Source, e.Synonyms = brokerconfig.SourceDynamicGlobal, append([]brokerconfig.Synonym{stored}, e.Synonyms...)
		}
		live[name] = e
	}
	n.config.told, n.config.shown = brokerconfig.Config{Desired: n.config.desired(), Live: live}, now
	return n.config.told
}

// correct ends all faults of configurations. It corrects illegal values too, but may leave them if no node has to be restarted for another
// reason.
func (r *run) correct(restarts bool) {
	w := r.w
	stays := r.marks%2 == 0 && !restarts
	for _, n := range w.nodes {
		n.config.deaf = false
		stays = stays && n.pod == podReady && n.process && !n.abandoned
	}
	for key := range keyCount {
		for _, n := range w.nodes {
			value := n.config.wanted[key]
			if legal(value) && !w.forbidden[[2]int{key, value}] || !legal(value) && stays {
				continue
			}
			nodes := w.nodes
			if key == requests {
				nodes = []*node{n}
			}
			r.marks++
			w.wish(nodes, key, 2000+r.marks)
		}
	}
}

// configured describes a value of the node's configuration that the roller should have applied, at runtime or by a restart that no rule
// forbids; empty if there is none.
func (r *run) configured(n *node) string {
	c := &n.config
	for _, key := range []int{threads, connections} {
		value := c.wanted[key]
		reachable := slices.ContainsFunc(r.w.nodes, func(o *node) bool { return o.Roles.Broker && !o.abandoned && !o.hold })
		if !legal(value) || c.live[key] == value || !reachable {
			continue
		}
		if c.illegal() >= 0 && (key == threads || slices.ContainsFunc(r.w.nodes, r.w.spoils) || r.w.untaken[key] >= mostTries) {
			continue // it needs a restart, and would not start again
		}
		return fmt.Sprintf("node %d has the wrong %s: %d, wanted is %d", n.ID, keyNames[key], c.live[key], value)
	}
	return ""
}

// rejection returns the illegal value that the roller reports; empty if there is none, or if the roller does not report all of them.
func (r *run) rejection() string {
	why := ""
	for _, n := range r.w.nodes {
		key := n.config.illegal()
		if key < 0 {
			continue
		}
		what := fmt.Sprintf("%s=%d is illegal", keyNames[key], n.config.wanted[key])
		i := slices.IndexFunc(r.last.Nodes, func(a roller.Assessment) bool {
			reports := func(b roller.Block) bool { return b.Rule == roller.RuleConfig && strings.Contains(b.Why, what) }
			return a.Node == n.ID && slices.ContainsFunc(a.Blocks, reports)
		})
		if i < 0 {
			return ""
		}
		why = what
	}
	return why
}
