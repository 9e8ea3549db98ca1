package observe

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/roller"
)

// Source is a Kubernetes cluster to read.
type Source struct {
	// ID is the cluster's id; empty for the one where the roller runs.
	ID string
	// Reader asks the API server, and no cache.
	Reader client.Reader
}

// Prober asks a node that is not ready whether it recovers its logs.
type Prober interface {
	// Recovery returns nil where the node does not; an error where nobody can tell.
	Recovery(ctx context.Context, place, pod string) (*roller.Recovery, error)
}

// Observer observes one Kafka cluster. It remembers which nodes answered and since when they are silent, which Kafka cluster it
// is, and for [Observer.Glance] configurations. It is not safe for concurrent use.
type Observer struct {
	Namespace, Cluster string
	// Sources returns the Kubernetes clusters of the moment.
	Sources func() []Source
	Kafka   *Kafka
	// Prober is nil where nobody can be asked.
	Prober Prober
	// Lasting is how long a pod must have been without a place or a container before that means that it is stuck.
	Lasting time.Duration
	// Timeout bounds each of the two parts of an observation: Kubernetes, and Kafka.
	Timeout time.Duration
	// Recall is how old the configurations of nodes and topics may be in a Glance. 0: they are asked for each time.
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

// Observe reads everything there is to know. What is done to a cluster has to be decided on nothing less.
func (o *Observer) Observe(ctx context.Context) roller.Snapshot { return o.observe(ctx, 0) }

// Glance is Observe for those who wait: the configurations of nodes and topics may be as old as Recall, everything else is read anew. On a large cluster that
// is a handful of requests instead of one for each node.
func (o *Observer) Glance(ctx context.Context) roller.Snapshot { return o.observe(ctx, o.Recall) }

func (o *Observer) observe(ctx context.Context, recall time.Duration) roller.Snapshot {
	seen := Seen{Lasting: o.Lasting, At: time.Now()}
	seen.Places = o.places(ctx)
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
	var recent recalled
	if recall > 0 {
		recent = o.memory.recall(seen.At, recall, known.Nodes)
	}
	expected, err := clusterOf(known.Nodes, seen.Places)
	if err == nil && expected != "" {
		err = o.Kafka.pin(expected)
	}
	within, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() { seen.Kafka = o.Kafka.read(within, brokers, controllers, recent) })
	both.Go(func() { seen.Recovery = o.recoveries(within, known.Nodes) })
	both.Wait()
	seen.Elsewhere = o.Kafka.bind(expected, err, &seen.Kafka)
	o.memory.keep(seen.At, known.Nodes, seen.Kafka, recent)
	seen.At = time.Now()
	seen.Silent = o.listen(known.Nodes, seen)
	return Assemble(seen)
}

// places reads all Kubernetes clusters at once.
func (o *Observer) places(ctx context.Context) []Place {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	sources := o.Sources()
	places := make([]Place, len(sources))
	var all sync.WaitGroup
	for i, source := range sources {
		all.Go(func() { places[i] = ReadPlace(ctx, source.ID, source.Reader, o.Namespace, o.Cluster) })
	}
	all.Wait()
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

// listen keeps account of the nodes that did not answer. A new instance begins anew, and so does one that nobody asked. Where no broker answers at all, those
// count that answered before: else it may be us who ask at the wrong door.
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
