package topic

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// internal is how Kafka itself creates one of its internal topics (kafka.server.DefaultAutoTopicCreationManager, Kafka 4.3): with a number
// of partitions and replicas and with settings that the brokers' configuration has, and with others that it always sets.
type internal struct {
	partitions, replicas string
	// configured has the broker's key of each of the topic's keys.
	configured map[string]string
	always     map[string]string
}

var internals = map[string]internal{
	"__consumer_offsets": {
		partitions: "offsets.topic.num.partitions", replicas: "offsets.topic.replication.factor",
		configured: map[string]string{"segment.bytes": "offsets.topic.segment.bytes"},
		always:     map[string]string{"cleanup.policy": "compact", "compression.type": "producer"},
	},
	"__transaction_state": {
		partitions: "transaction.state.log.num.partitions", replicas: "transaction.state.log.replication.factor",
		configured: map[string]string{"segment.bytes": "transaction.state.log.segment.bytes",
			"min.insync.replicas": "transaction.state.log.min.isr"},
		always: map[string]string{"cleanup.policy": "compact", "compression.type": "uncompressed",
			"unclean.leader.election.enable": "false"},
	},
	"__share_group_state": {
		partitions: "share.coordinator.state.topic.num.partitions", replicas: "share.coordinator.state.topic.replication.factor",
		configured: map[string]string{"segment.bytes": "share.coordinator.state.topic.segment.bytes",
			"min.insync.replicas": "share.coordinator.state.topic.min.isr"},
		always: map[string]string{"cleanup.policy": "delete", "compression.type": "producer", "retention.ms": "-1"},
	},
}

// IsInternal reports whether Kafka creates the topic of this name itself, for data of its own.
func IsInternal(name string) bool {
	_, ok := internals[name]
	return ok
}

// BrokerKeys returns the keys of the brokers' configuration with which Kafka creates its internal topic of this name; nil for other topics.
func BrokerKeys(name string) []string {
	kind, ok := internals[name]
	if !ok {
		return nil
	}
	return append([]string{kind.partitions, kind.replicas}, slices.Sorted(maps.Values(kind.configured))...)
}

// AsKafkaCreates adds to an internal topic what Kafka would create it with, where the KafkaTopic leaves that open.
func (d Desired) AsKafkaCreates(broker map[string]string) (Desired, *Refusal) {
	kind := internals[d.Name]
	for _, key := range BrokerKeys(d.Name) {
		if n, err := strconv.ParseInt(broker[key], 10, 32); err != nil || n < 1 {
			return d, &Refusal{Reason: v1.ReasonNotSupported, Message: fmt.Sprintf("Topic '%s' is an internal topic of Kafka, and the brokers do "+
				"not show their setting %s, with which Kafka creates it: it is taken over when Kafka has created it", d.Name, key)}
		}
	}
	replicas, _ := strconv.ParseInt(broker[kind.replicas], 10, 16)
	d.reliedOn = d.ReliedOn(broker)
	if d.Partitions == brokerDefault {
		d.Partitions = d.reliedOn
	}
	if d.Replicas == brokerDefault {
		d.Replicas = int16(replicas)
	}
	config := maps.Clone(kind.always)
	for key, of := range kind.configured {
		config[key] = broker[of]
	}
	maps.Copy(config, d.Config)
	d.Config = config
	return d, nil
}

// Kept returns warnings about an internal topic of Kafka that was created as created: with the settings that the KafkaTopic does not name,
// and if its partitions are not those that the brokers rely on.
func (d Desired) Kept(created Desired) []Refusal {
	var settings []string
	for key, value := range created.Config {
		if _, desired := d.Config[key]; !desired {
			settings = append(settings, key+"="+value)
		}
	}
	slices.Sort(settings)
	return append(Plan{Kept: settings}.KeptWarning(d.Name), d.RelianceWarning(int(created.Partitions), created.reliedOn)...)
}

// ReliedOnKey returns the key of the brokers' configuration with the number of partitions that the brokers rely on, if the topic has to be
// compared with it: an internal topic of Kafka whose KafkaTopic names a number. It is empty for others.
func (d Desired) ReliedOnKey() string {
	if d.Partitions == brokerDefault {
		return ""
	}
	return internals[d.Name].partitions
}

// ReliedOn returns the number of partitions that the brokers rely on, according to their configuration; 0 if it does not show the number.
func (d Desired) ReliedOn(broker map[string]string) int32 {
	n, err := strconv.ParseInt(broker[internals[d.Name].partitions], 10, 32)
	if err != nil || n < 1 {
		return 0
	}
	return int32(n)
}

// RelianceWarning returns a warning about an internal topic of Kafka if its partitions are not those that the brokers rely on, or if it is
// unknown on how many they rely (0).
func (d Desired) RelianceWarning(partitions int, reliedOn int32) []Refusal {
	key := d.ReliedOnKey()
	if key == "" || partitions == int(reliedOn) {
		return nil
	}
	message := fmt.Sprintf("Topic '%s' is an internal topic of Kafka. ", d.Name)
	if reliedOn == 0 {
		message += fmt.Sprintf("Whether the brokers rely on its %d partitions is unknown: they do not show %s (grant the operator "+
			"DescribeConfigs on the cluster)", partitions, key)
	} else {
		message += fmt.Sprintf("It has %d partitions, and %s of the brokers is %d: brokers that started before the topic was created rely on "+
			"%d. Set it to %d and restart them before clients use the topic, or they do not find its data afterwards", partitions, key, reliedOn,
			reliedOn, partitions)
	}
	return []Refusal{{Reason: v1.ReasonNotSupported, Message: message}}
}
