package status

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
)

func TestReadySaysWhatNodesWaitFor(t *testing.T) {
	two := &topology.Topology{Pools: []topology.Pool{{Name: "a", Nodes: []topology.Node{{ID: 0}, {ID: 1}}}}}
	set := &core.StrimziPodSet{Spec: &core.StrimziPodSetSpec{Pods: make([]runtime.RawExtension, 2)}}
	set.Status.CurrentPods, set.Status.ReadyPods = 2, 1
	for want, waiting := range map[string][]string{
		"1 of 2 nodes are ready":                                 nil,
		"1 of 2 nodes are ready. Waiting: pod a (b)":             {"pod a (b)"},
		"1 of 2 nodes are ready. Waiting: a, b, c":               {"a", "b", "c"},
		"1 of 2 nodes are ready. Waiting: a, b, c, and 2 others": {"a", "b", "c", "d", "e"},
	} {
		kafka := &v1.Kafka{}
		kafka.Status.KafkaVersion = "4.3.1"
		in := Input{Kafka: kafka, Topology: two, Sets: []*core.StrimziPodSet{set}, Now: time.Unix(0, 0)}
		for _, message := range waiting {
			in.Waiting = append(in.Waiting, Wait{Message: message})
		}
		s := Of(in)
		NewWithT(t).Expect(s.Conditions[0]).To(And(HaveField("Reason", "NodesNotReady"), HaveField("Message", want)))
	}
}

func TestNodesWithoutTheirConfigurationAreNotUpToDate(t *testing.T) {
	g := NewWithT(t)
	pool := func(name string, nodes ...topology.Node) (topology.Pool, *core.StrimziPodSet) {
		n := int32(len(nodes))
		set := &core.StrimziPodSet{Spec: &core.StrimziPodSetSpec{Pods: make([]runtime.RawExtension, n)},
			Status: core.StrimziPodSetStatus{CurrentPods: n, ReadyPods: n}}
		set.Name = "my-cluster-" + name
		return topology.Pool{Name: name, Nodes: nodes}, set
	}
	a, setA := pool("a", topology.Node{ID: 0}, topology.Node{ID: 1})
	b, setB := pool("b", topology.Node{ID: 2})
	kafka := &v1.Kafka{}
	kafka.Name, kafka.Status.KafkaVersion = "my-cluster", "4.3.1"
	in := Input{Kafka: kafka, Topology: &topology.Topology{Name: "my-cluster", Pools: []topology.Pool{a, b}},
		Sets: []*core.StrimziPodSet{setA, setB}, Now: time.Unix(0, 0), Unconfigured: []string{"a"},
		Waiting: []Wait{{Pool: "a", Message: "node 1 (x)"}}}
	g.Expect(Of(in).Conditions[0]).To(And(HaveField("Reason", "Updating"),
		HaveField("Message", "2 of 3 nodes are up to date, 3 are ready. Waiting: node 1 (x)")))
	g.Expect(NodesConverged(in)).To(BeFalse())
	g.Expect(in.nodes("", "a").Status).To(Equal(v1.ConditionFalse))
	g.Expect(in.nodes("", "b").Status).To(Equal(v1.ConditionTrue))
}

func TestWhatAPodWaitsFor(t *testing.T) {
	waiting := func(reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Image: "docker.io/apache/kafka:4.3.1",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
	container := func(c corev1.ContainerStatus) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{c}}
	}
	running := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	ended := func(c corev1.ContainerStatus, reason string, code int32) corev1.ContainerStatus {
		c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code}
		return c
	}
	unschedulable := func(message string) corev1.PodStatus {
		return corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable, Message: message}}}
	}
	again := ended(running, "OOMKilled", 137)
	again.Ready = true
	unready := func(c corev1.ContainerStatus, after time.Duration) corev1.PodStatus {
		started := time.Unix(1000, 0)
		c.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}
		status := container(c)
		status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse,
			LastTransitionTime: metav1.NewTime(started.Add(after))}}
		return status
	}
	for name, c := range map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"it is new": {},
		"no Kubernetes node has room": {unschedulable("0/1 nodes are available: 1 Insufficient memory. no new claims to deallocate, " +
			"preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."),
			"Unschedulable: no Kubernetes node is available: Insufficient memory"},
		"no Kubernetes node fits": {unschedulable("0/5 nodes are available: 2 node(s) had untolerated taint(s), 3 Insufficient memory."),
			"Unschedulable: no Kubernetes node is available: Insufficient memory, node(s) had untolerated taint(s)"},
		"so it is when one is added": {unschedulable("0/6 nodes are available: 3 Insufficient memory, 3 node(s) had untolerated taint(s)."),
			"Unschedulable: no Kubernetes node is available: Insufficient memory, node(s) had untolerated taint(s)"},
		"a reason has commas": {unschedulable("0/5 nodes are available: 2 node(s) didn't satisfy plugin(s) [A, B], 3 Insufficient memory."),
			"Unschedulable: no Kubernetes node is available: Insufficient memory, node(s) didn't satisfy plugin(s) [A, B]"},
		"a sentence has a count": {unschedulable("0/5 nodes are available: the claim has 2 volumes, 3 nodes have none."),
			"Unschedulable: no Kubernetes node is available: the claim has 2 volumes, 3 nodes have none"},
		"a class does not exist": {unschedulable("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"),
			"Unschedulable: no Kubernetes node is available: pod has unbound immediate PersistentVolumeClaims"},
		"the scheduler says something else": {unschedulable("running PreBind plugin: 2 of 3 binds failed, again"),
			"Unschedulable: running PreBind plugin: 2 of 3 binds failed, again"},
		"the scheduler says no more": {unschedulable(""), "Unschedulable"},
		"it starts":                  {container(waiting("ContainerCreating", "")), ""},
		"its image can't be pulled": {container(waiting("ErrImagePull", "failed to pull and unpack image")),
			"ImagePullBackOff: docker.io/apache/kafka:4.3.1"},
		"so it was before": {container(waiting("ImagePullBackOff", "Back-off pulling image")), "ImagePullBackOff: docker.io/apache/kafka:4.3.1"},
		"so it is with the image of the exporter": {corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{waiting("ImagePullBackOff", "")},
			ContainerStatuses:     []corev1.ContainerStatus{waiting("PodInitializing", "")},
		}, "ImagePullBackOff: docker.io/apache/kafka:4.3.1"},
		"it ends again and again": {container(ended(waiting("CrashLoopBackOff", "back-off 10s restarting failed container=kafka"), "Error", 1)),
			"CrashLoopBackOff: it ended with exit code 1"},
		"it has too little memory": {container(ended(waiting("CrashLoopBackOff", ""), "OOMKilled", 137)),
			"CrashLoopBackOff: it ended with OOMKilled"},
		"it runs again": {container(ended(running, "OOMKilled", 137)), "started again: it ended with OOMKilled"},
		"it runs again, not ready since it ended": {unready(ended(running, "OOMKilled", 137), 0),
			"started again: it ended with OOMKilled"},
		"it was ready meanwhile":     {unready(ended(running, "OOMKilled", 137), time.Hour), ""},
		"it runs again and is ready": {container(again), ""},
		"how it ended is not known":  {container(waiting("CrashLoopBackOff", "")), "CrashLoopBackOff"},
		"a Secret is missing": {container(waiting("CreateContainerConfigError", `secret "a" not found`)),
			`CreateContainerConfigError: secret "a" not found`},
		"it runs and is not ready yet": {container(running), ""},
		"it can't be made": {container(waiting("CreateContainerError", `failed to generate container "1f0c2d" spec: no such file`)),
			"CreateContainerError"},
		"its program can't be run": {container(ended(waiting("RunContainerError", "failed to create task: 1f0c2d"), "StartError", 128)),
			"RunContainerError: it ended with StartError"},
	} {
		NewWithT(t).Expect(WaitsFor(&corev1.Pod{Status: c.status})).To(Equal(c.want), name)
	}
}

// certificate returns a certificate in PEM.
func certificate(t *testing.T, name string) string {
	t.Helper()
	g := NewWithT(t)
	public, key, err := ed25519.GenerateKey(rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	g.Expect(err).NotTo(HaveOccurred())
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// aKey is a private key in PEM.
var aKey = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("secret")}))

// TestAStatusLosesKeys checks that the private key which an earlier version copied into a status, with the certificate beside it, goes in
// each pass, and that the listener keeps its certificate.
func TestADeploymentIsReadyWhenItsNewPodIs(t *testing.T) {
	for name, c := range map[string]struct {
		status appsv1.DeploymentStatus
		ready  bool
	}{
		"nothing is known yet": {},
		"its new pod is ready": {appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1}, true},
		"of the generation before": {
			appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1}, false},
		"its old pod is still counted": {appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, ReadyReplicas: 1}, false},
		"both pods are there": {
			appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 1, ReadyReplicas: 1}, false},
		"its new pod is not ready": {appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: c.status}
			NewWithT(t).Expect(DeploymentReady(d)).To(Equal(c.ready))
		})
	}
}

func TestAStatusLosesKeys(t *testing.T) {
	own := certificate(t, "own")
	kafka := &v1.Kafka{Spec: &v1.KafkaSpec{Kafka: v1.KafkaClusterSpec{Listeners: []v1.Listener{{Name: "own", TLS: true}}}}}
	for name, text := range map[string]string{"before": aKey + own, "behind": "a comment\n" + own + aKey, "alone": aKey} {
		kafka.Status.Listeners = []v1.ListenerStatus{{Name: "own", Certificates: []string{text}}}
		var want []string
		if text != aKey {
			want = []string{own}
		}
		for end, of := range map[string]func(*v1.Kafka) v1.KafkaStatus{
			"early":  func(k *v1.Kafka) v1.KafkaStatus { return Of(Input{Kafka: k}) },
			"later":  func(k *v1.Kafka) v1.KafkaStatus { return Of(Input{Kafka: k, Endpoints: &model.Endpoints{}}) },
			"paused": func(k *v1.Kafka) v1.KafkaStatus { return Paused(k, time.Unix(0, 0)) },
			"renewed": func(k *v1.Kafka) v1.KafkaStatus {
				return Of(Input{Kafka: k, ClusterCA: certificate(t, "ca"), Served: map[string]bool{own: true}})
			},
		} {
			t.Run(name+" "+end, func(t *testing.T) {
				g := NewWithT(t)
				before := kafka.DeepCopy()
				g.Expect(of(before).Listeners[0].Certificates).To(Equal(want))
				g.Expect(before).To(Equal(kafka), "the cache's object stays")
			})
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
	old, renewed, users, usersNew := certificate(t, "old"), certificate(t, "new"), certificate(t, "user's"), certificate(t, "user's new")
	kafka := &v1.Kafka{Spec: &v1.KafkaSpec{Kafka: v1.KafkaClusterSpec{
		Listeners: []v1.Listener{listener("tls", false), listener("own", true), {Name: "plain"}}}}}
	kafka.Status.Listeners = []v1.ListenerStatus{
		{Name: "tls", Certificates: []string{old}}, {Name: "own", Certificates: []string{users}}, {Name: "plain"}}
	for name, c := range map[string]struct {
		in       Input
		tls, own []string
	}{
		"the pass ends before the CA is known": {Input{Endpoints: &model.Endpoints{}}, []string{old}, []string{users}},
		"an invalid Kafka's CA is renewed": {Input{ClusterCA: renewed, Served: map[string]bool{users: true}}, []string{renewed},
			[]string{users}},
		"nothing is known": {Input{}, []string{old}, []string{users}},
		"the pass goes through": {Input{Endpoints: &model.Endpoints{}, ClusterCA: renewed, Certificates: map[string]string{"own": usersNew}},
			[]string{renewed}, []string{usersNew}},
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
