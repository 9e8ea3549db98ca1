package controller

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// Connection is how the brokers of a Kafka are reached.
type Connection struct {
	Kafka types.NamespacedName
	// ClusterID is the id that the brokers must have.
	ClusterID string
	Config    kafka.Config
	// Anew has Holdings and LogDirs wait for what is so now, because something is removed on the strength of it. Otherwise they return after a
	// moment, and the answer may be that to an earlier call.
	Anew bool
}

// Found is the state of a cluster as its brokers report it.
type Found struct {
	// Brokers are the registered brokers, those that are fenced included where Kafka lists them.
	Brokers         []kafka.Node
	MetadataVersion kafka.MetadataVersion
	// Features are the levels of all features that the cluster uses.
	Features map[string]int16
}

// KafkaClients ask brokers. A call that fails leaves what was asked unknown.
type KafkaClients interface {
	// Holdings returns what is known of the replicas that brokers hold which are to leave. Where one of these does not report them, those that
	// stay are asked which topics they have.
	Holdings(ctx context.Context, c Connection, leave, stay []int32) (*topology.Holdings, error)
	// LogDirs returns the log directories of brokers. One that did not answer has no entry.
	LogDirs(ctx context.Context, c Connection, brokers []int32) (map[int32][]kafka.LogDir, error)
	// Inspect returns what is known of the cluster as a whole.
	Inspect(ctx context.Context, c Connection) (Found, error)
	// Quorum returns the state of the metadata quorum.
	Quorum(ctx context.Context, c Connection) (kafka.Quorum, error)
	// Unregister deletes the registration of a broker that left.
	Unregister(ctx context.Context, c Connection, broker int32) error
	// RaiseMetadataVersion raises the metadata version to a level.
	RaiseMetadataVersion(ctx context.Context, c Connection, level int16) error
	// LowerMetadataVersion lowers the metadata version to a level, if Kafka can do so without loss.
	LowerMetadataVersion(ctx context.Context, c Connection, level int16) error
	// Forget closes what is open to a Kafka.
	Forget(name types.NamespacedName)
}

// connection is how this pass asks brokers: as the operator, over the listener of the nodes.
func (p *pass) connection() Connection {
	c := Connection{
		Kafka: types.NamespacedName{Namespace: p.kafka.Namespace, Name: p.kafka.Name}, ClusterID: p.input.ClusterID,
		Config: kafka.Config{
			Bootstrap:      model.Bootstrap(p.input),
			ClientID:       "cluster-operator",
			RequestTimeout: 10 * time.Second,
			TLS:            &kafka.TLS{},
		},
	}
	c.Config.TLS.TrustedCertificates = p.trusted()
	if s := p.home().facts.Secret(pki.OperatorSecret(p.kafka.Name)); s != nil {
		c.Config.TLS.Certificate, c.Config.TLS.Key = s.Data["cluster-operator.crt"], s.Data["cluster-operator.key"]
	}
	return c
}

// trusted returns the certificates of the CAs that signed the nodes' certificates. The trust bundle has all of them, also while a CA is
// being replaced, or if a user's own Secret can't be read. A Kafka that Strimzi created has no bundle yet.
func (p *pass) trusted() []byte {
	name := p.kafka.Name
	if certificates := pki.Trusted(p.home().facts.Secret(pki.TrustBundleSecret(name))); len(certificates) > 0 {
		return certificates
	}
	var certificates []byte
	if s := p.home().facts.Secret(pki.ClusterCACertSecret(name)); s != nil {
		for _, key := range slices.Sorted(maps.Keys(s.Data)) {
			if strings.HasSuffix(key, ".crt") {
				certificates = append(certificates, s.Data[key]...)
			}
		}
	}
	return certificates
}

// Admin are the requests to brokers.
type Admin interface {
	DescribeCluster(ctx context.Context) (kafka.Cluster, error)
	ListTopics(ctx context.Context) ([]kafka.Topic, error)
	DescribeTopics(ctx context.Context, names []string) (map[string]kafka.TopicResult, error)
	TopicsOn(ctx context.Context, broker int32) ([]string, error)
	kafka.QuorumReader
	kafka.FeatureReader
	kafka.FeatureWriter
	kafka.BrokerUnregisterer
	kafka.LogDirReader
	Reconfigure(kafka.Config) error
	Close()
}

// Clients keeps one client for each Kafka.
type Clients struct {
	// Connect opens a client.
	Connect func(kafka.Config) (Admin, error)
	// Now is the clock, and After its alarm.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time

	mu     sync.Mutex
	open   map[types.NamespacedName]openClient
	silent silences
}

type openClient struct {
	Admin
	config [sha256.Size]byte
}

// admin returns the client of a Kafka, with its present addresses and credentials.
func (c *Clients) admin(to Connection) (Admin, error) {
	config := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", to.Config.Bootstrap, to.Config.TLS.TrustedCertificates, to.Config.TLS.Certificate,
		to.Config.TLS.Key))
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.open[to.Kafka]; ok {
		if have.config == config {
			return have.Admin, nil
		}
		if err := have.Reconfigure(to.Config); err != nil {
			return nil, err
		}
		c.open[to.Kafka] = openClient{have.Admin, config}
		return have.Admin, nil
	}
	admin, err := c.Connect(to.Config)
	if err != nil {
		return nil, err
	}
	if c.open == nil {
		c.open = map[types.NamespacedName]openClient{}
	}
	c.open[to.Kafka] = openClient{admin, config}
	return admin, nil
}

// Forget closes the client of a Kafka.
func (c *Clients) Forget(name types.NamespacedName) {
	c.silent.forget(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.open[name]; ok {
		have.Close()
		delete(c.open, name)
	}
}

// cluster returns the client of a Kafka and the cluster that it reaches, which must be the one that is meant.
func (c *Clients) cluster(ctx context.Context, to Connection) (Admin, kafka.Cluster, error) {
	admin, err := c.admin(to)
	if err != nil {
		return nil, kafka.Cluster{}, err
	}
	cluster, err := admin.DescribeCluster(ctx)
	if err == nil && cluster.ID != to.ClusterID {
		err = fmt.Errorf("the brokers at %v belong to Kafka cluster %s, not to %s", to.Config.Bootstrap, cluster.ID, to.ClusterID)
	}
	return admin, cluster, err
}

// Inspect asks for the registered brokers and the metadata version.
func (c *Clients) Inspect(ctx context.Context, to Connection) (Found, error) {
	return askInBackground(ctx, c, to, "state", func(ctx context.Context) (Found, error) { return c.inspect(ctx, to) })
}

func (c *Clients) inspect(ctx context.Context, to Connection) (Found, error) {
	admin, cluster, err := c.cluster(ctx, to)
	if err != nil {
		return Found{}, err
	}
	features, err := admin.DescribeFeatures(ctx)
	if err != nil {
		return Found{}, err
	}
	return Found{Brokers: cluster.Brokers, MetadataVersion: kafka.MetadataVersion(features.Finalized[kafka.FeatureMetadataVersion]),
		Features: features.Finalized}, nil
}

// Quorum asks for the state of the metadata quorum.
func (c *Clients) Quorum(ctx context.Context, to Connection) (kafka.Quorum, error) {
	return askInBackground(ctx, c, to, "quorum", func(ctx context.Context) (kafka.Quorum, error) {
		admin, _, err := c.cluster(ctx, to)
		if err != nil {
			return kafka.Quorum{}, err
		}
		return admin.DescribeQuorum(ctx)
	})
}

// Unregister deletes the registration of a broker.
func (c *Clients) Unregister(ctx context.Context, to Connection, broker int32) error {
	admin, _, err := c.cluster(ctx, to)
	if err != nil {
		return err
	}
	return admin.UnregisterBroker(ctx, broker)
}

// RaiseMetadataVersion raises the feature metadata.version.
func (c *Clients) RaiseMetadataVersion(ctx context.Context, to Connection, level int16) error {
	return c.moveMetadataVersion(ctx, to, kafka.FeatureUpdate{Level: level})
}

// LowerMetadataVersion lowers the feature metadata.version.
func (c *Clients) LowerMetadataVersion(ctx context.Context, to Connection, level int16) error {
	return c.moveMetadataVersion(ctx, to, kafka.FeatureUpdate{Level: level, Downgrade: true})
}

func (c *Clients) moveMetadataVersion(ctx context.Context, to Connection, update kafka.FeatureUpdate) error {
	admin, _, err := c.cluster(ctx, to)
	if err != nil {
		return err
	}
	return admin.UpdateFeatures(ctx, map[string]kafka.FeatureUpdate{kafka.FeatureMetadataVersion: update}, false)
}

// LogDirs asks each broker for its log directories.
func (c *Clients) LogDirs(ctx context.Context, to Connection, brokers []int32) (map[int32][]kafka.LogDir, error) {
	if to.Anew {
		return c.logDirs(ctx, to, brokers)
	}
	what := fmt.Sprint("log directories of ", brokers)
	return askInBackground(ctx, c, to, what, func(ctx context.Context) (map[int32][]kafka.LogDir, error) {
		return c.logDirs(ctx, to, brokers)
	})
}

func (c *Clients) logDirs(ctx context.Context, to Connection, brokers []int32) (map[int32][]kafka.LogDir, error) {
	admin, _, err := c.cluster(ctx, to)
	if err != nil {
		return nil, err
	}
	found, _ := askEach(ctx, brokers, admin.DescribeLogDirs)
	return found, nil
}
