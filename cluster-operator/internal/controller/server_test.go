package controller

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/model"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/testserver"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/topology"
	"github.com/kafka-operators/kafka-operators/kafka"
)

// server is the API server that the tests share. If it could not be started, missing is the reason.
var (
	server  *rest.Config
	missing error
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	env, err := testserver.Start(true)
	if missing = err; err == nil {
		server = env.Config
		defer testserver.Stop(env)
	}
	defer stopRemoteServers()
	return m.Run()
}

// world is a namespace with a reconciler that reads without a cache.
type world struct {
	*WithT
	t         *testing.T
	k8s       client.Client
	r         *Reconciler
	namespace string
	brokers   *brokers
	now       time.Time
	events    []string
	recording sync.Mutex
}

// brokers are the brokers of a Kafka, with the responses that tests set.
type brokers struct {
	replicas map[int32]int
	err      error
	// hidden are the replicas of topics that the operator may not describe, by broker. Kafka does not list them.
	hidden map[int32]int
	// afterLook runs once, after the first request for the replicas, to create a topic, for example.
	afterLook func()
	// anew counts the questions that a pass waits for, however long they take.
	anew int

	// dirs are the log directories of each broker that responds. afterDirs runs once, after the first request for them.
	dirs      map[int32][]kafka.LogDir
	afterDirs func()
	// earlier are the answers of an earlier time, which a pass gets that does not want to know what is so now; nil if there are none.
	earlier map[int32][]kafka.LogDir
	// inspecting is called before Inspect returns, and moving before the metadata version changes.
	inspecting func()
	moving     func(to kafka.MetadataVersion)

	// trusted is what the last Inspect trusts.
	trusted      string
	registered   []kafka.Node
	metadata     kafka.MetadataVersion
	unregistered []int32
	quorum       *kafka.Quorum
}

// Holdings returns what brokers hold. If dirs is set, brokers that are not in it do not respond.
func (b *brokers) Holdings(_ context.Context, to Connection, leave, stay []int32) (*topology.Holdings, error) {
	if to.Anew {
		b.anew++
	}
	if b.replicas == nil && b.err == nil {
		return nil, errors.New("nobody knows")
	}
	h := &topology.Holdings{Replicas: maps.Clone(b.replicas), Stored: map[int32]int{}, Silent: map[int32]string{}, Unheard: map[int32]string{},
		Hidden: map[int32][]string{}}
	for _, id := range unlisted(leave, h) {
		dirs, answers := b.dirs[id]
		if b.dirs != nil && !answers {
			h.Silent[id] = "it does not answer"
			continue
		}
		if store(h, id, append(slices.Clone(dirs), kafka.LogDir{Path: "/hidden", Replicas: b.hidden[id]})); b.hidden[id] > 0 {
			h.Hidden[id] = []string{"secret"}
		}
	}
	for _, id := range slices.Concat(stay, leave) {
		if _, answers := b.dirs[id]; len(h.Silent) > 0 && b.dirs != nil && !answers {
			if slices.Contains(stay, id) {
				h.Unheard[id] = "it does not answer"
			}
		} else if len(h.Silent) > 0 && b.hidden[id] > 0 {
			h.Hidden[id] = []string{"secret"}
		}
	}
	if b.afterLook != nil {
		b.afterLook()
		b.afterLook = nil
	}
	if b.err != nil {
		return nil, b.err
	}
	return h, nil
}
func (b *brokers) LogDirs(_ context.Context, to Connection, ids []int32) (map[int32][]kafka.LogDir, error) {
	if b.err != nil {
		return nil, b.err
	}
	reported := b.dirs
	if b.earlier != nil && !to.Anew {
		reported = b.earlier
	}
	found := map[int32][]kafka.LogDir{}
	for _, id := range ids {
		if dirs, answers := reported[id]; answers {
			found[id] = dirs
		}
	}
	if b.afterDirs != nil {
		b.afterDirs()
		b.afterDirs = nil
	}
	return found, nil
}
func (b *brokers) Inspect(_ context.Context, to Connection) (Found, error) {
	b.trusted = string(to.Config.TLS.TrustedCertificates)
	if b.inspecting != nil {
		b.inspecting()
	}
	return Found{MetadataVersion: b.metadata, Brokers: slices.Clone(b.registered)}, b.err
}
func (b *brokers) Quorum(context.Context, Connection) (kafka.Quorum, error) {
	if b.quorum == nil {
		return kafka.Quorum{}, errors.New("nobody knows")
	}
	return *b.quorum, b.err
}
func (b *brokers) Unregister(_ context.Context, _ Connection, id int32) error {
	b.unregistered = append(b.unregistered, id)
	return b.err
}
func (b *brokers) LowerMetadataVersion(ctx context.Context, to Connection, level int16) error {
	return b.RaiseMetadataVersion(ctx, to, level)
}
func (b *brokers) RaiseMetadataVersion(_ context.Context, _ Connection, level int16) error {
	if b.moving != nil {
		b.moving(kafka.MetadataVersion(level))
	}
	b.metadata = kafka.MetadataVersion(level)
	return b.err
}
func (b *brokers) Forget(types.NamespacedName) {}

func newWorld(t *testing.T) *world {
	testserver.Need(t, missing)
	return newWorldOn(t, server)
}

// newReadyWorld is newWorld with a Kafka that is ready, whose nodes are all in one pool.
func newReadyWorld(t *testing.T, pool string, nodes int32) *world {
	t.Helper()
	w := newWorld(t)
	w.create(newKafka(), nodePool(pool, nodes, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.kubelet(pool)
	w.reconcile()
	w.Expect(w.ready().Status).To(Equal("True"))
	return w
}

// reportConfigured reports with which configurations pods run, by uid, as the roller does.
func (w *world) reportConfigured(pods map[string]string) {
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

// newWorldOn is newWorld on another API server.
func newWorldOn(t *testing.T, server *rest.Config) *world {
	scheme := runtime.NewScheme()
	w := &world{WithT: NewWithT(t), t: t, brokers: &brokers{}, now: time.Now()}
	w.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	w.Expect(v1.AddToScheme(scheme)).To(Succeed())
	w.Expect(core.AddToScheme(scheme)).To(Succeed())
	k8s, err := client.NewWithWatch(server, client.Options{Scheme: scheme})
	w.Expect(err).NotTo(HaveOccurred())
	w.k8s = k8s
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "kafka-"}}
	w.Expect(k8s.Create(t.Context(), ns)).To(Succeed())
	w.namespace = ns.Name
	w.r = &Reconciler{
		Cache: k8s, Live: k8s, Events: w, Metrics: metrics.New(prometheus.NewRegistry(), ""), Kafka: w.brokers, DefaultVersion: "4.3.1",
		OperatorVersion: "test", Interval: time.Hour, AddressTimeout: time.Minute,
		Settings: model.Settings{KafkaImages: map[string]string{"4.3.1": "kafka:4.3.1"}, TopicOperatorImage: "topic-operator:1",
			DNSDomain:       "cluster.local",
			NetworkPolicies: true, DisruptionBudgets: true},
		Now: func() time.Time { return w.now }, Rand: rand.Reader, NewKey: keys,
	}
	return w
}

// reconcile runs a pass.
func (w *world) reconcile() {
	w.t.Helper()
	_, err := w.r.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}})
	w.Expect(err).NotTo(HaveOccurred())
}

// Normal and Warning record Events.
func (w *world) Normal(_ runtime.Object, reason, _, note string) {
	w.recording.Lock()
	defer w.recording.Unlock()
	w.events = append(w.events, reason+": "+note)
}
func (w *world) Warning(o runtime.Object, reason, action, note string) {
	w.Normal(o, reason, action, note)
}

func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	for _, o := range objects {
		o.SetNamespace(w.namespace)
		w.Expect(w.k8s.Create(w.t.Context(), o)).To(Succeed())
	}
}

func newKafka() *v1.Kafka {
	return &v1.Kafka{ObjectMeta: metav1.ObjectMeta{Name: "my-cluster"},
		Spec: &v1.KafkaSpec{Kafka: v1.KafkaClusterSpec{Listeners: []v1.Listener{
			{Name: "plain", Port: 9092, Type: v1.ListenerInternal}, {Name: "tls", Port: 9093, Type: v1.ListenerInternal, TLS: true},
		}}}}
}

func nodePool(name string, replicas int32, roles ...v1.ProcessRole) *v1.KafkaNodePool {
	return &v1.KafkaNodePool{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelCluster: "my-cluster"}},
		Spec: &v1.KafkaNodePoolSpec{Replicas: replicas, Roles: roles, Storage: v1.Storage{Type: v1.StoragePersistentClaim, Size: "1Gi"}}}
}

// versions returns the resourceVersions of all objects in the namespace that the operator makes, and of the user's.
func (w *world) versions() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, list := range []client.ObjectList{&corev1.ServiceList{}, &corev1.ConfigMapList{}, &corev1.SecretList{},
		&corev1.PersistentVolumeClaimList{},
		&corev1.ServiceAccountList{}, &core.StrimziPodSetList{}, &v1.KafkaList{}, &v1.KafkaNodePoolList{}} {
		w.Expect(w.k8s.List(w.t.Context(), list, client.InNamespace(w.namespace))).To(Succeed())
		items, err := runtime.DefaultUnstructuredConverter.ToUnstructured(list)
		w.Expect(err).NotTo(HaveOccurred())
		found, _ := items["items"].([]any)
		for _, item := range found {
			m := item.(map[string]any)["metadata"].(map[string]any)
			all[fmt.Sprintf("%T/%s", list, m["name"])] = fmt.Sprint(m["resourceVersion"])
		}
	}
	return all
}

func TestAKafkaIsMadeAndASecondPassWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.r.NewKey = nil // generate keys as in production
	w.create(newKafka(), nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	set := &core.StrimziPodSet{}
	w.Expect(w.k8s.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-pool"}, set)).To(Succeed())
	w.Expect(set.Spec.Pods).To(HaveLen(3))
	w.reconcile() // fields that the API server defaulted are no differences
	before := w.versions()
	w.reconcile()
	w.Expect(w.versions()).To(Equal(before))
}

func (w *world) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *world) get(o client.Object, name string) {
	w.t.Helper()
	w.Expect(w.k8s.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o)).To(Succeed())
}

// pods returns the pods that the StrimziPodSet of a pool lists, by name.
func (w *world) pods(pool string) map[string]corev1.Pod {
	w.t.Helper()
	set := &core.StrimziPodSet{}
	w.get(set, "my-cluster-"+pool)
	listed := map[string]corev1.Pod{}
	for _, raw := range set.Spec.Pods {
		pod := corev1.Pod{}
		w.Expect(json.Unmarshal(raw.Raw, &pod)).To(Succeed())
		listed[pod.Name] = pod
	}
	return listed
}

func TestWhatSomebodyElseEditsIsHealed(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	config := &corev1.ConfigMap{}
	w.get(config, "my-cluster-pool-1")
	text := config.Data["server.config"]
	config.Data["server.config"] = "node.id=7"
	w.Expect(w.k8s.Update(t.Context(), config)).To(Succeed())
	set := &core.StrimziPodSet{}
	w.get(set, "my-cluster-pool")
	wanted := string(set.Spec.Pods[0].Raw)
	set.Spec.Pods[0].Raw = []byte(strings.Replace(wanted, "kafka:4.3.1", "somebody/else:1", 1))
	w.Expect(w.k8s.Update(t.Context(), set)).To(Succeed())
	service := &corev1.Service{}
	w.get(service, "my-cluster-kafka-bootstrap")
	w.Expect(w.k8s.Delete(t.Context(), service)).To(Succeed())
	w.reconcile()
	w.get(config, "my-cluster-pool-1")
	w.Expect(config.Data["server.config"]).To(Equal(text))
	w.Expect(w.pods("pool")["my-cluster-pool-0"].Spec.Containers[0].Image).To(Equal("kafka:4.3.1"))
	w.get(service, "my-cluster-kafka-bootstrap")
}

// TestAnEditWithItsHashIsHealed edits a ConfigMap of a node together with the annotation that has the hash of its data, which is no secret.
// Who may only write ConfigMaps must not have nodes run something else.
func TestAnEditWithItsHashIsHealed(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	before := w.pods("pool")
	for _, entry := range []string{"server.config", "start.sh"} {
		config, text := &corev1.ConfigMap{}, ""
		tamper := func() {
			w.get(config, "my-cluster-pool-1")
			text = config.Data[entry]
			config.Data[entry] = "# mine\n" + text
			data, err := json.Marshal(config.Data)
			w.Expect(err).NotTo(HaveOccurred())
			sum := sha256.Sum256(data)
			config.Annotations[model.AnnotationContent] = hex.EncodeToString(sum[:8])
			w.Expect(w.k8s.Update(t.Context(), config)).To(Succeed())
		}
		tamper()
		w.reconcile()
		w.get(config, "my-cluster-pool-1")
		w.Expect(config.Data[entry]).To(Equal(text))
		w.Expect(w.pods("pool")).To(Equal(before))

		// The sets of earlier versions do not know the hash. What is there counts, and is noted.
		set := &core.StrimziPodSet{}
		w.get(set, "my-cluster-pool")
		delete(set.Annotations, model.AnnotationContents)
		w.Expect(w.k8s.Update(t.Context(), set)).To(Succeed())
		w.reconcile()
		w.Expect(w.pods("pool")).To(Equal(before))
		w.get(set, "my-cluster-pool")
		w.Expect(model.ContentsIn(set)).To(HaveKeyWithValue(config.Name, config.Annotations[model.AnnotationContent]))
		tamper()
		w.reconcile()
		w.get(config, "my-cluster-pool-1")
		w.Expect(config.Data[entry]).To(Equal(text))
	}
}

func TestAPoolThatIsDeletedStopsNoNode(t *testing.T) {
	w := newWorld(t)
	pool := nodePool("pool", 3, v1.RoleBroker, v1.RoleController)
	w.create(newKafka(), pool)
	w.reconcile()
	before := w.pods("pool")
	w.Expect(w.k8s.Delete(t.Context(), pool)).To(Succeed())
	w.reconcile()
	w.Expect(w.pods("pool")).To(Equal(before))
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	w.Expect(k.Status.Conditions).To(ContainElement(And(HaveField("Reason", "ScaleDownPreventionCheck"),
		HaveField("Message", ContainSubstring("Removal of KafkaNodePool pool is blocked")))))
	w.create(nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.Expect(w.pods("pool")).To(Equal(before))
}

func TestANewerOperatorRestartsNothing(t *testing.T) {
	w := newWorld(t)
	w.create(newKafka(), nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	before := w.pods("pool")
	w.r.Settings.KafkaImages = map[string]string{"4.3.1": "kafka:other", "4.4.0": "kafka:4.4.0"}
	w.r.DefaultVersion = "4.4.0"
	w.reconcile()
	w.Expect(w.pods("pool")).To(Equal(before))
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	w.Expect(k.Status.Conditions).To(ContainElement(And(HaveField("Type", "UpdatesPending"), HaveField("Status", "True"),
		HaveField("Message", ContainSubstring(`annotate the Kafka with kafka-operators.io/apply-updates: "true"`)))))

	// A change by the user also applies the pending update.
	k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "1g"}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.reconcile()
	w.Expect(w.pods("pool")["my-cluster-pool-0"].Spec.Containers[0].Image).To(Equal("kafka:other"))
	w.get(k, "my-cluster")
	w.Expect(k.Status.Conditions).NotTo(ContainElement(HaveField("Type", "UpdatesPending")))
}

func TestUpdatesAreAppliedInMaintenanceWindowsIfTheUserAllowsThat(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Annotations = map[string]string{v1.AnnotationApplyUpdates: "true"}
	k.Spec.MaintenanceTimeWindows = []string{"never"}
	w.create(k, nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	before := w.pods("pool")
	w.r.Settings.KafkaImages = map[string]string{"4.3.1": "kafka:other"}
	waits := func(until string) {
		t.Helper()
		w.reconcile()
		w.Expect(w.pods("pool")).To(Equal(before))
		w.get(k, "my-cluster")
		w.Expect(k.Status.Conditions).To(ContainElement(And(HaveField("Type", "UpdatesPending"), HaveField("Message",
			ContainSubstring("and will: "+until+"; to apply that now")))))
	}
	waits("no maintenance window ever opens")
	w.get(k, "my-cluster")
	hour := w.now.Add(time.Hour).UTC().Truncate(time.Hour)
	k.Spec.MaintenanceTimeWindows = []string{"never", fmt.Sprintf("* * %d * * ?", hour.Hour())}
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	waits("the next maintenance window opens at " + hour.Format("2006-01-02 15:04:05 UTC"))

	w.now = hour
	w.reconcile()
	w.Expect(w.pods("pool")["my-cluster-pool-0"].Spec.Containers[0].Image).To(Equal("kafka:other"))
	w.get(k, "my-cluster")
	w.Expect(k.Status.Conditions).NotTo(ContainElement(HaveField("Type", "UpdatesPending")))

	// Without windows, at once.
	w.now = hour.Add(2 * time.Hour)
	k.Spec.MaintenanceTimeWindows = nil
	w.Expect(w.k8s.Update(t.Context(), k)).To(Succeed())
	w.r.Settings.KafkaImages = map[string]string{"4.3.1": "kafka:third"}
	w.reconcile()
	w.Expect(w.pods("pool")["my-cluster-pool-0"].Spec.Containers[0].Image).To(Equal("kafka:third"))
}

func TestAForeignObjectIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "my-cluster-kafka-bootstrap",
		Labels: map[string]string{v1.LabelCluster: "my-cluster"}},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	w.create(foreign, newKafka(), nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	w.get(foreign, foreign.Name)
	version := foreign.ResourceVersion
	_, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "my-cluster"}})
	w.Expect(err).To(MatchError(ContainSubstring("exists and does not belong to this Kafka")))
	w.get(foreign, foreign.Name)
	w.Expect(foreign.ResourceVersion).To(Equal(version))
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	w.Expect(k.Status.Conditions).
		To(ContainElement(And(HaveField("Type", "Ready"), HaveField("Status", "False"), HaveField("Reason", "ObjectNotOwned"))))
}
