package observe_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/memory"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// voice is a Kafka that only answers about the quorum.
type voice struct {
	observe.Brokers
	quorum kafka.Quorum
	err    error
	asked  int
}

func (v *voice) DescribeQuorum(context.Context) (kafka.Quorum, error) {
	v.asked++
	return v.quorum, v.err
}

// Checklist 28, 30, 31: the quorum is read from the controllers if possible, and from the brokers if the controllers don't respond. If no
// node responds, the quorum is unknown, and never a quorum without voters.
func TestWhoIsAskedForTheQuorum(t *testing.T) {
	byControllers := kafka.Quorum{Leader: 1, Voters: []kafka.Replica{{ID: 1, LastCaughtUp: 10}, {ID: 2, LastCaughtUp: -1}},
		Observers: []kafka.Replica{{ID: 7, LastCaughtUp: 5}}}
	byBrokers := kafka.Quorum{Leader: 2}
	away := errors.New("no controller answers")
	told := roller.Known(roller.Quorum{
		Leader: 1, Voters: []roller.Voter{{ID: 1, LastCaughtUp: 10}, {ID: 2, LastCaughtUp: -1}},
		Observers: []roller.Voter{{ID: 7, LastCaughtUp: 5}},
	})
	for name, c := range map[string]struct {
		controllers, brokers *voice
		want                 roller.Fact[roller.Quorum]
		askedBrokers         int
	}{
		"the controllers":                     {&voice{quorum: byControllers}, &voice{quorum: byBrokers}, told, 0},
		"the brokers, as nobody else is":      {nil, &voice{quorum: byControllers}, told, 1},
		"the brokers, as no controller talks": {&voice{err: away}, &voice{quorum: byControllers}, told, 1},
		"nobody answers": {&voice{err: away}, &voice{err: errors.New("no broker either")},
			roller.Unknown[roller.Quorum]("no controller answers"), 1},
		"no broker answers": {nil, &voice{err: errors.New("no broker answers")},
			roller.Unknown[roller.Quorum]("no broker answers"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c.brokers.Brokers = memory.New(memory.Options{Brokers: 1}).Client("", nil)
			k := &observe.Kafka{Brokers: c.brokers}
			if c.controllers != nil {
				c.controllers.Brokers = memory.New(memory.Options{Brokers: 1}).Client("", nil)
				k.Controllers = c.controllers
			}
			facts := k.Read(t.Context(), nil, nil)
			g.Expect(facts.Quorum.IsKnown()).To(Equal(c.want.IsKnown()))
			g.Expect(facts.Quorum.Why()).To(Equal(c.want.Why()))
			g.Expect(facts.Quorum.Or(roller.Quorum{}).Leader).To(Equal(c.want.Or(roller.Quorum{}).Leader))
			if c.want.IsKnown() {
				g.Expect(facts.Quorum).To(Equal(roller.Known(roller.Quorum{
					Leader: 1, Voters: told.Or(roller.Quorum{}).Voters, Observers: told.Or(roller.Quorum{}).Observers,
				})))
			}
			g.Expect(c.brokers.asked).To(Equal(c.askedBrokers))
		})
	}
}

// Running controllers that elect no leader answer that they do not lead. There is no leader if each of them does; one that did not answer
// may be it.
func TestControllersThatDoNotLead(t *testing.T) {
	controls := func(p *corev1.Pod) { p.Labels[core.LabelControllerRole] = "true" }
	crashes := waiting("CrashLoopBackOff", time.Minute)
	unready := func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }
	for name, c := range map[string]struct {
		answer int
		pods   []corev1.Pod
		unread error
		none   bool
	}{
		"all answer":             {3, []corev1.Pod{pod(3, controls), pod(4, controls), pod(5, controls)}, nil, true},
		"one is silent":          {2, []corev1.Pod{pod(3, controls), pod(4, controls), pod(5, controls)}, nil, false},
		"one has no pod":         {2, []corev1.Pod{pod(3, controls), pod(4, controls)}, nil, true},
		"one is in a crash loop": {2, []corev1.Pod{pod(3, controls), pod(4, controls), pod(5, controls, crashes)}, nil, true},
		"one is not ready":       {2, []corev1.Pod{pod(3, controls), pod(4, controls), pod(5, controls, unready)}, nil, false},
		"one may be elsewhere":   {3, []corev1.Pod{pod(3, controls), pod(4, controls), pod(5, controls)}, errors.New("timed out"), false},
		"brokers do not count":   {1, []corev1.Pod{pod(3, controls), pod(4), pod(5)}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReading(t, 0)
			for id := range 3 {
				gone := pod(id)
				gone.Namespace = "ns"
				r.Expect(r.k8s.Delete(t.Context(), &gone)).To(Succeed())
			}
			for _, p := range c.pods {
				p.Namespace, p.Labels[v1.LabelCluster] = "ns", "my-cluster"
				r.Expect(r.k8s.Create(t.Context(), &p)).To(Succeed())
			}
			if c.unread != nil {
				r.observer.Sources = func() []observe.Source {
					return []observe.Source{{Reader: r.k8s}, {ID: "east", Reader: unreadable{r.k8s, c.unread}}}
				}
			}
			none := kafka.NewNoLeaderError(c.answer, "No controller that answered is the leader of the quorum.")
			r.observer.Kafka.Brokers = &voice{Brokers: r.admin, err: errors.New("no broker answers")}
			r.observer.Kafka.Controllers = &voice{Brokers: r.admin, err: none}
			s := r.observer.Observe(t.Context())
			r.Expect(s.Quorum.IsKnown()).To(Equal(c.none), s.Quorum.Why())
			if c.none {
				r.Expect(s.Quorum.Or(roller.Quorum{}).Leader).To(BeNumerically("<", 0))
			}
		})
	}
}

// Brokers forward some questions to the leader, and wait for one. A look that waits with them is too old for the restart that it decides.
func TestALookWithoutALeaderTakesNoLongerThanItsFactsLast(t *testing.T) {
	r := newReading(t, 0)
	r.observer.Timeout = 2 * roller.Freshness
	r.observer.Kafka.Brokers = &leaderless{Brokers: r.admin}
	r.observer.Kafka.Controllers = &voice{Brokers: r.admin, err: kafka.NewNoLeaderError(3, "No controller that answered is the leader.")}
	for id := range 3 {
		controller := pod(3+id, func(p *corev1.Pod) { p.Labels[core.LabelControllerRole] = "true" })
		controller.Namespace, controller.Labels[v1.LabelCluster] = "ns", "my-cluster"
		r.Expect(r.k8s.Create(t.Context(), &controller)).To(Succeed())
	}
	s := r.observer.Observe(t.Context())
	r.Expect(s.Quorum.Or(roller.Quorum{}).Leader).To(BeNumerically("<", 0), s.Quorum.Why())
	r.Expect(s.Topics.Why()).To(Equal("reassignments can't be listed: the metadata quorum has no leader"))
	r.Expect(s.At.Sub(s.From)).To(BeNumerically("<", roller.Freshness))
}

// The client tries brokers that reject connections until the end of its time. If Kubernetes reports no broker as ready, that may be how all
// are, so that the rest of the facts must not become too old to restart one. A broker that is ready may be slow.
func TestALookTakesNoLongerThanItsFactsLastIfNoBrokerIsReady(t *testing.T) {
	for name, c := range map[string]struct {
		ready bool
		took  string // compared with how long facts last
	}{
		"no broker is ready":  {false, "<"},
		"one broker is ready": {true, ">"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReading(t, 0)
				r.observer.Kafka.Brokers = unreachable{r.admin}
				r.observer.Kafka.Controllers = &voice{quorum: kafka.Quorum{Leader: 1}}
				for id := range 3 {
					if p := pod(id); id > 0 || !c.ready {
						p.Namespace, p.Status.Conditions[0].Status = "ns", corev1.ConditionFalse
						r.Expect(r.k8s.Status().Update(t.Context(), &p)).To(Succeed())
					}
				}
				s := r.observer.Observe(t.Context())
				r.Expect(s.Quorum.Or(roller.Quorum{}).Leader).To(BeEquivalentTo(1), s.Quorum.Why())
				r.Expect(s.Topics.IsKnown()).To(BeFalse())
				r.Expect(s.At.Sub(s.From)).To(BeNumerically(c.took, roller.Freshness))
			})
		})
	}
}

// unreachable are brokers that can't be reached.
type unreachable struct{ observe.Brokers }

func (unreachable) ListReassignments(ctx context.Context, _ []string) (map[kafka.TopicPartition]kafka.Reassignment, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (unreachable) DescribeCluster(ctx context.Context) (kafka.Cluster, error) {
	<-ctx.Done()
	return kafka.Cluster{}, ctx.Err()
}

func (unreachable) DescribeNodeConfigs(ctx context.Context, _ []int32, _ []string) (map[int32]kafka.ConfigResult, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (unreachable) TopicsOn(ctx context.Context, _ int32) ([]string, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// leaderless are brokers without a leader of the metadata quorum.
type leaderless struct{ observe.Brokers }

func (*leaderless) ListReassignments(ctx context.Context, _ []string) (map[kafka.TopicPartition]kafka.Reassignment, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (*leaderless) DescribeQuorum(ctx context.Context) (kafka.Quorum, error) {
	<-ctx.Done()
	return kafka.Quorum{}, ctx.Err()
}

// unreadable is a Kubernetes cluster that can't be read.
type unreadable struct {
	client.Reader
	err error
}

func (u unreadable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return u.err
}

// deaf is a Kafka behind a network that drops all packets.
type deaf struct{ observe.Brokers }

func (deaf) DescribeQuorum(ctx context.Context) (kafka.Quorum, error) {
	<-ctx.Done()
	return kafka.Quorum{}, kafka.NewTransportError("no controller answers", ctx.Err())
}

func (deaf) DescribeNodeConfigs(ctx context.Context, _ []int32, _ []string) (map[int32]kafka.ConfigResult, error) {
	<-ctx.Done()
	return nil, kafka.NewTransportError("no controller answers", ctx.Err())
}

// greedy are controllers that can't be reached, and take all the time of a look instead of their part of it.
type greedy struct {
	deaf
	look context.Context
}

func (g greedy) DescribeQuorum(context.Context) (kafka.Quorum, error) {
	return g.deaf.DescribeQuorum(g.look)
}

func (g greedy) DescribeNodeConfigs(_ context.Context, ids []int32, keys []string) (map[int32]kafka.ConfigResult, error) {
	return g.deaf.DescribeNodeConfigs(g.look, ids, keys)
}

// Unreachable controllers, for example behind a network policy, do not block the look: the brokers' answer is still fresh enough for a
// restart.
func TestControllersThatCannotBeReachedLeaveTimeForTheBrokers(t *testing.T) {
	for name, planted := range map[string]bool{"the roller": false, "and controllers that take all the time are found": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				k := &observe.Kafka{Brokers: memory.New(memory.Options{Brokers: 3}).Client("", nil), Controllers: deaf{}}
				if planted {
					k.Controllers = greedy{look: ctx}
				}
				began := time.Now()
				facts := k.Read(ctx, []roller.NodeID{0, 1, 2}, []roller.NodeID{100})
				inTime := BeNumerically("<", roller.Freshness-time.Second)
				if planted {
					g.Expect(time.Since(began)).NotTo(inTime)
					return
				}
				g.Expect(facts.Quorum.IsKnown()).To(BeTrue())
				g.Expect(facts.Topics.IsKnown()).To(BeTrue())
				g.Expect(facts.Nodes[0].Answers).To(BeTrue())
				g.Expect(facts.Nodes[100].Answers).To(BeFalse())
				g.Expect(time.Since(began)).To(inTime)
			})
		})
	}
}

// If no node responds, the look still ends, and reports the controllers' error.
func TestNobodyCanBeReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		k := &observe.Kafka{Brokers: deaf{memory.New(memory.Options{Brokers: 3}).Client("", nil)}, Controllers: deaf{}}
		ctx, cancel := context.WithTimeout(t.Context(), 21*time.Second)
		defer cancel()
		began := time.Now()
		g.Expect(k.Read(ctx, nil, nil).Quorum.Why()).To(ContainSubstring("no controller answers"))
		g.Expect(time.Since(began)).To(BeNumerically("<=", 7*time.Second))
	})
}

// Checklist 7 and 8: an annotated pod requests its own restart, and an annotated StrimziPodSet that of all pods that it lists.
func TestWhoAsksForAManualRollingUpdate(t *testing.T) {
	g := NewWithT(t)
	asking := set(pod(1), pod(2))
	asking.Manual = true
	other := observe.PodSet{Name: "my-cluster-others", UID: "others", Pods: []corev1.Pod{pod(3), pod(4)}}
	pods := []corev1.Pod{pod(1), pod(2, annotated(core.AnnotationManualRollingUpdate, "true")), pod(3),
		pod(4, annotated(core.AnnotationManualRollingUpdate, "true"))}
	pods = append(pods, pod(5, annotated(core.AnnotationManualRollingUpdate, "yes")))
	var why []string
	for _, n := range observe.Assemble(seen(observe.Place{Pods: pods, Sets: []observe.PodSet{asking, other}})).Nodes {
		why = append(why, roller.Reasons(n.Requests))
	}
	const byPod, bySet = "ManualRollingUpdate (the pod is annotated)", "ManualRollingUpdate (StrimziPodSet my-cluster-kafka is annotated)"
	g.Expect(why).To(Equal([]string{bySet, byPod + ", " + bySet, "", byPod, ""}))
}
