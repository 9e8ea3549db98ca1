package realkafka

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/process"
)

const (
	nodeLogging = "log4j2-node.properties"
	toolLogging = "log4j2-tool.properties"
)

// log4j2 suppresses messages that occur once per partition, and keeps those about the node itself.
const log4j2 = `status = ERROR
appender.out.type = Console
appender.out.name = out
appender.out.target = %s
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %%d{HH:mm:ss.SSS} %%-5p %%m (%%c{1})%%n
rootLogger.level = WARN
rootLogger.appenderRef.out.ref = out
`

const lifeOfNode = `logger.life.name = kafka.server
logger.life.level = INFO
logger.replicas.name = kafka.server.ReplicaManager
logger.replicas.level = WARN
logger.fetcher.name = kafka.server.ReplicaFetcherManager
logger.fetcher.level = WARN
logger.config.name = kafka.server.KafkaConfig
logger.config.level = WARN
logger.handler.name = kafka.server.DynamicBrokerConfig
logger.handler.level = WARN
`

// writeFiles writes everything that the nodes read.
func (c *Cluster) writeFiles() error {
	files := map[string]string{
		filepath.Join(c.scratch.dir, nodeLogging): fmt.Sprintf(log4j2, "SYSTEM_OUT") + lifeOfNode,
		filepath.Join(c.scratch.dir, toolLogging): fmt.Sprintf(log4j2, "SYSTEM_ERR"),
	}
	if c.options.TLS != nil {
		if err := c.issueCertificates(files); err != nil {
			return err
		}
	}
	for _, n := range c.nodes {
		if err := os.MkdirAll(n.dir, 0o755); err != nil {
			return err
		}
		files[n.propertiesFile()] = formatProperties(c.properties(n))
	}
	for path, content := range files {
		if err := writeFile(path, content); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes for this user only: keys and passwords are among the files.
func writeFile(path, content string) error {
	return os.WriteFile(path, []byte(content), 0o600)
}

func (c *Cluster) truststore() string { return filepath.Join(c.scratch.dir, "truststore.pem") }

func (c *Cluster) issueCertificates(files map[string]string) error {
	var err error
	if c.authority, err = NewAuthority("realkafka"); err != nil {
		return err
	}
	if c.client, err = c.authority.Issue("client"); err != nil {
		return err
	}
	files[c.truststore()] = string(c.authority.PEM())
	for _, n := range c.nodes {
		cert, err := c.authority.Issue(fmt.Sprintf("node-%d", n.id))
		if err != nil {
			return err
		}
		files[n.keystore()] = string(cert.Key) + string(cert.Cert)
	}
	return nil
}

// ExpireCertificate gives a node a certificate that has expired. It takes effect at the node's next start.
func (c *Cluster) ExpireCertificate(id int32) error {
	n, err := c.node(id)
	if err != nil {
		return err
	}
	cert, err := c.authority.IssueExpired(fmt.Sprintf("node-%d", n.id))
	if err != nil {
		return err
	}
	return os.WriteFile(n.keystore(), append(cert.Key, cert.Cert...), 0o600)
}

// format prepares a node's storage.
func (c *Cluster) format(ctx context.Context, n *node) error {
	args := []string{"format", "--cluster-id", c.options.ClusterID, "--config", n.propertiesFile()}
	if c.options.Release != "" {
		args = append(args, "--release-version", c.options.Release)
	}
	if c.options.SASL != nil {
		for _, user := range slices.Sorted(maps.Keys(c.options.SASL.Users)) {
			for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
				args = append(args, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, user, c.options.SASL.Users[user]))
			}
		}
	}
	output := filepath.Join(n.dir, "format.log")
	if err := process.Run(ctx, process.Options{Args: c.toolCommand("kafka.tools.StorageTool", args...), Dir: n.dir,
		Output: output}); err != nil {
		return fmt.Errorf("formatting node %d: %w: %s", n.id, err, withoutFrames(tailFile(output, 60)))
	}
	return nil
}

// withoutFrames drops the frames of Java's stack traces and keeps the messages.
func withoutFrames(s string) string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(s), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "\tat ") || strings.HasPrefix(line, "\t... ")
	})
	return strings.Join(lines, "\n")
}

// nodeCommand is the command line of a node.
func (c *Cluster) nodeCommand(n *node) []string {
	heap := fmt.Sprintf("-Xmx%dm", c.options.HeapMB)
	argv := c.jvm(nodeLogging, append([]string{heap, "-Dkafka.node=" + n.dir}, c.options.JVMFlags...)...)
	return append(argv, "kafka.Kafka", n.propertiesFile())
}

// toolCommand is the command line of one of Kafka's tools.
func (c *Cluster) toolCommand(mainClass string, args ...string) []string {
	return append(append(c.jvm(toolLogging, "-Xmx256m"), mainClass), args...)
}

func (c *Cluster) jvm(logging string, flags ...string) []string {
	// Only the first compiler: most test nodes run for less than a minute, too short for the second compiler to pay off.
	argv := []string{c.in.java, gcFlag, "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError"}
	if c.archive != "" {
		argv = append(argv, "-XX:SharedArchiveFile="+c.archive)
	}
	argv = append(argv, "-Dlog4j2.configurationFile="+filepath.Join(c.scratch.dir, logging), "-Djava.awt.headless=true")
	argv = append(argv, flags...)
	return append(argv, "-cp", c.in.classpath())
}

// randomUUID returns an id in Kafka's form. One that begins with a dash would look like an option to the tools.
func randomUUID() string {
	for {
		var b [16]byte
		rand.Read(b[:])
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		if id := base64.RawURLEncoding.EncodeToString(b[:]); !bytes.HasPrefix([]byte(id), []byte("-")) {
			return id
		}
	}
}

func logOf(o Options) io.Writer {
	if o.Log == nil {
		return io.Discard
	}
	return o.Log
}
