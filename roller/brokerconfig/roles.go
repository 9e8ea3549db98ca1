package brokerconfig

import "strings"

// Roles are the roles of a node.
type Roles struct {
	Controller, Broker bool
}

// owned are the keys that identify a node. The creator of the nodes sets them, and changes them only together with the pod, so the pod's
// revision covers them; a node may report values that it derived from the file.
var owned = map[string]string{
	"node.id":              "a node with another id is another node",
	"broker.id":            "the older name of node.id; Kafka sets each to the other",
	"process.roles":        "a node with other roles is another node",
	"advertised.listeners": "the pod determines its addresses when it starts",
	"broker.rack":          "the pod determines its rack when it starts",
}

// brokersOnly are the groups of keys that a controller does not read: it has only the metadata partition, and coordinates no clients.
var brokersOnly = map[string]bool{
	"log": true, "log-cleaner": true, "remote-log": true, "replication": true,
	"group-coordinator": true, "share-group": true, "share-coordinator": true,
	"transaction-log": true, "transaction-state": true, "add-partitions-to-transaction": true,
	"zookeeper": true, "password-encoder": true,
}

// readByControllers are keys of brokersOnly's groups that a controller does read, with the purpose.
var readByControllers = map[string]string{
	"alter.config.policy.class.name":          "it judges each change of a configuration",
	"create.topic.policy.class.name":          "it judges each new topic",
	"num.partitions":                          "for new topics that do not say",
	"default.replication.factor":              "for new topics that do not say",
	"min.insync.replicas":                     "for eligible leader replicas (KIP-966)",
	"unclean.leader.election.enable":          "it elects the leaders",
	"auto.leader.rebalance.enable":            "it moves the leaders back",
	"leader.imbalance.check.interval.seconds": "it moves the leaders back",
	"log.dir":  "where the metadata are, unless metadata.log.dir says",
	"log.dirs": "where the metadata are, unless metadata.log.dir says",
}

// readByBrokers are keys of the other groups that only a broker reads.
var readByBrokers = map[string]string{
	"background.threads":                                   "for logs and deletions",
	"broker.heartbeat.interval.ms":                         "it sends the heartbeats",
	"initial.broker.registration.timeout.ms":               "it registers",
	"controlled.shutdown.enable":                           "it gives its leaderships away",
	"compression.type":                                     "for records",
	"compression.gzip.level":                               "for records",
	"compression.lz4.level":                                "for records",
	"compression.zstd.level":                               "for records",
	"fetch.max.bytes":                                      "for consumers",
	"max.incremental.fetch.session.cache.slots":            "for consumers",
	"max.request.partition.size.limit":                     "for descriptions of topics",
	"message.max.bytes":                                    "for records",
	"num.replica.alter.log.dirs.threads":                   "for replicas that change their folder",
	"alter.log.dirs.replication.quota.window.num":          "for replicas that change their folder",
	"alter.log.dirs.replication.quota.window.size.seconds": "for replicas that change their folder",
	"replication.quota.window.num":                         "for replicas",
	"replication.quota.window.size.seconds":                "for replicas",
	"telemetry.max.bytes":                                  "clients push their metrics to brokers (KIP-714)",
}

const (
	quorumPrefix = "controller.quorum."
	quorumVoters = "controller.quorum.voters"
	minISR       = "min.insync.replicas"
)

// prepare computes once what is the same for every node.
func (k *Key) prepare() {
	_, k.owned = owned[k.Name]
	if pairs[k.Name] {
		k.Type = Map
	}
	// Changed addresses of controllers do not restart a broker. A change of the voters does, because a broker of a static quorum finds the
	// controllers by them; one of controller.quorum.bootstrap.servers does not, because only a starting broker reads them.
	k.onBroker = !strings.HasPrefix(k.Name, quorumPrefix) || k.Name == quorumVoters
	k.onController = !brokersOnly[k.Group] && readByBrokers[k.Name] == "" || readByControllers[k.Name] != ""
	// While eligible leader replicas are enabled (KIP-966), Kafka rejects deleting it for the cluster, and setting it for a broker.
	k.undeletable = k.Name == minISR
}

// considered reports whether the key is compared on a node with these roles.
func (k *Key) considered(r Roles) bool {
	return !k.owned && (r.Broker && k.onBroker || r.Controller && k.onController)
}

// mode returns the key's mode on a node with these roles.
func (k *Key) mode(r Roles) Mode {
	if k.Mode == PerListener || !r.Broker && !k.DynamicOnControllers {
		return ReadOnly
	}
	return k.Mode
}
