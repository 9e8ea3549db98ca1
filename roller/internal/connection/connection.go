// Package connection connects to one Kafka cluster: by addresses and credentials of the user, or by those that follow from its name
// (docs/decisions/who-rolls.md). It applies changed credentials and addresses at run time.
package connection

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

const (
	// nodeTimeout is how long a single Kafka node may take to answer: a restarting node must not delay the observation of the others.
	nodeTimeout = 3 * time.Second
	// recheck is the age at which credentials are read again.
	recheck = 30 * time.Second
)

// Connection holds the clients of one Kafka cluster. It is not safe for concurrent use.
type Connection struct {
	Namespace, Cluster string
	// Kafka describes how to reach the brokers. Without bootstrap addresses they, and the Secrets, follow from the name of the cluster.
	Kafka options.KafkaOptions
	// Controllers are the addresses of the controllers. If it is empty, they follow from the name of the cluster if those of the brokers
	// do; otherwise the controllers can't be reached.
	Controllers []string
	// Timeout bounds one call to Kafka.
	Timeout time.Duration
	// Secrets reads from the API server.
	Secrets client.Reader
	Log     logr.Logger

	brokers     *saramakafka.Admin
	controllers *saramakafka.Controllers
	inForce     target
	own         identity
	read        time.Time
	problem     string
	// named reports that there were Secrets of the Kafka cluster.
	named bool
}

// target is the configuration of a client.
type target struct {
	addresses
	protocol credentials.SecurityProtocol
	material credentials.Material
}

// addresses are those of the nodes of a Kafka cluster.
type addresses struct {
	bootstrap, controllers       []string
	brokersByID, controllersByID map[int32]string
}

func (t target) equal(o target) bool {
	return t.protocol == o.protocol && t.material == o.material && t.addresses.equal(o.addresses)
}

func (a addresses) equal(o addresses) bool {
	return slices.Equal(a.bootstrap, o.bootstrap) && slices.Equal(a.controllers, o.controllers) && maps.Equal(a.brokersByID, o.brokersByID) &&
		maps.Equal(a.controllersByID, o.controllersByID)
}

// Connect returns the clients for the Kafka cluster whose pods are in these places. It sends no request to Kafka. An error before the first
// success means that there are no clients. After that, clients keep the last valid configuration if the present one can't be read or used,
// which is logged once.
func (c *Connection) Connect(ctx context.Context, places []observe.Place, now time.Time) (*observe.Kafka, error) {
	err, message := c.refresh(ctx, places, now), "Failed to apply the addresses or credentials for Kafka; the last valid ones stay in use"
	if c.brokers == nil && err != nil {
		return nil, err
	}
	if err == nil {
		err, message = c.own.check(now), "Brokers reject the roller"
	}
	switch {
	case err == nil:
		c.problem = ""
	case c.problem != err.Error():
		c.problem = err.Error()
		c.Log.Error(err, message)
	}
	k := &observe.Kafka{Brokers: c.brokers}
	if c.controllers != nil {
		k.Controllers = c.controllers
	}
	return k, nil
}

// Writers returns the clients that change configurations; the second one is nil if the controllers can't be reached.
func (c *Connection) Writers() (brokers, controllers kafka.ConfigWriter) {
	if c.controllers != nil {
		controllers = c.controllers
	}
	return c.brokers, controllers
}

// Leaders returns the client that elects leaders.
func (c *Connection) Leaders() kafka.LeaderElector { return c.brokers }

// Close closes all connections.
func (c *Connection) Close() {
	if c.brokers != nil {
		c.brokers.Close()
	}
	if c.controllers != nil {
		c.controllers.Close()
	}
}

// refresh applies changed addresses and credentials.
func (c *Connection) refresh(ctx context.Context, places []observe.Place, now time.Time) error {
	next := target{addresses: c.addresses(places)}
	if c.brokers != nil && now.Sub(c.read) < recheck && next.addresses.equal(c.inForce.addresses) {
		return nil
	}
	settings, material, err := c.credentials(ctx, places)
	if err != nil {
		return fmt.Errorf("read the credentials for Kafka: %w", err)
	}
	next.protocol, next.material = settings.Protocol, material
	if c.brokers != nil && next.equal(c.inForce) {
		c.read = now
		return nil
	}
	if err := c.use(next, settings); err != nil {
		return err
	}
	c.own = identityOf(settings, material)
	if c.inForce.bootstrap != nil && (next.protocol != c.inForce.protocol || next.material != c.inForce.material) {
		c.Log.Info("Applied the changed credentials for Kafka")
	}
	c.inForce, c.read = next, now
	return nil
}

// conventional reports whether addresses and Secrets follow from the name of the cluster.
func (c *Connection) conventional() bool { return len(c.Kafka.Bootstrap) == 0 }

// addresses returns the configured addresses, or those that follow from the name of the cluster.
func (c *Connection) addresses(places []observe.Place) addresses {
	if !c.conventional() {
		return addresses{bootstrap: c.Kafka.Bootstrap, controllers: c.Controllers}
	}
	a := addresses{
		bootstrap: []string{bootstrap(c.Namespace, c.Cluster)}, controllers: c.Controllers,
		brokersByID: known(ofBrokers.addresses(c.Namespace, c.Cluster, places), c.inForce.brokersByID, places),
	}
	if len(a.controllers) == 0 {
		a.controllersByID = known(ofControllers.addresses(c.Namespace, c.Cluster, places), c.inForce.controllersByID, places)
		a.controllers = slices.Sorted(maps.Values(a.controllersByID))
	}
	return a
}

// known returns the conventional addresses, and keeps those in use while a Kubernetes cluster is unreadable.
func known(addresses, inUse map[int32]string, places []observe.Place) map[int32]string {
	if slices.ContainsFunc(places, func(p observe.Place) bool { return p.Err != nil }) {
		for id, address := range inUse {
			if _, found := addresses[id]; !found {
				addresses[id] = address
			}
		}
	}
	return addresses
}

// use creates the clients, or reconfigures the existing ones.
func (c *Connection) use(t target, settings credentials.Settings) error {
	config := credentials.KafkaConfig(settings, t.material)
	config.NodeTimeout, config.RequestTimeout = nodeTimeout, c.Timeout
	config.Bootstrap, config.Nodes = t.bootstrap, t.brokersByID
	if err := c.useBrokers(config); err != nil {
		return err
	}
	config.Bootstrap, config.Nodes = t.controllers, t.controllersByID
	return c.useControllers(config)
}

func (c *Connection) useBrokers(config kafka.Config) (err error) {
	if c.brokers != nil {
		return c.brokers.Reconfigure(config)
	}
	c.brokers, err = saramakafka.New(config)
	return err
}

func (c *Connection) useControllers(config kafka.Config) (err error) {
	switch {
	case len(config.Bootstrap) == 0:
		return nil
	case c.controllers != nil:
		return c.controllers.Reconfigure(config)
	}
	c.controllers, err = saramakafka.NewControllers(config)
	return err
}
