// Package app assembles the roller from its options: its commands and its Deployment.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	opevents "github.com/kafka-operators/kafka-operators/operator/events"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// name is the roller's name in Events, and in the logs of API servers and Kafka.
const name = "kafka-operators-roller"

// world contains the Kubernetes clusters in which the roller reads and acts.
type world struct {
	options options.Options
	log     logr.Logger
	// identity distinguishes this process from all others.
	identity string
	// home is the client of the Kubernetes cluster where the roller runs.
	home client.Client
	// places returns the connected Kubernetes clusters. The first one is home.
	places func() []place
	// connected yields the id of another Kubernetes cluster each time it is connected; nil if none are configured.
	connected func(ctx context.Context) iter.Seq[string]
	// events accepts the Events of the Deployment.
	events *opevents.Recorder
	// end closes the connections.
	end func()
}

// place is one Kubernetes cluster.
type place struct {
	id string
	// reader reads from the API server. cache, if not nil, reads from a cache.
	reader, cache client.Reader
	client        func() (client.Client, error)
	logs          func() (corev1client.PodsGetter, error)
	events        func() events.EventRecorder
}

// Scheme returns a scheme with the kinds that the roller reads.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(core.AddToScheme(scheme))
	return scheme
}

// newHome returns a world with only the Kubernetes cluster where the roller runs.
func newHome(config *rest.Config, o options.Options, log logr.Logger) (*world, error) {
	home, err := client.New(config, client.Options{Scheme: Scheme()})
	if err != nil {
		return nil, fmt.Errorf("the Kubernetes cluster can't be reached: %w", err)
	}
	logs, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	here := place{
		reader: home,
		client: func() (client.Client, error) { return home, nil },
		logs:   func() (corev1client.PodsGetter, error) { return logs, nil },
	}
	identity := host + "_" + string(uuid.NewUUID())
	if o.Command == "run" && o.Election.Identity != "" { // a command in the container of a Deployment is another process
		identity = o.Election.Identity
	}
	return &world{
		options: o, log: log, identity: identity, home: home,
		places: func() []place { return []place{here} }, end: func() {},
	}, nil
}

// forCommands returns the world of a command that looks or acts once.
func forCommands(ctx context.Context, config *rest.Config, o options.Options, log logr.Logger) (*world, error) {
	config = configFor(config)
	w, err := newHome(config, o, log)
	if err != nil {
		return nil, err
	}
	return w, w.joinRemotes(ctx, config)
}

// configFor returns the configuration for all clients of an API server.
func configFor(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.UserAgent, config.QPS = name, -1 // the API server's priority and fairness limits requests better
	return config
}

// find returns the place with this id.
func (w *world) find(id string) (place, error) {
	for _, p := range w.places() {
		if p.id == id {
			return p, nil
		}
	}
	return place{}, fmt.Errorf("no Kubernetes cluster %q is connected", cmp.Or(id, "home"))
}

// sources returns the readers of all places.
func (w *world) sources() []observe.Source {
	var sources []observe.Source
	for _, p := range w.places() {
		sources = append(sources, observe.Source{ID: p.id, Reader: p.reader, Cache: p.cache})
	}
	return sources
}

// recorder returns the recorder of the place with this id; nil if the place can't be reached.
func (w *world) recorder(id string) events.EventRecorder {
	p, err := w.find(id)
	if err != nil || p.events == nil {
		return nil
	}
	return p.events()
}

// unread returns why a Kubernetes cluster can't be read; nil if all can.
func (w *world) unread(ctx context.Context, cluster types.NamespacedName) error {
	ctx, cancel := context.WithTimeout(ctx, w.options.Timeout)
	defer cancel()
	var errs []error
	for _, p := range w.places() {
		errs = append(errs, observe.ReadPlace(ctx, p.id, p.reader, cluster.Namespace, cluster.Name).Err)
	}
	return errors.Join(errs...)
}

// shutdown bounds the end of a roll.
const shutdown = 5 * time.Second
