package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
)

// reporting is a client of brokers of which some report other log directories than they have, or fail.
type reporting struct {
	*memory.Client
	dirs map[int32][]kafka.LogDir
	fail map[int32]error
}

func (*reporting) Close() {}

func (*reporting) Reconfigure(kafka.Config) error { return nil }

func (r *reporting) DescribeLogDirs(ctx context.Context, id int32) ([]kafka.LogDir, error) {
	if dirs := r.dirs[id]; dirs != nil {
		return dirs, nil
	}
	if err := r.fail[id]; err != nil {
		return nil, err
	}
	return r.Client.DescribeLogDirs(ctx, id)
}

func (r *reporting) TopicsOn(ctx context.Context, id int32) ([]string, error) {
	if err := r.fail[id]; err != nil {
		return nil, err
	}
	return r.Client.TopicsOn(ctx, id)
}

// TestWhatBrokersHold checks that the log directories count as well: Kafka does not list topics that the operator may not describe.
func TestWhatBrokersHold(t *testing.T) {
	away := errors.New("it is away")
	forbidden := kafka.NewError(kafka.CodeClusterAuthorization, "")
	for name, c := range map[string]struct {
		// topics maps each topic to the brokers with a replica. The operator may not describe topics whose names begin with "hidden".
		topics map[string][]int32
		dirs   map[int32][]kafka.LogDir
		fail   map[int32]error
		want   topology.Holdings
		// keeps is the reason why broker 2, which is to leave, stays.
		keeps gomegatypes.GomegaMatcher
	}{
		"nothing": {topics: map[string][]int32{"open": {0, 1}},
			want: topology.Holdings{Replicas: map[int32]int{0: 1, 1: 1}, Stored: map[int32]int{2: 0}}, keeps: BeEmpty()},
		"a replica that is listed": {topics: map[string][]int32{"open": {1, 2}},
			want: topology.Holdings{Replicas: map[int32]int{1: 1, 2: 1}}, keeps: ContainSubstring("holds 1 replicas")},
		"a hidden topic": {topics: map[string][]int32{"open": {0, 1}, "hidden": {2}},
			want:  topology.Holdings{Replicas: map[int32]int{0: 1, 1: 1}, Stored: map[int32]int{2: 1}, Hidden: map[int32][]string{2: {"hidden"}}},
			keeps: ContainSubstring("holds 1 replicas of partitions, some of topics that the operator may not describe (hidden)")},
		"a hidden topic elsewhere": {topics: map[string][]int32{"hidden": {0, 1}},
			want: topology.Holdings{Stored: map[int32]int{2: 0}}, keeps: BeEmpty()},
		"a future replica": {dirs: map[int32][]kafka.LogDir{2: {{Path: "/a"}, {Path: "/b", Replicas: 1}}},
			want: topology.Holdings{Stored: map[int32]int{2: 1}}, keeps: ContainSubstring("holds 1 replicas")},
		"it is down": {topics: map[string][]int32{"open": {0, 1}}, fail: map[int32]error{2: away},
			want: topology.Holdings{Replicas: map[int32]int{0: 1, 1: 1}, Silent: map[int32]string{2: "it does not answer"}}, keeps: BeEmpty()},
		"it is down, and there is a hidden topic": {topics: map[string][]int32{"hidden": {0, 2}}, fail: map[int32]error{2: away},
			want:  topology.Holdings{Silent: map[int32]string{2: "it does not answer"}, Hidden: map[int32][]string{0: {"hidden"}}},
			keeps: ContainSubstring("broker 0 holds replicas of topics that the operator may not describe (hidden)")},
		"it and another one are down": {topics: map[string][]int32{"open": {0, 1}}, fail: map[int32]error{1: away, 2: away},
			want: topology.Holdings{Replicas: map[int32]int{0: 1, 1: 1}, Silent: map[int32]string{2: "it does not answer"},
				Unheard: map[int32]string{1: "it does not answer"}}, keeps: ContainSubstring("nor does broker 1")},
		"nobody may be asked": {fail: map[int32]error{0: forbidden, 1: forbidden, 2: forbidden},
			want: topology.Holdings{Silent: map[int32]string{2: forbidden.Error()},
				Unheard: map[int32]string{0: forbidden.Error(), 1: forbidden.Error()}}, keeps: ContainSubstring("ClusterAuthorization")},
		"a log directory failed": {topics: map[string][]int32{"hidden": {0}},
			dirs:  map[int32][]kafka.LogDir{2: {{Path: "/a"}, {Path: "/b", Failed: true}}},
			want:  topology.Holdings{Silent: map[int32]string{2: "log directory /b is offline"}, Hidden: map[int32][]string{0: {"hidden"}}},
			keeps: ContainSubstring("log directory /b is offline")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cluster := memory.New(memory.Options{Brokers: 3, Authorize: func(principal string, _ memory.Operation, topic string) bool {
				return principal == "User:admin" || !strings.HasPrefix(topic, "hidden")
			}})
			var topics []kafka.NewTopic
			for name, on := range c.topics {
				topics = append(topics, kafka.NewTopic{Name: name, Partitions: -1, ReplicationFactor: -1, Assignments: map[int32][]int32{0: on}})
			}
			_, err := cluster.Client("User:admin", nil).CreateTopics(t.Context(), topics, false)
			g.Expect(err).NotTo(HaveOccurred())
			brokers := &reporting{Client: cluster.Client("User:operator", nil), dirs: c.dirs, fail: c.fail}
			clients := &Clients{Now: time.Now, After: never, Connect: func(kafka.Config) (Admin, error) { return brokers, nil }}
			to := Connection{ClusterID: cluster.ClusterID(), Config: kafka.Config{TLS: &kafka.TLS{}}}
			got, err := clients.Holdings(t.Context(), to, []int32{2}, []int32{0, 1, 7}) // broker 7 was never started
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(*got).To(haveFields(c.want))
			g.Expect(got.WhyKept(2)).To(c.keeps)
		})
	}
}

// haveFields matches holdings. An empty map equals a nil one.
func haveFields(want topology.Holdings) gomegatypes.GomegaMatcher {
	same := func(wanted any, empty bool) any {
		if empty {
			return BeEmpty()
		}
		return Equal(wanted)
	}
	return And(HaveField("Replicas", same(want.Replicas, want.Replicas == nil)), HaveField("Stored", same(want.Stored, want.Stored == nil)),
		HaveField("Silent", same(want.Silent, want.Silent == nil)), HaveField("Unheard", same(want.Unheard, want.Unheard == nil)),
		HaveField("Hidden", same(want.Hidden, want.Hidden == nil)))
}

// TestATopicThatIsGoneIsNotHidden checks that a topic that was created or deleted between two requests does not count as hidden.
func TestATopicThatIsGoneIsNotHidden(t *testing.T) {
	g := NewWithT(t)
	brokers := &reporting{Client: memory.New(memory.Options{Brokers: 1}).Client("", nil)}
	g.Expect(hidden(t.Context(), brokers, map[int32][]string{0: {"deleted"}}, nil)).To(BeEmpty())
}

// TestABrokerWithAHiddenTopicStays checks that a broker stays if it may hold replicas that Kafka does not list.
func TestABrokerWithAHiddenTopicStays(t *testing.T) {
	for name, c := range map[string]struct {
		brokers brokers
		why     string
	}{
		"of its own": {brokers{hidden: map[int32]int{2: 2}},
			"broker 2 holds 2 replicas of partitions, some of topics that the operator may not"},
		"elsewhere, while down": {brokers{hidden: map[int32]int{1: 2}, dirs: map[int32][]kafka.LogDir{0: {}, 1: {}}},
			"broker 1 holds replicas of topics"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := newHistory(t, 1)
			pool := nodePool("brokers", 3, v1.RoleBroker)
			h.runs(newKafka(), nodePool("controllers", 1, v1.RoleController), pool)
			nodes := func() []int32 {
				return h.object(facts.Key{Kind: "KafkaNodePool", Name: "brokers"}).(*v1.KafkaNodePool).Status.NodeIDs
			}
			all := slices.Clone(nodes())
			h.brokers.replicas, h.brokers.hidden, h.brokers.dirs = map[int32]int{}, c.brokers.hidden, c.brokers.dirs
			change(h, pool, "brokers", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 2 })
			h.passOver("my-cluster")
			g.Expect(nodes()).To(Equal(all))
			g.Expect(h.kafka("my-cluster").Status.Conditions).To(ContainElement(And(HaveField("Reason", "ScaleDownPreventionCheck"),
				HaveField("Message", ContainSubstring(c.why)))))
			change(h, newKafka(), "my-cluster", func(k *v1.Kafka) {
				k.Annotations = map[string]string{v1.AnnotationSkipScaleDownCheck: "true"}
			})
			h.passOver("my-cluster")
			g.Expect(nodes()).To(HaveLen(2))
		})
	}
}

// together is a client of brokers each of which answers only when all were asked.
type together struct {
	reporting
	all sync.WaitGroup
}

func (b *together) DescribeLogDirs(ctx context.Context, id int32) ([]kafka.LogDir, error) {
	b.all.Done()
	asked := make(chan struct{})
	go func() { b.all.Wait(); close(asked) }()
	select {
	case <-asked:
		return b.reporting.DescribeLogDirs(ctx, id)
	case <-time.After(time.Minute):
		return nil, errors.New("the others are not asked meanwhile")
	}
}

func TestBrokersAreAskedForLogDirectoriesAtOnce(t *testing.T) {
	g := NewWithT(t)
	cluster := memory.New(memory.Options{Brokers: 3})
	brokers := &together{reporting: reporting{Client: cluster.Client("", nil), fail: map[int32]error{1: errors.New("it is away")}}}
	brokers.all.Add(3)
	clients := &Clients{Now: time.Now, After: never, Connect: func(kafka.Config) (Admin, error) { return brokers, nil }}
	to := Connection{ClusterID: cluster.ClusterID(), Config: kafka.Config{TLS: &kafka.TLS{}}}
	found, err := clients.LogDirs(t.Context(), to, []int32{0, 1, 2})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(And(HaveLen(2), Not(HaveKey(int32(1)))))
}

// TestWhatIsRemovedIsLookedAtAnew checks that the answer to an earlier call is not used where a broker is about to be removed.
func TestWhatIsRemovedIsLookedAtAnew(t *testing.T) {
	g := NewWithT(t)
	cluster := memory.New(memory.Options{Brokers: 2})
	elapsed, let := make(chan time.Time), make(chan struct{})
	close(elapsed)
	clients := &Clients{Now: time.Now, After: func(time.Duration) <-chan time.Time { return elapsed },
		Connect: func(kafka.Config) (Admin, error) { <-let; return &reporting{Client: cluster.Client("", nil)}, nil }}
	to := Connection{ClusterID: cluster.ClusterID(), Config: kafka.Config{TLS: &kafka.TLS{}}}
	_, err := clients.Holdings(t.Context(), to, []int32{1}, []int32{0})
	g.Expect(err).To(HaveOccurred())
	close(let)
	for _, q := range clients.silent.asked[to.Kafka] {
		<-q.done
	}
	_, err = cluster.Client("", nil).CreateTopics(t.Context(), []kafka.NewTopic{{Name: "new", Partitions: -1, ReplicationFactor: -1,
		Assignments: map[int32][]int32{0: {1}}}}, false)
	g.Expect(err).NotTo(HaveOccurred())
	clients.After = never
	anew := to
	anew.Anew = true
	h, err := clients.Holdings(t.Context(), anew, []int32{1}, []int32{0})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(h.WhyKept(1)).To(ContainSubstring("holds 1 replicas"))
}

// TestACordonIsLookedAtAnew checks that the answer to an earlier call is not used where a broker may have changed since.
func TestACordonIsLookedAtAnew(t *testing.T) {
	g := NewWithT(t)
	cluster := memory.New(memory.Options{Brokers: 1})
	elapsed, let := make(chan time.Time), make(chan struct{})
	close(elapsed)
	brokers := &reporting{Client: cluster.Client("", nil)}
	clients := &Clients{Now: time.Now, After: func(time.Duration) <-chan time.Time { return elapsed },
		Connect: func(kafka.Config) (Admin, error) { <-let; return brokers, nil }}
	to := Connection{ClusterID: cluster.ClusterID(), Config: kafka.Config{TLS: &kafka.TLS{}}}
	_, err := clients.LogDirs(t.Context(), to, []int32{0})
	g.Expect(err).To(HaveOccurred())
	close(let)
	for _, q := range clients.silent.asked[to.Kafka] {
		<-q.done
	}
	brokers.dirs = map[int32][]kafka.LogDir{0: {{Path: "later"}}}
	to.Anew = true
	found, err := clients.LogDirs(t.Context(), to, []int32{0})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found[0]).To(Equal([]kafka.LogDir{{Path: "later"}}))
}
