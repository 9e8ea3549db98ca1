package kafkatest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/internal/rules"
)

// describeNode completes kfake's answer for a broker, or for the defaults of all nodes. kfake has authorized the request, but knows few
// keys.
func (s *session) describeNode(r *kmsg.DescribeConfigsResponseResource, names []string, synonyms bool) {
	if r.ErrorCode == kafka.CodeInvalidRequest {
		_, r.ErrorMessage = codeOf(rules.UnexpectedNode(r.ResourceName, fmt.Sprint(s.node.id)))
	}
	if r.ErrorCode != 0 {
		return
	}
	if r.ResourceName == "" {
		r.Configs = nodeConfigs(s.cluster.nodeConfigs().Cluster(names), false)
		return
	}
	static := map[string]string{kafka.KeyNodeID: fmt.Sprint(s.node.id), "log.dirs": "/var/lib/kafka/data",
		"process.roles": "broker,controller"}
	ours := s.cluster.nodeConfigs().Node(s.node.id, static, names)
	r.Configs = slices.DeleteFunc(r.Configs, func(c kmsg.DescribeConfigsResponseResourceConfig) bool { _, ok := ours[c.Name]; return ok })
	r.Configs = append(r.Configs, nodeConfigs(ours, synonyms)...)
}

func nodeConfigs(entries map[string]kafka.ConfigEntry, synonyms bool) []kmsg.DescribeConfigsResponseResourceConfig {
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		e := entries[key]
		c := kmsg.NewDescribeConfigsResponseResourceConfig()
		c.Name, c.Value, c.Source, c.ReadOnly, c.IsSensitive = key, &e.Value, kmsg.ConfigSource(e.Source), e.ReadOnly, e.Sensitive
		for _, synonym := range e.Synonyms {
			if synonyms {
				c.ConfigSynonyms = append(c.ConfigSynonyms, kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
					Name: synonym.Key, Value: &synonym.Value, Source: kmsg.ConfigSource(synonym.Source),
				})
			}
		}
		out = append(out, c)
	}
	return out
}

// alterNode carries out a change of a broker's configuration that kfake allows, or rejects the change as that broker would.
func (s *session) alterNode(r *kmsg.IncrementalAlterConfigsResponseResource, ops []kmsg.IncrementalAlterConfigsRequestResourceConfig,
	validateOnly bool) {
	if r.ErrorCode == kafka.CodeInvalidRequest {
		_, r.ErrorMessage = codeOf(rules.UnexpectedNode(r.ResourceName, fmt.Sprint(s.node.id)))
	}
	if r.ErrorCode != 0 {
		return
	}
	change := kafka.ConfigChange{Resource: kafka.ConfigResource{Type: kafka.ResourceBroker, Name: r.ResourceName}, Set: map[string]string{}}
	for _, op := range ops {
		if op.Op == kmsg.IncrementalAlterConfigOpDelete {
			change.Delete = append(change.Delete, op.Name)
		} else if op.Value != nil {
			change.Set[op.Name] = *op.Value
		}
	}
	if err := rules.NodeChange(change); err != nil {
		r.ErrorCode, r.ErrorMessage = codeOf(err)
		return
	}
	if !validateOnly {
		s.cluster.storeNode(change)
	}
}

func (e *Embedded) nodeConfigs() rules.NodeConfigs {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stored
}

func (e *Embedded) storeNode(change kafka.ConfigChange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stored = e.stored.With(change)
}

// electLeaders answers that no election is needed, because kfake's partitions are led by their first replica. kfake only authorizes the
// request.
func (s *session) electLeaders(c *call, req *kmsg.ElectLeadersRequest) (kmsg.Response, error) {
	nothing := *req
	nothing.Topics = []kmsg.ElectLeadersRequestTopic{}
	answer, err := s.ask(c, &nothing)
	if err != nil {
		return nil, err
	}
	resp := answer.(*kmsg.ElectLeadersResponse)
	if resp.ErrorCode != 0 {
		return resp, nil
	}
	resp.Topics = nil
	for _, t := range req.Topics {
		out := kmsg.NewElectLeadersResponseTopic()
		out.Topic = t.Topic
		present := len(s.cluster.fake.PartitionInfos(t.Topic))
		for _, index := range t.Partitions {
			p := kmsg.NewElectLeadersResponseTopicPartition()
			p.Partition = index
			switch {
			case present == 0:
				p.ErrorCode, p.ErrorMessage = codeOf(rules.MissingTopic(t.Topic))
			case index < 0 || int(index) >= present:
				p.ErrorCode, p.ErrorMessage = codeOf(rules.MissingPartition(kafka.TopicPartition{Topic: t.Topic, Partition: index}))
			default:
				p.ErrorCode = kafka.CodeElectionNotNeeded
			}
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp, nil
}
