package model

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/kafka/configdef"
)

// The ports of the listeners that nodes use among themselves, and their names in Kafka's configuration. Source: Strimzi.
const (
	ControllerPort  = 9090
	ReplicationPort = 9091

	controllerListener  = "CONTROLPLANE-9090"
	replicationListener = "REPLICATION-9091"
)

// Where a node's files are.
const (
	configDir       = "/opt/kafka/custom-config"
	certificatesDir = "/opt/kafka/certificates"
	placementDir    = "/opt/kafka/placement"
	dataDir         = "/var/lib/kafka"
)

// The files in certificatesDir that all nodes have. A listener with a certificate of its own has two more.
const (
	nodeCertificate = "node.crt"
	nodeKey         = "node.key"
	clusterCAFile   = "cluster-ca.crt"
	clientsCAFile   = "clients-ca.crt"
)

// property is one line of server.config.
type property struct{ key, value string }

// properties is a server.config in the making.
type properties []property

func (p *properties) set(key, value string) { *p = append(*p, property{key, value}) }

// render returns the text of a Java properties file.
func (p properties) render() string {
	var b strings.Builder
	for _, line := range p {
		fmt.Fprintf(&b, "%s=%s\n", line.key, escapeValue(line.value))
	}
	return b.String()
}

// escapeValue writes a value so that java.util.Properties reads it back. Kafka lets that read bytes as ISO 8859-1, so other characters than
// those of ASCII are written by number.
func escapeValue(value string) string { return escape(value, "") }

// escapeKey does so for a key, which a blank and some other characters would end.
func escapeKey(key string) string { return escape(key, " =:#!") }

// escape writes a text for java.util.Properties, with a backslash before these characters, too.
func escape(text, special string) string {
	var b strings.Builder
	leading := true
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' && leading, strings.ContainsRune(special, r):
			b.WriteString(`\` + string(r))
		case r > '~':
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04X`, unit)
			}
		default:
			b.WriteRune(r)
		}
		leading = leading && r == ' '
	}
	return b.String()
}

// escapes are what java.util.Properties reads in a value: characters by number, a line that continues in the next one, and other escapes.
// It drops a backslash before any other character; here that stays, because it is more likely a part of a regular expression.
var escapes = regexp.MustCompile(`(\\u[0-9a-fA-F]{4})+|\\\r?\n[ \t\f]*|\\[\\tnrf:=#! ]`)

// unescapeValue reads a value as java.util.Properties does, for what Strimzi's users write as in a properties file.
func unescapeValue(value string) string {
	return escapes.ReplaceAllStringFunc(value, func(escape string) string {
		switch escape[1] {
		case 'u':
			var units []uint16
			for number := range strings.SplitSeq(escape[2:], `\u`) {
				unit, _ := strconv.ParseUint(number, 16, 16) // the expression lets nothing else in
				units = append(units, uint16(unit))
			}
			return string(utf16.Decode(units))
		case '\r', '\n':
			return ""
		}
		if i := strings.IndexByte("tnrf", escape[1]); i >= 0 {
			return "\t\n\r\f"[i : i+1]
		}
		return escape[1:]
	})
}

// inFile refers to a file's content by Kafka's DirectoryConfigProvider (KIP-421).
func inFile(dir, file string) string { return "${strimzidir:" + dir + ":" + file + "}" }

// serverConfig returns what the operator writes into a node's configuration, without what the user wants of Kafka.
func (c *cluster) serverConfig(n topology.Node) properties {
	var p properties
	p.set("node.id", fmt.Sprint(n.ID))
	p.set("process.roles", n.Roles.String())
	p.set("controller.listener.names", controllerListener)
	p.set("controller.quorum.voters", c.voters())
	c.logDirs(&p, n)
	c.listenerConfig(&p, n)
	c.authorization(&p)
	switch {
	case !n.Roles.Broker:
	case rackOf(c.Kafka) != nil:
		p.set("broker.rack", c.rackPrefix(n)+rackSource(rackOf(c.Kafka)))
	case c.stretched():
		p.set("broker.rack", c.Stretch.id(n)) // replicas are spread over the Kubernetes clusters
	}
	c.configProviders(&p)
	return p
}

// userConfig returns what the user wants of Kafka, without keys that the operator decides.
func (c *cluster) userConfig(n topology.Node) properties {
	// A node that comes back has a new address, and packets to its old one may be dropped. Kafka would wait for 10 s, and later for 30 s.
	config := map[string]string{"socket.connection.setup.timeout.ms": "3000", "socket.connection.setup.timeout.max.ms": "10000"}
	if n.Roles.Broker {
		config["min.insync.replicas"] = "1"
		// A follower that asks a new leader before that knows of its role waits so long until it asks again, and so do records with acks=all.
		// Kafka would wait for a second (docs/decisions/leaders.md).
		config["replica.fetch.backoff.ms"] = "100"
		if c.stretched() { // consumers that name their Kubernetes cluster as client.rack read from it (KIP-392)
			config["replica.selector.class"] = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
		}
	}
	for key, value := range c.spec().Config {
		if text, err := value.Text(); err == nil && key != "config.providers" && !Forbidden(key, c.spec().Listeners) {
			config[key] = text
		}
	}
	if reporters, set := config[reportersKey]; set && c.exports() {
		config[reportersKey] = withJMXReporter(reporters)
	}
	var p properties
	for _, key := range slices.Sorted(maps.Keys(config)) {
		p.set(key, config[key])
	}
	return p
}

// startKeys are what the user wants of Kafka and that only a restart can change, because the roller can't compare it with what a node runs
// with: keys that Kafka itself does not define (a plugin's, or those of one listener), passwords, and values that the node looks up.
func (c *cluster) startKeys() map[string]v1.ConfigValue {
	table, _ := configdef.For(c.Version)
	var config map[string]v1.ConfigValue
	for key, value := range c.spec().Config {
		text, err := value.Text()
		if err != nil || Forbidden(key, c.spec().Listeners) {
			continue
		}
		defined, known := table.Key(key)
		if !known || defined.Type == configdef.Password || configdef.Refers(text) || key == "config.providers" {
			if config == nil {
				config = map[string]v1.ConfigValue{}
			}
			config[key] = value
		}
	}
	return config
}

// voters lists the controllers (KIP-595) at the port of the controller listener.
func (c *cluster) voters() string {
	var voters []string
	for _, n := range c.Topology.Controllers() {
		voters = append(voters, fmt.Sprintf("%d@%s", n.ID, c.peer(n, ControllerPortName, ControllerPort)))
	}
	return strings.Join(voters, ",")
}

// nodeHost is the name under which a node is found in its Kubernetes cluster.
func (c *cluster) nodeHost(n topology.Node) string {
	return fmt.Sprintf("%s.%s.%s.svc.%s", c.podName(n), c.brokersService(), c.Kafka.Namespace, c.Settings.DNSDomain)
}

func (c *cluster) logDirs(p *properties, n topology.Node) {
	var dirs []string
	metadata, log := "", MetadataVolume(c.Pools[n.Pool].Spec.Storage)
	for _, v := range c.volumes(n.Pool) {
		dir := logDir(v.name(), n.ID)
		dirs = append(dirs, dir)
		if v.id() == log {
			metadata = dir
		}
	}
	p.set("log.dirs", strings.Join(dirs, ","))
	p.set("metadata.log.dir", metadata)
}

// SuperUser returns the name that an item of superUsers stands for. Strimzi writes items as they are into a properties file, so its users
// write a backslash of a name (RFC 2253) twice.
func SuperUser(item string) string { return unescapeValue(item) }

func (c *cluster) authorization(p *properties) {
	a := c.spec().Authorization
	if a == nil {
		return
	}
	supers := []string{
		"User:CN=" + c.name("kafka") + ",O=io.strimzi",
		"User:CN=" + c.name("entity-topic-operator") + ",O=io.strimzi",
		"User:CN=" + c.name("entity-user-operator") + ",O=io.strimzi",
		"User:CN=cluster-operator,O=io.strimzi",
	}
	class := "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
	if a.Type == v1.AuthorizationCustom {
		class = a.AuthorizerClass
	}
	p.set("authorizer.class.name", class)
	for _, user := range a.SuperUsers {
		supers = append(supers, "User:"+SuperUser(user))
	}
	p.set("super.users", strings.Join(supers, ";"))
}

// configProviders makes environment variables and files below /opt/kafka usable in values (KIP-297).
func (c *cluster) configProviders(p *properties) {
	names := "strimzienv,strimzifile,strimzidir"
	if value, ok := c.spec().Config["config.providers"]; ok {
		if text, err := value.Text(); err == nil && text != "" {
			names = text + "," + names
		}
	}
	p.set("config.providers", names)
	p.set("config.providers.strimzienv.class", "org.apache.kafka.common.config.provider.EnvVarConfigProvider")
	p.set("config.providers.strimzienv.param.allowlist.pattern", ".*")
	p.set("config.providers.strimzifile.class", "org.apache.kafka.common.config.provider.FileConfigProvider")
	p.set("config.providers.strimzifile.param.allowed.paths", "/opt/kafka")
	p.set("config.providers.strimzidir.class", "org.apache.kafka.common.config.provider.DirectoryConfigProvider")
	p.set("config.providers.strimzidir.param.allowed.paths", "/opt/kafka")
}
