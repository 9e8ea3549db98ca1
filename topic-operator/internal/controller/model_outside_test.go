package controller

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// Further events from outside: other replicas, other finalizers, other CustomResourceDefinitions, tools, and Kafka itself.

// usurp lets another replica take the lease while the previous leader is in the middle of a pass, which then continues.
func (w *model) usurp(s modelStep) {
	o := w.operators[s.who%2]
	w.tell("another replica takes over from %s", o.process)
	w.start(o, w.relist(o, s.arg), true)
}

// hold adds or removes another owner's finalizer.
func (w *model) hold(s modelStep) {
	w.user(s, "holds or lets go", func(kt *v1.KafkaTopic) {
		rest := slices.DeleteFunc(slices.Clone(kt.Finalizers), func(f string) bool { return f == foreignFinalizer })
		if len(rest) == len(kt.Finalizers) && kt.DeletionTimestamp == nil {
			rest = append(rest, foreignFinalizer)
		}
		kt.Finalizers = rest
	})
}

// throttle adds a throttle to an object's configuration, or removes it.
func (w *model) throttle(s modelStep) {
	w.user(s, "throttles or not", func(kt *v1.KafkaTopic) {
		config := maps.Clone(kt.Spec.Config)
		if _, named := config[throttleKey]; named {
			delete(config, throttleKey)
		} else if config == nil {
			config = map[string]v1.ConfigValue{throttleKey: {Raw: []byte(`"*"`)}}
		} else {
			config[throttleKey] = v1.ConfigValue{Raw: []byte(`"*"`)}
		}
		kt.Spec.Config = config
	})
	if kt := w.server.objects[modelKeys[s.key]]; kt != nil {
		if _, named := kt.Spec.Config[throttleKey]; named {
			w.throttled[kt.UID] = true
		}
	}
}

// slow sets a throttle on a topic as a reassignment tool does, or removes it.
func (w *model) slow(s modelStep) {
	at, name := s.who%2, topicName(s)
	t := w.topicOf(at, name)
	if t == nil {
		return
	}
	change := kafka.ConfigChange{Resource: kafka.TopicResource(name), Set: map[string]string{throttleKey: "0:1"}}
	if pick(s.arg, 4, 0, 1) == 1 {
		change = kafka.ConfigChange{Resource: kafka.TopicResource(name), Delete: []string{throttleKey}}
	}
	if _, err := w.clusters[at].hand.AlterConfigs(modelContext, []kafka.ConfigChange{change}, false); err != nil {
		panic(err)
	}
	t.throttledBy = ""
	w.tell("somebody sets %v, deletes %v of topic %s", change.Set, change.Delete, t)
}

// makeInternal lets Kafka create one of its internal topics.
func (w *model) makeInternal(s modelStep) {
	at := s.who % 2
	policy := "compact"
	made, err := w.clusters[at].hand.CreateTopics(modelContext,
		[]kafka.NewTopic{{Name: internalTopic, Partitions: 1, ReplicationFactor: 1, Configs: map[string]*string{policyKey: &policy}}}, false)
	if err != nil || made[internalTopic].Err != nil {
		return // it exists already
	}
	t := &modelTopic{cluster: at, name: internalTopic, id: marked(made[internalTopic].ID, at)}
	w.topicMade(t)
	w.tell("Kafka makes topic %s in cluster %s", t, modelClusterNames[at])
}

// claimInternal creates an object for an internal topic of Kafka.
func (w *model) claimInternal(s modelStep) {
	key := modelKeys[s.key]
	kt := &v1.KafkaTopic{Spec: &v1.KafkaTopicSpec{TopicName: new(internalTopic)}}
	kt.Namespace, kt.Name, kt.Annotations = key.Namespace, key.Name, map[string]string{}
	kt.Labels = map[string]string{modelLabel: pick(s.arg, 0, "A", "B")}
	if w.server.create(kt) {
		w.tell("a user creates %s %s for topic %s", kt.UID, key, internalTopic)
	}
}

// swap applies another CustomResourceDefinition, which drops fields, or the operator's own again. Sometimes the other one is applied only
// while an operator lists the objects.
func (w *model) swap(s modelStep) {
	if s.arg>>8%8 == 7 {
		w.define(true)
		w.gap(s)
		w.define(false)
		return
	}
	w.define(pick(s.arg, 0, true, false))
}

func (w *model) define(prunes bool) {
	w.swapped = true
	w.server.swap(prunes)
	w.tell("a CustomResourceDefinition is applied that drops fields: %t", prunes)
}

// restrict gives a topic to a namespace by the namespace policy, or to everybody.
func (w *model) restrict(s modelStep) {
	name := topicName(s)
	delete(w.policy, name)
	if namespace := pick(s.arg, 2, "n1", "n2", ""); namespace != "" {
		w.policy[name], w.restricted[name] = namespace, true
	}
	w.tell("the namespace policy gives topic %s to namespace %q", name, w.policy[name])
	for _, o := range w.operators {
		o.process.lookAtAll()
	}
}

// forbids reports whether a policy keeps a topic from the KafkaTopics of a namespace.
func forbids(policy map[string]string, namespace, topic string) bool {
	owner, restricted := policy[topic]
	return restricted && owner != namespace
}

// forbids reports whether the namespace policy in force keeps an object from its topic.
func (w *model) forbids(kt *v1.KafkaTopic) bool {
	return forbids(w.policy, kt.Namespace, modelName(kt))
}

// deny makes the API server refuse the dry runs that ask whether it keeps spec.managed, as an admission webhook may, or answer them again.
func (w *model) deny(s modelStep) {
	o := w.operators[s.who%2]
	o.denied = pick(s.arg, 0, true, true, false)
	w.tell("the API server refuses the dry runs of operator %s: %t", o.name(), o.denied)
}

func (w *model) changeSecret(s modelStep) {
	w.secret(w.operators[s.who%2], pick(s.arg, 0, true, false))
}

// secret changes the Secret of an operator to a password that Kafka accepts, or to one that it rejects.
func (w *model) secret(o *modelOperator, right bool) {
	o.lockedOut = !right
	w.tell("the Secret of operator %s has the right password: %t", o.name(), right)
	p := o.process
	if w.config.plant != plantedDull {
		for _, kt := range p.all() {
			if Unready(kt) {
				p.ask(client.ObjectKeyFromObject(kt))
			}
		}
	}
	p.tick()
	if right {
		p.checkAsked("the Secret has changed", "SaslAuthenticationException", types.NamespacedName{})
	}
}

// checkAwake checks that no object goes on waiting for the id of the cluster when the process has just learned it. A pass over one of them
// may have learned it, and acted on it.
func (p *modelProcess) checkAwake(acted types.NamespacedName) {
	if !p.armed && p.guard.Current().ID != "" {
		p.armed = true
		p.checkAsked("Kafka has told its id", "The id of the Kafka cluster could not be retrieved", acted)
	}
}

// checkAsked checks that a pass over each object that failed with these words follows before its timer, after what it waited for happened;
// but not over the one that a pass has just acted on.
func (p *modelProcess) checkAsked(happened, words string, acted types.NamespacedName) {
	for _, kt := range p.all() {
		key := client.ObjectKeyFromObject(kt)
		if key == acted {
			continue
		}
		due, timed := p.due[key]
		soon := timed && due.Sub(p.now()) <= lastRetry
		active := p.op.process == p && !p.dead && p.op.selects(kt.Labels) && p.w.managed(kt) && !modelPaused(kt)
		stored := p.w.server.objects[key]
		waits := stored != nil && stored.UID == kt.UID && !p.w.released(stored) && modelReports(stored, words) && modelReports(kt, words)
		if active && waits && !slices.Contains(p.queue, key) && !p.busy(key) && !soon {
			p.w.fail("%s waits for its timer, though %s: %s", key, happened, modelStatus(kt))
		}
	}
}

// immigrate creates an object that comes from another Kafka cluster, with its status.
func (w *model) immigrate(s modelStep) {
	key, to := modelKeys[s.key], s.who%2
	kt := &v1.KafkaTopic{Spec: &v1.KafkaTopicSpec{}}
	kt.Namespace, kt.Name, kt.Annotations = key.Namespace, key.Name, map[string]string{}
	kt.Labels = map[string]string{modelLabel: pick(to, 0, "A", "B")}
	if w.server.create(kt) {
		w.server.replaceStatus(key, v1.KafkaTopicStatus{TopicName: key.Name, TopicID: "bm8gc3VjaCB0b3BpYyBpZA", ClusterID: modelClusterIDs[1-to]})
		w.tell("a user brings %s %s from cluster %s", kt.UID, key, modelClusterNames[1-to])
	}
}

const foreignFinalizer = "example.org/other"
