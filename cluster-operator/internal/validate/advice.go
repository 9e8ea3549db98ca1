package validate

import (
	"cmp"
	"slices"
	"strings"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// internalTopics are the default replication factors of Kafka's internal topics.
var internalTopics = []struct {
	key      string
	replicas int
}{{"offsets.topic.replication.factor", 3}, {"transaction.state.log.replication.factor", 3}, {"transaction.state.log.min.isr", 2}}

// advice warns of what works, and not as its user may think.
func (f *findings) advice() {
	brokers, controllers := f.count(v1.RoleBroker), f.count(v1.RoleController)
	config := f.cluster().Config
	if brokers > 1 {
		for _, option := range []struct{ key, reason string }{
			{"default.replication.factor", v1.ReasonDefaultReplicationFactor}, {"min.insync.replicas", v1.ReasonMinInsyncReplicas},
		} {
			if _, set := config[option.key]; !set {
				f.warn("NotReplicated", option.reason,
					"%s option is not configured. It defaults to 1 which does not guarantee reliability and availability. "+
						"You should configure this option in .spec.kafka.config.", option.key)
			}
		}
	}
	for _, topic := range internalTopics {
		if _, set := config[topic.key]; !set && brokers > 0 && brokers < topic.replicas {
			f.warn("InternalTopicsWait", v1.ReasonInternalTopics,
				"%s option is not configured. It defaults to %d, and this cluster has only %d Kafka broker(s), "+
					"so consumer groups or transactions wait forever. You should configure this option in .spec.kafka.config.", topic.key,
				topic.replicas, brokers)
		}
	}
	for _, key := range []struct{ key, reason string }{
		{"inter.broker.protocol.version", v1.ReasonInterBrokerProtocolVersion}, {"log.message.format.version", v1.ReasonLogMessageFormatVersion},
	} {
		if _, set := config[key.key]; set {
			f.warn("KeyOfZooKeeper", key.reason,
				"%s is not used in KRaft-based Kafka clusters and should be removed from the Kafka custom resource.", key.key)
		}
	}
	f.lossy(v1.RoleBroker,
		"A Kafka cluster with a single broker node and ephemeral storage will lose topic messages after any restart or rolling update.")
	f.lossy(v1.RoleController,
		"A Kafka cluster with a single controller node and ephemeral storage will lose data after any restart or rolling update.")
	f.quorum(controllers)
	f.oldMetadata()
	f.racks()
}

// racks warns of brokers whose rack is in an environment variable that nothing sets, as far as is known.
func (f *findings) racks() {
	r := or(f.cluster().Rack, v1.Rack{})
	if r.Type != v1.RackEnvironmentVariable {
		return
	}
	own := or(f.cluster().Template, v1.KafkaClusterTemplate{}).KafkaContainer
	for _, p := range f.Pools {
		t := cmp.Or(or(p.Spec.Template, v1.KafkaNodePoolTemplate{}).KafkaContainer, own, &v1.ContainerTemplate{})
		sets := slices.ContainsFunc(t.Env, func(e v1.ContainerEnvVar) bool { return e.Name == r.EnvVarName })
		if slices.Contains(p.Spec.Roles, v1.RoleBroker) && !sets {
			f.warnOf(p, "RackUnset", v1.ReasonInvalidConfiguration,
				"The rack of brokers is in the environment variable %s (.spec.kafka.rack.envVarName), which no template.kafkaContainer.env sets for "+
					"KafkaNodePool %s: unless the image sets it, all of its brokers have the same rack", r.EnvVarName, p.Name)
		}
	}
}

// lossy warns if the only node with a role keeps nothing.
func (f *findings) lossy(role v1.ProcessRole, message string) {
	if f.count(role) != 1 {
		return
	}
	for _, p := range f.Pools {
		ephemeral := slices.ContainsFunc(volumes(p.Spec.Storage), func(v v1.StorageVolume) bool { return v.Type == v1.StorageEphemeral })
		if p.Spec.Replicas == 1 && slices.Contains(p.Spec.Roles, role) && ephemeral {
			f.warnOf(p, "SingleEphemeral", v1.ReasonStorage, "%s", message)
		}
	}
}

func (f *findings) quorum(controllers int) {
	switch {
	case controllers == 2:
		f.warn("ControllerCount", v1.ReasonControllerCount,
			"Running KRaft controller quorum with two nodes is not advisable as both nodes will be needed to avoid downtime. "+
				"It is recommended that a minimum of three nodes are used.")
	case controllers > 0 && controllers%2 == 0:
		f.warn("ControllerCount", v1.ReasonControllerCount, "Running KRaft controller quorum with an odd number of nodes is recommended.")
	}
}

// oldMetadata warns of an upgrade that was not finished.
func (f *findings) oldMetadata() {
	if metadata, known := f.metadataWanted(); known && slices.Compare(releaseOf(metadata.String()), releaseOf(f.version())) < 0 {
		f.warn("MetadataOld", v1.ReasonMetadataVersion,
			"Metadata version is older than the Kafka version used by the cluster, which suggests that an upgrade is incomplete.")
	}
}

// releaseOf is the first two numbers of a version of Kafka or of the metadata.
func releaseOf(version string) []int {
	release, _, _ := strings.Cut(version, "-")
	numbers := parseVersion(release)
	return numbers[:min(2, len(numbers))]
}
