// Package app puts the roller together: from options to something that can be asked, or run.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/actuate"
	"github.com/kafka-operators/kafka-operators/roller/internal/engine"
	"github.com/kafka-operators/kafka-operators/roller/internal/journal"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// userAgent is the roller's in the API server's logs, and its client id in Kafka's.
const userAgent = "kafka-operators-roller"

// nodeTimeout is how long a single node of Kafka may take to answer: one that is being restarted must not hold up the look at the others.
const nodeTimeout = 3 * time.Second

// world is everything outside that the roller reads and acts on.
type world struct {
	options options.Options
	home    client.Client
	fleet   *fleet // nil: there is one Kubernetes cluster
	// places are the Kubernetes clusters of the moment. The first one is that where the roller runs.
	places func() []place

	brokers     *saramakafka.Admin
	controllers *saramakafka.Controllers
	mu          sync.Mutex
	inForce     credentials.Material // what the connections were made with
	problem     string               // why what is there now is not in force, for telling it once
}

// place is one Kubernetes cluster.
type place struct {
	id     string
	reader client.Reader
	client func() (client.Client, error)
	logs   func() (kubernetes.Interface, error)
}

// Scheme knows the kinds that the roller reads.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(podset.AddToScheme(scheme))
	return scheme
}

// newWorld connects. Kafka is not asked anything yet.
func newWorld(ctx context.Context, config *rest.Config, o options.Options, log logr.Logger) (*world, error) {
	config = rest.CopyConfig(config)
	config.UserAgent, config.QPS = userAgent, -1
	home, err := client.New(config, client.Options{Scheme: Scheme()})
	if err != nil {
		return nil, fmt.Errorf("the Kubernetes cluster can't be reached: %w", err)
	}
	logs, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	w := &world{options: o, home: home}
	if w.fleet, err = newFleet(ctx, config, o, log); err != nil {
		return nil, err
	}
	here := place{
		reader: home,
		client: func() (client.Client, error) { return home, nil },
		logs:   func() (kubernetes.Interface, error) { return logs, nil },
	}
	w.places = func() []place {
		if w.fleet == nil {
			return []place{here}
		}
		return append([]place{here}, w.fleet.places()...)
	}
	if err := w.connect(ctx); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// connect makes the clients for Kafka.
func (w *world) connect(ctx context.Context) error {
	m, settings, err := material(ctx, w.home, w.options.Kafka)
	if err != nil {
		return fmt.Errorf("the credentials for Kafka can't be read: %w", err)
	}
	w.inForce = m
	config := w.kafkaConfig(settings, m)
	if w.brokers, err = saramakafka.New(config); err != nil {
		return err
	}
	if len(w.options.Controllers) == 0 {
		return nil
	}
	config.Bootstrap = w.options.Controllers
	w.controllers, err = saramakafka.NewControllers(config)
	return err
}

func (w *world) close() {
	if w.fleet != nil {
		w.fleet.end()
	}
	if w.brokers != nil {
		w.brokers.Close()
	}
	if w.controllers != nil {
		w.controllers.Close()
	}
}

// find returns the place of this id.
func (w *world) find(id string) (place, error) {
	for _, p := range w.places() {
		if p.id == id {
			return p, nil
		}
	}
	return place{}, fmt.Errorf("no Kubernetes cluster %q is connected", cmp.Or(id, "home"))
}

// observer reads all of it.
func (w *world) observer() *observe.Observer {
	k := &observe.Kafka{Brokers: w.brokers}
	if w.controllers != nil {
		k.Controllers = w.controllers
	}
	return &observe.Observer{
		Namespace: w.options.Namespace, Cluster: w.options.Cluster, Kafka: k, Lasting: w.options.StuckAfter, Timeout: w.options.Timeout, Recall: observe.DefaultRecall,
		Sources: func() []observe.Source {
			var sources []observe.Source
			for _, p := range w.places() {
				sources = append(sources, observe.Source{ID: p.id, Reader: p.reader})
			}
			return sources
		},
		Prober: &observe.Logs{Namespace: w.options.Namespace, Place: func(id string) (kubernetes.Interface, error) {
			p, err := w.find(id)
			if err != nil {
				return nil, err
			}
			return p.logs()
		}},
	}
}

// policy is that of the moment.
func (w *world) policy(now time.Time) roller.Policy {
	p := w.options.Policy
	p.Closed = w.options.Windows.Closed(now)
	return p
}

// engine goes around in it.
func (w *world) engine(log logr.Logger, reports ...engine.Reporter) *engine.Engine {
	act := &actuate.Actuator{
		Namespace: w.options.Namespace, Brokers: w.brokers,
		Place: func(id string) (client.Client, error) {
			p, err := w.find(id)
			if err != nil {
				return nil, err
			}
			return p.client()
		},
	}
	if w.controllers != nil {
		act.Controllers = w.controllers
	}
	o := w.observer()
	return &engine.Engine{
		Observe: o.Observe,
		Glance: func(ctx context.Context) roller.Snapshot {
			w.refresh(ctx, log)
			return o.Glance(ctx)
		},
		Journal: w.journal(), Act: act, Policy: w.policy, Reports: reports, Log: log,
	}
}

func (w *world) journal() *journal.Journal {
	return journal.New(w.home, w.home, w.options.Namespace, w.options.Cluster)
}

// glance observes once, and returns it with the progress and the policy, for those who only want to look.
func (w *world) glance(ctx context.Context) (roller.Snapshot, roller.Progress, roller.Policy, error) {
	progress, paused, err := w.journal().Load(ctx)
	if err != nil {
		return roller.Snapshot{}, roller.Progress{}, roller.Policy{}, err
	}
	s := w.observer().Observe(ctx)
	policy := w.policy(s.At)
	policy.Paused = paused
	if len(s.Nodes) == 0 {
		err = errors.Join(fmt.Errorf("no node of Kafka cluster %q was found in namespace %q: are its pods labelled strimzi.io/cluster=%s, and strimzi.io/broker-role or strimzi.io/controller-role?",
			w.options.Cluster, w.options.Namespace, w.options.Cluster), unread(ctx, w))
	}
	return s, progress, policy, err
}

// unread is why a Kubernetes cluster can't be read, if one can't.
func unread(ctx context.Context, w *world) error {
	var errs []error
	for _, p := range w.places() {
		if seen := observe.ReadPlace(ctx, p.id, p.reader, w.options.Namespace, w.options.Cluster); seen.Err != nil {
			errs = append(errs, seen.Err)
		}
	}
	return errors.Join(errs...)
}
