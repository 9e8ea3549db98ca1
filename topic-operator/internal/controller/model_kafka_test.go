package controller

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/executor"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// modelTopic records the origin of a topic, and keeps it after the topic's deletion.
type modelTopic struct {
	cluster int
	name    string
	id      kafka.TopicID
	// by created the topic for the object of this uid; nil if another client did.
	by   *modelProcess
	uid  types.UID
	born int
	// anywhere reports whether the creator did not know the cluster.
	anywhere bool
	// deletedBy deleted the topic for an object at deletedAt, after these events of the API server, and received the answer. ended is a
	// number of births, like born.
	deletedBy  *modelProcess
	deletedFor types.UID
	deletedAt  time.Time
	events     int
	ended      int
	gone       bool
	// throttledBy is the object for which an operator set the topic's throttle; empty if the topic has none, or if another client set it.
	throttledBy types.UID
}

func (t *modelTopic) String() string { return fmt.Sprintf("%s (%s)", t.name, shortID(t.id)) }

// shortID returns a topic's cluster and number, for stories.
func shortID(id kafka.TopicID) string {
	return fmt.Sprintf("%s#%d", modelClusterNames[int(id[7])%len(modelClusterNames)], int(id[14])<<8|int(id[15]))
}

// marked writes the cluster into a topic id: real topic ids are unique everywhere, but two in-memory clusters create the same ones.
func marked(id kafka.TopicID, cluster int) kafka.TopicID {
	id[7] = byte(cluster)
	return id
}

func unmarked(id kafka.TopicID, cluster int) kafka.TopicID {
	if int(id[7]) == cluster {
		id[7] = 0
	} else {
		id[6] = 1 // in-memory clusters create no such id
	}
	return id
}

// modelKafka forwards a process's calls to Kafka, one at a time.
type modelKafka struct{ p *modelProcess }

var (
	errModelLost  = kafka.NewTransportError("the connection broke", nil)
	errModelLogin = kafka.NewError(kafka.CodeSASLAuthenticationFailed, "the password is wrong")
)

// reach returns the cluster that a call reaches, or an error.
func (k *modelKafka) reach() (int, error) {
	at := k.p.op.leads
	if k.p.op.process != k.p {
		at = k.p.leftAt // an existing connection keeps its cluster
	}
	if k.p.w.clusters[at].down {
		return at, errModelLost
	}
	if k.p.op.lockedOut {
		return at, errModelLogin
	}
	return at, nil
}

func (k *modelKafka) read(what, name string) (int, error) {
	k.p.enter(what + " " + name)
	return k.reach()
}

// configKeys are the settings that users and tools change in the histories. throttleKey is a setting that tools set temporarily, and
// policyKey one that Kafka sets on its internal topics.
var configKeys = []string{"retention.ms", "segment.bytes"}

const (
	throttleKey   = "leader.replication.throttled.replicas"
	policyKey     = "cleanup.policy"
	internalTopic = "__consumer_offsets"
	// modelReliedOn is how many partitions of internalTopic the brokers rely on.
	modelReliedOn = 1
)

var allConfigKeys = append([]string{throttleKey, policyKey}, configKeys...)

func (k *modelKafka) Describe(ctx context.Context, name string, _ bool) (topic.Actual, error) {
	t, err := k.Locate(ctx, name)
	if err != nil {
		return topic.Actual{}, err
	}
	r := kafka.TopicResource(name)
	configs, err := k.p.kafka.DescribeConfigs(ctx, []kafka.ConfigResource{r}, allConfigKeys)
	if err != nil {
		return topic.Actual{}, err
	}
	if k.p.w.config.plant == plantedOrdinary {
		t.Internal = false
	}
	if k.p.w.config.plant == plantedContent {
		for key, e := range configs[r].Entries {
			if e.Source == kafka.SourceDefault {
				e.Source = kafka.SourceUnknown
				configs[r].Entries[key] = e
			}
		}
	}
	return topic.Actual{Topic: t, Config: configs[r].Entries}, configs[r].Err
}

func (k *modelKafka) Locate(ctx context.Context, name string) (kafka.Topic, error) {
	at, err := k.read("look for topic", name)
	if err != nil {
		return kafka.Topic{}, err
	}
	found, err := k.p.kafka.DescribeTopics(ctx, []string{name})
	if err != nil {
		return kafka.Topic{}, err
	}
	t := found[name]
	t.Topic.ID = marked(t.Topic.ID, at)
	return t.Topic, t.Err
}

func (k *modelKafka) Validate(ctx context.Context, n kafka.NewTopic) error {
	if _, err := k.read("ask whether one could create", n.Name); err != nil {
		return err
	}
	made, err := k.p.kafka.CreateTopics(ctx, []kafka.NewTopic{n}, true)
	if err != nil {
		return err
	}
	return made[n.Name].Err
}

func (k *modelKafka) Reassignments(context.Context, string) (map[int32]kafka.Reassignment, error) {
	return nil, nil
}

// write makes one change in Kafka, if the check allows it right before. The process may crash right before or after the change, or lose the
// answer. With faultRepeated the first attempt is lost, and the request is sent again later.
func (k *modelKafka) write(what, name string, allowed executor.Check, do func(at int) error) error {
	asked := false
	once := func() error {
		at, err := k.reach()
		if err != nil {
			return err
		}
		if again := asked && k.p.w.config.plant == plantedOneCheck; allowed != nil && !again {
			asked = true
			if err := allowed(modelContext); err != nil {
				return err
			}
		}
		return do(at)
	}
	if pass := k.p.top(); pass.plan.fault == faultRepeated && pass.writes+1 == pass.plan.n {
		k.p.enter(what + " " + name)
		if allowed != nil {
			asked = true
			if err := allowed(modelContext); err != nil {
				return err
			}
		}
		k.p.w.tell("  %s cannot %s, and tries again later", k.p, what)
		k.p.meanwhile("try again")
	}
	return k.p.write(what+" "+name, once, errModelLost)
}

// BrokerConfig returns the settings with which makeInternal creates its topic.
func (k *modelKafka) BrokerConfig(ctx context.Context, keys []string) (map[string]string, error) {
	if _, err := k.read("look for settings of a broker for", internalTopic); err != nil {
		return nil, err
	}
	relied := modelReliedOn
	if k.p.w.config.plant == plantedComplacent {
		found, err := k.p.kafka.DescribeTopics(ctx, []string{internalTopic})
		if err != nil {
			return nil, err
		}
		relied = max(relied, len(found[internalTopic].Topic.Partitions))
	}
	values := map[string]string{}
	for _, key := range keys {
		values[key] = strconv.Itoa(relied)
	}
	values["offsets.topic.segment.bytes"] = "104857600"
	return values, nil
}

func (k *modelKafka) Create(ctx context.Context, n kafka.NewTopic, allowed executor.Check) (kafka.CreateResult, error) {
	var made kafka.CreateResult
	if k.p.w.config.plant == plantedPlain && n.Name == internalTopic {
		n.Configs = maps.Clone(n.Configs)
		delete(n.Configs, policyKey)
	}
	err := k.write("create topic", n.Name, allowed, func(at int) error {
		all, err := k.p.kafka.CreateTopics(ctx, []kafka.NewTopic{n}, false)
		if err != nil {
			return err
		}
		if made = all[n.Name]; made.Err != nil {
			return made.Err
		}
		made.ID = marked(made.ID, at)
		if _, throttled := n.Configs[throttleKey]; throttled {
			defer func() { k.p.w.topics[made.ID].throttledBy = k.p.top().uid() }()
		}
		k.p.w.topicMade(&modelTopic{cluster: at, name: n.Name, id: made.ID, by: k.p, uid: k.p.top().uid(), anywhere: k.p.top().own.ID == ""})
		k.p.w.checkCreate(k.p, at, n.Name)
		if n.Name == internalTopic && n.Configs[policyKey] == nil {
			k.p.w.fail("%s creates topic %s, in which Kafka would not keep its data", k.p, n.Name)
		}
		return nil
	})
	return made, err
}

func (k *modelKafka) Alter(ctx context.Context, c kafka.ConfigChange, allowed executor.Check) error {
	return k.write("alter topic", c.Resource.Name, allowed, func(at int) error {
		done, err := k.p.kafka.AlterConfigs(ctx, []kafka.ConfigChange{c}, false)
		if err == nil {
			err = done[c.Resource]
		}
		if err == nil {
			k.p.w.checkChange(k.p, at, c.Resource.Name)
			k.p.w.checkDeleted(k.p, at, c)
		}
		return err
	})
}

func (k *modelKafka) Increase(ctx context.Context, i kafka.PartitionIncrease, allowed executor.Check) error {
	return k.write("add partitions to topic", i.Topic, allowed, func(at int) error {
		done, err := k.p.kafka.CreatePartitions(ctx, []kafka.PartitionIncrease{i}, false)
		if err == nil {
			err = done[i.Topic]
		}
		if err == nil {
			k.p.w.checkChange(k.p, at, i.Topic)
		}
		if err == nil && i.Topic == internalTopic {
			k.p.w.fail("%s raises the partitions of topic %s, which is Kafka's own", k.p, i.Topic)
		}
		return err
	})
}

func (k *modelKafka) Delete(ctx context.Context, id kafka.TopicID, allowed executor.Check) error {
	err := k.write("delete topic", shortID(id), allowed, func(at int) error {
		inner := unmarked(id, at)
		done, err := k.p.kafka.DeleteTopics(ctx, []kafka.TopicID{inner})
		if err == nil {
			err = done[inner]
		}
		if err == nil {
			k.p.w.checkDelete(k.p, at, k.p.w.topics[id])
			k.p.w.topicGone(id)
		}
		return err
	})
	if t := k.p.w.topics[id]; err == nil {
		t.deletedBy, t.deletedFor, t.deletedAt, t.events = k.p, k.p.top().uid(), k.p.now(), len(k.p.w.server.log)
	}
	return err
}

// modelAdmin answers the requests of a process's guard.
type modelAdmin struct {
	p *modelProcess
	// asked ends a turn of the guard's loop after its first request.
	asked func() bool
}

func (a *modelAdmin) DescribeCluster(ctx context.Context) (kafka.Cluster, error) {
	if a.asked != nil && a.asked() {
		return kafka.Cluster{}, errModelLost
	}
	if a.p.op.mute || a.p.w.clusters[a.p.op.leads].down {
		return kafka.Cluster{}, errModelLost
	}
	if a.p.op.lockedOut {
		return kafka.Cluster{}, errModelLogin
	}
	return a.p.kafka.DescribeCluster(ctx)
}

func (a *modelAdmin) Pin(id string) error {
	a.p.w.tell("%s is bound to cluster %s", a.p, id)
	return a.p.kafka.Pin(id)
}

// modelIdentity records the cluster that the guard returned to each pass.
type modelIdentity struct{ p *modelProcess }

func (i *modelIdentity) Own(ctx context.Context) ownership.Cluster { return i.note(i.p.guard.Own(ctx)) }

// note records the result for the pass. If the clusterId can't be stored, the rules do not expect protection.
func (i *modelIdentity) note(own ownership.Cluster) ownership.Cluster {
	i.p.top().own, i.p.top().knows = own, own.ID
	if !i.p.fields.KeepsClusterID() {
		i.p.top().own.ID = ""
	}
	return own
}

func (i *modelIdentity) Ask(ctx context.Context, since time.Time) ownership.Cluster {
	return i.note(i.p.guard.Ask(ctx, since))
}

func (i *modelIdentity) Current() ownership.Cluster {
	return i.note(i.p.guard.Current())
}

func (i *modelIdentity) Answered(as string) { i.p.guard.Answered(as) }
