package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/internal/connection"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
	"github.com/kafka-operators/kafka-operators/roller/internal/journal"
	"github.com/kafka-operators/kafka-operators/roller/internal/lease"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// roll is the roll of one Kafka cluster.
type roll struct {
	*engine.Engine
	cluster    types.NamespacedName
	world      *world
	connection *connection.Connection
	observer   *observe.Observer
	journal    *journal.Journal
	// ended is called when the roll is closed.
	ended func()
}

// newRoll assembles the roll. It sends no requests yet.
func (w *world) newRoll(cluster types.NamespacedName, reports ...engine.Reporter) *roll {
	log := w.log.WithValues("namespace", cluster.Namespace, "cluster", cluster.Name)
	kafka := w.options.Kafka
	if kafka.SecretNamespace == "" {
		kafka.SecretNamespace = cluster.Namespace
	}
	r := &roll{
		cluster: cluster, world: w, journal: journal.New(w.home, w.home, cluster.Namespace, cluster.Name), ended: func() {},
		connection: &connection.Connection{
			Namespace: cluster.Namespace, Cluster: cluster.Name, Kafka: kafka, Controllers: w.options.Controllers, Timeout: w.options.Timeout,
			Secrets: w.home, Log: log,
		},
	}
	lock := &lease.Lease{
		Client: w.home, Namespace: cluster.Namespace, Cluster: cluster.Name, Identity: w.identity, Now: time.Now,
		Elected: w.elects(cluster), Owners: r.journal.Owners,
	}
	act := &actuate.Actuator{Namespace: cluster.Namespace, Place: w.clientOf, Held: lock.Verify}
	r.observer = &observe.Observer{
		Namespace: cluster.Namespace, Cluster: cluster.Name, Unnamed: w.options.Cluster == "", Lasting: w.options.StuckAfter,
		Timeout: w.options.Timeout, Recall: observe.DefaultRecall, Sources: w.sources, Operators: w.options.Home,
		Connect: func(ctx context.Context, places []observe.Place) (*observe.Kafka, error) {
			k, err := r.connection.Connect(ctx, places, time.Now())
			if err == nil {
				act.Brokers, act.Controllers = r.connection.Writers()
				act.Leaders = r.connection.Leaders()
			}
			return k, err
		},
		Prober: &observe.Logs{Namespace: cluster.Namespace, Place: w.logsOf},
	}
	r.Engine = &engine.Engine{
		Observe: r.observer.Observe, Glance: r.observer.Glance, Verify: r.observer.Verify, Longest: w.longestLook(),
		Woken: w.options.Command == "run", Journal: r.journal, Act: act, Policy: w.policy, Reports: reports, Log: log,
		Lock: lock,
	}
	return r
}

// elects reports whether the replicas of this Deployment elect their leader by the Lease of this Kafka cluster.
func (w *world) elects(cluster types.NamespacedName) bool {
	e := w.options.Election
	return w.options.Command == "run" && e.Enabled && e.Name == lease.Name(cluster.Name) && e.Namespace == cluster.Namespace
}

// Close releases the Lease, and closes the connections to Kafka.
func (r *roll) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
	defer cancel()
	r.Engine.Close(ctx)
	r.connection.Close()
	r.ended()
}

// glance observes once, without acting, and returns the snapshot, the progress and the policy.
func (r *roll) glance(ctx context.Context) (roller.Snapshot, roller.Progress, roller.Policy, error) {
	progress, paused, err := r.journal.Load(ctx)
	if err != nil {
		return roller.Snapshot{}, roller.Progress{}, roller.Policy{}, err
	}
	s := r.observer.Observe(ctx)
	policy := r.world.policy(s.At)
	policy.Paused = paused
	if len(s.Nodes) == 0 {
		err = errors.Join(fmt.Errorf("no node of Kafka cluster %q was found in namespace %q: are its pods labelled strimzi.io/cluster=%s, and "+
			"strimzi.io/broker-role or strimzi.io/controller-role?",
			r.cluster.Name, r.cluster.Namespace, r.cluster.Name), r.world.unread(ctx, r.cluster))
	}
	return s, progress, policy, err
}

// longestLook returns how long a look may take: two observations, of three parts each.
func (w *world) longestLook() time.Duration { return 6 * w.options.Timeout }

// policy returns the policy at this moment.
func (w *world) policy(now time.Time) roller.Policy {
	p := w.options.Policy
	p.Closed = w.options.Windows.Closed(now)
	return p
}

func (w *world) clientOf(id string) (client.Client, error) {
	p, err := w.find(id)
	if err != nil {
		return nil, err
	}
	return p.client()
}

func (w *world) logsOf(id string) (corev1client.PodsGetter, error) {
	p, err := w.find(id)
	if err != nil {
		return nil, err
	}
	return p.logs()
}
