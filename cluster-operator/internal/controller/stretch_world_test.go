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

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/heartbeat"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/providers"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/testserver"
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

// createDeletable creates a Kafka with a pool in each of two Kubernetes clusters, and further pools, and returns the pool in east, whose
// volumes are to go with it.
func (w *stretchedWorld) createDeletable(more ...client.Object) *v1.KafkaNodePool {
	w.t.Helper()
	b := poolIn("east", "b", 1, v1.RoleBroker)
	b.Spec.Storage.DeleteClaim = new(true)
	w.create(append([]client.Object{stretchedKafka(), poolIn("central", "a", 1, v1.RoleBroker, v1.RoleController), b}, more...)...)
	return b
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
