package realkafka

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/process"
)

// Tool runs one of Kafka's command line tools and returns its output. The tool is named by its class: a short name such as TopicCommand,
// ConfigCommand, AclCommand or MetadataQuorumCommand, which gets the cluster's plaintext listener unless the arguments name a
// --bootstrap-server or --bootstrap-controller; or a full class name, which gets the arguments unchanged.
func (c *Cluster) Tool(ctx context.Context, mainClass string, args ...string) (string, error) {
	if !strings.Contains(mainClass, ".") {
		mainClass, args = c.shortName(mainClass, args)
	}
	dir, err := os.MkdirTemp(c.scratch.dir, "tool-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	output := filepath.Join(dir, "out")
	err = process.Run(ctx, process.Options{Args: c.toolCommand(mainClass, args...), Dir: dir, Output: output})
	b, readErr := os.ReadFile(output)
	if err != nil {
		return string(b), fmt.Errorf("%s %s: %w: %s", mainClass, strings.Join(args, " "), err, strings.TrimSpace(string(b)))
	}
	return string(b), readErr
}

func (c *Cluster) shortName(name string, args []string) (string, []string) {
	names := func(arg string) bool { return strings.HasPrefix(arg, "--bootstrap-") }
	if !slices.ContainsFunc(args, names) {
		args = append([]string{"--bootstrap-server", strings.Join(c.Bootstrap(), ",")}, args...)
	}
	if name == "ConfigCommand" {
		return "kafka.admin.ConfigCommand", args
	}
	return "org.apache.kafka.tools." + name, args
}

// Allow adds access rules for a principal such as User:alice or User:CN=client. The arguments are those of Kafka's
// AclCommand, for example "--operation", "Describe", "--topic", "orders".
func (c *Cluster) Allow(ctx context.Context, principal string, args ...string) error {
	_, err := c.Tool(ctx, "AclCommand", append([]string{"--add", "--force", "--allow-principal", principal}, args...)...)
	return err
}
