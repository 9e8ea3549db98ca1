package realkafka

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const loopback = "127.0.0.1"

// listener is a listener of a cluster. Its name is its security protocol, except for the controllers' listener.
type listener struct{ name, protocol string }

var (
	controllerListener = listener{"CONTROLLER", "PLAINTEXT"}
	plaintextListener  = listener{"PLAINTEXT", "PLAINTEXT"}
	saslListener       = listener{"SASL_PLAINTEXT", "SASL_PLAINTEXT"}
	saslTLSListener    = listener{"SASL_SSL", "SASL_SSL"}
	tlsListener        = listener{"SSL", "SSL"}
)

// listeners returns those of a node with the given roles.
func (o Options) listeners(broker, controller bool) []listener {
	var ls []listener
	if broker {
		ls = append(ls, plaintextListener)
		if o.SASL != nil {
			ls = append(ls, saslListener)
		}
		if o.TLS != nil {
			ls = append(ls, tlsListener)
		}
		if o.SASL != nil && o.TLS != nil {
			ls = append(ls, saslTLSListener)
		}
	}
	if controller {
		ls = append(ls, controllerListener)
	}
	return ls
}

// smallSettings are for brokers on a laptop: few threads, small buffers, and no initial delay of consumer groups.
var smallSettings = map[string]string{
	"num.network.threads":               "2",
	"num.io.threads":                    "4",
	"background.threads":                "2",
	"num.recovery.threads.per.data.dir": "2",
	// The default of 128 MiB is allocated from the heap.
	"log.cleaner.dedupe.buffer.size": "4194304",
	"log.cleaner.io.buffer.size":     "65536",
	// Each partition has two index files of this size, mapped into memory. With the default of 10 MiB, ten thousand topics need hundreds of
	// GB of address space and sparse files.
	"log.index.size.max.bytes": "65536",
	// Creating internal topics with 50 partitions is slow on two cores.
	"offsets.topic.num.partitions":                 "1",
	"transaction.state.log.num.partitions":         "1",
	"share.coordinator.state.topic.num.partitions": "1",
	"group.initial.rebalance.delay.ms":             "0",
}

// properties returns the settings of a node. The caller's settings override the others.
func (c *Cluster) properties(n *node) map[string]string {
	replicas := strconv.Itoa(min(3, c.options.Brokers))
	inSync := strconv.Itoa(min(2, c.options.Brokers))
	p := maps.Clone(smallSettings)
	maps.Copy(p, map[string]string{
		"process.roles":            strings.Join(n.roles(), ","),
		"node.id":                  strconv.Itoa(int(n.id)),
		"controller.quorum.voters": c.voters(),
		"log.dirs":                 filepath.Join(n.dir, "data"),

		"offsets.topic.replication.factor":                 replicas,
		"transaction.state.log.replication.factor":         replicas,
		"transaction.state.log.min.isr":                    inSync,
		"share.coordinator.state.topic.replication.factor": replicas,
		"share.coordinator.state.topic.min.isr":            inSync,
	})
	c.setListeners(n, p)
	c.setSecurity(n, p)
	if n.broker && len(c.options.Racks) > 0 {
		p["broker.rack"] = c.options.Racks[int(n.id)%len(c.options.Racks)]
	}
	maps.Copy(p, c.options.Config)
	if c.options.NodeConfig != nil {
		maps.Copy(p, c.options.NodeConfig(n.id))
	}
	return p
}

func (c *Cluster) voters() string {
	var voters []string
	for _, n := range c.nodes {
		if n.controller {
			voters = append(voters, fmt.Sprintf("%d@%s", n.id, n.addr(controllerListener)))
		}
	}
	return strings.Join(voters, ",")
}

func (c *Cluster) setListeners(n *node, p map[string]string) {
	var open, advertised []string
	protocols := []string{controllerListener.name + ":" + controllerListener.protocol}
	for _, l := range c.options.listeners(n.broker, n.controller) {
		open = append(open, l.name+"://"+n.addr(l))
		if l != controllerListener {
			advertised = append(advertised, l.name+"://"+n.addr(l))
			protocols = append(protocols, l.name+":"+l.protocol)
		}
	}
	p["listeners"] = strings.Join(open, ",")
	p["listener.security.protocol.map"] = strings.Join(protocols, ",")
	p["controller.listener.names"] = controllerListener.name
	if n.broker {
		p["advertised.listeners"] = strings.Join(advertised, ",")
		p["inter.broker.listener.name"] = plaintextListener.name
	}
}

func (c *Cluster) setSecurity(n *node, p map[string]string) {
	if c.options.ACL != nil {
		// Controllers need it too: they authorize changes of the metadata.
		p["authorizer.class.name"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
		p["super.users"] = strings.Join(append([]string{"User:ANONYMOUS"}, c.options.ACL.SuperUsers...), ";")
	}
	if !n.broker {
		return
	}
	if c.options.TLS != nil {
		p["ssl.keystore.type"], p["ssl.truststore.type"] = "PEM", "PEM"
		p["ssl.keystore.location"] = n.keystore()
		p["ssl.truststore.location"] = c.truststore()
		p["listener.name.ssl.ssl.client.auth"] = c.options.TLS.ClientAuth
		p["listener.name.sasl_ssl.ssl.client.auth"] = "none"
	}
	if c.options.SASL != nil {
		c.options.SASL.set(p)
	}
}

// set writes the login modules of each mechanism, for both SASL listeners.
func (s *SASL) set(p map[string]string) {
	plain := "org.apache.kafka.common.security.plain.PlainLoginModule required"
	for _, user := range slices.Sorted(maps.Keys(s.Users)) {
		plain += fmt.Sprintf(` user_%s="%s"`, user, s.Users[user])
	}
	modules := map[string]string{
		"PLAIN":         plain,
		"SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule required",
		"SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule required",
	}
	if s.OAuthBearer {
		modules["OAUTHBEARER"] = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
	}
	p["sasl.enabled.mechanisms"] = strings.Join(slices.Sorted(maps.Keys(modules)), ",")
	for mechanism, module := range modules {
		for _, l := range []listener{saslListener, saslTLSListener} {
			key := fmt.Sprintf("listener.name.%s.%s.sasl.jaas.config", strings.ToLower(l.name), strings.ToLower(mechanism))
			p[key] = module + ";"
		}
	}
}

// formatProperties renders Java's property format.
func formatProperties(p map[string]string) string {
	var b strings.Builder
	escape := strings.NewReplacer("\\", `\\`, "\n", `\n`)
	for _, key := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&b, "%s=%s\n", key, escape.Replace(p[key]))
	}
	return b.String()
}
