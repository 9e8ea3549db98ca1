package observe_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// pod returns a ready broker that was created an hour ago.
func pod(id int, change ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("my-cluster-kafka-%d", id), UID: types.UID(fmt.Sprintf("uid-%d", id)),
			CreationTimestamp: metav1.Time{Time: noon.Add(-time.Hour)},
			Labels:            map[string]string{core.LabelBrokerRole: "true", core.LabelControllerRole: "false"},
			Annotations:       map[string]string{core.AnnotationRevision: "r1"},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.Time{Time: noon.Add(-time.Minute)}}}},
	}
	for _, f := range change {
		f(&p)
	}
	return p
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[key] = value }
}

func waiting(reason string, age time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.CreationTimestamp.Time = noon.Add(-age)
		p.Status.Phase = corev1.PodPending
		p.Status.Conditions = nil
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "kafka",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
	}
}

func unschedulable(age time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.CreationTimestamp.Time = noon.Add(-age)
		p.Status.Phase = corev1.PodPending
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable}}
	}
}

func seen(places ...observe.Place) observe.Seen {
	return observe.Seen{At: noon, Places: places, Lasting: 2 * time.Minute, Kafka: observe.KafkaFacts{
		Topics: roller.Known[[]roller.Topic](nil), Quorum: roller.Known(roller.Quorum{Leader: 5}),
		Brokers: roller.Known(map[roller.NodeID]kafka.Node{}), Nodes: map[roller.NodeID]observe.NodeAnswer{},
	}}
}

func set(desired ...corev1.Pod) observe.PodSet {
	return observe.PodSet{Name: "my-cluster-kafka", UID: "set", Pods: desired}
}

func TestAPodIsANode(t *testing.T) {
	g := NewWithT(t)
	s := seen(observe.Place{
		Pods: []corev1.Pod{pod(3, annotated(core.AnnotationManualRollingUpdate, "true"),
			annotated(core.AnnotationServerCertHash, "a"))},
		Sets:       []observe.PodSet{set(pod(3, annotated(core.AnnotationRevision, "r2"), annotated(core.AnnotationServerCertHash, "b")))},
		Properties: map[string]string{"my-cluster-kafka-3": "num.io.threads=9\n"},
	})
	s.Kafka.Brokers = roller.Known(map[roller.NodeID]kafka.Node{3: {ID: 3, Rack: "east", Fenced: true}})
	s.Kafka.Nodes[3] = observe.NodeAnswer{Answers: true, Live: roller.Known(map[string]brokerconfig.Entry{"num.io.threads": {Value: "8"}})}
	n := observe.Assemble(s).Nodes[0]
	g.Expect(n.ID).To(BeEquivalentTo(3))
	g.Expect(n.Roles).To(Equal(roller.Roles{Broker: true}))
	g.Expect(n.Rack).To(Equal("east"))
	g.Expect(n.Instance).To(Equal(roller.Known("uid-3")))
	g.Expect(n.Ready).To(Equal(roller.Known(true)))
	g.Expect(n.ReadyChanged).To(Equal(noon.Add(-time.Minute)))
	g.Expect(n.Recovery).To(Equal(roller.Known[*roller.Recovery](nil)), "a node that is ready recovers nothing")
	g.Expect(n.Revision).To(Equal(roller.Known(roller.Revision{Current: "r1", Desired: "r2"})))
	g.Expect(n.Fenced).To(Equal(roller.Known(true)))
	g.Expect(n.Answers).To(Equal(roller.Known(true)))
	g.Expect(n.Config.Or(brokerconfig.Config{}).Desired).To(Equal(map[string]string{"num.io.threads": "9"}))
	g.Expect(roller.Reasons(n.Requests)).
		To(Equal("ManualRollingUpdate (the pod is annotated), KafkaCertificatesChanged (the node's own certificate changed)"))
}

// The states of a stuck pod, and from when they count: a new pod is not stuck yet.
func TestWhatIsStuck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod)
		want   string
	}{
		{"ready", func(*corev1.Pod) {}, ""},
		{"CrashLoopBackOff, at once", waiting("CrashLoopBackOff", time.Second), "CrashLoopBackOff"},
		{"ImagePullBackOff, at once", waiting("ImagePullBackOff", time.Second), "ImagePullBackOff"},
		{"InvalidImageName, at once", waiting("InvalidImageName", time.Second), "InvalidImageName"},
		{"ContainerCreating, for a moment", waiting("ContainerCreating", time.Minute), ""},
		{"ContainerCreating, for long", waiting("ContainerCreating", 2*time.Minute), "ContainerCreating"},
		{"unschedulable, for a moment", unschedulable(time.Minute), ""},
		{"unschedulable, for long", unschedulable(2 * time.Minute), "Unschedulable"},
		{"PodInitializing", waiting("PodInitializing", time.Hour), ""},
		{"a sidecar that is being created", func(p *corev1.Pod) {
			waiting("ContainerCreating", time.Hour)(p)
			p.Status.ContainerStatuses[0].Name = "sidecar"
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := observe.Assemble(seen(observe.Place{Pods: []corev1.Pod{pod(0, c.change)}})).Nodes[0]
			NewWithT(t).Expect(n.Stuck).To(Equal(roller.Known(c.want)))
		})
	}
}

func TestWhatIsHeld(t *testing.T) {
	for value, want := range map[string]string{
		"disk is being replaced": "it is annotated with kafka-operators.io/hold: disk is being replaced",
		"true":                   "it is annotated with kafka-operators.io/hold", "": "it is annotated with kafka-operators.io/hold", "false": "",
	} {
		n := observe.Assemble(seen(observe.Place{Pods: []corev1.Pod{pod(0, annotated(core.AnnotationHold, value))}})).Nodes[0]
		NewWithT(t).Expect(n.Hold).To(Equal(want))
	}
}

// A failed read counts as "unknown", never as "gone".
func TestAClusterThatCannotBeReadHidesNobody(t *testing.T) {
	g := NewWithT(t)
	s := seen(observe.Place{Pods: []corev1.Pod{pod(0)}}, observe.Place{ID: "east", Err: errors.New("connection refused")})
	s.Kafka.Brokers = roller.Known(map[roller.NodeID]kafka.Node{0: {ID: 0}, 7: {ID: 7}})
	s.Kafka.Quorum = roller.Known(roller.Quorum{Leader: 8, Voters: []roller.Voter{{ID: 8}}})
	nodes := observe.Assemble(s).Nodes
	g.Expect(nodes).To(HaveLen(3))
	g.Expect(nodes[0].Instance.IsKnown()).To(BeTrue())
	g.Expect(nodes[1].ID).To(BeEquivalentTo(7))
	g.Expect(nodes[1].Instance.Why()).To(Equal("cluster east can't be read: connection refused"))
	g.Expect(nodes[1].Roles.Broker).To(BeTrue())
	g.Expect(nodes[2].ID).To(BeEquivalentTo(8))
	g.Expect(nodes[2].Roles.Controller).To(BeTrue())
	g.Expect([]string{nodes[0].Place, nodes[1].Place, nodes[2].Place}).To(Equal([]string{"", "east", "east"}),
		"it is in the one that can't be read")
	both := s
	both.Places = append(slices.Clone(s.Places), observe.Place{ID: "west", Err: errors.New("connection refused")})
	g.Expect(observe.Assemble(both).Nodes[1].Place).To(Equal(roller.UnknownPlace), "it may be in either")
	g.Expect([]string{nodes[1].Name, nodes[2].Name}).To(Equal([]string{"?-7", "?-8"}),
		"nobody knows the pods' names, and they are not mixed up")
}

// Kafka takes nodes for serving that no configured Kubernetes cluster has: whether they do is unknown, and the view is not whole. What
// Kafka has fenced, or what fell behind, was removed, and belongs to nobody's view.
func TestNodesThatKafkaListsAndNobodySees(t *testing.T) {
	const unseen = "which no pod or StrimziPodSet is seen of: configure all Kubernetes clusters with nodes of this Kafka, and check that " +
		"its pods have the label strimzi.io/cluster"
	controllers := func(p *corev1.Pod) { p.Labels[core.LabelControllerRole] = "true" }
	partition := func(leader roller.NodeID, isr ...roller.NodeID) roller.Fact[[]roller.Topic] {
		return roller.Known([]roller.Topic{{Name: "t", MinISR: roller.Known(1),
			Partitions: []roller.Partition{{Leader: leader, Replicas: []roller.NodeID{0, 7}, ISR: isr}}}})
	}
	quorum := func(behind int64) roller.Fact[roller.Quorum] {
		return roller.Known(roller.Quorum{Leader: 0, Voters: []roller.Voter{{LastCaughtUp: 90_000}, {ID: 8, LastCaughtUp: 90_000 - behind}}})
	}
	for name, c := range map[string]struct {
		see    func(s *observe.Seen)
		unread string
		roles  roller.Roles
	}{
		"a broker in service": {
			func(s *observe.Seen) {
				s.Kafka.Brokers = roller.Known(map[roller.NodeID]kafka.Node{0: {ID: 0}, 7: {ID: 7}})
			},
			"Kafka lists node 7, " + unseen, roller.Roles{Broker: true},
		},
		"a broker that is fenced": {func(s *observe.Seen) {
			s.Kafka.Brokers, s.Kafka.FencedIncluded = roller.Known(map[roller.NodeID]kafka.Node{7: {ID: 7, Fenced: true}}), true
		}, "", roller.Roles{}},
		"a broker in sync": {
			func(s *observe.Seen) { s.Kafka.Topics = partition(0, 0, 7) }, "Kafka lists node 7, " + unseen, roller.Roles{Broker: true},
		},
		"a broker that was the last one": {func(s *observe.Seen) { s.Kafka.Topics = partition(-1, 7) }, "", roller.Roles{}},
		"a broker that is not in sync":   {func(s *observe.Seen) { s.Kafka.Topics = partition(0, 0) }, "", roller.Roles{}},
		"a voter": {
			func(s *observe.Seen) { s.Kafka.Quorum = quorum(0) }, "Kafka lists node 8, " + unseen, roller.Roles{Controller: true},
		},
		"a voter that fell behind": {func(s *observe.Seen) { s.Kafka.Quorum = quorum(60_000) }, "", roller.Roles{}},
		"the nodes of another Kafka": {
			func(s *observe.Seen) { s.Kafka.Quorum, s.Elsewhere = quorum(0), "it is another one" }, "", roller.Roles{},
		},
		"nothing that was read": {
			func(s *observe.Seen) { s.Kafka.Quorum = roller.Unknown[roller.Quorum]("timed out") }, "", roller.Roles{},
		},
		"both": {
			func(s *observe.Seen) { s.Kafka.Quorum, s.Kafka.Topics = quorum(0), partition(7, 7) },
			"Kafka lists nodes 7 and 8, " + unseen, roller.Roles{Broker: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := seen(observe.Place{Pods: []corev1.Pod{pod(0, controllers)}, Sets: []observe.PodSet{set(pod(0, controllers))}})
			in.Kafka.Quorum = roller.Known(roller.Quorum{Leader: 0, Voters: []roller.Voter{{LastCaughtUp: 90_000}}})
			c.see(&in)
			s := observe.Assemble(in)
			g.Expect(s.Unread).To(Equal(c.unread))
			if c.unread == "" {
				g.Expect(s.Nodes).To(HaveLen(1))
				return
			}
			g.Expect(s.Nodes[1].Instance.Why()).To(Equal(c.unread))
			g.Expect(s.Nodes[1].Place).To(Equal(roller.UnknownPlace))
			g.Expect(s.Nodes[1].Roles).To(Equal(c.roles))
			g.Expect(s.Unseen()).To(BeEmpty(), "they are among the nodes now")
		})
	}
}

func TestAPodThatIsMissing(t *testing.T) {
	g := NewWithT(t)
	n := observe.Assemble(seen(observe.Place{Sets: []observe.PodSet{set(pod(4))}})).Nodes[0]
	g.Expect(n.ID).To(BeEquivalentTo(4))
	g.Expect(n.Instance).To(Equal(roller.Known("")))
	g.Expect(n.Revision.IsKnown()).To(BeFalse())
}

// A node without a pod has nothing that could be annotated but its set.
func TestAPodThatIsMissingIsHeldByItsSet(t *testing.T) {
	held := set(pod(4), pod(5, annotated(core.AnnotationHold, "its disk is being replaced")))
	held.Hold = "the set is annotated"
	nodes := observe.Assemble(seen(observe.Place{Sets: []observe.PodSet{held}})).Nodes
	NewWithT(t).Expect([]string{nodes[0].Hold, nodes[1].Hold}).
		To(Equal([]string{"the set is annotated", "it is annotated with kafka-operators.io/hold: its disk is being replaced"}))
}

func TestTwoPodsThatClaimToBeOneNode(t *testing.T) {
	g := NewWithT(t)
	nodes := observe.Assemble(seen(observe.Place{Pods: []corev1.Pod{pod(0)}}, observe.Place{ID: "east", Pods: []corev1.Pod{pod(0)}})).Nodes
	g.Expect(nodes).To(HaveLen(1))
	g.Expect(nodes[0].Instance.Why()).To(ContainSubstring("claim to be the same node"))
}

func TestAPodWithoutAPodSetOrAConfigMap(t *testing.T) {
	g := NewWithT(t)
	s := seen(observe.Place{Pods: []corev1.Pod{pod(0), pod(1)}})
	s.Kafka.Nodes[0] = observe.NodeAnswer{Answers: true, Live: roller.Known(map[string]brokerconfig.Entry{})}
	nodes := observe.Assemble(s).Nodes
	g.Expect(nodes[0].Revision.Why()).To(Equal("no StrimziPodSet has this pod"))
	g.Expect(nodes[0].Config.Why()).To(Equal("no ConfigMap has its desired configuration"))
	g.Expect(nodes[1].Answers.IsKnown()).To(BeFalse(), "nobody asked it")
}

// Labels and names do not prove that a deleted pod is recreated: its set must list it, own it and be reconciled.
func TestWhoMakesAPodAnew(t *testing.T) {
	owned := func(kind, uid string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			yes := true
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "owner", UID: types.UID(uid), Controller: &yes}}
		}
	}
	idle := set(pod(0))
	idle.Idle = "StrimziPodSet my-cluster-kafka is being deleted"
	for _, c := range []struct {
		name string
		pod  corev1.Pod
		sets []observe.PodSet
		want string
	}{
		{"its set", pod(0, owned("StrimziPodSet", "set")), []observe.PodSet{set(pod(0))}, ""},
		{"nobody", pod(0), nil, "no StrimziPodSet lists its pod, so nothing would recreate it"},
		{"a set that does not list it", pod(0, owned("StrimziPodSet", "set")), []observe.PodSet{set(pod(1))},
			"no StrimziPodSet lists its pod, so nothing would recreate it"},
		{"a set that does not own it", pod(0), []observe.PodSet{set(pod(0))},
			"its pod does not belong to StrimziPodSet my-cluster-kafka, which lists it: it has no owner"},
		{
			"somebody else", pod(0, owned("StatefulSet", "other")), []observe.PodSet{set(pod(0))},
			"its pod does not belong to StrimziPodSet my-cluster-kafka (uid set), which lists it, but to StatefulSet owner (uid other)",
		},
		{
			"the set before this one", pod(0, owned("StrimziPodSet", "earlier")), []observe.PodSet{set(pod(0))},
			"its pod does not belong to StrimziPodSet my-cluster-kafka (uid set), which lists it, but to StrimziPodSet owner (uid earlier)",
		},
		{"a set that is going", pod(0, owned("StrimziPodSet", "set")), []observe.PodSet{idle}, "StrimziPodSet my-cluster-kafka is being deleted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := observe.Assemble(seen(observe.Place{Pods: []corev1.Pod{c.pod}, Sets: c.sets})).Nodes[0]
			NewWithT(t).Expect(n.Foreign).To(Equal(c.want))
		})
	}
}

func TestNamesThatAreNoNodes(t *testing.T) {
	g := NewWithT(t)
	var pods []corev1.Pod
	for _, name := range []string{"my-cluster-kafka-", "my-cluster-kafka-x", "nodash", "my-cluster-kafka-01", "my-cluster-kafka--1",
		"my-cluster-kafka-99999999999"} {
		pods = append(pods, pod(0, func(p *corev1.Pod) { p.Name = name }))
	}
	g.Expect(observe.Assemble(seen(observe.Place{Pods: pods})).Nodes).To(HaveLen(1), "my-cluster-kafka--1 is node 1 of my-cluster-kafka-")
}

func TestWhatTellsOfFencedBrokers(t *testing.T) {
	g := NewWithT(t)
	s := seen(observe.Place{Pods: []corev1.Pod{pod(0)}})
	g.Expect(observe.Assemble(s).Nodes[0].Fenced.IsKnown()).To(BeFalse(), "an older broker lists only those in service")
	s.Kafka.FencedIncluded = true
	g.Expect(observe.Assemble(s).Nodes[0].Fenced).To(Equal(roller.Known(true)), "it is not even registered")
	s.Kafka.Brokers = roller.Unknown[map[roller.NodeID]kafka.Node]("timed out")
	g.Expect(observe.Assemble(s).Nodes[0].Fenced.Why()).To(Equal("timed out"))
}

// The version is the one that the running pod reports; the pod set has that of the desired pod.
func TestTheVersionOfKafkaIsThatOfTheRunningPod(t *testing.T) {
	for name, c := range map[string]struct{ running, version string }{
		"told":          {"4.1.0", "4.1.0"},
		"no annotation": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			running := pod(3)
			if c.running != "" {
				running.Annotations["strimzi.io/kafka-version"] = c.running
			}
			s := seen(observe.Place{
				Pods: []corev1.Pod{running}, Sets: []observe.PodSet{set(pod(3, annotated("strimzi.io/kafka-version", "4.2.0")))},
				Properties: map[string]string{"my-cluster-kafka-3": ""},
			})
			s.Kafka.Nodes[3] = observe.NodeAnswer{Answers: true, Live: roller.Known(map[string]brokerconfig.Entry{})}
			config, known := observe.Assemble(s).Nodes[0].Config.Get()
			g.Expect(known).To(BeTrue())
			g.Expect(config.Version).To(Equal(c.version))
		})
	}
}
