package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/api/ownership"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/heartbeat"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/placement"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/providers"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/testserver"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/clusters"
)

// remoteServers are the API servers of other Kubernetes clusters. Tests share them, and the first test that needs one starts it.
var remoteServers = struct {
	sync.Mutex
	env map[string]*envtest.Environment
}{env: map[string]*envtest.Environment{}}

func remoteServer(t *testing.T, id string) *envtest.Environment {
	t.Helper()
	remoteServers.Lock()
	defer remoteServers.Unlock()
	if env := remoteServers.env[id]; env != nil {
		return env
	}
	env, err := testserver.Start(true)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	remoteServers.env[id] = env
	return env
}

// stopRemoteServers stops the API servers that tests started.
func stopRemoteServers() {
	testserver.Stop(slices.Collect(maps.Values(remoteServers.env))...)
}

// member is a connection to a Kubernetes cluster. Tests can break it.
type member struct {
	id   string
	home bool
	client.Client
	uid  types.UID
	lost bool
	// expire is when the credentials expire, and refused why newer ones are not used.
	expire  time.Time
	refused string
	// cache is an outdated cache; nil if the cache is up to date.
	cache client.Reader
	// answers holds back requests to the API server until it is closed; nil if the API server responds at once.
	answers chan struct{}
}

var errLost = errors.New("connection refused")

func (m *member) ID() string { return m.id }
func (m *member) Home() bool { return m.home }
func (m *member) Status() clusters.Status {
	s := clusters.Status{ID: m.id, State: clusters.Connected, Identity: m.uid, CredentialsExpire: m.expire,
		LastSeen: time.Unix(1e9, 0)}
	if m.refused != "" {
		s.Reason, s.Message = clusters.ReasonCredentialsRefused, m.refused
	}
	if m.lost {
		s.State, s.Reason, s.Message = clusters.Unreachable, clusters.ReasonNoAnswer, errLost.Error()
	}
	return s
}
func (m *member) reader() client.Reader {
	if m.lost {
		return lostReader{}
	}
	return m.Client
}
func (m *member) Reader() client.Reader {
	if m.cache != nil {
		return m.cache
	}
	return m.reader()
}
func (m *member) APIReader() client.Reader {
	if m.lost {
		return lostReader{}
	}
	return m.answering()
}

// answering returns a client of the API server, which may be slow.
func (m *member) answering() client.Client {
	k8s, ok := m.Client.(client.WithWatch)
	if m.answers == nil || !ok {
		return m.Client
	}
	return interceptor.NewClient(k8s, interceptor.Funcs{
		Get: func(ctx context.Context, k8s client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			select {
			case <-m.answers:
			case <-ctx.Done():
				return ctx.Err()
			}
			return k8s.Get(ctx, key, o, opts...)
		},
		Apply: func(ctx context.Context, k8s client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			<-m.answers
			return k8s.Apply(ctx, o, opts...)
		},
	})
}

type connected struct{ *member }

// Client returns the client while the cluster is connected.
func (c connected) Client() (client.Client, error) {
	if c.lost {
		return nil, errLost
	}
	return c.answering(), nil
}

type lostReader struct{}

func (lostReader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errLost
}
func (lostReader) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errLost
}

// stretchedWorld is a world with two more Kubernetes clusters.
type stretchedWorld struct {
	*world
	members map[string]*member
}

func newStretchedWorld(t *testing.T) *stretchedWorld {
	w := &stretchedWorld{world: newWorld(t), members: map[string]*member{}}
	w.members["central"] = &member{id: "central", home: true, Client: w.k8s}
	for _, id := range []string{"east", "west"} {
		env := remoteServer(t, id)
		k8s, err := client.NewWithWatch(env.Config, client.Options{Scheme: w.k8s.Scheme()})
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(k8s.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})).To(Succeed())
		w.members[id] = &member{id: id, Client: k8s}
	}
	for i, id := range []string{"central", "east", "west"} {
		m := w.members[id]
		system := &corev1.Namespace{}
		w.Expect(m.Get(t.Context(), client.ObjectKey{Name: "kube-system"}, system)).To(Succeed())
		m.uid = system.UID
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
		w.beat(id)
		if err := m.Create(t.Context(), node); !apierrors.IsAlreadyExists(err) {
			w.Expect(err).NotTo(HaveOccurred())
			node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("192.0.2.%d", i+1)}}
			w.Expect(m.Client.Status().Update(t.Context(), node)).To(Succeed())
		}
	}
	provider, end, err := providers.Open(t.Context(), providers.Options{Name: "nodeport"})
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(end)
	w.r.Stretching = &Stretching{Central: "central", Namespace: w.namespace, Provider: provider, ProviderName: "nodeport",
		Members: func() []Member {
			var all []Member
			for _, id := range slices.Sorted(maps.Keys(w.members)) {
				all = append(all, connected{w.members[id]})
			}
			return all
		}}
	return w
}

// beat renews the heartbeat of the operator in a Kubernetes cluster.
func (w *stretchedWorld) beat(id string) *coordinationv1.Lease {
	w.t.Helper()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: heartbeat.LeaseName, Annotations: map[string]string{
			"kafka-operators.io/contract": heartbeat.Contract, "kafka-operators.io/operator-version": "1"}},
		Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: w.now}},
	}
	w.Expect(w.members[id].Create(w.t.Context(), lease)).To(Succeed())
	return lease
}

func stretchedKafka() *v1.Kafka {
	k := newKafka()
	k.Annotations = map[string]string{v1.AnnotationStretch: "true"}
	return k
}

func poolIn(cluster, name string, replicas int32, roles ...v1.ProcessRole) *v1.KafkaNodePool {
	p := nodePool(name, replicas, roles...)
	p.Annotations = map[string]string{v1.AnnotationTargetCluster: cluster}
	return p
}

// form creates a Kafka with a node in each Kubernetes cluster, and waits until the Kafka is ready.
func (w *stretchedWorld) form(listeners ...v1.Listener) {
	w.t.Helper()
	k := stretchedKafka()
	k.Spec.Kafka.Listeners = append(k.Spec.Kafka.Listeners, listeners...)
	w.create(k)
	for _, id := range []string{"central", "east", "west"} {
		w.create(poolIn(id, id, 1, v1.RoleBroker, v1.RoleController))
	}
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

// formTwo makes a Kafka with a controller in the central cluster and a broker in east.
func (w *stretchedWorld) formTwo() {
	w.t.Helper()
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

// unstretch removes the annotations that stretch a Kafka, and the target clusters of these pools.
func (w *stretchedWorld) unstretch(pools ...string) {
	w.t.Helper()
	k := w.kafka()
	delete(k.Annotations, v1.AnnotationStretch)
	w.Expect(w.k8s.Update(w.t.Context(), k)).To(Succeed())
	for _, name := range pools {
		pool := &v1.KafkaNodePool{}
		w.get(pool, name)
		delete(pool.Annotations, v1.AnnotationTargetCluster)
		w.Expect(w.k8s.Update(w.t.Context(), pool)).To(Succeed())
	}
}

// settle reconciles and updates the pods until nothing changes.
func (w *stretchedWorld) settle() {
	w.t.Helper()
	before := ""
	for range 12 {
		w.pass()
		w.balance()
		w.pods()
		now := fmt.Sprint(w.all())
		if now == before {
			return
		}
		before = now
	}
	w.t.Fatal("objects change for ever")
}

// pass reconciles once, and logs an error.
func (w *stretchedWorld) pass() reconcile.Result {
	w.t.Helper()
	result, err := w.r.Reconcile(w.t.Context(), w.request())
	if err != nil {
		w.t.Log(err)
	}
	return result
}

func (w *stretchedWorld) request() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}}
}

// balance sets the addresses of load balancers.
func (w *stretchedWorld) balance() {
	w.t.Helper()
	for id, m := range w.members {
		var services corev1.ServiceList
		if m.lost || m.List(w.t.Context(), &services, client.InNamespace(w.namespace)) != nil {
			continue
		}
		for i := range services.Items {
			s := &services.Items[i]
			if s.Spec.Type == corev1.ServiceTypeLoadBalancer && len(s.Status.LoadBalancer.Ingress) == 0 {
				s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: s.Name + "." + id + ".example.com"}}
				w.Expect(m.Client.Status().Update(w.t.Context(), s)).To(Succeed())
			}
		}
	}
}

// pods creates the pods that StrimziPodSets list and deletes others, as the StrimziPodSet controllers do. It restarts and configures them,
// as the roller does.
func (w *stretchedWorld) pods() {
	w.t.Helper()
	configured := map[string]string{}
	defer func() { w.reportConfigured(configured) }()
	for id, m := range w.members {
		if m.lost {
			continue
		}
		w.endPods(id)
		var sets core.StrimziPodSetList
		w.Expect(m.List(w.t.Context(), &sets, client.InNamespace(w.namespace))).To(Succeed())
		for i := range sets.Items {
			set := &sets.Items[i]
			for _, raw := range set.Spec.Pods {
				pod, live := &corev1.Pod{}, &corev1.Pod{}
				w.Expect(json.Unmarshal(raw.Raw, pod)).To(Succeed())
				err := m.Get(w.t.Context(), client.ObjectKeyFromObject(pod), live)
				if err == nil && live.Annotations[core.AnnotationRevision] != pod.Annotations[core.AnnotationRevision] {
					w.Expect(m.Delete(w.t.Context(), live, client.GracePeriodSeconds(0))).To(Succeed())
					err = apierrors.NewNotFound(corev1.Resource("pods"), pod.Name)
				}
				configured[string(live.UID)] = pod.Annotations[core.AnnotationConfigHash]
				if apierrors.IsNotFound(err) {
					pod.Spec.ServiceAccountName = ""
					pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, core.GroupVersion.WithKind("StrimziPodSet"))}
					w.Expect(m.Create(w.t.Context(), pod)).To(Succeed())
				}
			}
			n := int32(len(set.Spec.Pods))
			wanted := core.StrimziPodSetStatus{ObservedGeneration: set.Generation, Pods: n, CurrentPods: n, ReadyPods: n}
			if !reflect.DeepEqual(set.Status, wanted) {
				set.Status = wanted
				w.Expect(m.Client.Status().Update(w.t.Context(), set)).To(Succeed())
			}
		}
	}
}

// endPods deletes the pods in a Kubernetes cluster that no StrimziPodSet lists any more.
func (w *stretchedWorld) endPods(id string) {
	w.t.Helper()
	m := w.members[id]
	var sets core.StrimziPodSetList
	w.Expect(m.List(w.t.Context(), &sets, client.InNamespace(w.namespace))).To(Succeed())
	listed := map[string]bool{}
	for i := range sets.Items {
		for _, raw := range sets.Items[i].Spec.Pods {
			pod := &corev1.Pod{}
			w.Expect(json.Unmarshal(raw.Raw, pod)).To(Succeed())
			listed[pod.Name] = true
		}
	}
	var pods corev1.PodList
	w.Expect(m.List(w.t.Context(), &pods, client.InNamespace(w.namespace))).To(Succeed())
	for i := range pods.Items {
		if set := metav1.GetControllerOf(&pods.Items[i]); set != nil && set.Kind == "StrimziPodSet" && !listed[pods.Items[i].Name] {
			w.Expect(m.Delete(w.t.Context(), &pods.Items[i], client.GracePeriodSeconds(0))).To(Succeed())
		}
	}
}

// reportConfigured reports with which configurations pods run, by uid, as the roller does.
func (w *stretchedWorld) reportConfigured(pods map[string]string) {
	w.t.Helper()
	text, err := json.Marshal(core.RollerStatus{Configurations: pods})
	w.Expect(err).NotTo(HaveOccurred())
	config := &corev1.ConfigMap{ObjectMeta: w.named(core.RollerStatusName("my-cluster"))}
	_, err = controllerutil.CreateOrUpdate(w.t.Context(), w.k8s, config, func() error {
		config.Labels = map[string]string{core.LabelManagedBy: core.ManagedByRoller, v1.LabelCluster: "my-cluster"}
		config.Data = map[string]string{core.RollerStatusKey: string(text)}
		return nil
	})
	w.Expect(err).NotTo(HaveOccurred())
}

// all returns the resourceVersions of everything in the namespace, in all Kubernetes clusters.
func (w *stretchedWorld) all() map[string]map[string]string {
	w.t.Helper()
	all := map[string]map[string]string{}
	for id, m := range w.members {
		all[id] = (&world{WithT: w.WithT, t: w.t, k8s: m.Client, namespace: w.namespace}).versions()
	}
	return all
}

func (w *stretchedWorld) in(id string, o client.Object, name string) {
	w.t.Helper()
	w.Expect(w.members[id].Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o)).To(Succeed())
}

// setting returns a line of a node's configuration.
func (w *stretchedWorld) setting(id, pod, key string) string {
	w.t.Helper()
	c := &corev1.ConfigMap{}
	w.in(id, c, pod)
	for line := range strings.Lines(c.Data["server.config"]) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), key+"="); found {
			return value
		}
	}
	return ""
}

func (w *stretchedWorld) kafka() *v1.Kafka {
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	return k
}

func TestAKafkaIsStretchedOverThreeKubernetesClusters(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	k := w.kafka()
	w.Expect(k.Finalizers).To(ContainElement(v1.FinalizerStretch))
	w.Expect(k.Status.Conditions).
		To(ContainElement(And(HaveField("Type", "StretchCluster"), HaveField("Status", "True"), HaveField("Reason", "StretchClusterActive"),
			HaveField("Message", "Stretch cluster active: provider=nodeport, central=central, clusters=central,east,west"))))
	w.Expect(k.Status.StretchClusters).To(HaveLen(3))
	w.Expect(k.Status.KafkaNodePools).To(HaveExactElements(HaveField("Name", "central"), HaveField("Name", "east"), HaveField("Name", "west")))

	voters := w.setting("central", "my-cluster-central-0", "controller.quorum.voters")
	w.Expect(voters).To(MatchRegexp(`^0@192\.0\.2\.1:3\d{4},1@192\.0\.2\.2:3\d{4},2@192\.0\.2\.3:3\d{4}$`))
	for i, id := range []string{"central", "east", "west"} {
		pod := fmt.Sprintf("my-cluster-%s-%d", id, i)
		w.Expect(w.setting(id, pod, "controller.quorum.voters")).To(Equal(voters))
		w.Expect(w.setting(id, pod, "broker.rack")).To(Equal(id))
		w.Expect(w.setting(id, pod, "advertised.listeners")).To(ContainSubstring(fmt.Sprintf("REPLICATION-9091://192.0.2.%d:3", i+1)))
		set := &core.StrimziPodSet{}
		w.in(id, set, "my-cluster-"+id)
		w.Expect(set.Annotations).To(HaveKeyWithValue(v1.AnnotationTargetCluster, id))
		secret := &corev1.Secret{}
		w.in(id, secret, pod)
		w.Expect(secret.Data).To(HaveKey(pod + ".key"))
		w.in(id, secret, "my-cluster-cluster-ca-cert")
		if id == "central" {
			continue
		}
		w.Expect(w.members[id].Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-cluster-ca"}, secret)).
			To(MatchError(apierrors.IsNotFound, "the key of the CA stays in the central cluster"))
		anchor := &corev1.ConfigMap{}
		w.in(id, anchor, "my-cluster-kafka-gc")
		w.Expect(anchor.OwnerReferences).To(BeEmpty())
		w.Expect(anchor.Labels).
			To(And(HaveKeyWithValue("strimzi.io/component-type", "garbage-collector"), HaveKeyWithValue("app.kubernetes.io/name", "kafka"),
				HaveKeyWithValue("app.kubernetes.io/instance", "my-cluster"), HaveKeyWithValue("strimzi.io/kind", "Kafka")))
		w.Expect(anchor.Data).
			To(And(HaveKeyWithValue("cluster-id", id), HaveKeyWithValue("kafka-cluster", "my-cluster"), HaveKeyWithValue("namespace", w.namespace),
				HaveKeyWithValue("kafka-uid", string(k.UID)), HaveKeyWithValue("purpose", "Garbage collection anchor for remote cluster resources"),
				HaveKeyWithValue("managed-resources", "StrimziPodSet,ServiceAccount,Secret,ConfigMap,Service,ServiceExport,PersistentVolumeClaim")))
		has, err := facts.Read(t.Context(), w.members[id], w.request().NamespacedName)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(len(has.Objects)).To(BeNumerically(">", 8))
		for key, o := range has.Objects {
			if key.Name == anchor.Name || key.Kind == "PersistentVolumeClaim" { // which is kept
				w.Expect(o.GetOwnerReferences()).To(BeEmpty())
				continue
			}
			w.Expect(o.GetOwnerReferences()).To(Equal([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: anchor.Name,
				UID: anchor.UID, Controller: new(false), BlockOwnerDeletion: new(false)}}), "%s %s in %s", key.Kind, key.Name, id)
		}
	}
	before := w.all()
	w.pass()
	w.Expect(w.all()).To(Equal(before))

	w.members["east"].expire = w.now.Add(6 * 24 * time.Hour)
	w.pass()
	w.Expect(w.kafka().Status.Conditions).
		To(ContainElement(And(HaveField("Reason", "CredentialsExpire"), HaveField("Message", ContainSubstring("cluster 'east'")))))
	w.members["east"].refused = "the Secret has changed, but the previous credentials stay in use"
	w.pass()
	w.Expect(w.kafka().Status.Conditions).To(ContainElement(And(HaveField("Reason", "CredentialsRefused"),
		HaveField("Message", "cluster 'east': the Secret has changed, but the previous credentials stay in use"))))
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

func TestAKubernetesClusterThatIsAwayIsLeftAsItIs(t *testing.T) {
	w := newStretchedWorld(t)
	w.form(v1.Listener{Name: "lb", Port: 9094, Type: v1.ListenerLoadBalancer, TLS: true})
	before := w.all()
	voters := w.setting("east", "my-cluster-east-1", "controller.quorum.voters")
	var known []string
	for _, l := range w.kafka().Status.Listeners {
		known = append(known, l.BootstrapServers)
	}
	w.Expect(known).To(ContainElement(ContainSubstring("west.example.com:9094")))
	secret := &corev1.Secret{}
	w.get(secret, "my-cluster-west-2")
	certificate := secret.ResourceVersion
	w.members["west"].lost = true
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "ConnectivityError"),
		HaveField("Message", ContainSubstring("Cannot connect to cluster 'west': connection refused. Please check kubeconfig and network "+
			"connectivity."))))
	k := w.kafka()
	w.Expect(k.Status.Conditions).To(ContainElement(And(HaveField("Type", "Degraded"), HaveField("Reason", "RemoteClusterUnreachable"))))
	w.Expect(k.Status.StretchClusters[2]).
		To(And(HaveField("Name", "west"), HaveField("State", v1.StretchClusterUnknown), HaveField("NodeIDs", []int32{2}),
			HaveField("ReadyNodes", BeNil()), HaveField("LastSeenTime", Not(BeNil()))))

	poolReady := func() []v1.Condition {
		pool := &v1.KafkaNodePool{}
		w.get(pool, "west")
		return pool.Status.Conditions
	}
	w.Expect(poolReady()).To(ConsistOf(And(HaveField("Type", "Ready"), HaveField("Status", "False"),
		HaveField("Reason", "ConnectivityError"))))
	w.Expect(k.Status.Conditions).NotTo(ContainElement(HaveField("Reason", "ListenerNotReady")))

	// Clients may still reach west, and no node gets another certificate.
	addresses := func() (all []string) {
		for _, l := range w.kafka().Status.Listeners {
			all = append(all, l.BootstrapServers)
		}
		return all
	}
	w.Expect(addresses()).To(Equal(known))
	w.get(secret, "my-cluster-west-2")
	w.Expect(secret.ResourceVersion).To(Equal(certificate))

	// The operator still applies a user's change to the other clusters. All nodes keep west's controller as a voter.
	k.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.hours": {Raw: []byte(`"1"`)}}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.pass()
	w.Expect(w.setting("east", "my-cluster-east-1", "log.retention.hours")).To(Equal("1"))
	w.Expect(w.setting("east", "my-cluster-east-1", "controller.quorum.voters")).To(Equal(voters))
	w.Expect(w.setting("central", "my-cluster-central-0", "controller.quorum.voters")).To(Equal(voters))
	w.Expect(w.all()["west"]).To(Equal(before["west"]))

	// The user deletes west's pool: the operator changes nothing for that while west is unreachable.
	pool := &v1.KafkaNodePool{}
	w.get(pool, "west")
	w.Expect(w.k8s.Delete(t.Context(), pool)).To(Succeed())
	w.pass()
	w.Expect(w.setting("east", "my-cluster-east-1", "controller.quorum.voters")).To(Equal(voters))
	w.create(poolIn("west", "west", 1, v1.RoleBroker, v1.RoleController))

	w.members["west"].lost = false
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(poolReady()).To(ConsistOf(And(HaveField("Type", "Ready"), HaveField("Status", "True"))))
	w.Expect(w.setting("west", "my-cluster-west-2", "log.retention.hours")).To(Equal("1"))
	w.Expect(w.setting("west", "my-cluster-west-2", "controller.quorum.voters")).To(Equal(voters))
}

func TestTheLossOfAKubernetesClusterAndItsReturnAreEvents(t *testing.T) {
	w := newStretchedWorld(t)
	w.r.OperatorVersion = "1"
	w.form()
	events := func() []string {
		w.events = nil
		w.pass()
		w.pass()
		return w.events
	}
	const lost = "ConnectivityError: Cannot connect to cluster 'west': connection refused. Please check kubeconfig and network connectivity."
	w.members["west"].lost = true
	w.Expect(events()).To(ConsistOf(lost))
	w.members["west"].lost = false
	w.Expect(events()).To(ConsistOf("RemoteClusterConnected: Cluster 'west' is connected again"))
	w.Expect(events()).To(BeEmpty())
}

func TestAClusterThatHoldsUpTheFirstPassIsOneEvent(t *testing.T) {
	w := newStretchedWorld(t)
	w.r.OperatorVersion = "1"
	w.members["east"].lost = true
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
	w.pass()
	w.pass()
	w.Expect(w.events).To(ConsistOf(HavePrefix("ConnectivityError: Cannot connect to cluster 'east'")))
}

func TestAnUnlistedClusterCountsAsUnreachable(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	west, before := w.members["west"], w.all()
	voters := w.setting("east", "my-cluster-east-1", "controller.quorum.voters")
	delete(w.members, "west")
	w.configure("log.retention.hours", "1")
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "ConnectivityError"), HaveField("Message", ContainSubstring(
		"Cannot connect to cluster 'west': the cluster is no longer configured in STRIMZI_REMOTE_KUBE_CONFIG"))))
	for id, pod := range map[string]string{"central": "my-cluster-central-0", "east": "my-cluster-east-1"} {
		w.Expect(w.setting(id, pod, "log.retention.hours")).To(Equal("1"), "the others go on")
		w.Expect(w.setting(id, pod, "controller.quorum.voters")).To(Equal(voters))
	}
	pool := &v1.KafkaNodePool{}
	w.get(pool, "east")
	pool.Annotations[v1.AnnotationTargetCluster] = "west"
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(HaveField("Reason", "TargetClusterChangeForbidden"))
	w.get(pool, "east")
	pool.Annotations[v1.AnnotationTargetCluster] = "east"
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())

	w.members["west"] = west
	w.Expect(w.all()["west"]).To(Equal(before["west"]))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.setting("west", "my-cluster-west-2", "log.retention.hours")).To(Equal("1"))
}

func TestAPausedKafkaIsHeldInEachKubernetesCluster(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	held := func() (ids []string) {
		for _, id := range []string{"central", "east", "west"} {
			set := &core.StrimziPodSet{}
			w.in(id, set, "my-cluster-"+id)
			if set.Annotations[core.AnnotationHold] == model.HoldPaused {
				ids = append(ids, id)
			}
		}
		return ids
	}
	pause := func(value string) {
		k := w.kafka()
		k.Annotations[v1.AnnotationPauseReconciliation] = value
		w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	}
	w.members["west"].lost = true
	pause("true")
	w.pass()
	w.Expect(held()).To(Equal([]string{"central", "east"}))
	w.Expect(w.kafka().Status.Conditions).To(ContainElement(HaveField("Type", "ReconciliationPaused")))
	w.members["west"].lost = false
	w.pass()
	w.Expect(held()).To(Equal([]string{"central", "east", "west"}))
	pause("false")
	w.settle()
	w.Expect(held()).To(BeEmpty())
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

func TestAnOperatorOfAnotherVersionElsewhereGetsNothingToDo(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	before := w.all()
	lease := &coordinationv1.Lease{}
	w.in("east", lease, heartbeat.LeaseName)
	lease.Annotations["kafka-operators.io/contract"] = "0"
	w.Expect(w.members["east"].Update(t.Context(), lease)).To(Succeed())
	k := w.kafka()
	k.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.hours": {Raw: []byte(`"1"`)}}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	var logged []string
	_, err := w.r.Reconcile(log.IntoContext(t.Context(), funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{})),
		w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(logged).To(ContainElement(And(ContainSubstring("contract 0"), Not(ContainSubstring(`"level"=`)))), "it is logged as an error")
	w.Expect(w.ready()).To(And(HaveField("Reason", "VersionMismatch"),
		HaveField("Message", ContainSubstring("has version 1 (contract 0), and this one has test (contract 2)"))))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	w.Expect(w.setting("west", "my-cluster-west-2", "log.retention.hours")).To(Equal("1"), "the others go on")

	w.Expect(w.members["east"].Delete(t.Context(), lease)).To(Succeed())
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.kafka().Status.Conditions).
		To(ContainElement(And(HaveField("Reason", "RemoteOperatorNotRunning"), HaveField("Message", ContainSubstring("In cluster 'east'")))))
}

func TestADeletionNeedsNoOperatorElsewhere(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	lease := &coordinationv1.Lease{}
	w.in("east", lease, heartbeat.LeaseName)
	lease.Annotations["kafka-operators.io/contract"] = "0" // an operator left it that was uninstalled long ago
	w.Expect(w.members["east"].Update(t.Context(), lease)).To(Succeed())
	k := w.kafka()
	w.Expect(w.k8s.Delete(t.Context(), k)).To(Succeed())
	w.collected()
	w.Expect(w.k8s.Get(t.Context(), client.ObjectKeyFromObject(k), k)).To(MatchError(apierrors.IsNotFound, "NotFound"))
}

func TestNothingIsMadeAtFirstWhileAKubernetesClusterIsAway(t *testing.T) {
	w := newStretchedWorld(t)
	w.members["east"].lost = true
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "ConnectivityError"),
		HaveField("Message", "Cannot connect to cluster 'east': connection refused. Please check kubeconfig and network connectivity.")))
	var secrets corev1.SecretList
	w.Expect(w.k8s.List(t.Context(), &secrets, client.InNamespace(w.namespace))).To(Succeed())
	w.Expect(secrets.Items).To(BeEmpty())
	w.members["east"].lost = false
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

func TestAKubernetesClusterThatIsAwayHidesNoContradiction(t *testing.T) {
	w := newStretchedWorld(t)
	w.members["east"].lost = true
	place := func(annotations map[string]string, key, value string) map[string]string {
		if value == "" {
			delete(annotations, key)
			return annotations
		}
		return map[string]string{key: value}
	}
	w.create(newKafka(), nodePool("a", 1, v1.RoleController), nodePool("b", 1, v1.RoleBroker))
	before := w.made()
	for _, c := range []struct{ kafka, a, b, reason, message string }{
		{"true", "", "", "MissingTargetCluster", "The following node pools are missing required annotation " +
			"'strimzi.io/stretch-cluster-alias': a, b. All node pools must specify a target cluster when stretch mode is enabled."},
		{"true", "central", "", "MissingTargetCluster", "The following node pools are missing required annotation " +
			"'strimzi.io/stretch-cluster-alias': b. All node pools must specify a target cluster when stretch mode is enabled."},
		{"true", "central", "north", "InvalidTargetCluster", "The following target cluster IDs are not configured: north. Valid cluster IDs " +
			"are: central, east, west. Please check STRIMZI_CENTRAL_CLUSTER_ID and STRIMZI_REMOTE_KUBE_CONFIG."},
		{"", "central", "east", "MissingStretchAnnotation", "Kafka CR 'my-cluster' is missing required annotation " +
			"'strimzi.io/enable-stretch-cluster: true' but the following node pools have stretch cluster annotations: a, b. Either add the " +
			"annotation to the Kafka CR or remove stretch annotations from all node pools."},
		{"true", "central", "east", "ConnectivityError",
			"Cannot connect to cluster 'east': connection refused. Please check kubeconfig and network connectivity."},
	} {
		k := w.kafka()
		k.Annotations = place(k.Annotations, v1.AnnotationStretch, c.kafka)
		w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
		for name, alias := range map[string]string{"a": c.a, "b": c.b} {
			pool := &v1.KafkaNodePool{}
			w.get(pool, name)
			pool.Annotations = place(pool.Annotations, v1.AnnotationTargetCluster, alias)
			w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
		}
		w.pass()
		w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", c.reason), HaveField("Message", c.message)))
		w.Expect(w.made()).To(Equal(before))
	}
	w.members["east"].lost = false
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

// anchorOfAnother creates the anchor of a Kafka of the same namespace and name, whose central cluster is another one.
func (w *stretchedWorld) anchorOfAnother(cluster string) *corev1.ConfigMap {
	w.t.Helper()
	other := ownership.Owner{ID: string(uuid.NewUUID()), Epoch: 3, Holder: ownership.Holder{Central: "elsewhere", Cluster: "a", Object: "b"}}
	anchor := model.Anchor(model.Input{Kafka: newKafka(), At: cluster},
		map[string]string{"holder": other.Holder.String(), "central-cluster-id": "elsewhere"})
	anchor.Namespace = w.namespace
	ownership.Mark(anchor, "ConfigMap", other)
	w.Expect(w.members[cluster].Create(w.t.Context(), anchor)).To(Succeed())
	return anchor
}

func TestNothingIsGeneratedWhereAKafkaOfTheSameNameHasNodes(t *testing.T) {
	for name, cluster := range map[string]string{"in a cluster that no pool names": "west", "in the central cluster": "central"} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.anchorOfAnother(cluster)
			w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
			before := w.all()
			w.pass()
			w.pass()
			w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "OwnershipConflict"),
				HaveField("Message", ContainSubstring("delete nothing there"))))
			w.Expect(w.kafka().Status.ClusterID).To(BeEmpty())
			for id, objects := range before {
				if id != "central" {
					w.Expect(w.all()[id]).To(Equal(objects))
				}
			}
			var secrets corev1.SecretList
			w.Expect(w.k8s.List(t.Context(), &secrets, client.InNamespace(w.namespace))).To(Succeed())
			w.Expect(secrets.Items).To(BeEmpty())
		})
	}
}

func TestAKafkaOfTheSameNameInAnotherClusterIsLeftAlone(t *testing.T) {
	w := newStretchedWorld(t)
	anchor := w.anchorOfAnother("east")
	before := w.all()
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "OwnershipConflict")))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	// An anchor without marks does not belong to this Kafka either.
	anchor.Labels, anchor.Annotations = nil, nil
	w.Expect(w.members["east"].Update(t.Context(), anchor)).To(Succeed())
	before = w.all()
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "OwnershipConflict")))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
}

func TestAForeignAnchorStopsItsKubernetesClusterAlone(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	voters := w.setting("west", "my-cluster-west-2", "controller.quorum.voters")
	anchor := &corev1.ConfigMap{}
	w.in("east", anchor, "my-cluster-kafka-gc")
	own := anchor.DeepCopy()
	other := ownership.Owner{ID: string(uuid.NewUUID()), Epoch: 1, Holder: ownership.Holder{Central: "elsewhere", Cluster: "a", Object: "b"}}
	ownership.Mark(anchor, "ConfigMap", other)
	anchor.Data[anchorHolder] = other.Holder.String()
	w.Expect(w.members["east"].Update(t.Context(), anchor)).To(Succeed())
	before := w.all()
	w.configure("log.retention.hours", "1")
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "OwnershipConflict"), HaveField("Message", And(
		ContainSubstring("cluster 'east' has another Kafka"), ContainSubstring("the operator changes nothing there.")))))
	w.Expect(w.kafka().Status.StretchClusters[1]).To(And(HaveField("Name", "east"), HaveField("State", v1.StretchClusterUnknown),
		HaveField("NodeIDs", []int32{1})))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	for id, pod := range map[string]string{"central": "my-cluster-central-0", "west": "my-cluster-west-2"} {
		w.Expect(w.setting(id, pod, "log.retention.hours")).To(Equal("1"), id)
		w.Expect(w.setting(id, pod, "controller.quorum.voters")).To(Equal(voters))
	}

	// An owner's id that was changed by mistake makes all of them foreign.
	k := w.kafka()
	id := k.Annotations[ownership.MarkID]
	k.Annotations[ownership.MarkID] = "mistaken"
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.configure("log.retention.hours", "2")
	made := w.made()
	w.pass()
	w.Expect(w.ready()).To(HaveField("Reason", "OwnershipConflict"))
	w.Expect(w.made()).To(Equal(made))
	k = w.kafka()
	k.Annotations[ownership.MarkID] = id
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())

	w.in("east", anchor, "my-cluster-kafka-gc")
	anchor.Annotations, anchor.Data = own.Annotations, own.Data
	w.Expect(w.members["east"].Update(t.Context(), anchor)).To(Succeed())
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.setting("east", "my-cluster-east-1", "log.retention.hours")).To(Equal("2"))

	w.in("east", anchor, "my-cluster-kafka-gc")
	ownership.Mark(anchor, "ConfigMap", other)
	w.Expect(w.members["east"].Update(t.Context(), anchor)).To(Succeed())
	w.follow("west")
	w.configure("log.retention.hours", "3")
	made = w.made()
	w.pass()
	w.Expect(w.ready()).To(HaveField("Reason", "CentralFenced"), "that stops all")
	w.Expect(w.made()).To(Equal(made))
}

func TestWhatAnEarlierKafkaLeftIsNamed(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	first := w.kafka()
	first.Finalizers = nil
	w.Expect(w.k8s.Update(t.Context(), first)).To(Succeed())
	w.Expect(w.k8s.Delete(t.Context(), first)).To(Succeed())
	second := stretchedKafka()
	// as after a start in Kubernetes clusters without objects of an earlier Kafka
	second.Annotations[ownership.MarkID], second.Annotations[v1.AnnotationOwnerEpoch] = string(uuid.NewUUID()), "1"
	w.create(second)
	before := w.all()
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "OwnershipConflict"),
		HaveField("Message", MatchRegexp(`cluster '(east|west)' has objects of an earlier Kafka \S+/my-cluster .* delete that ConfigMap`))))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	w.Expect(w.all()["west"]).To(Equal(before["west"]))
}

func TestAStretchedKafkaIsDeletedEverywhere(t *testing.T) {
	w := newStretchedWorld(t)
	registry := prometheus.NewRegistry()
	w.r.Metrics = metrics.New(registry, "")
	w.form()
	w.Expect(gaugeIn(registry, "kafka_operators_kafka_ready")).To(Equal(1.0))
	w.members["east"].lost, w.members["west"].lost = true, true
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.r.conflicts.meet(client.ObjectKeyFromObject(w.kafka()), topology.Home, errBehind, w.now)
	w.pass()
	w.Expect(w.r.conflicts.met).To(BeEmpty(), "a later conflict does not count as one in a row")
	w.Expect(w.ready()).To(HaveField("Message", And(HavePrefix("The deletion waits for cluster 'east'"),
		ContainSubstring("It waits for cluster 'west'"))))
	w.members["east"].lost = false
	w.pass()
	w.Expect(gaugeIn(registry, "kafka_operators_kafka_ready")).To(Equal(0.0))
	w.Expect(w.events).To(ContainElement(ContainSubstring("The deletion waits for cluster 'west'")))
	k := w.kafka()
	w.Expect(k.Finalizers).To(ContainElement(v1.FinalizerStretch))
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Message", ContainSubstring("The deletion waits for cluster 'west'"))))
	gone := &corev1.ConfigMap{}
	w.Expect(w.members["east"].Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-kafka-gc"}, gone)).
		To(MatchError(apierrors.IsNotFound, "NotFound"))
	w.members["west"].lost = false
	w.pass()
	w.Expect(w.members["west"].Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-kafka-gc"}, gone)).
		To(MatchError(apierrors.IsNotFound, "NotFound"))
	w.Expect(w.ready()).To(And(HaveField("Reason", "DeletionPending"), HaveField("Message", HavePrefix("The deletion waits until Kubernetes "+
		"has deleted the objects in cluster 'east' (ConfigMap my-cluster-east-1"))), "no garbage collector runs")
	w.collect("east")
	w.pass()
	inWest := HaveField("Message", HavePrefix("The deletion waits until Kubernetes has deleted the objects in cluster 'west' ("))
	w.Expect(w.ready()).To(inWest)
	record := &corev1.ConfigMap{}
	w.get(record, model.RecordName("my-cluster"))
	record.Data[recordKey] = ""
	w.Expect(w.k8s.Update(t.Context(), record)).To(Succeed())
	k = w.kafka()
	k.Annotations = nil
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(inWest, "nothing but these objects tells where the Kafka was")
	w.collect("west")
	w.pass()
	w.Expect(w.k8s.Get(t.Context(), client.ObjectKeyFromObject(k), k)).To(MatchError(apierrors.IsNotFound, "NotFound"))
}

// collect does what Kubernetes' garbage collector does in a remote Kubernetes cluster without an anchor.
func (w *stretchedWorld) collect(id string) {
	w.t.Helper()
	w.Expect(w.anchored(id)).To(BeFalse())
	w.collectIn(w.members[id].Client)
}

// collectIn does it in any Kubernetes cluster.
func (w *stretchedWorld) collectIn(k8s client.Client) {
	w.t.Helper()
	has, err := facts.Read(w.t.Context(), k8s, w.request().NamespacedName)
	w.Expect(err).NotTo(HaveOccurred())
	end := func(o client.Object) {
		o.SetFinalizers(nil) // no controller removes those of volumes
		w.Expect(k8s.Update(w.t.Context(), o)).To(Succeed())
		w.Expect(k8s.Delete(w.t.Context(), o, client.GracePeriodSeconds(0))).To(Succeed())
	}
	for _, o := range has.Objects {
		if len(o.GetOwnerReferences()) > 0 {
			end(o)
		}
	}
	for _, pod := range has.Pods {
		end(pod)
	}
}

// collected passes once before the garbage collectors have run, and once after it.
func (w *stretchedWorld) collected() {
	w.t.Helper()
	w.pass()
	w.collect("east")
	w.collect("west")
	w.pass()
}

func TestADeletionThatKeepsObjectsKeepsThemElsewhere(t *testing.T) {
	// orphaned does what Kubernetes' garbage collector does before the operator comes to it.
	orphaned := func(w *stretchedWorld) {
		record := &corev1.ConfigMap{}
		w.get(record, model.RecordName("my-cluster"))
		record.OwnerReferences = nil
		w.Expect(w.k8s.Update(t.Context(), record)).To(Succeed())
		k := w.kafka()
		k.Finalizers = []string{v1.FinalizerStretch}
		w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	}
	for name, before := range map[string]func(*stretchedWorld){
		"the garbage collector works": func(*stretchedWorld) {}, "the garbage collector is done": orphaned,
		"a cluster was away meanwhile": func(w *stretchedWorld) {
			w.members["east"].lost = true
			w.members["west"].lost = true
			w.pass()
			w.Expect(w.ready()).To(HaveField("Message", ContainSubstring("The deletion waits for cluster 'east'")))
			w.members["east"].lost = false
			w.members["west"].lost = false
			orphaned(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.form()
			w.Expect(w.k8s.Delete(t.Context(), w.kafka(), client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
			w.Expect(w.kafka().Finalizers).To(ContainElement(metav1.FinalizerOrphanDependents))
			before(w)
			w.pass()
			for _, id := range []string{"east", "west"} {
				anchor := &corev1.ConfigMap{}
				w.in(id, anchor, "my-cluster-kafka-gc")
				w.Expect(anchor.DeletionTimestamp).NotTo(BeNil())
				w.Expect(anchor.Finalizers).To(ConsistOf(metav1.FinalizerOrphanDependents), "what it owns is kept in cluster "+id)
			}
			k := &v1.Kafka{}
			err := w.k8s.Get(t.Context(), w.request().NamespacedName, k)
			w.Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
			w.Expect(k.Finalizers).NotTo(ContainElement(v1.FinalizerStretch))
		})
	}
}

// follow makes another central cluster the owner of the Kafka in a Kubernetes cluster.
func (w *stretchedWorld) follow(id string) {
	w.t.Helper()
	anchor := &corev1.ConfigMap{}
	w.in(id, anchor, "my-cluster-kafka-gc")
	next := ownership.Owner{ID: w.kafka().Annotations[ownership.MarkID], Epoch: 2,
		Holder: ownership.Holder{Central: "next", Cluster: "a", Object: "b"}}
	ownership.Mark(anchor, "ConfigMap", next)
	anchor.Data[anchorHolder] = next.Holder.String()
	w.Expect(w.members[id].Update(w.t.Context(), anchor)).To(Succeed())
}

func TestACentralClusterThatWasFollowedTouchesNothing(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.follow("east")
	before := w.all()
	k := w.kafka()
	k.Spec.Kafka.Config = map[string]v1.ConfigValue{"log.retention.hours": {Raw: []byte(`"1"`)}}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "CentralFenced"), HaveField("Message", ContainSubstring("next:a:b"))))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	w.Expect(w.all()["west"]).To(Equal(before["west"]), "not even where nobody else is yet")

	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.pass()
	w.Expect(w.k8s.Get(t.Context(), client.ObjectKeyFromObject(k), k)).To(MatchError(apierrors.IsNotFound, "NotFound"))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	w.Expect(w.all()["west"]).To(Equal(before["west"]))
}

func TestACentralClusterKeepsItsName(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	before, name := w.all(), w.r.Stretching.Central
	renamed := And(HaveField("Reason", "CentralClusterRenamed"), HaveField("Message", HaveSuffix(
		"this one is called 'other' now: the operator changes nothing. Set STRIMZI_CENTRAL_CLUSTER_ID back to '"+name+"'")))
	w.r.Stretching.Central = "other"
	w.pass()
	w.Expect(w.ready()).To(renamed)
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(renamed, "the objects elsewhere are not forgotten")
	for _, id := range []string{"east", "west"} {
		w.Expect(w.all()[id]).To(Equal(before[id]))
	}
	w.r.Stretching.Central = name
	w.pass()
	for _, id := range []string{"east", "west"} {
		w.Expect(w.anchored(id)).To(BeFalse())
	}
}

func TestADeletionSaysHowToLeaveWhatSomebodyElseTook(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	anchor := &corev1.ConfigMap{}
	w.in("east", anchor, "my-cluster-kafka-gc")
	ownership.Mark(anchor, "ConfigMap", ownership.Owner{ID: string(uuid.NewUUID()), Epoch: 1,
		Holder: ownership.Holder{Central: "elsewhere", Cluster: "a", Object: "b"}})
	w.Expect(w.members["east"].Update(t.Context(), anchor)).To(Succeed())
	before := w.all()
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "OwnershipConflict"),
		HaveField("Message", And(ContainSubstring("remove the finalizer strimzi.io/stretch-cluster from it"),
			ContainSubstring("To keep them, delete ConfigMap my-cluster-kafka-gc there first")))))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	w.Expect(w.all()["west"]).To(Equal(before["west"]))
}

func TestADeletionSaysWhatIsNotDeletedWithoutItsFinalizer(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	delete(w.members, "west")
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(HaveField("Message", And(ContainSubstring("after that cluster can be reached"), HaveSuffix(
		". Those in cluster 'west' stay until STRIMZI_REMOTE_KUBE_CONFIG lists it again, or you delete ConfigMap my-cluster-kafka-gc there. "+
			"To wait for it no longer, annotate the Kafka kafka-operators.io/given-up-clusters: west"))))
	w.r.Stretching = nil
	w.pass()
	w.Expect(w.ready()).To(HaveField("Message", HaveSuffix("To delete the Kafka without waiting, remove the finalizer "+
		"strimzi.io/stretch-cluster from it: its objects in other Kubernetes clusters stay until the operator is configured for these again, "+
		"or you delete ConfigMap my-cluster-kafka-gc there")))
}

func TestWhatAKafkaLeftWithoutItsFinalizerIsSwept(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	k := w.kafka()
	k.Finalizers = nil
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.Expect(w.k8s.Delete(t.Context(), k)).To(Succeed())
	anchor := &corev1.ConfigMap{}
	w.Expect(w.pass().RequeueAfter).To(Equal(2 * w.r.Interval))
	w.in("east", anchor, "my-cluster-kafka-gc")
	w.now = w.now.Add(2 * w.r.Interval)
	// An anchor of another owner stays.
	foreign := &corev1.ConfigMap{}
	w.in("west", foreign, "my-cluster-kafka-gc")
	foreign.Data["holder"] = "other:" + foreign.Data["kafka-uid"] + ":x"
	w.Expect(w.members["west"].Update(t.Context(), foreign)).To(Succeed())
	w.pass()
	w.Expect(w.members["east"].Get(t.Context(), client.ObjectKeyFromObject(anchor), anchor)).To(MatchError(apierrors.IsNotFound, "NotFound"))
	w.in("west", foreign, "my-cluster-kafka-gc")
}

func TestAKafkaThatIsDeletedAgainIsSweptNoEarlier(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	backup := w.kafka()
	w.unfinished()
	w.Expect(w.pass().RequeueAfter).To(Equal(2 * w.r.Interval))
	backup.ResourceVersion, backup.UID = "", ""
	w.Expect(w.k8s.Create(t.Context(), backup)).To(Succeed())
	w.settle()
	w.now = w.now.Add(24 * time.Hour)
	w.unfinished()
	w.Expect(w.pass().RequeueAfter).To(Equal(2 * w.r.Interval))
	w.in("east", &corev1.ConfigMap{}, "my-cluster-kafka-gc")
}

// unfinished deletes the Kafka without its finalizer.
func (w *stretchedWorld) unfinished() {
	w.t.Helper()
	k := w.kafka()
	k.Finalizers = nil
	w.Expect(w.k8s.Update(w.t.Context(), k)).To(Succeed())
	w.Expect(w.k8s.Delete(w.t.Context(), k)).To(Succeed())
}

func (w *stretchedWorld) anchored(id string) bool {
	w.t.Helper()
	err := w.members[id].Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-kafka-gc"}, &corev1.ConfigMap{})
	w.Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
	return err == nil
}

func TestASweepDoesNotStopAtAKubernetesClusterThatFails(t *testing.T) {
	failed := errors.New("no quorum")
	for name, fails := range map[string]interceptor.Funcs{
		"a read fails": {Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return failed
		}},
		"a deletion fails": {Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return failed }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.form()
			w.unfinished()
			w.pass()
			w.now = w.now.Add(2 * w.r.Interval)
			k8s, is := w.members["east"].Client.(client.WithWatch)
			w.Expect(is).To(BeTrue())
			w.members["east"].Client = interceptor.NewClient(k8s, fails)
			_, err := w.r.Reconcile(t.Context(), w.request())
			w.Expect(err).To(MatchError(ContainSubstring("cluster 'east'")))
			w.Expect(w.anchored("west")).To(BeFalse(), "the sweep goes on with it")
			w.members["east"].Client = k8s
			w.pass()
			w.Expect(w.anchored("east")).To(BeFalse(), "its grace period is over")
		})
	}
}

func TestASweepGoesOnWhenAKubernetesClusterIsBack(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.unfinished()
	w.members["west"].lost = true
	w.Expect(w.pass().RequeueAfter).To(Equal(2*w.r.Interval), "for east")
	w.now = w.now.Add(2 * w.r.Interval)
	w.pass()
	w.Expect(w.anchored("east")).To(BeFalse())
	w.Expect(w.pass().RequeueAfter).To(BeZero(), "no timer runs while west is away")
	woken := func() (requests []reconcile.Request) {
		changes := make(chan event.GenericEvent)
		go func() {
			defer close(changes)
			w.r.wakeLeft(t.Context(), changes)
		}()
		for e := range changes {
			if request := (reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)}); request == w.request() {
				requests = append(requests, request)
			}
		}
		return requests
	}
	w.Expect(woken()).To(BeEmpty())
	w.members["west"].lost = false
	for range 2 {
		w.Expect(woken()).NotTo(BeEmpty(), "its anchor tells of the Kafka")
		w.pass()
		w.now = w.now.Add(2 * w.r.Interval)
	}
	w.Expect(w.anchored("west")).To(BeFalse())
	w.Expect(woken()).To(BeEmpty())
	w.Expect(w.pass().RequeueAfter).To(BeZero())
}

func TestAPoolDoesNotMoveToAnotherKubernetesCluster(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	before := w.all()
	pool := &v1.KafkaNodePool{}
	w.get(pool, "east")
	pool.Annotations[v1.AnnotationTargetCluster] = "west"
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.pass()
	w.Expect(w.ready()).To(And(HaveField("Reason", "TargetClusterChangeForbidden"), HaveField("Message", ContainSubstring(
		"KafkaNodePool east has its nodes or volumes in cluster 'east' and can't be moved to cluster 'west'"))))
	w.Expect(w.all()["east"]).To(Equal(before["east"]))
	w.Expect(w.all()["west"]).To(Equal(before["west"]))
}

func TestAPoolThatLosesItsAnnotationIsNotMoved(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	before := w.made()
	for name, lose := range map[string]func(map[string]string){
		"deleted": func(a map[string]string) { delete(a, v1.AnnotationTargetCluster) },
		"emptied": func(a map[string]string) { a[v1.AnnotationTargetCluster] = "" },
	} {
		pool := &v1.KafkaNodePool{}
		w.get(pool, "east")
		lose(pool.Annotations)
		w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
		w.pass()
		w.Expect(w.ready()).To(And(HaveField("Reason", "MissingTargetCluster"), HaveField("Message", "The following node pools are missing "+
			"required annotation 'strimzi.io/stretch-cluster-alias': east. All node pools must specify a target cluster when stretch mode is "+
			"enabled.")), name)
		w.Expect(w.made()).To(Equal(before), name)
		w.get(pool, "east")
		pool.Annotations = map[string]string{v1.AnnotationTargetCluster: "east"}
		w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	}
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.made()).To(Equal(before))
}

func TestAKafkaInOneKubernetesClusterIsStretched(t *testing.T) {
	w := newStretchedWorld(t)
	w.create(newKafka(), nodePool("a", 3, v1.RoleBroker, v1.RoleController))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	inside := w.setting("central", "my-cluster-a-0", "controller.quorum.voters")
	w.Expect(inside).To(ContainSubstring(".svc.cluster.local:9090"))

	k := w.kafka()
	k.Annotations = map[string]string{v1.AnnotationStretch: "true"}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	pool := &v1.KafkaNodePool{}
	w.get(pool, "a")
	pool.Annotations = map[string]string{v1.AnnotationTargetCluster: "central"}
	w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
	w.create(poolIn("east", "b", 1, v1.RoleBroker))

	// As long as a node's certificate lacks its new address, no node's configuration has that address.
	for range 4 {
		w.pass()
	}
	w.Expect(w.setting("central", "my-cluster-a-0", "controller.quorum.voters")).To(Equal(inside))
	set := &core.StrimziPodSet{}
	w.in("east", set, "my-cluster-b")
	w.Expect(set.Spec.Pods).To(BeEmpty(), "a node elsewhere could not reach the controllers")

	// The active controller tells nodes its address: none starts elsewhere before all controllers run with their new ones.
	for w.setting("central", "my-cluster-a-0", "controller.quorum.voters") == inside {
		w.pods()
		w.pass()
	}
	w.pass()
	w.in("east", set, "my-cluster-b")
	w.Expect(set.Spec.Pods).To(BeEmpty(), "the controllers are not restarted yet")
	w.settle()
	w.Expect(w.setting("central", "my-cluster-a-0", "controller.quorum.voters")).To(MatchRegexp(`^0@192\.0\.2\.1:3`))
	w.in("east", set, "my-cluster-b")
	w.Expect(set.Spec.Pods).To(HaveLen(1))
	w.Expect(w.ready()).To(HaveField("Status", "True"))
}

func TestNodesAreReachedWhereTheyWereUntilAllAreRestarted(t *testing.T) {
	w := newStretchedWorld(t)
	w.create(stretchedKafka(), poolIn("central", "a", 3, v1.RoleBroker, v1.RoleController))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.setting("central", "my-cluster-a-0", "controller.quorum.voters")).To(ContainSubstring("192.0.2.1"))
	secret := &corev1.Secret{}
	w.get(secret, "my-cluster-a-0")
	certificate := secret.Data["my-cluster-a-0.crt"]
	w.unstretch("a")
	for range 4 {
		w.pass() // and no pod is restarted
	}
	w.Expect(w.setting("central", "my-cluster-a-0", "controller.quorum.voters")).To(ContainSubstring("my-cluster-a-0.my-"))
	w.get(&corev1.Service{}, "my-cluster-a-0-nodeport")
	w.get(secret, "my-cluster-a-0")
	w.Expect(secret.Data["my-cluster-a-0.crt"]).To(Equal(certificate))
	w.Expect(w.kafka().Finalizers).To(ContainElement(v1.FinalizerStretch))

	w.settle()
	w.Expect(w.kafka().Finalizers).To(BeEmpty())
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.k8s.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-a-0-nodeport"}, &corev1.Service{})).
		To(MatchError(apierrors.IsNotFound, "NotFound"))
}

func TestWhatMakesTheLossOfAKubernetesClusterAnOutageIsNamed(t *testing.T) {
	w := newStretchedWorld(t)
	k := stretchedKafka()
	k.Spec.Kafka.Rack = &v1.Rack{TopologyKey: "topology.kubernetes.io/zone"}
	w.create(k, poolIn("central", "a", 1, v1.RoleController), poolIn("east", "b", 2, v1.RoleController, v1.RoleBroker))
	w.pass()
	w.Expect(w.kafka().Status.Conditions).To(ContainElements(
		And(HaveField("Reason", "QuorumTopology"), HaveField("Message", HavePrefix("2 of 3 controllers are in cluster 'east'"))),
		And(HaveField("Reason", "StretchRack"), HaveField("Message", ContainSubstring("topology.kubernetes.io/zone")))))
	w.Expect(w.kafka().Status.Conditions).NotTo(ContainElement(HaveField("Message", HavePrefix("1 of 3 controllers"))))
}

func TestRacksOfAStretchedKafka(t *testing.T) {
	zones := &v1.Rack{TopologyKey: "topology.kubernetes.io/zone"}
	room := &v1.Rack{TopologyKey: "example.com/room"}
	const file = "${strimzidir:/opt/kafka/placement:rack}"
	for _, c := range []struct {
		name, annotation string
		rack             *v1.Rack
		want             string
		waits            []string
	}{
		{name: "the Kubernetes cluster by default", want: "east"},
		{name: "spec.kafka.rack", rack: room, want: file, waits: []string{room.TopologyKey}},
		{name: "zone", annotation: v1.StretchRackZone, want: file, waits: []string{zones.TopologyKey}},
		{name: "zone, of another label", annotation: v1.StretchRackZone, rack: room, want: file, waits: []string{room.TopologyKey}},
		{name: "alias-zone", annotation: v1.StretchRackAliasZone, want: "east-" + file, waits: []string{zones.TopologyKey}},
		{name: "alias-zone, of an environment variable", annotation: v1.StretchRackAliasZone,
			rack: &v1.Rack{Type: v1.RackEnvironmentVariable, EnvVarName: "RACK"}, want: "east-${strimzienv:RACK}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newStretchedWorld(t)
			k := stretchedKafka()
			k.Spec.Kafka.Rack = c.rack
			if c.annotation != "" {
				k.Annotations[v1.AnnotationStretchRack] = c.annotation
			}
			w.create(k, poolIn("central", "a", 1, v1.RoleController), poolIn("east", "b", 1, v1.RoleBroker))
			w.settle()
			w.Expect(w.setting("east", "my-cluster-b-1", "broker.rack")).To(Equal(c.want))
			set := &core.StrimziPodSet{}
			w.in("east", set, "my-cluster-b")
			pods, err := set.DesiredPods()
			w.Expect(err).NotTo(HaveOccurred())
			facts, err := placement.Missing(&pods[0])
			w.Expect(err).NotTo(HaveOccurred())
			var waits []string
			for _, f := range facts {
				waits = append(waits, f.Label)
			}
			w.Expect(waits).To(Equal(c.waits))
			warns := ContainElement(HaveField("Reason", "StretchRack"))
			if c.rack == nil || c.annotation != "" {
				warns = Not(warns)
			}
			w.Expect(w.kafka().Status.Conditions).To(warns)
		})
	}
}

func TestAStretchedKafkaMayBeInTheCentralKubernetesClusterAlone(t *testing.T) {
	w := newStretchedWorld(t)
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController))
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.kafka().Status.Conditions).To(ContainElement(And(HaveField("Type", "StretchCluster"),
		HaveField("Message", "Stretch cluster active: provider=nodeport, central=central, clusters=central"))))
}

func TestAStretchedKafkaIsInOneKubernetesClusterAgain(t *testing.T) {
	w := newStretchedWorld(t)
	w.formTwo()
	pool := &v1.KafkaNodePool{}
	w.get(pool, "b")
	w.Expect(w.k8s.Delete(t.Context(), pool)).To(Succeed())
	w.brokers.replicas = map[int32]int{0: 1, 1: 1}
	w.settle()
	set := &core.StrimziPodSet{}
	w.in("east", set, "my-cluster-b")
	w.Expect(set.Spec.Pods).To(HaveLen(1), "its broker holds replicas")
	w.brokers.replicas = map[int32]int{0: 1, 1: 0}
	w.settle()
	w.Expect(w.members["east"].Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-kafka-gc"}, &corev1.ConfigMap{})).
		To(MatchError(apierrors.IsNotFound, "NotFound"))
	w.unstretch("a")
	w.settle()
	w.Expect(w.kafka().Finalizers).To(BeEmpty())
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	w.Expect(w.k8s.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: model.RecordName("my-cluster")}, &corev1.ConfigMap{})).
		To(MatchError(apierrors.IsNotFound, "NotFound"))
}

func TestAnOutageOnTheWayBackRestartsNoNode(t *testing.T) {
	w := newStretchedWorld(t)
	w.formTwo()
	w.brokers.replicas = map[int32]int{0: 1, 1: 0}
	w.Expect(w.k8s.Delete(t.Context(), w.pool("b"))).To(Succeed())
	w.settle()
	w.in("east", &corev1.PersistentVolumeClaim{}, "data-my-cluster-b-1")
	stretched := w.setting("central", "my-cluster-a-0", "controller.quorum.voters")
	w.unstretch("a")
	w.pass()
	voters := w.setting("central", "my-cluster-a-0", "controller.quorum.voters")
	w.Expect(voters).NotTo(Equal(stretched))
	w.members["east"].lost = true
	w.settle()
	w.Expect(w.setting("central", "my-cluster-a-0", "controller.quorum.voters")).To(Equal(voters))
	w.Expect(w.kafka().Finalizers).NotTo(BeEmpty(), "what is in east is unknown")
	w.members["east"].lost = false
	w.settle()
	w.Expect(w.kafka().Finalizers).To(BeEmpty())
}

func TestAnAnchorOutlivesTheVolumesThatAreKept(t *testing.T) {
	w := newStretchedWorld(t)
	b := poolIn("east", "b", 1, v1.RoleBroker)
	b.Spec.Storage.DeleteClaim = new(true)
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), b)
	w.brokers.replicas = map[int32]int{0: 1, 1: 0}
	w.settle()
	claim := &corev1.PersistentVolumeClaim{}
	w.in("east", claim, "data-my-cluster-b-1")
	w.Expect(claim.OwnerReferences).To(ContainElement(HaveField("Name", "my-cluster-kafka-gc")))
	w.change("b", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 0 })
	for range 3 {
		w.pass()
	}
	set := &core.StrimziPodSet{}
	w.in("east", set, "my-cluster-b")
	w.Expect(set.Spec.Pods).To(BeEmpty())
	w.brokers.replicas[1] = 1 // it got one before it stopped
	w.settle()
	kept := ContainElement(HaveField("Reason", "VolumesKept"))
	w.Expect(w.conditions()).To(kept)
	w.Expect(w.k8s.Delete(t.Context(), b)).To(Succeed())
	w.settle()
	w.Expect(w.conditions()).To(kept)
	w.Expect(w.anchored("east")).To(BeTrue(), "the volume would go with it")
	w.unstretch("a")
	w.settle()
	w.Expect(w.conditions()).To(kept)
	w.Expect(w.anchored("east")).To(BeTrue(), "the volume would go with it")
	w.Expect(w.kafka().Finalizers).NotTo(BeEmpty())

	w.brokers.replicas[1] = 0
	w.settle()
	w.in("east", claim, "data-my-cluster-b-1")
	w.Expect(claim.DeletionTimestamp).NotTo(BeNil())
	w.Expect(w.anchored("east")).To(BeFalse())
	w.Expect(w.kafka().Finalizers).To(BeEmpty())
}

// The user decides to keep volumes, and deletes the Kafka before a pass could act on that where they are.
func TestAVolumeThatIsKeptAtTheLastMomentOutlivesItsStretchedKafka(t *testing.T) {
	byPool := func(w *stretchedWorld) {
		w.change("b", func(p *v1.KafkaNodePool) { p.Spec.Storage.DeleteClaim = nil })
	}
	byAnnotation := func(w *stretchedWorld) {
		claim := &corev1.PersistentVolumeClaim{}
		w.in("east", claim, "data-my-cluster-b-1")
		claim.Annotations[v1.AnnotationDeleteClaim] = "false"
		w.Expect(w.members["east"].Client.Update(t.Context(), claim)).To(Succeed())
	}
	withoutPool := func(w *stretchedWorld) {
		w.Expect(w.k8s.Delete(t.Context(), w.pool("b"))).To(Succeed())
	}
	deleted := func(w *stretchedWorld) { w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed()) }
	for name, c := range map[string]struct {
		away           bool
		decide, delete func(*stretchedWorld)
		goes           bool
	}{
		"the Kafka is deleted at once":              {decide: byPool, delete: deleted},
		"the Kubernetes cluster is away":            {away: true, decide: byPool, delete: deleted},
		"by its annotation alone":                   {away: true, decide: byAnnotation, delete: deleted},
		"and the finalizer is removed":              {away: true, decide: byPool, delete: (*stretchedWorld).unfinished},
		"by its annotation, without the finalizer":  {away: true, decide: byAnnotation, delete: (*stretchedWorld).unfinished},
		"its pool is deleted with the Kafka":        {away: true, decide: withoutPool, delete: deleted, goes: true},
		"its pool is deleted without the finalizer": {away: true, decide: withoutPool, delete: (*stretchedWorld).unfinished, goes: true},
		"its pool is deleted, and its annotation keeps it": {away: true,
			decide: func(w *stretchedWorld) { byAnnotation(w); withoutPool(w) }, delete: deleted},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			b := poolIn("east", "b", 1, v1.RoleBroker)
			b.Spec.Storage.DeleteClaim = new(true)
			w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), b)
			w.brokers.replicas = map[int32]int{0: 1, 1: 1}
			w.settle()
			w.members["east"].lost = c.away
			c.decide(w)
			if c.away {
				w.pass()
			}
			c.delete(w)
			w.pass()
			w.members["east"].lost = false
			for range 3 {
				w.pass()
				w.now = w.now.Add(2 * w.r.Interval)
			}
			w.Expect(w.anchored("east")).To(BeFalse())
			claim := &corev1.PersistentVolumeClaim{}
			w.in("east", claim, "data-my-cluster-b-1")
			if c.goes {
				w.Expect(claim.OwnerReferences).To(HaveLen(1), "the garbage collector deletes it")
				return
			}
			w.Expect(claim.OwnerReferences).To(BeEmpty(), "the garbage collector would delete it")
			w.Expect(claim.Annotations).To(HaveKeyWithValue(v1.AnnotationDeleteClaim, "false"))
		})
	}
}

// The watch of KafkaNodePools may be behind that of Kafkas.
func TestAVolumeThatIsKeptAtTheLastMomentIsKeptThoughTheCacheIsBehind(t *testing.T) {
	w := newStretchedWorld(t)
	b := poolIn("east", "b", 1, v1.RoleBroker)
	b.Spec.Storage.DeleteClaim = new(true)
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), b)
	w.settle()
	stale := &staleStatuses{Reader: w.r.Cache}
	w.Expect(w.k8s.List(t.Context(), &stale.pools, client.InNamespace(w.namespace))).To(Succeed())
	w.change("b", func(p *v1.KafkaNodePool) { p.Spec.Storage.DeleteClaim = nil })
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	w.r.Cache = stale
	w.pass()
	w.Expect(w.anchored("east")).To(BeFalse())
	claim := &corev1.PersistentVolumeClaim{}
	w.in("east", claim, "data-my-cluster-b-1")
	w.Expect(claim.OwnerReferences).To(BeEmpty(), "the garbage collector would delete it")
}

// TestAConflictInADeletionIsNoFailure checks that a conflict elsewhere counts as one that the cache will end, until it lasts.
func TestAConflictInADeletionIsNoFailure(t *testing.T) {
	w := newStretchedWorld(t)
	b := poolIn("east", "b", 1, v1.RoleBroker)
	b.Spec.Storage.DeleteClaim = new(true)
	w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), b, poolIn("west", "c", 1, v1.RoleBroker))
	w.settle()
	w.change("b", func(p *v1.KafkaNodePool) { p.Spec.Storage.DeleteClaim = nil })
	w.Expect(w.k8s.Delete(t.Context(), w.kafka())).To(Succeed())
	east := w.members["east"]
	k8s, ok := east.Client.(client.WithWatch)
	w.Expect(ok).To(BeTrue())
	east.Client = interceptor.NewClient(k8s, interceptor.Funcs{
		Patch: func(ctx context.Context, k8s client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if _, is := o.(*corev1.PersistentVolumeClaim); is {
				return apierrors.NewConflict(corev1.Resource("persistentvolumeclaims"), o.GetName(), errors.New("it was changed"))
			}
			return k8s.Patch(ctx, o, p, opts...)
		}})
	before := w.kafka().Status
	for range 2 {
		w.Expect(w.pass().RequeueAfter).To(Equal(conflictDelay))
		w.Expect(w.kafka().Status).To(Equal(before))
		w.Expect(w.anchored("west")).To(BeFalse(), "no cluster waits for another")
		w.now = w.now.Add(conflictTimeout)
	}
	w.now = w.now.Add(-conflictTimeout)
	w.pass()
	w.Expect(w.ready()).To(HaveField("Message", And(HavePrefix("The deletion waits for cluster 'east'"),
		ContainSubstring("writes keep conflicting"))))
	east.Client = k8s
	w.now = w.now.Add(conflictTimeout)
	w.pass()
	w.Expect(w.anchored("east")).To(BeFalse())
}

func TestAVolumeThatIsNotDeletedKeepsItsAnchorAndSaysSo(t *testing.T) {
	for name, lost := range map[string][]string{
		"without the mark of its name": {ownership.MarkSelf},
		"without its term as well":     {ownership.MarkSelf, ownership.MarkTerm},
		"without any mark":             {ownership.MarkSelf, ownership.MarkTerm, ownership.MarkID},
		"only not said to be deleted":  {v1.AnnotationDeleteClaim},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			b := poolIn("east", "b", 1, v1.RoleBroker)
			b.Spec.Storage.DeleteClaim = new(true)
			w.create(stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), b)
			w.brokers.replicas = map[int32]int{0: 1, 1: 0}
			w.settle()
			w.Expect(w.k8s.Delete(t.Context(), b)).To(Succeed())
			for range 3 {
				w.pass() // the pod of its broker stops
			}
			claim := &corev1.PersistentVolumeClaim{}
			w.in("east", claim, "data-my-cluster-b-1")
			for _, mark := range lost {
				delete(claim.Annotations, mark)
			}
			w.Expect(w.members["east"].Update(t.Context(), claim)).To(Succeed())
			w.endPods("east")
			w.unstretch("a")
			w.settle()
			w.Expect(w.anchored("east")).To(BeTrue(), "the volume would go with it")
			w.Expect(w.kafka().Finalizers).NotTo(BeEmpty())
			w.Expect(w.conditions()).To(ContainElement(And(HaveField("Reason", "VolumesKept"), HaveField("Message", And(
				HavePrefix("In cluster 'east', PersistentVolumeClaims data-my-cluster-b-1 of removed nodes are not deleted: they lack the annotation "+
					lost[0]),
				ContainSubstring("delete-claim: \"false\""))))))

			w.in("east", claim, "data-my-cluster-b-1")
			claim.Annotations[v1.AnnotationDeleteClaim] = "false"
			w.Expect(w.members["east"].Update(t.Context(), claim)).To(Succeed())
			w.settle()
			w.in("east", claim, "data-my-cluster-b-1")
			w.Expect(claim.DeletionTimestamp).To(BeNil())
			w.Expect(claim.OwnerReferences).To(BeEmpty())
			w.Expect(w.conditions()).NotTo(ContainElement(HaveField("Reason", "VolumesKept")))
			w.Expect(w.anchored("east")).To(BeFalse())
			w.Expect(w.kafka().Finalizers).To(BeEmpty())
		})
	}
}

func TestAnAnchorOutlivesThePodsThatStop(t *testing.T) {
	w := newStretchedWorld(t)
	w.formTwo()
	w.brokers.replicas = map[int32]int{0: 1, 1: 0}
	b := &v1.KafkaNodePool{}
	w.get(b, "b")
	w.Expect(w.k8s.Delete(t.Context(), b)).To(Succeed())
	for range 3 {
		w.pass()
	}
	w.Expect(w.members["east"].Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-b"}, &core.StrimziPodSet{})).
		To(MatchError(apierrors.IsNotFound, "NotFound"))
	w.Expect(w.anchored("east")).To(BeTrue(), "the pod of its broker stops")
	w.endPods("east")
	w.settle()
	w.Expect(w.anchored("east")).To(BeFalse())
}
