package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/operatorproc"
	"github.com/kafka-operators/kafka-operators/e2e/traffic"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

const (
	// rolls is how often all nodes are restarted in each way.
	rolls = 3
	// quiet is how long something is measured while nothing happens.
	quiet = time.Minute
	// settles is how long records are written before they count: the first ones of a new topic wait for new connections between all brokers.
	settles = 15 * time.Second
	// calm is how long nothing is done before and after each roll. Requests that are sent right after it count, too: elections end it.
	calm = 3 * time.Second
	// longestRoll is how long a roll may take on a busy machine.
	longestRoll = 20 * time.Minute
	// records is the topic of the records.
	records = "records"
	// rolledKafka is the name of each Kafka that is rolled.
	rolledKafka = "my-cluster"
)

// rolled is a Kafka whose nodes are restarted while records are written.
type rolled struct {
	r *Report
	// what is the Kafka in the names of figures, and suffix the end of names without it.
	what, suffix string
	k8s          client.WithWatch
	admin        *saramakafka.Admin
	namespace    string
	// nodes is the number of its nodes: by hand, a roll needs one request to Kubernetes for each.
	nodes int
}

// way is a way to restart all nodes.
type way struct {
	// name is the end of its figures' names.
	name string
	// begin prepares a roll, and restart is one.
	begin, restart func(ctx context.Context) error
	// metrics, if set, reads the metrics of each roller.
	metrics func(ctx context.Context) ([]operatorproc.Metrics, error)
	spans   []span
	// requests are the requests to Kubernetes in all rolls.
	requests requests
}

// requests are numbers of requests to API servers.
type requests struct{ all, writes int }

// span is the time of a roll. Records count that were sent from its begin until a while after its end.
type span struct{ from, done, to time.Time }

// flowing starts to write to a new topic with acks=all.
func flowing(ctx context.Context, admin *saramakafka.Admin, topic string, o traffic.Options) (*traffic.Traffic, error) {
	made, err := admin.CreateTopics(ctx, []kafka.NewTopic{{Name: topic, Partitions: 6, ReplicationFactor: 3}}, false)
	if err := cmp.Or(err, made[topic].Err); err != nil {
		return nil, err
	}
	o.Topic, o.Group = topic, topic+"-readers"
	flow, err := traffic.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	return flow, until(ctx, "records flow", func() (bool, error) { return flow.Progress().Read > 0, nil })
}

// measure restarts all nodes in each way in turn, while records are written, and reports what the producer noticed beside the same restarts
// by hand. meanwhile, if set, runs after the quiet minute, and returns rolls of another Kafka.
func (k *rolled) measure(ctx context.Context, o traffic.Options, meanwhile func() (*way, error), byHand *way, ways ...*way) error {
	flow, err := flowing(ctx, k.admin, records, o)
	if err != nil {
		return err
	}
	over, end := context.WithCancel(ctx)
	end()
	defer flow.Stop(over)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	events := k.watch(watching)
	if err := pause(ctx, settles); err != nil {
		return err
	}
	still := span{from: time.Now()}
	if err := pause(ctx, quiet); err != nil {
		return err
	}
	still.to = time.Now()
	var another *way
	if meanwhile != nil {
		if another, err = meanwhile(); err != nil {
			return err
		}
	}
	all := append([]*way{byHand}, ways...)
	failed := k.inTurn(ctx, all)
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	report := flow.Stop(limited)
	k.tell(report, events, still, all)
	if failed != nil {
		return errors.Join(failed, report.Err())
	}
	k.figures(report, still, another, byHand, ways)
	return report.Err()
}

// inTurn restarts all nodes in each way, several times. All rolls begin with the same leaders.
func (k *rolled) inTurn(ctx context.Context, ways []*way) error {
	for range rolls {
		for _, w := range ways {
			if err := w.begin(ctx); err != nil {
				return err
			}
			if err := k.balance(ctx); err != nil {
				return err
			}
			if err := pause(ctx, calm); err != nil {
				return err
			}
			if err := w.roll(ctx); err != nil {
				return fmt.Errorf("roll%s: %w", w.name, err)
			}
			k.r.logf("  %s: a roll%s took %s", k.what, w.name, w.spans[len(w.spans)-1].takes().Round(time.Millisecond))
		}
	}
	return nil
}

// roll restarts all nodes once.
func (w *way) roll(ctx context.Context) error {
	before, err := w.requested(ctx)
	if err != nil {
		return err
	}
	s := span{from: time.Now()}
	if err := w.restart(ctx); err != nil {
		now := time.Now()
		w.spans = append(w.spans, span{s.from, now, now}) // what happened until then is told
		return err
	}
	s.done = time.Now()
	after, err := w.requested(ctx)
	if err != nil {
		return err
	}
	w.requests.all += after.all - before.all
	w.requests.writes += after.writes - before.writes
	if err := pause(ctx, calm); err != nil {
		return err
	}
	s.to = time.Now()
	w.spans = append(w.spans, s)
	return nil
}

// requested returns the rollers' requests to Kubernetes so far.
func (w *way) requested(ctx context.Context) (sum requests, err error) {
	if w.metrics == nil {
		return sum, nil
	}
	all, err := w.metrics(ctx)
	for _, m := range all {
		const name = "rest_client_requests_total"
		sum.all += int(m.Sum(name))
		sum.writes += int(m.Sum(name) - m.Sum(name, `method="GET"`))
	}
	return sum, err
}

// looksAt waits until one of the rollers has looked at the Kafka, and found nothing to do.
func (k *rolled) looksAt(ctx context.Context, metrics func(ctx context.Context) ([]operatorproc.Metrics, error)) error {
	return until(ctx, "a roller has looked at the Kafka", func() (bool, error) {
		all, err := metrics(ctx) // an error means that it does not serve yet
		return err == nil && slices.ContainsFunc(all, func(m operatorproc.Metrics) bool {
			return m.Sum("strimzi_roller_phase", fmt.Sprintf("namespace=%q", k.namespace), `phase="Done"`) == 1
		}), nil
	})
}

// byRoller asks for a restart of all nodes, and waits until the roller is done.
func (k *rolled) byRoller(ctx context.Context, ask func(ctx context.Context) error) error {
	before, err := k.pods(ctx)
	if err != nil {
		return err
	}
	old := map[types.UID]bool{}
	for i := range before {
		old[before[i].UID] = true
	}
	if err := ask(ctx); err != nil {
		return err
	}
	return within(ctx, longestRoll, "all nodes are restarted", func() (bool, error) {
		pods, err := k.pods(ctx)
		waits := func(p corev1.Pod) bool { return old[p.UID] || !core.IsReady(&p) }
		if err != nil || len(pods) < len(before) || slices.ContainsFunc(pods, waits) {
			return false, err
		}
		var journal corev1.ConfigMap
		err = k.k8s.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: core.RollerStatusName(rolledKafka)}, &journal)
		return slices.ContainsFunc(core.RollerStatusIn(&journal).Conditions, func(c v1.Condition) bool {
			return c.Type == v1.ConditionReady && c.Status == v1.ConditionTrue
		}), err
	})
}

// byHand restarts the nodes one at a time, in the roller's order: each as soon as the one before is ready, all replicas are in sync, and
// all controllers have caught up.
func (k *rolled) byHand(ctx context.Context) error {
	left, err := k.pods(ctx)
	if err != nil {
		return err
	}
	k.nodes = len(left)
	for len(left) > 0 {
		quorum, err := k.admin.DescribeQuorum(ctx)
		if err != nil {
			return err
		}
		next := nextByHand(left, quorum.Leader)
		left = slices.DeleteFunc(left, func(p corev1.Pod) bool { return p.Name == next.Name })
		if err := k.k8s.Delete(ctx, &next); err != nil {
			return err
		}
		if err := until(ctx, next.Name+" is back", func() (bool, error) { return k.isBack(ctx, &next) }); err != nil {
			return err
		}
	}
	return nil
}

// nextByHand returns the node to restart next.
func nextByHand(left []corev1.Pod, active int32) corev1.Pod {
	return slices.MinFunc(left, func(a, b corev1.Pod) int {
		return cmp.Or(turn(&a, active)-turn(&b, active), int(nodeOf(&a)-nodeOf(&b)))
	})
}

// turn returns when a node is restarted: controllers before brokers, the active one last of them.
func turn(pod *corev1.Pod, active int32) int {
	switch {
	case pod.Labels[core.LabelControllerRole] != "true":
		return 2
	case nodeOf(pod) == active:
		return 1
	}
	return 0
}

// nodeOf returns the id at the end of a pod's name.
func nodeOf(pod *corev1.Pod) int32 {
	id, err := strconv.ParseInt(pod.Name[strings.LastIndexByte(pod.Name, '-')+1:], 10, 32)
	if err != nil {
		panic(err) // the selected pods are nodes
	}
	return int32(id)
}

// isBack reports whether there is a new pod for a deleted one, and nothing keeps the next node from being restarted.
func (k *rolled) isBack(ctx context.Context, deleted *corev1.Pod) (bool, error) {
	var pod corev1.Pod
	if err := k.k8s.Get(ctx, client.ObjectKeyFromObject(deleted), &pod); err != nil || pod.UID == deleted.UID || !core.IsReady(&pod) {
		return false, client.IgnoreNotFound(err)
	}
	topics, err := k.admin.ListTopics(ctx)
	if err != nil {
		return false, nil // a node that was asked has just been restarted: ask again
	}
	for _, t := range topics {
		if slices.ContainsFunc(t.Partitions, func(p kafka.Partition) bool { return len(p.ISR) < len(p.Replicas) }) {
			return false, nil
		}
	}
	quorum, err := k.admin.DescribeQuorum(ctx)
	return err == nil && !slices.ContainsFunc(quorum.Voters, func(v kafka.Replica) bool { return v.LogEndOffset < quorum.HighWatermark }), nil
}

// balance makes the first replica of each partition its leader.
func (k *rolled) balance(ctx context.Context) error {
	return until(ctx, "each partition is led by its first replica", func() (bool, error) {
		topics, err := k.admin.ListTopics(ctx)
		if err != nil {
			return false, nil // as in isBack
		}
		var others []kafka.TopicPartition
		for _, t := range topics {
			for _, p := range t.Partitions {
				if p.Leader != p.Replicas[0] {
					others = append(others, kafka.TopicPartition{Topic: t.Name, Partition: p.Index})
				}
			}
		}
		if len(others) == 0 {
			return true, nil
		}
		_, err = k.admin.ElectPreferredLeaders(ctx, others)
		return false, err
	})
}

// pods returns the pods of the nodes.
func (k *rolled) pods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := k.k8s.List(ctx, &list, client.InNamespace(k.namespace), client.HasLabels{core.LabelPoolName})
	return list.Items, err
}

// figures adds what the producer noticed in each way, beside the same restarts by hand.
func (k *rolled) figures(report traffic.Report, still span, another, byHand *way, ways []*way) {
	p99, longest := report.Percentile(99, still.from, still.to), report.Percentile(100, still.from, still.to)
	k.r.add("produce_p99_in_a_quiet_minute"+k.suffix, millis(p99), "ms")
	k.r.add("longest_produce_in_a_quiet_minute"+k.suffix, millis(longest), "ms")
	if another != nil {
		worst, most := another.worst(report)
		k.r.add("kafka_of_"+k.what+"_roll"+another.name, another.takes().Seconds(), "s")
		k.r.addBeside(fmt.Sprintf("produce_p99_in_the_worst_of_%d_rolls%s", rolls, k.suffix+another.name), millis(worst), millis(p99), "ms")
		k.r.addBeside(fmt.Sprintf("longest_produce_in_%d_rolls%s", rolls, k.suffix+another.name), millis(most), millis(longest), "ms")
	}
	worstByHand, mostByHand := byHand.worst(report)
	for _, w := range ways {
		worst, most := w.worst(report)
		k.r.addBeside("kafka_of_"+k.what+"_roll"+w.name, w.takes().Seconds(), byHand.takes().Seconds(), "s")
		k.r.addBeside(fmt.Sprintf("produce_p99_in_the_worst_of_%d_rolls%s", rolls, k.suffix+w.name), millis(worst), millis(worstByHand), "ms")
		k.r.addBeside(fmt.Sprintf("longest_produce_in_%d_rolls%s", rolls, k.suffix+w.name), millis(most), millis(mostByHand), "ms")
		asked := "kafka_of_" + k.what + "_roll" + w.name + "_kubernetes_"
		k.r.addBeside(asked+"requests", float64(w.requests.all)/rolls, float64(k.nodes), "requests")
		k.r.add(asked+"writes", float64(w.requests.writes)/rolls, "requests")
	}
}

// takes returns how long a roll takes, on average.
func (w *way) takes() (sum time.Duration) {
	for _, s := range w.spans {
		sum += s.takes()
	}
	return sum / time.Duration(len(w.spans))
}

func (s span) takes() time.Duration { return s.done.Sub(s.from) }

// worst returns the longest 99th percentile of all rolls, and the longest request.
func (w *way) worst(report traffic.Report) (p99, longest time.Duration) {
	for _, s := range w.spans {
		p99 = max(p99, report.Percentile(99, s.from, s.to))
		longest = max(longest, report.Percentile(100, s.from, s.to))
	}
	return p99, longest
}
