package controller

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// drift is an object that the operator makes, and the results of changes to it. The result "" means that the operator restores the object.
// Any other is the reason of the condition Ready, while the operator leaves the object unchanged.
type drift struct {
	kind, name string
	// edit changes a field that the operator sets.
	edit func(client.Object)
	// deleted, edited and unlabelled are the results of each change; unlabelled removes the label with the name of the Kafka.
	deleted, edited, unlabelled string
	// others are the names of further objects of the same kind and purpose.
	others string
}

func editOf[T client.Object](edit func(T)) func(client.Object) {
	return func(o client.Object) { edit(o.(T)) }
}

// editService changes the selector of a Service.
var editService = editOf(func(o *corev1.Service) { o.Spec.Selector = map[string]string{"a": "b"} })

// spoil replaces the values in a Secret.
var spoil = editOf(func(o *corev1.Secret) {
	for key := range o.Data {
		o.Data[key] = []byte("spoiled")
	}
})

// notOurs is the reason for a Secret without the labels that identify it: the operator overwrites no keys of others.
const notOurs = "SecretNotOurs"

// drifts has a row for each object that the operator makes for fullKafka.
var drifts = []drift{
	{kind: "ServiceAccount", name: "my-cluster-kafka", edit: relabel},
	{kind: "ServiceAccount", name: "my-cluster-entity-operator", edit: relabel},
	{kind: "Secret", name: "my-cluster-cluster-ca", edit: spoil, deleted: "CAKeyLost", edited: "CAKeyLost", unlabelled: notOurs},
	{kind: "Secret", name: "my-cluster-clients-ca", edit: spoil, deleted: "CAKeyLost", edited: "CAKeyLost", unlabelled: notOurs},
	{kind: "Secret", name: "my-cluster-cluster-ca-cert", edit: spoil, unlabelled: notOurs},
	{kind: "Secret", name: "my-cluster-clients-ca-cert", edit: spoil, unlabelled: notOurs},
	{kind: "Secret", name: "my-cluster-trustbundle", edit: spoil, unlabelled: notOurs},
	{kind: "Secret", name: "my-cluster-cluster-operator-certs", edit: spoil, unlabelled: notOurs},
	{kind: "Secret", name: "my-cluster-entity-topic-operator-certs", edit: spoil, unlabelled: notOurs},
	{kind: "Secret", name: "my-cluster-brokers-0", edit: spoil, unlabelled: notOurs, others: "my-cluster-controllers-1"},
	{kind: "ConfigMap", name: "my-cluster-brokers-0", others: "my-cluster-controllers-1",
		edit: editOf(func(o *corev1.ConfigMap) { o.Data["server.config"] = "node.id=7" })},
	{kind: "Service", name: "my-cluster-kafka-brokers", edit: editService},
	{kind: "Service", name: "my-cluster-kafka-bootstrap", edit: editService},
	{kind: "Service", name: "my-cluster-kafka-inside-bootstrap", edit: editService},
	{kind: "Service", name: "my-cluster-brokers-inside-0", edit: editService},
	{kind: "Service", name: "my-cluster-kafka-nodes-bootstrap", edit: editService},
	{kind: "Service", name: "my-cluster-brokers-nodes-0", edit: editService},
	{kind: "Service", name: "my-cluster-kafka-balanced-bootstrap", edit: editService},
	{kind: "Service", name: "my-cluster-brokers-balanced-0", edit: editService},
	{kind: "Service", name: "my-cluster-kafka-web-bootstrap", edit: editService},
	{kind: "Service", name: "my-cluster-brokers-web-0", edit: editService},
	{kind: "Ingress", name: "my-cluster-kafka-web-bootstrap", edit: editIngress},
	{kind: "Ingress", name: "my-cluster-brokers-web-0", edit: editIngress},
	{kind: "NetworkPolicy", name: "my-cluster-network-policy-kafka", edit: editPolicy},
	{kind: "NetworkPolicy", name: "my-cluster-entity-operator", edit: editPolicy},
	{kind: "PodDisruptionBudget", name: "my-cluster-kafka",
		edit: editOf(func(o *policyv1.PodDisruptionBudget) { o.Spec.MinAvailable = new(intstr.FromInt32(0)) })},
	{kind: "PodDisruptionBudget", name: "my-cluster-entity-operator",
		edit: editOf(func(o *policyv1.PodDisruptionBudget) { o.Spec.MaxUnavailable = new(intstr.FromInt32(7)) })},
	{kind: "Role", name: "my-cluster-entity-operator", edit: editRole},
	{kind: "Role", name: "my-cluster-roller", edit: editRole},
	{kind: "RoleBinding", name: "my-cluster-entity-topic-operator-role", edit: editBinding},
	{kind: "RoleBinding", name: "my-cluster-roller", edit: editBinding},
	{kind: "Deployment", name: "my-cluster-entity-operator",
		edit: editOf(func(o *appsv1.Deployment) { o.Spec.Template.Spec.Containers[0].Image = "other" })},
	{kind: "StrimziPodSet", name: "my-cluster-brokers", others: "my-cluster-controllers",
		edit: editOf(func(o *core.StrimziPodSet) {
			o.Spec.Pods[0].Raw = []byte(strings.Replace(string(o.Spec.Pods[0].Raw), "kafka:4.3.1", "other:1", 1))
		})},
	// A volume has no owner, because it outlives its Kafka. Without its labels, it can't be attributed to one.
	{kind: "PersistentVolumeClaim", name: "data-0-my-cluster-brokers-0", unlabelled: "ObjectNotOwned",
		others: "data-1-my-cluster-brokers-0 data-my-cluster-controllers-1",
		edit:   editOf(func(o *corev1.PersistentVolumeClaim) { o.Annotations[v1.AnnotationDeleteClaim] = "true" })},
}

var (
	relabel     = func(o client.Object) { o.SetLabels(with(o.GetLabels(), core.LabelName, "other")) }
	editIngress = editOf(func(o *networkingv1.Ingress) { o.Spec.Rules[0].Host = "other.example.com" })
	editPolicy  = editOf(func(o *networkingv1.NetworkPolicy) { o.Spec.Ingress = nil })
	editRole    = editOf(func(o *rbacv1.Role) { o.Rules = nil })
	editBinding = editOf(func(o *rbacv1.RoleBinding) { o.Subjects = nil })
)

// TestDriftIsHealedByWatches deletes, edits or removes the label of each object that the operator makes; with PROVE=full, one after the
// other. The operator restores the object because of its watches: the next periodic pass is due in a day.
func TestDriftIsHealedByWatches(t *testing.T) {
	w := newWorld(t)
	w.watching()
	w.everythingRuns()
	w.rowsAreComplete()
	accidents, longest := 0, time.Duration(0)
	for i, d := range drifts {
		for j, c := range []struct {
			what, becomes string
			do            func(client.Object)
		}{
			{"deleted", d.deleted, nil}, {"edited", d.edited, d.edit},
			{"unlabelled", d.unlabelled, func(o client.Object) {
				labels := o.GetLabels()
				delete(labels, v1.LabelCluster)
				o.SetLabels(labels)
			}},
		} {
			if os.Getenv("PROVE") != "full" && j != i%3 {
				continue
			}
			accidents++
			t.Run(strings.Join([]string{d.kind, d.name, c.what}, " "), func(t *testing.T) {
				w.WithT, w.t = NewWithT(t), t
				w.SetDefaultEventuallyTimeout(2 * time.Minute)
				longest = max(longest, w.drifts(facts.Key{Kind: d.kind, Name: d.name}, c.becomes, c.do))
			})
		}
	}
	if !t.Failed() {
		fmt.Printf("PROOF {\"name\":\"objects healed by watches\",\"count\":%d,\"violations\":0,\"seed\":0,\"longest\":%q}\n", accidents,
			longest.Round(time.Millisecond))
	}
}

// drifts changes an object and waits until the operator has repaired it. It returns how long that took.
func (w *world) drifts(key facts.Key, becomes string, do func(client.Object)) (took time.Duration) {
	w.t.Helper()
	w.settle()
	before := w.all()[key]
	passes := w.passes()
	o := copied(before)
	if do == nil {
		w.Expect(w.k8s.Delete(w.t.Context(), o)).To(Succeed())
		if claim, is := o.(*corev1.PersistentVolumeClaim); is { // there is no controller that removes its finalizer
			w.get(claim, claim.Name)
			claim.Finalizers = nil
			w.Expect(w.k8s.Update(w.t.Context(), claim)).To(Succeed())
		}
	} else {
		do(o)
		w.Expect(w.k8s.Update(w.t.Context(), o)).To(Succeed())
	}
	began := time.Now()
	if becomes == "" {
		w.Eventually(func() string { return differenceOf(before, w.all()[key]) }).Should(BeEmpty())
		return time.Since(began)
	}
	w.Eventually(func(g Gomega) {
		k := &v1.Kafka{}
		g.Expect(w.k8s.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster"}, k)).To(Succeed())
		g.Expect(*readyOf(k)).To(And(HaveField("Status", "False"), HaveField("Reason", becomes)))
		g.Expect(w.passes()).To(BeNumerically(">", passes))
	}).Should(Succeed())
	took = time.Since(began)
	left := w.everything()[key]
	if do == nil {
		w.Expect(left).To(BeNil(), "it is made again")
		before = copied(before)
		before.SetResourceVersion("")
		before.SetUID("")
		w.Expect(w.k8s.Create(w.t.Context(), before)).To(Succeed())
		return took
	}
	w.Expect(differenceOf(o, left)).To(BeEmpty(), "it is overwritten")
	before = copied(before)
	before.SetResourceVersion(left.GetResourceVersion())
	w.Expect(w.k8s.Update(w.t.Context(), before)).To(Succeed())
	return took
}

// differenceOf describes how two objects differ, apart from what the API server or a new certificate sets.
func differenceOf(before, after client.Object) string {
	if after == nil || after.GetDeletionTimestamp() != nil {
		return "it is not there"
	}
	text := func(o client.Object) string {
		c := content(o)
		delete(c, "status")
		if _, is := o.(*corev1.Secret); is {
			data, _ := c["data"].(map[string]any)
			for key, value := range data {
				data[key] = value == nil || strings.HasPrefix(fmt.Sprint(value), "c3BvaWxlZA") // base64 for "spoiled"
			}
		}
		if s, is := o.(*corev1.Service); is {
			s = s.DeepCopy()
			s.Spec.ClusterIP, s.Spec.ClusterIPs, s.Spec.HealthCheckNodePort = "", nil, 0
			for i := range s.Spec.Ports {
				s.Spec.Ports[i].NodePort = 0
			}
			c["spec"] = content(s)["spec"]
		}
		c["metadata"] = []any{o.GetLabels(), o.GetOwnerReferences(), len(o.GetAnnotations())}
		if claim, is := o.(*corev1.PersistentVolumeClaim); is {
			c["metadata"] = []any{o.GetLabels(), claim.Annotations[v1.AnnotationDeleteClaim]}
		}
		return jsonText(c)
	}
	if a, b := text(before), text(after); a != b {
		return firstDifference(a, b)
	}
	return ""
}

// everything returns the objects in the namespace of the kinds that the operator makes.
func (w *world) everything() map[facts.Key]client.Object { return w.listed(w.k8s) }

// all returns those that have the label of the Kafka.
func (w *world) all() map[facts.Key]client.Object {
	all := w.everything()
	maps.DeleteFunc(all, func(_ facts.Key, o client.Object) bool { return o.GetLabels()[v1.LabelCluster] != "my-cluster" })
	return all
}

func (w *world) listed(from client.Reader) map[facts.Key]client.Object {
	w.t.Helper()
	all := map[facts.Key]client.Object{}
	for _, kind := range facts.Kinds() {
		gvk, err := w.k8s.GroupVersionKindFor(kind)
		w.Expect(err).NotTo(HaveOccurred())
		list, err := w.k8s.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(from.List(w.t.Context(), list.(client.ObjectList), client.InNamespace(w.namespace))).To(Succeed())
		w.Expect(meta.EachListItem(list, func(o runtime.Object) error {
			object := o.(client.Object)
			all[facts.Key{Kind: gvk.Kind, Name: object.GetName()}] = object
			return nil
		})).To(Succeed())
	}
	return all
}

// watching runs the reconciler in a manager, with the caches of the operator.
func (w *world) watching() {
	w.t.Helper()
	w.SetDefaultEventuallyTimeout(2 * time.Minute)
	leftover += unfinished()
	options := CacheOptions(false)
	options.DefaultNamespaces = map[string]cache.Config{w.namespace: {}}
	mgr, err := ctrl.NewManager(server, ctrl.Options{Scheme: w.k8s.Scheme(), Cache: options, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}}) // a test may run several times in a process
	w.Expect(err).NotTo(HaveOccurred())
	w.r.Cache, w.r.Interval = mgr.GetCache(), 24*time.Hour
	w.r.Settings.RollerAccount, w.r.Settings.ExporterImage = "operators/roller", "cluster-operator:1"
	c, err := w.r.SetupWithManager(mgr, 1)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.r.WatchReferences(w.t.Context(), mgr, c, options.DefaultNamespaces)).To(Succeed())
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t := w.t
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// everythingRuns creates a Kafka for which the operator makes an object of each kind.
func (w *world) everythingRuns() {
	w.t.Helper()
	w.brokers.metadata, w.brokers.replicas = metadataOf["4.3.1"], map[int32]int{0: 1}
	w.create(fullKafka()...)
	w.settle()
}

// rowsAreComplete checks that each kind that the operator makes, and each object that it made, has a row.
func (w *world) rowsAreComplete() {
	w.t.Helper()
	rows, kinds := map[facts.Key]bool{}, map[string]bool{}
	for _, d := range drifts {
		kinds[d.kind] = true
		for _, name := range append(strings.Fields(d.others), d.name) {
			rows[facts.Key{Kind: d.kind, Name: name}] = true
		}
	}
	// It holds nothing but its labels; TestKafkaTopicsAreReleasedWithTheirTopicOperator deletes and replaces it.
	rows[facts.Key{Kind: "ConfigMap", Name: "my-cluster-kafka-topics"}] = true
	for _, key := range sortedKeys(w.all()) {
		w.Expect(rows).To(HaveKey(key), "an object has no row")
	}
	for _, kind := range facts.Kinds() {
		gvk, err := w.k8s.GroupVersionKindFor(kind)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(kinds).To(HaveKey(gvk.Kind), "a kind has no row")
	}
}

// settle plays the controllers around the operator until the Kafka is ready and no pass is due.
func (w *world) settle() {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		w.surroundings(g)
		k := &v1.Kafka{}
		g.Expect(w.k8s.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster"}, k)).To(Succeed())
		g.Expect(readyOf(k)).To(HaveValue(HaveField("Status", "True")), "%+v", k.Status.Conditions)
		// The caches are up to date, and no request is queued or in progress.
		behind := map[facts.Key]string{}
		cached := w.listed(w.r.Cache)
		for key, o := range w.all() {
			if c := cached[key]; c == nil || c.GetResourceVersion() != o.GetResourceVersion() {
				behind[key] = o.GetResourceVersion()
			}
		}
		g.Expect(behind).To(BeEmpty())
		passes := w.passes()
		g.Expect(unfinished()).To(BeZero())
		g.Expect(w.passes()).To(Equal(passes))
	}).Should(Succeed())
}

// surroundings updates statuses, as the StrimziPodSet controller, kubelets and load balancers do.
func (w *world) surroundings(g Gomega) {
	for _, o := range w.all() {
		before := copied(o)
		switch o := o.(type) {
		case *core.StrimziPodSet:
			n := int32(len(o.Spec.Pods))
			o.Status = core.StrimziPodSetStatus{ObservedGeneration: o.Generation, Pods: n, CurrentPods: n, ReadyPods: n}
		case *appsv1.Deployment:
			o.Status = appsv1.DeploymentStatus{ObservedGeneration: o.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1,
				AvailableReplicas: 1}
		case *corev1.Service:
			if o.Spec.Type == corev1.ServiceTypeLoadBalancer {
				o.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1", IPMode: new(corev1.LoadBalancerIPModeVIP)}}
			}
		}
		if jsonText(before) != jsonText(o) {
			if err := w.k8s.Status().Update(w.t.Context(), o); !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				g.Expect(err).NotTo(HaveOccurred())
			}
		}
	}
}

// passes returns the number of passes so far.
func (w *world) passes() float64 { return gauge("controller_runtime_reconcile_total") }

// leftover is what managers of earlier tests left queued when they ended: their metrics stay.
var leftover float64

// unfinished returns how many requests are queued or in progress.
func unfinished() float64 {
	return gauge("workqueue_depth") + gauge("controller_runtime_active_workers") - leftover
}

// gauge returns the sum of a metric of controller-runtime.
func gauge(name string) float64 { return gaugeIn(crmetrics.Registry, name) }

func gaugeIn(registry prometheus.Gatherer, name string) (sum float64) {
	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
