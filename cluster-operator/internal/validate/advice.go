package validate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
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
	f.inSync()
	f.replication()
	f.heapsInMemory()
}

// heapsInMemory warns of heaps that do not fit into the memory that Kubernetes allows the container. Java starts nevertheless, and is
// killed once it uses the heap.
func (f *findings) heapsInMemory() {
	for _, p := range f.Pools {
		options := or(p.Spec.JvmOptions, or(f.cluster().JvmOptions, v1.JvmOptions{}))
		resources := or(p.Spec.Resources, or(f.cluster().Resources, corev1.ResourceRequirements{}))
		limit, limited := resources.Limits[corev1.ResourceMemory]
		if !limited || options.Xmx == "" || model.HeapSize(options.Xmx) < limit.Value() {
			continue
		}
		f.warnOf(p, "HeapTooLarge", v1.ReasonInvalidConfiguration,
			"-Xmx %s leaves nothing of the memory limit %s of the nodes of KafkaNodePool %s: Kubernetes kills them when they use the heap "+
				"(OOMKilled). Make -Xmx in jvmOptions smaller, half of the limit or less, or the limit in resources larger.",
			options.Xmx, limit.String(), p.Name)
	}
}

// inSync warns of a number of replicas in sync that partitions have only while all brokers run: Kafka wants no more of them than there are
// replicas (Partition.effectiveMinIsr). Of stretched Kafkas, replication does.
func (f *findings) inSync() {
	replicas, known := f.number("default.replication.factor", 1)
	inSync, alsoKnown := f.number("min.insync.replicas", 1)
	if f.Kafka.Annotations[v1.AnnotationStretch] == "true" || !known || !alsoKnown || replicas < 2 || inSync < replicas {
		return
	}
	f.warn("InSyncTooHigh", v1.ReasonMinInsyncReplicas, "min.insync.replicas is %d, and topics have %d replicas by default "+
		"(default.replication.factor): while a broker restarts, Kafka refuses records with acks=all. You should set it to less than the number "+
		"of replicas in .spec.kafka.config.", inSync, replicas)
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

// replication warns of replication factors with which the loss of one Kubernetes cluster of a stretched Kafka is an outage. Only where
// these clusters are the racks is it known here over what Kafka spreads replicas.
func (f *findings) replication() {
	a := f.Kafka.Annotations
	if a[v1.AnnotationStretch] != "true" || a[v1.AnnotationStretchRack] != "" || f.cluster().Rack != nil {
		return
	}
	brokers := map[string]int{}
	for _, p := range f.Pools {
		if slices.Contains(p.Spec.Roles, v1.RoleBroker) && p.Spec.Replicas > 0 {
			brokers[p.Annotations[v1.AnnotationTargetCluster]] += int(p.Spec.Replicas)
		}
	}
	var wrong []string
	for _, topics := range []struct {
		replicas, inSync               string
		defaultReplicas, defaultInSync int
	}{
		{"default.replication.factor", "min.insync.replicas", 0, 1}, // without it, there is a warning already
		{"offsets.topic.replication.factor", "min.insync.replicas", 3, 1},
		{"transaction.state.log.replication.factor", "transaction.state.log.min.isr", 3, 2},
	} {
		replicas, known := f.number(topics.replicas, topics.defaultReplicas)
		inSync, alsoKnown := f.number(topics.inSync, topics.defaultInSync)
		if !known || !alsoKnown || replicas < 1 || replicas > f.count(v1.RoleBroker) {
			continue
		}
		if left := replicas - mostTogether(brokers, replicas); left < min(inSync, replicas) {
			wrong = append(wrong, fmt.Sprintf("%s is %d, of which %d may be left, and %s is %d", topics.replicas, replicas, left, topics.inSync,
				inSync))
		}
	}
	if len(wrong) > 0 {
		f.warn(ReasonReplicationTopology, ReasonReplicationTopology, "Brokers are in '%s': without one of these clusters, partitions have too "+
			"few replicas for records with acks=all, or none (%s). Put brokers into more clusters, or change these options in "+
			".spec.kafka.config", strings.Join(slices.Sorted(maps.Keys(brokers)), "', '"), strings.Join(wrong, "; "))
	}
}

// mostTogether returns how many replicas of a partition may be in one Kubernetes cluster: Kafka gives each rack with brokers left one more
// in turn (StripedReplicaPlacer). There are at least as many brokers as replicas.
func mostTogether(brokers map[string]int, replicas int) int {
	for most := 1; ; most++ {
		room := 0
		for _, n := range brokers {
			room += min(n, most)
		}
		if room >= replicas {
			return most
		}
	}
}

// number returns the number that Kafka takes for a key. It is unknown if it is none, or nodes look it up.
func (f *findings) number(key string, otherwise int) (n int, known bool) {
	value, set := f.cluster().Config[key]
	if !set {
		return otherwise, true
	}
	text, err := value.Text()
	if err != nil {
		return 0, false
	}
	n, err = strconv.Atoi(strings.TrimSpace(text))
	return n, err == nil
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
