package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/internal/rules"
)

// internalTopics are Kafka's internal topics (org.apache.kafka.common.internals.Topic).
var internalTopics = []string{"__consumer_offsets", "__transaction_state", "__share_group_state"}

// contradiction is the error of an item that a batch contains twice with different values.
func contradiction() error {
	return kafka.NewError(kafka.CodeInvalidRequest, "The batch contains this item twice, with different values; neither was executed.")
}

// unanimous returns the items in order, each key once, and the keys for which the batch has different values.
func unanimous[K comparable, I any](items []I, key func(I) K, equal func(a, b I) bool) (once []I, torn map[K]bool) {
	at := make(map[K]int, len(items))
	once = make([]I, 0, len(items))
	for _, item := range items {
		k := key(item)
		i, ok := at[k]
		if !ok {
			at[k] = len(once)
			once = append(once, item)
		} else if !equal(once[i], item) {
			if torn == nil {
				torn = map[K]bool{}
			}
			torn[k] = true
		}
	}
	return once, torn
}

// gate asks the context's gate, as a client does before it sends. It returns the admitted items, and puts the errors of the others into
// out.
func gate[K comparable, I, R any](ctx context.Context, items []I, key func(I) K, out map[K]R, failure func(error) R) []I {
	ask := kafka.GateOf[K](ctx)
	if ask == nil {
		return items
	}
	keys := make([]K, len(items))
	for i, item := range items {
		keys[i] = key(item)
	}
	refused := ask(ctx, keys)
	for k, why := range refused {
		out[k] = failure(why)
	}
	return slices.DeleteFunc(slices.Clone(items), func(item I) bool { _, gone := refused[key(item)]; return gone })
}

func itself(err error) error { return err }

// CreateTopics implements kafka.TopicWriter.
func (c *Client) CreateTopics(ctx context.Context, topics []kafka.NewTopic, validateOnly bool) (map[string]kafka.CreateResult, error) {
	out := make(map[string]kafka.CreateResult, len(topics))
	if len(topics) == 0 {
		return out, nil
	}
	once, torn := unanimous(topics, func(t kafka.NewTopic) string { return t.Name }, sameTopic)
	once = gate(ctx, once, func(t kafka.NewTopic) string { return t.Name }, out,
		func(err error) kafka.CreateResult { return kafka.CreateResult{Err: err} })
	if len(once) == 0 {
		return out, nil
	}
	call := Call{Method: "CreateTopics", ValidateOnly: validateOnly, Items: make([]string, len(once))}
	for i, t := range once {
		call.Items[i] = t.Name
	}
	v := c.visit()
	err := v.do(ctx, "CreateTopics", call, func(*Cluster) {
		for _, t := range once {
			if torn[t.Name] {
				out[t.Name] = kafka.CreateResult{Err: contradiction()}
				continue
			}
			result, err := v.create(call, t)
			if err != nil {
				result = kafka.CreateResult{Err: err}
			}
			out[t.Name] = result
		}
	})
	return answer(out, err)
}

func sameTopic(a, b kafka.NewTopic) bool {
	return a.Partitions == b.Partitions && a.ReplicationFactor == b.ReplicationFactor &&
		maps.EqualFunc(a.Assignments, b.Assignments, slices.Equal) &&
		maps.EqualFunc(a.Configs, b.Configs, func(x, y *string) bool { return x == y || x != nil && y != nil && *x == *y })
}

func (v *visit) create(call Call, t kafka.NewTopic) (kafka.CreateResult, error) {
	cluster := v.cluster
	partitions, factor, err := v.check(call, t)
	if err != nil {
		return kafka.CreateResult{}, err
	}
	result := kafka.CreateResult{Partitions: partitions, ReplicationFactor: factor}
	if call.ValidateOnly {
		return result, nil
	}
	result.ID = cluster.state.nextID()
	created := &topic{Topic: kafka.Topic{Name: t.Name, ID: result.ID, Internal: slices.Contains(internalTopics, t.Name),
		Partitions: make([]kafka.Partition, partitions)}, configs: make(map[string]string, len(t.Configs))}
	for i := range partitions {
		replicas := slices.Clone(t.Assignments[i])
		if replicas == nil {
			replicas = place(cluster.registered(), i, int(factor))
		}
		created.Partitions[i] = partition(i, replicas)
	}
	for key, value := range t.Configs {
		created.configs[key] = *value
	}
	cluster.state.put(created)
	return result, nil
}

// check returns a new topic's numbers of partitions and replicas, or why it is rejected.
func (v *visit) check(call Call, t kafka.NewTopic) (partitions int32, factor int16, err error) {
	cluster := v.cluster
	if err := kafka.CheckNewTopic(t); err != nil {
		return 0, 0, err
	}
	if err := v.refused(call, t.Name, t.Name, Create); err != nil {
		return 0, 0, err
	}
	if max(int(t.Partitions), len(t.Assignments)) > rules.MaxRecords {
		return 0, 0, rules.TooManyPartitions() // checked first
	}
	if _, ok := cluster.state.topics[t.Name]; ok {
		return 0, 0, rules.Exists(t.Name)
	}
	if other, ok := cluster.state.collations[rules.Collation(t.Name)]; ok {
		return 0, 0, rules.Collision(t.Name, other)
	}
	env := rules.Cluster{Brokers: cluster.registered(), Partitions: cluster.options.DefaultPartitions,
		ReplicationFactor: cluster.options.DefaultReplicationFactor}
	if partitions, factor, err = env.Placement(t); err != nil {
		return 0, 0, err
	}
	return partitions, factor, rules.Configs(t.Configs)
}

// DeleteTopics implements kafka.TopicWriter.
func (c *Client) DeleteTopics(ctx context.Context, ids []kafka.TopicID) (map[kafka.TopicID]error, error) {
	out := make(map[kafka.TopicID]error, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	ids = gate(ctx, ids, func(id kafka.TopicID) kafka.TopicID { return id }, out, itself)
	if len(ids) == 0 {
		return out, nil
	}
	call := Call{Method: "DeleteTopics", Items: make([]string, len(ids))}
	for i, id := range ids {
		call.Items[i] = id.String()
	}
	v := c.visit()
	err := v.do(ctx, "DeleteTopics", call, func(*Cluster) {
		for _, id := range ids {
			if _, done := out[id]; !done {
				out[id] = v.delete(call, id)
			}
		}
	})
	return answer(out, err)
}

func (v *visit) delete(call Call, id kafka.TopicID) error {
	cluster := v.cluster
	if id.IsZero() {
		return kafka.NewError(kafka.CodeInvalidRequest, "Topics are deleted by id, and this id is zero.")
	}
	if cluster.options.DeletionDisabled {
		return kafka.NewError(kafka.CodeTopicDeletionDisabled, "")
	}
	t, name := cluster.state.ids[id], ""
	if t != nil {
		name = t.Name
	}
	if err := v.refused(call, id.String(), name, Delete); err != nil {
		return err
	}
	if t == nil {
		return kafka.NewError(kafka.CodeUnknownTopicID, "")
	}
	cluster.state.remove(t)
	return nil
}

// CreatePartitions implements kafka.TopicWriter.
func (c *Client) CreatePartitions(ctx context.Context, topics []kafka.PartitionIncrease, validateOnly bool) (map[string]error, error) {
	out := make(map[string]error, len(topics))
	if len(topics) == 0 {
		return out, nil
	}
	once, torn := unanimous(topics, func(p kafka.PartitionIncrease) string { return p.Topic },
		func(a, b kafka.PartitionIncrease) bool { return a == b })
	once = gate(ctx, once, func(p kafka.PartitionIncrease) string { return p.Topic }, out, itself)
	if len(once) == 0 {
		return out, nil
	}
	call := Call{Method: "CreatePartitions", ValidateOnly: validateOnly, Items: make([]string, len(once))}
	for i, t := range once {
		call.Items[i] = t.Topic
	}
	v := c.visit()
	err := v.do(ctx, "CreatePartitions", call, func(*Cluster) {
		for _, t := range once {
			if torn[t.Topic] {
				out[t.Topic] = contradiction()
				continue
			}
			out[t.Topic] = v.increase(call, t)
		}
	})
	return answer(out, err)
}

func (v *visit) increase(call Call, p kafka.PartitionIncrease) error {
	cluster := v.cluster
	if err := rules.Name(p.Topic); err != nil {
		return err
	}
	if err := v.refused(call, p.Topic, p.Topic, Alter); err != nil {
		return err
	}
	t := cluster.state.topics[p.Topic]
	if t == nil {
		return kafka.NewError(kafka.CodeUnknownTopicOrPartition, "")
	}
	if err := rules.Increase(p.Topic, int32(len(t.Partitions)), p.Total); err != nil {
		return err
	}
	if int(p.Total)-len(t.Partitions) > rules.MaxRecords {
		return rules.TooManyPartitions()
	}
	if call.ValidateOnly {
		return nil
	}
	cluster.state.put(t.with(func(t *topic) {
		factor := len(t.Partitions[0].Replicas)
		for i := int32(len(t.Partitions)); i < p.Total; i++ {
			t.Partitions = append(t.Partitions, partition(i, place(cluster.registered(), i, factor)))
		}
	}))
	return nil
}

// AlterConfigs implements kafka.ConfigWriter.
func (c *Client) AlterConfigs(ctx context.Context, changes []kafka.ConfigChange,
	validateOnly bool) (map[kafka.ConfigResource]error, error) {
	return c.alterAll(ctx, changes, validateOnly, (*visit).alter)
}

// alterAll changes the configurations of resources, each with alter.
func (c *Client) alterAll(ctx context.Context, changes []kafka.ConfigChange, validateOnly bool,
	alter func(*visit, Call, kafka.ConfigChange) error) (map[kafka.ConfigResource]error, error) {
	out := make(map[kafka.ConfigResource]error, len(changes))
	if len(changes) == 0 {
		return out, nil
	}
	once, torn := unanimous(changes, func(c kafka.ConfigChange) kafka.ConfigResource { return c.Resource },
		func(a, b kafka.ConfigChange) bool {
			return maps.Equal(a.Set, b.Set) && slices.Equal(a.Delete, b.Delete)
		})
	once = gate(ctx, once, func(c kafka.ConfigChange) kafka.ConfigResource { return c.Resource }, out, itself)
	if len(once) == 0 {
		return out, nil
	}
	call := Call{Method: "AlterConfigs", ValidateOnly: validateOnly, Items: make([]string, len(once))}
	for i, change := range once {
		call.Items[i] = change.Resource.Name
	}
	v := c.visit()
	err := v.do(ctx, "IncrementalAlterConfigs", call, func(*Cluster) {
		for _, change := range once {
			if torn[change.Resource] {
				out[change.Resource] = contradiction()
				continue
			}
			out[change.Resource] = alter(v, call, change)
		}
	})
	return answer(out, err)
}

// contradicts rejects a change with a key in both Set and Delete.
func contradicts(change kafka.ConfigChange) error {
	if err := kafka.CheckConfigChange(change); err != nil {
		return err
	}
	for _, key := range change.Delete {
		if _, ok := change.Set[key]; ok {
			return kafka.NewError(kafka.CodeInvalidRequest, "Error due to duplicate config keys: "+key)
		}
	}
	return nil
}

func (v *visit) alter(call Call, change kafka.ConfigChange) error {
	name := change.Resource.Name
	if err := contradicts(change); err != nil {
		return err
	}
	if change.Resource.Type == kafka.ResourceBroker {
		return v.alterNode(call, change)
	}
	if err := v.refused(call, name, name, AlterConfigs); err != nil {
		return err
	}
	t := v.cluster.state.topics[name]
	if t == nil {
		return rules.Missing(name)
	}
	for _, key := range slices.Sorted(maps.Keys(change.Set)) {
		if err := rules.Config(key, change.Set[key]); err != nil {
			return err
		}
	}
	for _, key := range change.Delete {
		if err := rules.Key(key); err != nil {
			return err
		}
	}
	if call.ValidateOnly {
		return nil
	}
	v.cluster.state.put(t.with(func(t *topic) {
		configs := maps.Clone(t.configs)
		maps.Copy(configs, change.Set)
		for _, key := range change.Delete {
			delete(configs, key)
		}
		t.configs = configs
	}))
	return nil
}
