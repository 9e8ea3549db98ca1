package observe

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
)

// Source is a Kubernetes cluster to read.
type Source struct {
	// ID is the cluster's id; empty for the one where the roller runs.
	ID string
	// Reader asks the API server, and no cache.
	Reader client.Reader
	// Cache, if set, is a cache that was filled with Trim. It is enough for a Glance.
	Cache client.Reader
}

// Prober asks a node that is not ready whether it recovers its logs.
type Prober interface {
	// Recovery returns nil where the node does not; an error if that is unknown.
	Recovery(ctx context.Context, place, pod string) (*roller.Recovery, error)
}

// Observer observes one Kafka cluster. It remembers which nodes answered and since when they are silent, which Kafka cluster it
// is, and for [Observer.Glance] configurations. It is not safe for concurrent use.
type Observer struct {
	Namespace, Cluster string
	// Unnamed: the Kafka cluster was not given by name, so the roller only restarts pods of sets that are assigned to it
	// (docs/decisions/who-rolls.md).
	Unnamed bool
	// Sources returns the Kubernetes clusters of the moment.
	Sources func() []Source
	Kafka   *Kafka
	// Connect, if set, returns what Kafka should be before each observation: addresses and credentials may change. Its error leaves all of
	// Kafka unknown.
	Connect func(ctx context.Context, places []Place) (*Kafka, error)
	// Prober is nil where nodes cannot be probed.
	Prober Prober
	// Lasting is how long a pod must have been without a place or a container before that means that it is stuck.
	Lasting time.Duration
	// Timeout bounds each of the two parts of an observation: Kubernetes, and Kafka.
	Timeout time.Duration
	// Recall is how old the configurations of topics, and of the nodes of a small cluster, may be in a Glance. 0: all are asked for each time.
	Recall time.Duration

	memory memory
	silent map[roller.NodeID]silence
	heard  map[roller.NodeID]bool // the nodes that answered, whenever that was
}

// silence is since when which instance has not answered.
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

// Verify is Observe for what to do to a few nodes: the configurations of these, and of all topics, are read again, their peers are asked
// whether they still answer, and of the others is read only what a Glance reads. Kubernetes' API servers are asked, and no caches.
func (o *Observer) Verify(ctx context.Context, nodes, peers []roller.NodeID) roller.Snapshot {
	return o.observe(ctx, false, func(s roller.Snapshot) recalled { return o.memory.recall(s.At, o.Recall, s.Nodes).except(nodes, peers) })
}

// Glance is Observe for those who wait: the configurations of topics may be as old as Recall, those of nodes older where there are many,
// and Kubernetes is read from caches where there are any. Everything else is read again. On a large cluster that is a handful of requests
// instead of one for each node.
func (o *Observer) Glance(ctx context.Context) roller.Snapshot {
	return o.observe(ctx, true, func(s roller.Snapshot) recalled {
		if o.Recall <= 0 {
			return recalled{}
		}
		return o.memory.recall(s.At, o.Recall, s.Nodes)
	})
}

func (o *Observer) observe(ctx context.Context, cached bool, recall func(roller.Snapshot) recalled) roller.Snapshot {
	seen := Seen{Lasting: o.Lasting, At: time.Now()}
	seen.Places = o.places(ctx, cached)
	known := Assemble(seen) // who there is to ask
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
	recent.candidates = among(slices.Clone(recent.candidates), brokers)
	both.Go(func() { seen.Kafka = o.Kafka.read(within, brokers, controllers, recent) })
	both.Go(func() { seen.Recovery = o.recoveries(within, known.Nodes) })
	both.Wait()
	seen.Elsewhere = o.Kafka.bind(expected, err, &seen.Kafka)
	seen.Kafka.doubt(known.Nodes, recent)
	o.memory.keep(seen.At, known.Nodes, seen.Kafka, recent)
	seen.At = time.Now()
	seen.Silent = o.listen(known.Nodes, seen)
	return Assemble(seen)
}

// connect makes sure that Kafka is who should be asked.
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

// places reads all Kubernetes clusters at once.
func (o *Observer) places(ctx context.Context, cached bool) []Place {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	sources := o.Sources()
	places := make([]Place, len(sources))
	var all sync.WaitGroup
	for i, source := range sources {
		all.Go(func() {
			if cached && source.Cache != nil {
				places[i] = ReadCache(ctx, source.ID, source.Cache, o.Namespace, o.Cluster)
			} else {
				places[i] = ReadPlace(ctx, source.ID, source.Reader, o.Namespace, o.Cluster)
			}
		})
	}
	all.Wait()
	for p := range places {
		for i := range places[p].Sets {
			if set := &places[p].Sets[i]; o.Unnamed && !set.Left {
				set.Idle = cmp.Or(set.Idle, notLeft(set.Name))
			}
		}
	}
	return places
}

// recoveries asks all nodes that are not ready.
func (o *Observer) recoveries(ctx context.Context, nodes []roller.Node) map[roller.NodeID]roller.Fact[*roller.Recovery] {
	found := map[roller.NodeID]roller.Fact[*roller.Recovery]{}
	if o.Prober == nil {
		return found
	}
	var (
		mu  sync.Mutex
		all sync.WaitGroup
	)
	for _, n := range nodes {
		if n.Instance.Or("") == "" || n.Ready.Or(true) || n.Stuck.Or("") != "" {
			continue
		}
		all.Go(func() {
			r, err := o.Prober.Recovery(ctx, n.Place, n.Name)
			fact := roller.Known(r)
			if err != nil {
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

// listen keeps account of the nodes that did not answer. A new instance begins again, and so does one that nobody asked. Where no broker
// answers at all, those count that answered before: else it may be us who ask at the wrong door.
func (o *Observer) listen(nodes []roller.Node, seen Seen) map[roller.NodeID]time.Time {
	before := o.silent
	o.silent = map[roller.NodeID]silence{}
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
		if !asked || answer.Answers || !reached && !o.heard[n.ID] {
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
