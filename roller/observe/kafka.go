package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// Brokers are the requests that the observer sends to brokers.
type Brokers interface {
	kafka.ClusterReader
	kafka.TopicReader
	kafka.ReassignmentReader
	kafka.QuorumReader
	kafka.NodeConfigReader
	kafka.NodeTopicReader
}

// Controllers are the requests that the observer sends directly to controllers (KIP-919; docs/decisions/quorum.md).
type Controllers interface {
	kafka.QuorumReader
	kafka.NodeConfigReader
}

// Kafka reads from a Kafka cluster.
type Kafka struct {
	Brokers Brokers
	// Controllers is nil if the controllers can't be reached: the observer then asks the brokers for the quorum, and does not read the
	// controllers' configurations.
	Controllers Controllers
}

// KafkaFacts are the facts that Kafka reports.
type KafkaFacts struct {
	Topics roller.Fact[[]roller.Topic]
	Quorum roller.Fact[roller.Quorum]
	// ClusterID is the id of the Kafka cluster that answered; empty if none did.
	ClusterID string
	// Brokers are the registered brokers, by id.
	Brokers roller.Fact[map[roller.NodeID]kafka.Node]
	// Racks are the racks that brokers had when Kafka last listed them: before 4.0 it does not list fenced ones.
	Racks map[roller.NodeID]string
	// FencedIncluded reports whether Brokers includes fenced ones.
	FencedIncluded bool
	// Nodes are the nodes' own answers. A node that could not be asked is missing.
	Nodes map[roller.NodeID]NodeAnswer
	// Recalled are the nodes of Nodes whose answers are from an earlier look.
	Recalled map[roller.NodeID]bool
	// Hidden has, for each broker that was asked in this look or lately, the topics that the roller may not describe; nil if that is unknown.
	Hidden map[roller.NodeID]string

	// limits are the values of min.insync.replicas, by the topics' ids.
	limits map[kafka.TopicID]limit
	// inherited tells for each of Topics whether it inherits its limit.
	inherited []bool
	// moves are the ongoing reassignments; nil if they are unknown.
	moves map[kafka.TopicPartition]kafka.Reassignment
}

// limit is the min.insync.replicas of a topic. inherited means that the topic does not set it, so that it is the value of the broker that
// was asked, and may be another one on the brokers that lead the topic's partitions.
type limit struct {
	minISR    roller.Fact[int]
	inherited bool
}

// inherit raises inherited limits to the largest one of the brokers that is known: each leader applies its own.
func (f *KafkaFacts) inherit(brokers []roller.NodeID) {
	largest := 0
	for _, id := range brokers {
		if n, err := strconv.Atoi(f.Nodes[id].Live.Or(nil)[minISRKey].Value); err == nil {
			largest = max(largest, n)
		}
	}
	topics := f.Topics.Or(nil)
	for i := range topics {
		if f.inherited[i] && topics[i].MinISR.Or(largest) < largest {
			topics[i].MinISR = roller.Known(largest)
		}
	}
}

// failed leaves the replicas in failed log directories: Kafka also lists those of brokers that are out of service as offline.
func (f *KafkaFacts) failed() {
	registered := f.Brokers.Or(nil)
	topics := f.Topics.Or(nil)
	for t := range topics {
		for p := range topics[t].Partitions {
			x := &topics[t].Partitions[p]
			x.Offline = slices.DeleteFunc(x.Offline, func(id roller.NodeID) bool { b, is := registered[id]; return !is || b.Fenced })
		}
	}
}

// rack returns the rack of a broker; empty if it has none or is no broker.
func (f *KafkaFacts) rack(id roller.NodeID) string {
	if b, registered := f.Brokers.Or(nil)[id]; registered {
		return b.Rack
	}
	return f.Racks[id]
}

// NodeAnswer is the result of asking a node for its configuration.
type NodeAnswer struct {
	// Answers reports whether the node responded, even with an error. Unasked means that this is unknown, because nobody told the address of
	// the node; Live says why.
	Answers, Unasked bool
	// Failing is positive evidence that clients can't connect to it; empty without any.
	Failing string
	// Expired means that the evidence is the node's own expired certificate.
	Expired bool
	Live    roller.Fact[map[string]brokerconfig.Entry]
}

// answers returns Answers as a fact.
func (a NodeAnswer) answers() roller.Fact[bool] {
	if a.Unasked {
		return roller.Unknown[bool](a.Live.Why())
	}
	return roller.Known(a.Answers)
}

// minISRKey is the topic's property that the availability rule needs.
const minISRKey = "min.insync.replicas"

// Read sends all requests concurrently; brokers and controllers are the nodes whose configuration to read. It takes no longer than ctx, and
// never fails: facts without an answer are unknown.
func (k *Kafka) Read(ctx context.Context, brokers, controllers []roller.NodeID) KafkaFacts {
	return k.read(ctx, brokers, controllers, recalled{candidates: brokers, controllers: len(controllers)})
}

// read is Read, but does not ask again for recalled facts.
func (k *Kafka) read(ctx context.Context, brokers, controllers []roller.NodeID, known recalled) KafkaFacts {
	facts := KafkaFacts{Nodes: map[roller.NodeID]NodeAnswer{}, Recalled: map[roller.NodeID]bool{}}
	forQuorum, cancel := partOf(ctx)
	defer cancel()
	if known.noneReady {
		// If no broker answers, the client tries them until the time is over, and the facts would be too old to restart one.
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, longest)
		defer stop()
		forQuorum = ctx
	}
	var byBrokers, byPeers, byControllers map[roller.NodeID]NodeAnswer
	var on, onOthers map[roller.NodeID][]string
	var all sync.WaitGroup
	all.Go(func() {
		facts.Quorum = k.quorum(forQuorum, known.controllers)
		k.topics(ctx, &facts, brokers, known)
	})
	all.Go(func() { k.brokers(ctx, &facts, known.members) })
	all.Go(func() { byBrokers = live(ctx, k.Brokers, known.others(brokers), nil) })
	all.Go(func() {
		peers := among(slices.Clone(brokers), slices.Collect(maps.Keys(known.peers)))
		byPeers = known.again(live(ctx, k.Brokers, peers, []string{kafka.KeyNodeID}))
	})
	all.Go(func() { on, onOthers = k.topicsOn(ctx, known.candidates, brokers) })
	if k.Controllers != nil {
		all.Go(func() {
			within, cancel := context.WithTimeout(ctx, longest)
			defer cancel()
			byControllers = live(within, k.Controllers, known.others(controllers), nil)
		})
	}
	all.Wait()
	if topics, listed := facts.Topics.Get(); listed {
		facts.Hidden = k.hidden(ctx, on, topics)
		k.hiddenOnSilent(ctx, &facts, known.candidates, on, onOthers)
		maps.Copy(facts.Hidden, known.hidden)
	}
	for _, answers := range []map[roller.NodeID]NodeAnswer{known.nodes, byBrokers, byPeers, byControllers} {
		maps.Copy(facts.Nodes, answers)
	}
	for id := range known.nodes {
		facts.Recalled[id] = true
	}
	facts.inherit(brokers)
	facts.failed()
	return facts
}

// errNoLeader is why nobody answers what only the leader of the metadata quorum knows.
var errNoLeader = errors.New("the metadata quorum has no leader")

// topics reads all topics with their reassignments: without these, it is unknown which replicas stay.
func (k *Kafka) topics(ctx context.Context, facts *KafkaFacts, brokers []roller.NodeID, known recalled) {
	unknown := func(what string, err error) { facts.Topics = roller.Unknown[[]roller.Topic](what + ": " + err.Error()) }
	// Reassignments first: one that ends in between only makes the decision more careful.
	moves := known.moves
	if q, described := facts.Quorum.Get(); moves == nil && described && q.Leader < 0 {
		// Brokers would forward the question to the leader, and wait for one. Meanwhile the look would become too old to act on.
		unknown("reassignments can't be listed", errNoLeader)
		return
	}
	if moves == nil {
		var err error
		if moves, err = k.Brokers.ListReassignments(ctx, nil); err != nil {
			unknown("reassignments can't be listed", err)
			return
		}
	}
	list, err := k.listTopics(ctx, facts.Quorum, brokers)
	if err != nil {
		unknown("topics can't be listed", err)
		return
	}
	limits, err := k.limits(ctx, list, known.limits)
	if err != nil {
		unknown("the configurations of topics can't be read", err)
		return
	}
	all := make([]roller.Topic, 0, len(list))
	facts.moves, facts.limits, facts.inherited = moves, make(map[kafka.TopicID]limit, len(list)), make([]bool, 0, len(list))
	for i := range list {
		if limit, is := limits[list[i].Name]; is {
			facts.limits[list[i].ID] = limit
			all = append(all, topicOf(&list[i], limit.minISR, moves))
			facts.inherited = append(facts.inherited, limit.inherited)
		}
	}
	facts.Topics = roller.Known(all)
}

// limits returns the topics' min.insync.replicas, by name: the recalled values, and for other topics those that Kafka returns. A topic that
// was deleted in between has none.
func (k *Kafka) limits(
	ctx context.Context, topics []kafka.Topic, known map[kafka.TopicID]limit,
) (map[string]limit, error) {
	limits := make(map[string]limit, len(topics))
	var ask []kafka.ConfigResource
	for _, t := range topics {
		if limit, recalled := known[t.ID]; recalled {
			limits[t.Name] = limit
		} else {
			ask = append(ask, kafka.TopicResource(t.Name))
		}
	}
	if len(ask) == 0 {
		return limits, nil
	}
	configs, err := k.Brokers.DescribeConfigs(ctx, ask, []string{minISRKey})
	if err != nil {
		return nil, err
	}
	for _, topic := range ask {
		if config := configs[topic]; !kafka.IsNotFound(config.Err) {
			limits[topic.Name] = minISR(config)
		}
	}
	return limits, nil
}

func minISR(config kafka.ConfigResult) limit {
	if config.Err != nil {
		return limit{minISR: roller.Unknown[int](config.Err.Error())}
	}
	entry := config.Entries[minISRKey]
	n, err := strconv.Atoi(entry.Value)
	if err != nil {
		return limit{minISR: roller.Unknown[int](fmt.Sprintf("%q is not a number", entry.Value))}
	}
	return limit{roller.Known(n), entry.Source != kafka.SourceTopic}
}

func topicOf(t *kafka.Topic, minISR roller.Fact[int], moves map[kafka.TopicPartition]kafka.Reassignment) roller.Topic {
	topic := roller.Topic{Name: t.Name, MinISR: minISR, Partitions: make([]roller.Partition, len(t.Partitions))}
	for i, p := range t.Partitions {
		topic.Partitions[i] = roller.Partition{Index: p.Index, Leader: roller.NodeID(p.Leader), Replicas: nodeIDs(p.Replicas),
			ISR: nodeIDs(p.ISR)}
		if len(p.Offline) > 0 {
			topic.Partitions[i].Offline = nodeIDs(p.Offline)
		}
		if move, ongoing := moves[kafka.TopicPartition{Topic: t.Name, Partition: p.Index}]; ongoing {
			// A former or future replica does not count.
			topic.Partitions[i].Adding = among(nodeIDs(move.Adding), topic.Partitions[i].Replicas)
			topic.Partitions[i].Removing = among(nodeIDs(move.Removing), topic.Partitions[i].Replicas)
		}
	}
	return topic
}

func nodeIDs(ids []int32) []roller.NodeID {
	out := make([]roller.NodeID, len(ids))
	for i, id := range ids {
		out[i] = roller.NodeID(id)
	}
	return out
}

func among(ids, these []roller.NodeID) []roller.NodeID {
	return slices.DeleteFunc(ids, func(id roller.NodeID) bool { return !slices.Contains(these, id) })
}

// How long to wait for controllers that can't be reached, for example because of a network policy. A node is restarted on facts that are at
// most roller.Freshness old, so that a look that takes longer restarts no node, not even brokers that can be reached.
const (
	// alone is the time after which others are asked as well.
	alone = 500 * time.Millisecond
	// longest bounds requests that only the controllers themselves can answer.
	longest = 3 * time.Second
)

// quorum asks the controllers if it can, else the brokers. If the controllers fail or do not answer soon, it asks the brokers as well, and
// returns the first good answer. running is how many controllers may be running.
func (k *Kafka) quorum(ctx context.Context, running int) roller.Fact[roller.Quorum] {
	if k.Controllers == nil {
		return quorumOf(k.Brokers.DescribeQuorum(ctx))
	}
	byControllers, byBrokers := make(chan roller.Fact[roller.Quorum], 1), make(chan roller.Fact[roller.Quorum], 1)
	go func() { byControllers <- k.quorumByControllers(ctx, running) }()
	wait := alone
	if end, limited := ctx.Deadline(); limited {
		wait = min(wait, time.Until(end)/2)
	}
	asked := time.NewTimer(wait)
	defer asked.Stop()
	var first roller.Fact[roller.Quorum]
	select {
	case first = <-byControllers:
		if first.IsKnown() {
			return first
		}
		byControllers = nil
	case <-asked.C:
	}
	go func() { byBrokers <- quorumOf(k.Brokers.DescribeQuorum(ctx)) }()
	for byControllers != nil || byBrokers != nil {
		select {
		case first = <-byControllers:
			if byControllers = nil; first.IsKnown() {
				return first
			}
		case second := <-byBrokers:
			if byBrokers = nil; second.IsKnown() {
				return second
			}
		}
	}
	return first // the controllers' error
}

// quorumByControllers asks the controllers. If as many as may be running answer that they do not lead, there is no leader.
func (k *Kafka) quorumByControllers(ctx context.Context, running int) roller.Fact[roller.Quorum] {
	q, err := k.Controllers.DescribeQuorum(ctx)
	if running > 0 && kafka.NoLeader(err) >= running {
		return quorumOf(kafka.Quorum{Leader: -1}, nil)
	}
	return quorumOf(q, err)
}

// partOf returns a context with a third of the remaining time, if that is limited: the topics are read after the quorum.
func partOf(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if !limited {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(end)/3)
}

func quorumOf(q kafka.Quorum, err error) roller.Fact[roller.Quorum] {
	if err != nil {
		return roller.Unknown[roller.Quorum](err.Error())
	}
	return roller.Known(roller.Quorum{Leader: roller.NodeID(q.Leader), Voters: voters(q.Voters), Observers: voters(q.Observers)})
}

func voters(in []kafka.Replica) []roller.Voter {
	out := make([]roller.Voter, len(in))
	for i, r := range in {
		out[i] = roller.Voter{ID: roller.NodeID(r.ID), LastCaughtUp: r.LastCaughtUp}
		if !r.DirectoryID.IsZero() {
			out[i].Directory = r.DirectoryID.String()
		}
	}
	return out
}

// brokers sets the registered brokers, and the id of the cluster.
func (k *Kafka) brokers(ctx context.Context, facts *KafkaFacts, known *membership) {
	if known != nil {
		facts.Brokers, facts.FencedIncluded, facts.ClusterID = known.brokers, known.fencedIncluded, known.clusterID
		return
	}
	cluster, err := k.Brokers.DescribeCluster(ctx)
	if err != nil {
		facts.Brokers = roller.Unknown[map[roller.NodeID]kafka.Node](err.Error())
		return
	}
	brokers := make(map[roller.NodeID]kafka.Node, len(cluster.Brokers))
	for _, b := range cluster.Brokers {
		brokers[roller.NodeID(b.ID)] = b
	}
	facts.Brokers, facts.FencedIncluded, facts.ClusterID = roller.Known(brokers), cluster.FencedIncluded, cluster.ID
}

// live asks each node for its own configuration, all keys or only the named ones, which also shows whether it is running.
func live(ctx context.Context, reader kafka.NodeConfigReader, ids []roller.NodeID, keys []string) map[roller.NodeID]NodeAnswer {
	answers := make(map[roller.NodeID]NodeAnswer, len(ids))
	if len(ids) == 0 {
		return answers
	}
	asked := make([]int32, len(ids))
	for i, id := range ids {
		asked[i] = int32(id)
	}
	results, err := reader.DescribeNodeConfigs(ctx, asked, keys)
	for _, id := range ids {
		result, asked := results[int32(id)]
		if !asked {
			result.Err = err
		}
		if _, elsewhere := kafka.WrongCluster(result.Err); elsewhere {
			continue // the node was not asked
		}
		if result.Err != nil {
			why := ""
			// Who refuses at an address that a user gave may be another Kafka, or a proxy. An expired certificate concerns all clients.
			if asked || kafka.TLSFailureOf(err) == kafka.TLSExpired {
				why = failing(result.Err)
			}
			responds := (answered(result.Err) || !kafka.IsRetriable(result.Err)) && why == ""
			answers[id] = NodeAnswer{
				Answers: asked && responds, Unasked: !asked && (responds || len(results) > 0), Failing: why,
				Expired: kafka.TLSFailureOf(result.Err) == kafka.TLSExpired,
				Live:    roller.Unknown[map[string]brokerconfig.Entry](result.Err.Error()),
			}
			continue
		}
		answers[id] = NodeAnswer{Answers: true, Live: roller.Known(entries(result.Entries))}
	}
	return answers
}

// answered reports whether an error is Kafka's answer, such as that a broker can't explain its failure, and no failure to reach it.
func answered(err error) bool {
	var e *kafka.Error
	// The client itself may say that it is throttled.
	return errors.As(err, &e) && e.Code != kafka.CodeTransport && e.Code != kafka.CodeThrottlingQuotaExceeded
}

// failing explains why no client can connect to the node: it refuses connections or TLS, or its certificate has expired. A timeout is no
// evidence, and neither is a certificate that only the roller does not trust, or the rejection of a roller that has no certificate, or one
// that has expired (docs/decisions/lost-clusters.md).
func failing(err error) string {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "it refuses connections"
	}
	switch kafka.TLSFailureOf(err) {
	case kafka.TLSAlert:
		return "it refuses TLS: " + err.Error()
	case kafka.TLSExpired:
		return "its certificate has expired: " + err.Error()
	case kafka.TLSUntrusted, kafka.TLSOwnExpired, kafka.TLSNoCertificate:
	}
	return ""
}

func entries(in map[string]kafka.ConfigEntry) map[string]brokerconfig.Entry {
	out := make(map[string]brokerconfig.Entry, len(in))
	for key, e := range in {
		entry := brokerconfig.Entry{Value: e.Value, Source: brokerconfig.Source(e.Source), ReadOnly: e.ReadOnly, Sensitive: e.Sensitive}
		for _, s := range e.Synonyms {
			entry.Synonyms = append(entry.Synonyms, brokerconfig.Synonym{Key: s.Key, Value: s.Value, Source: brokerconfig.Source(s.Source)})
		}
		out[key] = entry
	}
	return out
}
