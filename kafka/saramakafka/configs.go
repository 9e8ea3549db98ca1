package saramakafka

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"unique"

	"github.com/IBM/sarama"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// DescribeConfigs implements kafka.TopicReader. It requests no synonyms and documentation, which make the answer ten times as large.
func (a *Admin) DescribeConfigs(ctx context.Context, resources []kafka.ConfigResource,
	keys []string) (map[kafka.ConfigResource]kafka.ConfigResult, error) {
	for _, key := range keys {
		if err := kafka.CheckConfigKey(key); err != nil {
			return nil, err
		}
	}
	b := batch[kafka.ConfigResource, kafka.ConfigResource, kafka.ConfigResult]{
		name: "DescribeConfigs", maxItems: maxConfigs,
		key:    func(r kafka.ConfigResource) kafka.ConfigResource { return r },
		broker: brokerOf,
		refuse: kafka.CheckResource,
		send: func(ctx context.Context, c *conn, resources []kafka.ConfigResource) (map[kafka.ConfigResource]kafka.ConfigResult, error) {
			return describeConfigs(ctx, c, resources, keys, false)
		},
		failure: func(err error) kafka.ConfigResult { return kafka.ConfigResult{Err: err} },
		reason:  func(r kafka.ConfigResult) error { return r.Err },
	}
	return b.run(ctx, &a.client, resources)
}

// brokerOf returns the broker of a resource: only that broker can describe its own configuration.
func brokerOf(r kafka.ConfigResource) int32 {
	if id, err := strconv.ParseInt(r.Name, 10, 32); r.Type == kafka.ResourceBroker && err == nil {
		return int32(id)
	}
	return anyBroker
}

// describeConfigs describes the configurations of topics, or that of the node that the connection leads to.
func describeConfigs(ctx context.Context, c *conn, resources []kafka.ConfigResource, keys []string,
	synonyms bool) (map[kafka.ConfigResource]kafka.ConfigResult, error) {
	req := &sarama.DescribeConfigsRequest{Version: 4, IncludeSynonyms: synonyms, Resources: make([]*sarama.ConfigResource, len(resources))}
	for i, r := range resources {
		req.Resources[i] = &sarama.ConfigResource{Type: sarama.ConfigResourceType(r.Type), Name: r.Name, ConfigNames: keys}
	}
	var resp *sarama.DescribeConfigsResponse
	err := c.typed(ctx, func(b *sarama.Broker) (err error) {
		resp, err = b.DescribeConfigs(req)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.mute(resp.ThrottleTime)
	answers := make(map[kafka.ConfigResource]kafka.ConfigResult, len(resp.Resources))
	for _, r := range resp.Resources {
		resource := kafka.ConfigResource{Type: kafka.ResourceType(r.Type), Name: r.Name}
		if err := misdirected(r.ErrorCode, r.ErrorMsg); err != nil {
			return nil, err
		}
		if r.ErrorCode != 0 {
			answers[resource] = kafka.ConfigResult{Err: kafka.NewError(r.ErrorCode, r.ErrorMsg)}
			continue
		}
		answers[resource] = kafka.ConfigResult{Entries: configEntries(r.Configs)}
	}
	return answers, nil
}

// configEntries converts entries. Keys, and most values, are the same for thousands of topics, so it keeps one copy of each.
func configEntries(in []*sarama.ConfigEntry) map[string]kafka.ConfigEntry {
	out := make(map[string]kafka.ConfigEntry, len(in))
	for _, e := range in {
		out[unique.Make(e.Name).Value()] = kafka.ConfigEntry{
			Value: unique.Make(e.Value).Value(), Source: kafka.ConfigSource(e.Source), ReadOnly: e.ReadOnly, Sensitive: e.Sensitive,
			Synonyms: configSynonyms(e.Synonyms),
		}
	}
	return out
}

func configSynonyms(in []*sarama.ConfigSynonym) []kafka.ConfigSynonym {
	if len(in) == 0 {
		return nil // as for all topics
	}
	out := make([]kafka.ConfigSynonym, len(in))
	for i, s := range in {
		out[i] = kafka.ConfigSynonym{Key: s.ConfigName, Value: s.ConfigValue, Source: kafka.ConfigSource(s.Source)}
	}
	return out
}

// AlterConfigs implements kafka.ConfigWriter.
func (a *Admin) AlterConfigs(ctx context.Context, changes []kafka.ConfigChange, validateOnly bool) (map[kafka.ConfigResource]error, error) {
	return a.alter(ctx, changes, validateOnly, func(c kafka.ConfigChange) int32 { return brokerOf(c.Resource) })
}

// alter sends changes to the brokers that route returns, or without route to the active controller. A change whose answer was lost is sent
// again, because setting and deleting a key twice is the same as once.
func (c *client) alter(ctx context.Context, changes []kafka.ConfigChange, validateOnly bool,
	route func(kafka.ConfigChange) int32) (map[kafka.ConfigResource]error, error) {
	b := batch[kafka.ConfigResource, kafka.ConfigChange, error]{
		name: "IncrementalAlterConfigs", leader: true, maxItems: maxChanges, maxWeight: maxRecords,
		key:    func(c kafka.ConfigChange) kafka.ConfigResource { return c.Resource },
		weight: func(c kafka.ConfigChange) int { return len(c.Set) + len(c.Delete) },
		equal: func(a, b kafka.ConfigChange) bool {
			return maps.Equal(a.Set, b.Set) && slices.Equal(a.Delete, b.Delete)
		},
		text: textOfChange,
		refuse: func(c kafka.ConfigChange) error {
			if err := kafka.CheckConfigChange(c); err != nil {
				return err
			}
			return contradiction(c)
		},
		broker: route,
		send: func(ctx context.Context, c *conn, changes []kafka.ConfigChange) (map[kafka.ConfigResource]error, error) {
			return alterConfigs(ctx, c, changes, validateOnly)
		},
		failure: itself, reason: itself,
	}
	return b.run(ctx, c, changes)
}

// textOfChange returns the number of bytes in the keys and values of a change.
func textOfChange(c kafka.ConfigChange) int {
	n := 0
	for key, value := range c.Set {
		n += len(key) + len(value)
	}
	for _, key := range c.Delete {
		n += len(key)
	}
	return n
}

// contradiction rejects a key in both Set and Delete, as the broker would if the request could express it.
func contradiction(c kafka.ConfigChange) error {
	for _, key := range c.Delete {
		if _, ok := c.Set[key]; ok {
			return kafka.NewError(kafka.CodeInvalidRequest, "Error due to duplicate config keys: "+key)
		}
	}
	return nil
}

func alterConfigs(ctx context.Context, c *conn, changes []kafka.ConfigChange, validateOnly bool) (map[kafka.ConfigResource]error, error) {
	req := &sarama.IncrementalAlterConfigsRequest{Version: 1, Resources: make([]*sarama.IncrementalAlterConfigsResource, len(changes)),
		ValidateOnly: validateOnly}
	for i, change := range changes {
		entries := make(map[string]sarama.IncrementalAlterConfigsEntry, len(change.Set)+len(change.Delete))
		for key, value := range change.Set {
			entries[key] = sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}
		}
		for _, key := range change.Delete {
			entries[key] = sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationDelete}
		}
		req.Resources[i] = &sarama.IncrementalAlterConfigsResource{
			Type: sarama.ConfigResourceType(change.Resource.Type), Name: change.Resource.Name, ConfigEntries: entries,
		}
	}
	var resp *sarama.IncrementalAlterConfigsResponse
	err := c.typed(ctx, func(b *sarama.Broker) (err error) {
		resp, err = b.IncrementalAlterConfigs(req)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.mute(resp.ThrottleTime)
	answers := make(map[kafka.ConfigResource]error, len(resp.Resources))
	for _, r := range resp.Resources {
		if err := misdirected(r.ErrorCode, r.ErrorMsg); err != nil {
			return nil, err
		}
		answers[kafka.ConfigResource{Type: kafka.ResourceType(r.Type), Name: r.Name}] = codeError(r.ErrorCode, r.ErrorMsg)
	}
	return answers, nil
}
