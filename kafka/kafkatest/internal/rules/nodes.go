package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// nodeDefinition defines one key of a node.
type nodeDefinition struct {
	definition
	dynamic bool // can be changed while the node runs
	single  bool // and only for a single node
}

// nodeDefinitions are a few of Kafka's about 300 keys of nodes, some of each kind (org.apache.kafka.server.config, DynamicConfig).
var nodeDefinitions = map[string]nodeDefinition{
	"background.threads":   {definition{integer, "10", 1, nil}, true, false},
	"listeners":            {definition{text, "PLAINTEXT://:9092", 0, nil}, true, true},
	"log.cleaner.threads":  {definition{integer, "1", 0, nil}, true, false},
	"log.dirs":             {definition{text, "", 0, nil}, false, false},
	"log.retention.ms":     {definition{long, "", anyNumber, nil}, true, false},
	"max.connections":      {definition{integer, "2147483647", 0, nil}, true, false},
	"message.max.bytes":    {definition{integer, "1048588", 0, nil}, true, false},
	"min.insync.replicas":  {definition{integer, "1", 1, nil}, true, false},
	kafka.KeyNodeID:        {definition{integer, "-1", 0, nil}, false, false},
	"num.io.threads":       {definition{integer, "8", 1, nil}, true, false},
	"num.network.threads":  {definition{integer, "3", 1, nil}, true, false},
	"num.replica.fetchers": {definition{integer, "1", 0, nil}, true, false},
	"process.roles":        {definition{list, "", 0, nil}, false, false},
}

// NodeChange checks a change of a broker's own configuration, or of the defaults of all nodes, as the broker does. It omits comparisons
// with the rest of the broker's configuration. Keys that it does not know may have any value, as in Kafka.
func NodeChange(change kafka.ConfigChange) error {
	var frozen, single []string
	keys := slices.Sorted(maps.Keys(change.Set))
	for _, key := range append(slices.Clone(keys), change.Delete...) {
		d, known := nodeDefinitions[key]
		switch {
		case known && !d.dynamic:
			frozen = append(frozen, key)
		case known && d.single && change.Resource.Name == "":
			single = append(single, key)
		}
	}
	switch {
	case len(frozen) > 0:
		return kafka.NewError(kafka.CodeInvalidRequest, fmt.Sprintf("Cannot update these configs dynamically: [%s]", strings.Join(frozen, ", ")))
	case len(single) > 0:
		return kafka.NewError(kafka.CodeInvalidRequest,
			fmt.Sprintf("Cannot update these configs at default cluster level, broker id must be specified: [%s]", strings.Join(single, ", ")))
	}
	for _, key := range keys {
		if culprit, why := refuseNode(key, change.Set[key]); why != "" {
			return kafka.NewError(kafka.CodeInvalidRequest, fmt.Sprintf("Invalid value %s for configuration %s: %s", culprit, key, why))
		}
	}
	return nil
}

func refuseNode(key, value string) (culprit, why string) {
	if d, known := nodeDefinitions[key]; known {
		return d.refuse(value)
	}
	return "", ""
}

// UnexpectedNode is the error of a node that is asked about another node.
func UnexpectedNode(asked, answering string) error {
	return kafka.NewError(kafka.CodeInvalidRequest, fmt.Sprintf("Unexpected broker id, expected %s or empty string, but received %s",
		answering, asked))
}

// UnknownNode is the controller's error for a change of a node that is not registered.
func UnknownNode(name string) error {
	return kafka.NewError(kafka.CodeBrokerIDNotRegistered, fmt.Sprintf("No node with id %s found.", name))
}

// MissingTopic is the controller's error for a leader election of a topic that does not exist.
func MissingTopic(name string) error {
	return kafka.NewError(kafka.CodeUnknownTopicOrPartition, "No such topic as "+name)
}

// MissingPartition is the same for a partition.
func MissingPartition(p kafka.TopicPartition) error {
	return kafka.NewError(kafka.CodeUnknownTopicOrPartition, fmt.Sprintf("No such partition as %s-%d", p.Topic, p.Partition))
}

// NodeConfigs are the stored dynamic configurations of nodes: values by resource name and key. A NodeConfigs is immutable.
type NodeConfigs map[string]map[string]string

// With returns the configurations after a change.
func (c NodeConfigs) With(change kafka.ConfigChange) NodeConfigs {
	out := maps.Clone(c)
	if out == nil {
		out = NodeConfigs{}
	}
	own := map[string]string{}
	maps.Copy(own, out[change.Resource.Name])
	maps.Copy(own, change.Set)
	for _, key := range change.Delete {
		delete(own, key)
	}
	out[change.Resource.Name] = own
	return out
}

// Cluster returns the dynamic defaults of all nodes: all, or those named in keys.
func (c NodeConfigs) Cluster(keys []string) map[string]kafka.ConfigEntry {
	out := map[string]kafka.ConfigEntry{}
	for key, value := range c[""] {
		if len(keys) == 0 || slices.Contains(keys, key) {
			out[key] = kafka.ConfigEntry{Value: value, Source: kafka.SourceDynamicBrokerDefault}
		}
	}
	return out
}

// Node returns the configuration of one node: all keys, or those named in keys. static are the values in the node's file.
func (c NodeConfigs) Node(id int32, static map[string]string, keys []string) map[string]kafka.ConfigEntry {
	name := fmt.Sprint(id)
	known := map[string]bool{}
	for _, from := range []map[string]string{static, c[""], c[name]} {
		for key := range from {
			known[key] = true
		}
	}
	for key := range nodeDefinitions {
		known[key] = true
	}
	out := map[string]kafka.ConfigEntry{}
	for key := range known {
		if len(keys) == 0 || slices.Contains(keys, key) {
			out[key] = nodeEntry(key, []kafka.ConfigSynonym{
				{Key: key, Value: c[name][key], Source: kafka.SourceDynamicBroker},
				{Key: key, Value: c[""][key], Source: kafka.SourceDynamicBrokerDefault},
				{Key: key, Value: static[key], Source: kafka.SourceStaticBroker},
				{Key: key, Value: nodeDefinitions[key].preset, Source: kafka.SourceDefault},
			})
		}
	}
	return out
}

// nodeEntry returns a node's entry for a key, given the key's values by precedence; missing ones are empty. A node ignores values that it
// can't parse.
func nodeEntry(key string, values []kafka.ConfigSynonym) kafka.ConfigEntry {
	d, known := nodeDefinitions[key]
	values = slices.DeleteFunc(values, func(s kafka.ConfigSynonym) bool {
		_, unreadable := refuseNode(key, s.Value)
		return s.Value == "" || unreadable != ""
	})
	e := kafka.ConfigEntry{Source: kafka.SourceDefault, ReadOnly: !known || !d.dynamic, Sensitive: !known && dynamic(values)}
	if len(values) == 0 {
		return e
	}
	e.Source, e.Synonyms = values[0].Source, values
	if e.Sensitive {
		for i := range values {
			values[i].Value = ""
		}
	}
	e.Value = values[0].Value
	return e
}

// dynamic reports whether the first value was set at runtime.
func dynamic(values []kafka.ConfigSynonym) bool {
	return len(values) > 0 && (values[0].Source == kafka.SourceDynamicBroker || values[0].Source == kafka.SourceDynamicBrokerDefault)
}
