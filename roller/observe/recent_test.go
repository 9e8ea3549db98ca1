package observe_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// reading is an observer of three brokers, with the requests that it sent to Kafka.
type reading struct {
	*WithT
	t        *testing.T
	kafka    *memory.Cluster
	admin    *memory.Client
	k8s      client.Client
	observer *observe.Observer
	seen     int
}

func newReading(t *testing.T, recall time.Duration) *reading {
	r := &reading{WithT: NewWithT(t), t: t, kafka: memory.New(memory.Options{Brokers: 3, Controllers: 1, KeepCalls: 1000})}
	r.admin = r.kafka.Client("", nil)
	scheme := runtime.NewScheme()
	r.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	r.Expect(core.AddToScheme(scheme)).To(Succeed())
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for id := range 3 {
		p := pod(id)
		p.Namespace, p.Labels[v1.LabelCluster] = "ns", "my-cluster"
		builder.WithObjects(&p)
	}
	r.k8s = builder.Build()
	r.create("orders")
	r.observer = &observe.Observer{
		Namespace: "ns", Cluster: "my-cluster", Kafka: &observe.Kafka{Brokers: r.admin}, Timeout: time.Minute, Recall: recall,
		Sources: func() []observe.Source { return []observe.Source{{Reader: r.k8s}} },
	}
	r.asked()
	return r
}

func (r *reading) create(topic string) {
	two := "2"
	created, err := r.admin.CreateTopics(r.t.Context(), []kafka.NewTopic{{Name: topic, Partitions: 1, ReplicationFactor: 3,
		Configs: map[string]*string{"min.insync.replicas": &two}}}, false)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(created[topic].Err).NotTo(HaveOccurred())
}

// asked returns the requests to Kafka since its last call, with nodes or topics if they matter.
func (r *reading) asked() []string {
	calls := r.kafka.Calls()[r.seen:]
	r.seen += len(calls)
	var all []string
	for _, c := range calls {
		switch c.Method {
		case "DescribeNodeConfigs", "DescribeConfigs":
			for _, item := range c.Items {
				all = append(all, c.Method+" "+item)
			}
		default:
			all = append(all, c.Method)
		}
	}
	slices.Sort(all)
	return all
}

// partly is a Kafka in which one broker follows the active controller but does not respond: its request threads hang.
type partly struct {
	*memory.Client
	mute int32
}

func (p partly) DescribeNodeConfigs(ctx context.Context, nodes []int32, keys []string) (map[int32]kafka.ConfigResult, error) {
	answers, err := p.Client.DescribeNodeConfigs(ctx, nodes, keys)
	if _, asked := answers[p.mute]; asked {
		answers[p.mute] = kafka.ConfigResult{Err: kafka.NewTransportError("it does not answer", nil)}
	}
	return answers, err
}

// mute makes a broker stop responding.
func (r *reading) mute(id int32) { r.observer.Kafka.Brokers = partly{r.admin, id} }

// always are the requests of each reading.
var always = []string{"DescribeQuorum", "ListTopicsOf"}

func with(more ...string) []string { return slices.Sorted(slices.Values(append(more, always...))) }

var everything = with("DescribeCluster", "ListReassignments", "DescribeConfigs orders",
	"DescribeNodeConfigs 0", "DescribeNodeConfigs 1", "DescribeNodeConfigs 2")

func (r *reading) glance() roller.Snapshot {
	return r.observer.Glance(context.WithoutCancel(r.t.Context()), roller.AwaitsNothing)
}

// A broker that has left the metadata is not assumed to respond because it did before.
func TestAGlanceDoubtsWhoIsNotFollowing(t *testing.T) {
	r := newReading(t, time.Hour)
	r.Expect(r.glance().Nodes[1].Answers).To(Equal(roller.Known(true)))
	r.Expect(r.glance().Nodes[1].Answers).To(Equal(roller.Known(true)), "it is recalled")
	r.kafka.StopNode(1)
	r.Expect(r.glance().Nodes[1].Answers.Or(false)).To(BeFalse(), "it is out of service now")
}

func TestAGlanceAsksForConfigurationsNowAndThen(t *testing.T) {
	r := newReading(t, time.Hour)
	first := r.glance()
	r.Expect(r.asked()).To(Equal(everything))
	second := r.glance()
	r.Expect(r.asked()).To(Equal(with()))
	first.At, second.At, first.From, second.From = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	for i := range second.Nodes {
		r.Expect(first.Nodes[i].Recalled).To(BeFalse())
		r.Expect(second.Nodes[i].Recalled).To(BeTrue())
		second.Nodes[i].Recalled = false
	}
	r.Expect(second).To(Equal(first))

	t.Run("an observation asks for all", func(t *testing.T) {
		r.WithT = NewWithT(t)
		r.observer.Observe(t.Context())
		r.Expect(r.asked()).To(Equal(slices.Sorted(slices.Values(append(everything, "TopicsOn", "TopicsOn", "TopicsOn")))))
		r.glance()
		r.Expect(r.asked()).To(Equal(with()))
	})
	t.Run("a topic that is new is asked for", func(t *testing.T) {
		r.WithT = NewWithT(t)
		r.create("payments")
		r.asked()
		topics, known := r.glance().Topics.Get()
		r.Expect(known).To(BeTrue())
		r.Expect(topics).To(HaveLen(2))
		for _, topic := range topics {
			r.Expect(topic.MinISR.Or(0)).To(Equal(2), topic.Name)
		}
		r.Expect(r.asked()).To(Equal(with("DescribeConfigs payments")))
	})
	t.Run("a topic that was made anew under its name is asked for", func(t *testing.T) {
		r.WithT = NewWithT(t)
		list, err := r.admin.ListTopics(t.Context())
		r.Expect(err).NotTo(HaveOccurred())
		deleted, err := r.admin.DeleteTopics(t.Context(), []kafka.TopicID{list[0].ID})
		r.Expect(err).NotTo(HaveOccurred())
		r.Expect(deleted[list[0].ID]).NotTo(HaveOccurred())
		r.create(list[0].Name)
		r.asked()
		r.glance()
		r.Expect(r.asked()).To(Equal(with("DescribeConfigs " + list[0].Name)))
	})
	t.Run("a node that was started anew is asked", func(t *testing.T) {
		r.WithT = NewWithT(t)
		r.change(1, func(p *corev1.Pod) { p.UID = "another" })
		r.glance()
		r.Expect(r.asked()).To(Equal(with("DescribeNodeConfigs 1")))
		r.glance()
		r.Expect(r.asked()).To(Equal(with()))
	})
	t.Run("a node that is not ready, and answers, is asked each time", func(t *testing.T) {
		r.WithT = NewWithT(t)
		r.change(2, func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })
		for range 2 {
			r.glance()
			r.Expect(r.asked()).To(Equal(with("DescribeNodeConfigs 2")))
		}
		r.change(2, func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionTrue })
		r.glance()
		r.asked()
	})
}

// change recreates a pod with a change.
func (r *reading) change(id int, f func(*corev1.Pod)) {
	old := pod(id)
	var now corev1.Pod
	r.Expect(r.k8s.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: old.Name}, &now)).To(Succeed())
	r.Expect(r.k8s.Delete(r.t.Context(), &now)).To(Succeed())
	now.ResourceVersion = ""
	f(&now)
	r.Expect(r.k8s.Create(r.t.Context(), &now)).To(Succeed())
}

// Unknown facts are requested again at once: an old answer never makes a node count as dead or alive.
func TestAGlanceForgetsWhatWasUnknown(t *testing.T) {
	r := newReading(t, time.Hour)
	r.kafka.StopNode(1)
	s := r.glance()
	r.Expect(s.Node(1).Answers.Or(true)).To(BeFalse())
	r.asked()
	r.kafka.StartNode(1)
	s = r.glance()
	r.Expect(r.asked()).To(Equal(with("DescribeCluster", "DescribeNodeConfigs 1")), "it was not in service, and ready")
	r.Expect(s.Node(1).Answers.Or(false)).To(BeTrue())
	r.Expect(s.Node(1).Fenced).To(Equal(roller.Known(false)))
	r.glance()
	r.Expect(r.asked()).To(Equal(with()))
}

func TestAGlanceThatRecallsNothingIsAnObservation(t *testing.T) {
	r := newReading(t, 0)
	for range 2 {
		r.glance()
		r.Expect(r.asked()).To(Equal(everything))
	}
	r = newReading(t, time.Nanosecond) // everything learned is older than that
	for range 2 {
		r.glance()
		r.Expect(r.asked()).To(Equal(everything))
	}
}

// An action on a node is decided on the node's present configuration, and on those of the other nodes as of the last glance.
func TestVerifyAsksOnlyThoseThatSomethingIsDoneTo(t *testing.T) {
	r := newReading(t, time.Hour)
	r.glance()
	r.asked()
	r.observer.Verify(t.Context(), toRestart(1))
	r.Expect(r.asked()).To(Equal(with("DescribeCluster", "ListReassignments", "DescribeConfigs orders", "DescribeNodeConfigs 1",
		"TopicsOn")))
	r.glance()
	r.Expect(r.asked()).To(Equal(with()), "what was learned is kept")
	r.observer.Verify(t.Context(), roller.Asked{Nodes: []roller.NodeID{1}})
	r.Expect(r.asked()).NotTo(ContainElement("TopicsOn"), "only for a restart it matters which topics it has")
}

// toRestart are the nodes to ask before the restart of one.
func toRestart(id roller.NodeID, peers ...roller.NodeID) roller.Asked {
	return roller.Asked{Nodes: []roller.NodeID{id}, Restarts: []roller.NodeID{id}, Peers: peers}
}

// Verify asks the peers of a node whether they respond, and nothing else. A peer that does not is asked again in later looks.
func TestVerifyAsksPeersWhetherTheyAnswer(t *testing.T) {
	r := newReading(t, time.Hour)
	first := r.glance()
	r.asked()
	s := r.observer.Verify(t.Context(), toRestart(1, 2, 4711))
	r.Expect(r.asked()).To(Equal(with("DescribeCluster", "ListReassignments", "DescribeConfigs orders", "DescribeNodeConfigs 1",
		"DescribeNodeConfigs 2", "TopicsOn")))
	r.Expect([]bool{s.Nodes[0].Recalled, s.Nodes[1].Recalled, s.Nodes[2].Recalled}).To(Equal([]bool{true, false, false}))
	r.Expect(s.Nodes[2].Config).To(Equal(first.Nodes[2].Config), "its configuration is recalled")
	r.glance()
	r.Expect(r.asked()).To(Equal(with()))

	r.mute(2)
	s = r.observer.Verify(t.Context(), toRestart(1))
	r.Expect(s.Nodes[2].Answers).To(Equal(roller.Known(true)), "nobody asked")
	r.Expect(s.Nodes[2].Recalled).To(BeTrue())
	s = r.observer.Verify(t.Context(), toRestart(1, 2))
	r.Expect(s.Nodes[2].Answers).To(Equal(roller.Known(false)))
	r.Expect(s.Nodes[2].Recalled).To(BeFalse())
	r.asked()
	s = r.glance()
	r.Expect(r.asked()).To(ContainElement("DescribeNodeConfigs 2"))
	r.Expect(s.Nodes[2].Answers).To(Equal(roller.Known(false)))
}

// A peer whose configuration has to be read soon is asked for that at once, instead of twice.
func TestVerifyReadsWhatIsDueSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReading(t, time.Hour)
		r.glance()
		<-time.After(31 * time.Minute)
		r.asked()
		s := r.observer.Verify(t.Context(), toRestart(1, 2))
		r.Expect(r.asked()).To(ContainElements("DescribeNodeConfigs 1", "DescribeNodeConfigs 2"))
		r.Expect(s.Nodes[2].Recalled).To(BeFalse())
		r.Expect(s.Nodes[2].Answers).To(Equal(roller.Known(true)))
		<-time.After(31 * time.Minute)
		r.glance()
		r.Expect(r.asked()).To(And(ContainElement("DescribeNodeConfigs 0"), Not(ContainElement("DescribeNodeConfigs 2"))))
		<-time.After(time.Minute)
		r.mute(2)
		s = r.observer.Verify(t.Context(), toRestart(1, 2))
		r.Expect(s.Nodes[2].Answers).To(Equal(roller.Known(false)), "it is asked all the same")
	})
}

// A starting node is asked from time to time, and at once when it becomes ready.
func TestANodeThatIsAwayIsNotAskedEachTime(t *testing.T) {
	r := newReading(t, time.Hour)
	r.glance()
	ready := func(is corev1.ConditionStatus) {
		r.change(2, func(p *corev1.Pod) { p.Status.Conditions[0].Status = is })
	}
	r.kafka.StopNode(2)
	ready(corev1.ConditionFalse)
	r.glance()
	r.asked()
	for range 2 {
		r.Expect(r.glance().Nodes[2].Answers).To(Equal(roller.Known(false)))
		r.Expect(r.asked()).To(Equal(with()))
	}
	r.observer.Verify(t.Context(), toRestart(2))
	r.Expect(r.asked()).To(ContainElement("DescribeNodeConfigs 2"), "nothing is done to it on what was heard before")
	r.change(2, func(p *corev1.Pod) { p.UID = "another" })
	r.glance()
	r.Expect(r.asked()).To(ContainElement("DescribeNodeConfigs 2"), "it was started anew")
	r.kafka.StartNode(2)
	ready(corev1.ConditionTrue)
	r.Expect(r.glance().Nodes[2].Answers).To(Equal(roller.Known(true)))
}

// A broker that has not fetched from the active controller recently is asked at each look: it may be silent, which counts from then on.
func TestABrokerThatFellBehindIsAskedAgain(t *testing.T) {
	r := newReading(t, time.Hour)
	r.glance()
	r.kafka.StopNode(2)
	r.glance() // shows that it is not registered any more
	r.asked()
	n := r.glance()
	r.Expect(r.asked()).To(ContainElement("DescribeNodeConfigs 2"))
	r.Expect(n.Node(2).Answers).To(Equal(roller.Known(false)))
	r.Expect(n.Node(2).Silent).NotTo(BeZero())
}

// together is an API server whose lists end once all three kinds have been asked for.
type together struct {
	client.Reader
	asked sync.WaitGroup
}

func (r *together) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	r.asked.Done()
	all := make(chan struct{})
	go func() {
		r.asked.Wait()
		close(all)
	}()
	select {
	case <-all:
		return r.Reader.List(ctx, list, options...)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The facts of a restart may be at most a few seconds old, so an API server is asked for all kinds at once.
func TestTheKindsAreReadConcurrently(t *testing.T) {
	r := newReading(t, 0)
	reader := &together{Reader: r.k8s}
	reader.asked.Add(3)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	place := observe.ReadPlace(ctx, "", reader, "ns", "my-cluster")
	r.Expect(place.Err).NotTo(HaveOccurred())
	r.Expect(place.Pods).To(HaveLen(3))
}

// unlisting is a Kafka before 4.0: it does not list brokers that are fenced.
type unlisting struct {
	*memory.Client
	fenced int32
}

func (u unlisting) DescribeCluster(ctx context.Context) (kafka.Cluster, error) {
	c, err := u.Client.DescribeCluster(ctx)
	c.FencedIncluded = false
	c.Brokers = slices.DeleteFunc(slices.Clone(c.Brokers), func(b kafka.Node) bool { return b.ID == u.fenced })
	for i := range c.Brokers {
		c.Brokers[i].Rack = "r1"
	}
	return c, err
}

// The rack of a broker that Kafka does not list any more is the one that it had.
func TestTheRackOfABrokerThatIsFenced(t *testing.T) {
	r := newReading(t, 0)
	r.observer.Kafka.Brokers = unlisting{r.admin, 2}
	s := r.observer.Observe(t.Context())
	r.Expect([]string{s.Nodes[1].Rack, s.Nodes[2].Rack}).To(Equal([]string{"r1", ""}))
	r.observer.Kafka.Brokers = unlisting{r.admin, 1}
	s = r.observer.Observe(t.Context())
	r.Expect([]string{s.Nodes[1].Rack, s.Nodes[2].Rack}).To(Equal([]string{"r1", "r1"}))
	r.Expect(s.Nodes[1].Fenced.IsKnown()).To(BeFalse())
}

// telling is a Kafka in which some brokers do not report the topics of which they have replicas.
type telling struct {
	*memory.Client
	refuse map[int32]bool
}

func (u telling) TopicsOn(ctx context.Context, id int32) ([]string, error) {
	if u.refuse[id] {
		return nil, kafka.NewTransportError("it does not answer", nil)
	}
	return u.Client.TopicsOn(ctx, id)
}

// A look checks only a few brokers for hidden topics. Later looks recall the result: otherwise each would choose the same brokers for a
// restart, and find the same.
func TestAGlanceRecallsHiddenTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReading(t, 30*time.Second)
		told := telling{r.admin, map[int32]bool{0: true, 1: true, 2: true}}
		r.observer.Kafka.Brokers = told
		hidden := func(s roller.Snapshot) (ids []roller.NodeID) {
			for _, n := range s.Nodes {
				if n.Hidden != "" {
					ids = append(ids, n.ID)
				}
			}
			return ids
		}
		both := []roller.NodeID{0, 1}
		r.Expect(hidden(r.glance())).To(BeEmpty(), "nobody has checked")
		r.Expect(hidden(r.observer.Verify(t.Context(), toRestart(0)))).To(Equal(both[:1]))
		r.Expect(hidden(r.glance())).To(Equal(both[:1]))
		r.Expect(hidden(r.observer.Verify(t.Context(), toRestart(1)))).To(Equal(both))
		r.Expect(hidden(r.glance())).To(Equal(both))
		told.refuse[1] = false
		r.Expect(hidden(r.observer.Verify(t.Context(), toRestart(1)))).To(Equal(both[:1]), "it is checked again")
		r.Expect(hidden(r.glance())).To(Equal(both[:1]))
		r.change(0, func(p *corev1.Pod) { p.UID = "another" })
		r.Expect(hidden(r.glance())).To(BeEmpty(), "another instance may have other replicas")
		r.Expect(hidden(r.observer.Verify(t.Context(), toRestart(0)))).To(BeEmpty(), "broker 1 reports topics, and none is hidden")

		told.refuse[1] = true
		r.Expect(hidden(r.observer.Verify(t.Context(), toRestart(1)))).To(Equal(both[1:]))
		<-time.After(31 * time.Second)
		r.Expect(hidden(r.glance())).To(BeEmpty(), "it is time to check again")
	})
}

// Time in which nobody looked is no silence: the broker may have answered, and stopped again a moment ago.
func TestSilenceIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReading(t, 0)
		r.glance()
		r.mute(1)
		began := time.Now()
		for _, c := range []struct {
			pause time.Duration
			since time.Duration // from the beginning
		}{{0, 0}, {31 * time.Second, 0}, {time.Minute, 0}, {8 * time.Hour, 8*time.Hour + 91*time.Second}} {
			<-time.After(c.pause)
			s := r.glance()
			r.Expect(s.Node(1).Silent.Sub(began)).To(Equal(c.since))
		}
	})
}

// A look that takes longer than a minute is no time in which nobody looked, unless it takes longer than it may: then the process slept.
func TestSilenceIsHeardInSlowLooks(t *testing.T) {
	for takes, heard := range map[time.Duration]bool{2 * time.Minute: true, 8 * time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			r := newReading(t, 0)
			r.observer.Timeout = time.Minute
			r.glance()
			r.mute(1)
			before := r.glance()
			sources := r.observer.Sources
			r.observer.Sources = func() []observe.Source {
				<-time.After(takes)
				return sources()
			}
			after := r.glance()
			r.Expect(after.Node(1).Silent.Equal(before.Node(1).Silent)).To(Equal(heard))
		})
	}
}

// While a restart is under way, nodes are asked five times as rarely. If nothing else can be done, what is not about single nodes is read
// every five minutes, but for the reassignments once a node is back. Verify reads it in any case.
func TestAGlanceThatAwaitsRestartsReadsLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReading(t, 30*time.Second)
		r.glance()
		shared := []string{"DescribeCluster", "ListReassignments", "DescribeConfigs orders"}
		for _, c := range []struct {
			pause  time.Duration
			awaits roller.Awaited
			read   []string
		}{
			{31 * time.Second, roller.AwaitsNodes, with()},
			{4 * time.Minute, roller.AwaitsNodes, with("DescribeNodeConfigs 0", "DescribeNodeConfigs 1", "DescribeNodeConfigs 2")},
			{30 * time.Second, roller.AwaitsNodes, with(shared...)},
			{31 * time.Second, roller.AwaitsReplicas, with("ListReassignments")},
			{31 * time.Second, roller.AwaitsAnything, everything},
			{31 * time.Second, roller.AwaitsAnything, with(shared...)},
			{31 * time.Second, roller.AwaitsNothing, everything},
		} {
			<-time.After(c.pause)
			r.asked()
			r.observer.Glance(t.Context(), c.awaits)
			r.Expect(r.asked()).To(Equal(c.read))
		}
		r.observer.Glance(t.Context(), roller.AwaitsNodes)
		r.asked()
		r.observer.Verify(t.Context(), toRestart(1))
		r.Expect(r.asked()).To(ContainElements(shared))
	})
}
