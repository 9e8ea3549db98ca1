package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
)

// Source is a Kubernetes cluster to read.
type Source struct {
	// ID is the cluster's id; empty for the one where the roller runs.
	ID string
	// Reader reads from the API server, and from no cache.
	Reader client.Reader
	// Cache, if set, is a cache that was filled with Trim. It is sufficient for a Glance.
	Cache client.Reader
}

// Prober finds out whether a node that is not ready is recovering its logs.
type Prober interface {
	// Recovery returns nil if the node, which has run for that long, is not; an error if that is unknown.
	Recovery(ctx context.Context, place, pod string, age time.Duration) (*roller.Recovery, error)
}

// Observer observes one Kafka cluster. It remembers which nodes answered and since when they are silent, the Kafka cluster's id, and for
// [Observer.Glance] configurations. It is not safe for concurrent use.
type Observer struct {
	Namespace, Cluster string
	// Unnamed means that the settings do not name the Kafka cluster, so the roller only restarts pods of sets that are assigned to it
	// (docs/decisions/who-rolls.md).
	Unnamed bool
	// Sources returns the connected Kubernetes clusters.
	Sources func() []Source
	// Operators is the operators' namespace, the same one in all Kubernetes clusters. In remote ones, a Lease there may tell whether an
	// operator recreates the pods of sets that name no other namespace for it. Empty: nobody looks for it.
	Operators string
	// Kafka has the clients. It is required without Connect.
	Kafka *Kafka
	// Connect, if set, returns the clients before each observation, because addresses and credentials may change. Its error makes all facts
	// of Kafka unknown.
	Connect func(ctx context.Context, places []Place) (*Kafka, error)
	// Prober is nil if nodes can't be probed.
	Prober Prober
	// Lasting is how long a pod must have been unscheduled, or without a container, before it counts as stuck.
	Lasting time.Duration
	// Timeout bounds each of the two parts of an observation: Kubernetes, and Kafka.
	Timeout time.Duration
	// Recall is the maximum age of the configurations of topics, and of the nodes of a small cluster, in a Glance; 0 means that all are
	// read each time.
	Recall time.Duration

	memory   memory
	awaits   roller.Awaited // what the roller waited for at the last Glance
	silent   map[roller.NodeID]silence
	listened time.Time                      // when the nodes were last asked
	heard    map[roller.NodeID]bool         // the nodes that ever answered
	read     map[string]bool                // the Kubernetes clusters that were ever read
	beats    map[client.ObjectKey]core.Beat // those of operators, by Kubernetes cluster and namespace
}

// silence is the instance that does not answer, and since when.
type silence struct {
	instance string
	since    time.Time
}

// Observe reads all facts. Actions must be decided on such a complete observation.
func (o *Observer) Observe(ctx context.Context) roller.Snapshot {
	return o.observe(ctx, false, func(s roller.Snapshot) recalled {
		var r recalled
		for _, n := range s.Nodes {
			r.candidates = append(r.candidates, n.ID)
		}
		return r
	})
}

// Verify is Observe for actions on a few nodes: it reads the configurations of these nodes and of all topics, checks whether their peers
// still answer, and reads the other facts like a Glance. It reads from Kubernetes' API servers, and not from caches.
func (o *Observer) Verify(ctx context.Context, asked roller.Asked) roller.Snapshot {
	return o.observe(ctx, false, func(s roller.Snapshot) recalled {
		return o.memory.recall(s.At, o.Recall, o.awaits, s.Nodes).except(asked)
	})
}

// Glance is Observe for waiting: the configurations of topics may be as old as Recall, those of nodes older if there are many, and
// Kubernetes is read from caches if there are any. All other facts are read again. On a large cluster that takes a handful of requests
// instead of one for each node.
//
// awaits is what the last look waited for. While restarts are under way, facts on which nothing depends may be older: configurations of
// nodes and, if nothing else can be done, registered brokers, the configurations of topics and, while no restarted node is back,
// reassignments. Verify reads what an action depends on again.
func (o *Observer) Glance(ctx context.Context, awaits roller.Awaited) roller.Snapshot {
	o.awaits = awaits
	return o.observe(ctx, true, func(s roller.Snapshot) recalled {
		if o.Recall <= 0 {
			return recalled{}
		}
		return o.memory.recall(s.At, o.Recall, awaits, s.Nodes)
	})
}

func (o *Observer) observe(ctx context.Context, cached bool, recall func(roller.Snapshot) recalled) roller.Snapshot {
	seen := Seen{Lasting: o.Lasting, At: time.Now()}
	seen.Places = o.places(ctx, cached)
	known := Assemble(seen) // which nodes to ask
	var brokers, controllers []roller.NodeID
	for _, n := range known.Nodes {
		switch {
		case n.Instance.Or("") == "":
		case n.Roles.Broker:
			brokers = append(brokers, n.ID)
		case n.Roles.Controller:
			controllers = append(controllers, n.ID)
		}
	}
	seen.From = seen.At
	recent := recall(known)
	if err := o.connect(ctx, seen.Places); err != nil {
		seen.Kafka = unreached(err)
		return Assemble(seen)
	}
	expected, err := clusterOf(known.Nodes, seen.Places)
	if err == nil && expected != "" {
		err = o.Kafka.pin(expected)
	}
	within, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	var both sync.WaitGroup
	recent.candidates, recent.controllers = among(slices.Clone(recent.candidates), brokers), running(known)
	recent.noneReady = !slices.ContainsFunc(known.Nodes, func(n roller.Node) bool { return n.Roles.Broker && n.Ready.Or(true) })
	both.Go(func() { seen.Kafka = o.Kafka.read(within, brokers, controllers, recent) })
	both.Go(func() { seen.Recovery = o.recoveries(within, known.Nodes) })
	both.Wait()
	seen.Elsewhere = o.Kafka.bind(expected, err, &seen.Kafka)
	seen.Kafka.doubt(known.Nodes, recent)
	o.memory.keep(seen.At, known.Nodes, seen.Kafka, recent)
	seen.Kafka.Racks = o.memory.racks
	seen.At = time.Now()
	seen.Silent = o.listen(known.Nodes, seen)
	return Assemble(seen)
}

// running counts the controllers that may be running: those that have a pod whose container is not known to be stopped. 0 means unknown.
func running(s roller.Snapshot) int {
	if s.Unread != "" {
		return 0
	}
	count := 0
	for _, n := range s.Nodes {
		if n.Roles.Controller && n.Instance.Or("?") != "" && n.Stuck.Or("") == "" {
			count++
		}
	}
	return count
}

// connect makes sure that Kafka has the current clients.
func (o *Observer) connect(ctx context.Context, places []Place) error {
	if o.Connect == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	k, err := o.Connect(ctx, places)
	if err == nil {
		o.Kafka = k
	}
	return err
}

// unreached returns the facts about a Kafka cluster that could not be reached.
func unreached(err error) KafkaFacts {
	why := "Kafka was not asked: " + err.Error()
	return KafkaFacts{
		Topics: roller.Unknown[[]roller.Topic](why), Quorum: roller.Unknown[roller.Quorum](why),
		Brokers: roller.Unknown[map[roller.NodeID]kafka.Node](why),
	}
}

// places reads all Kubernetes clusters concurrently.
func (o *Observer) places(ctx context.Context, cached bool) []Place {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	sources := o.Sources()
	places, agents := make([]Place, len(sources)), make([]map[string]agent, len(sources))
	var all sync.WaitGroup
	for i, source := range sources {
		all.Go(func() {
			if cached && source.Cache != nil {
				places[i] = ReadCache(ctx, source.ID, source.Cache, o.Namespace, o.Cluster)
			} else {
				places[i] = ReadPlace(ctx, source.ID, source.Reader, o.Namespace, o.Cluster)
			}
			if places[i].Err == nil {
				agents[i] = readAgents(ctx, source.Reader, places[i].Sets, o.operatorsIn(source.ID))
			}
		})
	}
	all.Wait()
	now := time.Now()
	for i := range places {
		o.markIdle(&places[i], agents[i], now)
	}
	if o.Unnamed {
		o.markExcluded(places)
	}
	return places
}

// markExcluded marks the sets that the roller must not roll, because they are not assigned to it, or because nobody knows whether those of
// another Kubernetes cluster are: it has never been read.
func (o *Observer) markExcluded(places []Place) {
	if o.read == nil {
		o.read = map[string]bool{}
	}
	unread := ""
	for _, p := range places {
		if p.Err == nil {
			o.read[p.ID] = true
		} else if !o.read[p.ID] {
			unread = neverRead(p.ID)
		}
	}
	for p := range places {
		for i := range places[p].Sets {
			set := &places[p].Sets[i]
			if !set.RolledByRoller {
				set.Idle = cmp.Or(set.Idle, notRolled(set.Name))
			}
			if !set.Everywhere {
				set.Idle = cmp.Or(set.Idle, unread)
			}
		}
	}
}

// atOnceProbed is how many nodes are probed concurrently.
const atOnceProbed = 32

// LongestProbe bounds the reading of logs in one look. The API server may dial a kubelet that is gone for much longer, and the facts of a
// restart, which must be younger than roller.Freshness, would age meanwhile.
const LongestProbe = 2 * time.Second

// recoveries probes all nodes that are not ready. A log that does not come in time is unknown.
func (o *Observer) recoveries(ctx context.Context, nodes []roller.Node) map[roller.NodeID]roller.Fact[*roller.Recovery] {
	found := map[roller.NodeID]roller.Fact[*roller.Recovery]{}
	if o.Prober == nil {
		return found
	}
	ctx, cancel := context.WithTimeoutCause(ctx, LongestProbe, fmt.Errorf("the pod's log did not come within %s", LongestProbe))
	defer cancel()
	var (
		mu   sync.Mutex
		all  sync.WaitGroup
		free = make(chan struct{}, atOnceProbed)
	)
	for _, n := range nodes {
		if n.Instance.Or("") == "" || n.Ready.Or(true) || n.Stuck.Or("") != "" {
			continue
		}
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			r, err := o.Prober.Recovery(ctx, n.Place, n.Name, time.Since(n.ReadyChanged))
			fact := roller.Known(r)
			switch {
			case err != nil && ctx.Err() != nil:
				fact = roller.Unknown[*roller.Recovery](context.Cause(ctx).Error())
			case err != nil:
				fact = roller.Unknown[*roller.Recovery](err.Error())
			}
			mu.Lock()
			defer mu.Unlock()
			found[n.ID] = fact
		})
	}
	all.Wait()
	return found
}

// unheard is the largest gap between two observations in which a node that answers in neither counts as silent.
const unheard = time.Minute

// attentive reports whether the last observation ended shortly before this one, and the process did not sleep during this one: its three
// parts, addresses and credentials among them, may take Timeout each.
func (o *Observer) attentive(seen Seen) bool {
	return seen.From.Sub(o.listened) <= unheard && seen.At.Round(0).Sub(seen.From.Round(0)) <= 4*o.Timeout
}

// listen tracks since when nodes have not answered. The time starts again for a new instance, for one that was not asked, and when nobody
// looked for a while. If no broker answers at all, only those that answered before count: the roller may have the wrong addresses.
func (o *Observer) listen(nodes []roller.Node, seen Seen) map[roller.NodeID]time.Time {
	before := o.silent
	if !o.attentive(seen) {
		before = nil
	}
	o.silent, o.listened = map[roller.NodeID]silence{}, seen.At
	if o.heard == nil {
		o.heard = map[roller.NodeID]bool{}
	}
	reached := false
	for _, n := range nodes {
		if answer, asked := seen.Kafka.Nodes[n.ID]; asked && answer.Answers {
			o.heard[n.ID] = true
			reached = reached || n.Roles.Broker
		}
	}
	since := map[roller.NodeID]time.Time{}
	for _, n := range nodes {
		answer, asked := seen.Kafka.Nodes[n.ID]
		if !asked || answer.Answers || answer.Unasked || !reached && !o.heard[n.ID] {
			continue
		}
		s, silent := before[n.ID]
		if instance := n.Instance.Or(""); !silent || s.instance != instance {
			s = silence{instance, seen.At}
		}
		o.silent[n.ID] = s
		since[n.ID] = s.since
	}
	return since
}
