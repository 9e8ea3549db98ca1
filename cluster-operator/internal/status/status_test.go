package status

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	podset "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

func TestReadySaysWhatNodesWaitFor(t *testing.T) {
	two := &topology.Topology{Pools: []topology.Pool{{Name: "a", Nodes: []topology.Node{{ID: 0}, {ID: 1}}}}}
	set := &podset.StrimziPodSet{Spec: &podset.StrimziPodSetSpec{Pods: make([]runtime.RawExtension, 2)}}
	set.Status.CurrentPods, set.Status.ReadyPods = 2, 1
	for want, waiting := range map[string][]string{
		"1 of 2 nodes are ready":                                 nil,
		"1 of 2 nodes are ready. Waiting: pod a (b)":             {"pod a (b)"},
		"1 of 2 nodes are ready. Waiting: a, b, c":               {"a", "b", "c"},
		"1 of 2 nodes are ready. Waiting: a, b, c, and 2 others": {"a", "b", "c", "d", "e"},
	} {
		kafka := &v1.Kafka{}
		kafka.Status.KafkaVersion = "4.3.1"
		in := Input{Kafka: kafka, Topology: two, Sets: []*podset.StrimziPodSet{set}, Now: time.Unix(0, 0)}
		for _, message := range waiting {
			in.Waiting = append(in.Waiting, Wait{Message: message})
		}
		s := Of(in)
		NewWithT(t).Expect(s.Conditions[0]).To(And(HaveField("Reason", "NodesNotReady"), HaveField("Message", want)))
	}
}

func TestNodesWithoutTheirConfigurationAreNotUpToDate(t *testing.T) {
	g := NewWithT(t)
	pool := func(name string, nodes ...topology.Node) (topology.Pool, *podset.StrimziPodSet) {
		n := int32(len(nodes))
		set := &podset.StrimziPodSet{Spec: &podset.StrimziPodSetSpec{Pods: make([]runtime.RawExtension, n)},
			Status: podset.StrimziPodSetStatus{CurrentPods: n, ReadyPods: n}}
		set.Name = "my-cluster-" + name
		return topology.Pool{Name: name, Nodes: nodes}, set
	}
	a, setA := pool("a", topology.Node{ID: 0}, topology.Node{ID: 1})
	b, setB := pool("b", topology.Node{ID: 2})
	kafka := &v1.Kafka{}
	kafka.Name, kafka.Status.KafkaVersion = "my-cluster", "4.3.1"
	in := Input{Kafka: kafka, Topology: &topology.Topology{Name: "my-cluster", Pools: []topology.Pool{a, b}},
		Sets: []*podset.StrimziPodSet{setA, setB}, Now: time.Unix(0, 0), Unconfigured: []string{"a"},
		Waiting: []Wait{{Pool: "a", Message: "node 1 (x)"}}}
	g.Expect(Of(in).Conditions[0]).To(And(HaveField("Reason", "Updating"),
		HaveField("Message", "2 of 3 nodes are up to date, 3 are ready. Waiting: node 1 (x)")))
	g.Expect(NodesConverged(in)).To(BeFalse())
	g.Expect(in.nodes("", "a").Status).To(Equal(v1.ConditionFalse))
	g.Expect(in.nodes("", "b").Status).To(Equal(v1.ConditionTrue))
}

func TestWhatAPodWaitsFor(t *testing.T) {
	waiting := func(reason string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}}
	}
	for name, c := range map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"it is new": {},
		"no Kubernetes node has room": {corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled,
			Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}}, "Unschedulable"},
		"it starts":                 {waiting("ContainerCreating"), ""},
		"its image can't be pulled": {waiting("ErrImagePull"), "ImagePullBackOff"},
		"so it was before":          {waiting("ImagePullBackOff"), "ImagePullBackOff"},
		"it ends again and again":   {waiting("CrashLoopBackOff"), "CrashLoopBackOff"},
		"a Secret is missing":       {waiting("CreateContainerConfigError"), "CreateContainerConfigError"},
		"it runs and is not ready yet": {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}, ""},
	} {
		if got := WaitsFor(&corev1.Pod{Status: c.status}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCertificatesOfListenersAreThoseThatNodesServe(t *testing.T) {
	listener := func(name string, custom bool) v1.Listener {
		l := v1.Listener{Name: name, TLS: true}
		if custom {
			l.Configuration = &v1.ListenerConfiguration{BrokerCertChainAndKey: &v1.CertAndKeySecret{}}
		}
		return l
	}
	kafka := &v1.Kafka{Spec: &v1.KafkaSpec{Kafka: v1.KafkaClusterSpec{
		Listeners: []v1.Listener{listener("tls", false), listener("own", true), {Name: "plain"}}}}}
	kafka.Status.Listeners = []v1.ListenerStatus{
		{Name: "tls", Certificates: []string{"old"}}, {Name: "own", Certificates: []string{"user's"}}, {Name: "plain"}}
	for name, c := range map[string]struct {
		in       Input
		tls, own []string
	}{
		"the pass ends before the CA is known": {Input{Endpoints: &model.Endpoints{}}, []string{"old"}, []string{"user's"}},
		"an invalid Kafka's CA is renewed": {Input{ClusterCA: "new", Served: map[string]bool{"user's": true}}, []string{"new"},
			[]string{"user's"}},
		"nothing is known": {Input{}, []string{"old"}, []string{"user's"}},
		"the pass goes through": {Input{Endpoints: &model.Endpoints{}, ClusterCA: "new", Certificates: map[string]string{"own": "user's new"}},
			[]string{"new"}, []string{"user's new"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c.in.Kafka, c.in.Now = kafka.DeepCopy(), time.Unix(0, 0)
			s := Of(c.in)
			g.Expect(certificatesOf(s.Listeners, "tls")).To(Equal(c.tls))
			g.Expect(certificatesOf(s.Listeners, "own")).To(Equal(c.own))
			g.Expect(certificatesOf(s.Listeners, "plain")).To(BeEmpty())
		})
	}
}
