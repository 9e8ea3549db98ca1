package controller

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/metrics"
)

// invalidPods are the pod templates of users that Kubernetes rejects.
var invalidPods = map[string]struct {
	edit    func(*v1.KafkaNodePool)
	message string
}{
	"a skew that can't be": {func(p *v1.KafkaNodePool) {
		p.Spec.Template = &v1.KafkaNodePoolTemplate{Pod: &v1.PodTemplate{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			{MaxSkew: 0, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule}}}}
	}, "spec.topologySpreadConstraints[0].maxSkew"},
	"a toleration with an operator that there is not": {func(p *v1.KafkaNodePool) {
		p.Spec.Template = &v1.KafkaNodePoolTemplate{Pod: &v1.PodTemplate{Tolerations: []corev1.Toleration{{Key: "a", Operator: "Is"}}}}
	}, "spec.tolerations[0].operator"},
}

func TestPodsThatKubernetesWouldRefuseReplaceNone(t *testing.T) {
	for name, c := range invalidPods {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
			w.reconcile()
			w.start("pool") // a pod of the same name exists, and the API server must still validate the new one
			w.reconcile()
			before, versions := w.pods("pool"), w.versions()

			pool := w.pool("pool")
			right := pool.Spec.DeepCopy()
			c.edit(pool)
			w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
			w.reconcile()
			w.Expect(w.pods("pool")).To(Equal(before))
			w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "PodInvalid"),
				HaveField("Message", And(ContainSubstring("KafkaNodePool pool"), ContainSubstring(c.message)))))
			w.Expect(w.conditions()).To(ContainElement(And(HaveField("Type", "Stalled"), HaveField("Status", "True"))))
			for key, version := range w.versions() {
				if key != "*v1.KafkaList/my-cluster" && key != "*v1.KafkaNodePoolList/pool" {
					w.Expect(versions).To(HaveKeyWithValue(key, version))
				}
			}

			pool = w.pool("pool")
			pool.Spec = right
			w.Expect(w.k8s.Update(t.Context(), pool)).To(Succeed())
			w.reconcile()
			w.Expect(w.ready()).To(HaveField("Status", "True"))
		})
	}
}

func TestNothingIsMadeOfPodsThatKubernetesWouldRefuse(t *testing.T) {
	for name, c := range invalidPods {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			registry := prometheus.NewRegistry()
			w.r.Metrics = metrics.New(registry, "")
			pool := nodePool("pool", 1, v1.RoleBroker, v1.RoleController)
			c.edit(pool)
			w.create(newKafka(), pool)
			w.reconcile()
			w.Expect(gaugeIn(registry, "kafka_operators_kafka_nodes_not_ready")).To(BeZero(), "there is no node to look at")
			for _, list := range []client.ObjectList{&core.StrimziPodSetList{}, &corev1.PersistentVolumeClaimList{}, &corev1.ServiceList{},
				&corev1.SecretList{}} {
				w.Expect(w.k8s.List(t.Context(), list, client.InNamespace(w.namespace))).To(Succeed())
				w.Expect(meta.LenList(list)).To(BeZero(), "%T", list)
			}
			w.Expect(w.ready()).To(And(HaveField("Reason", "PodInvalid"), HaveField("Message", ContainSubstring(c.message))))
		})
	}
}

// enforce has the namespace of a world enforce a Pod Security Standard.
func (w *world) enforce(standard string) {
	w.t.Helper()
	w.enforceIn(w.k8s, standard)
}

// enforceIn does so in one of its Kubernetes clusters.
func (w *world) enforceIn(k8s client.Client, standard string) {
	w.t.Helper()
	ns := &corev1.Namespace{}
	w.Expect(k8s.Get(w.t.Context(), client.ObjectKey{Name: w.namespace}, ns)).To(Succeed())
	ns.Labels["pod-security.kubernetes.io/enforce"] = standard
	w.Expect(k8s.Update(w.t.Context(), ns)).To(Succeed())
}

// TestPodsThatViolatePodSecurityReplaceNone has a namespace enforce a standard that the running pods violate. Neither a change of the Kafka
// nor a renewal of certificates restarts a node, which would not come back.
func TestPodsThatViolatePodSecurityReplaceNone(t *testing.T) {
	w := newReadyWorld(t, "pool", 1)
	before := w.pods("pool")
	w.enforce("restricted")
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "1g"} })
	rejected := And(HaveField("Status", "False"), HaveField("Reason", "PodInvalid"),
		HaveField("Message", And(ContainSubstring("KafkaNodePool pool"), ContainSubstring(`violates PodSecurity "restricted:latest"`))))
	w.reconcile()
	w.Expect(w.ready()).To(rejected)
	w.Expect(w.pods("pool")).To(Equal(before))

	w.now = w.now.AddDate(0, 0, 350)
	w.reconcile()
	w.Expect(w.ready()).To(rejected)
	w.Expect(w.pods("pool")).To(Equal(before))
	w.Expect(w.conditions()).To(ContainElement(And(HaveField("Reason", "CertificatesNotRenewed"),
		HaveField("Message", ContainSubstring("violates PodSecurity")))))

	w.r.Settings.Restricted = true
	w.reconcile()
	w.Expect(w.ready()).NotTo(HaveField("Reason", "PodInvalid"))
	w.Expect(w.pods("pool")).NotTo(Equal(before))
}

func TestNothingIsMadeOfPodsThatViolatePodSecurity(t *testing.T) {
	w := newWorld(t)
	w.enforce("restricted")
	w.create(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.Expect(w.ready()).To(HaveField("Reason", "PodInvalid"))
	services := &corev1.ServiceList{}
	w.Expect(w.k8s.List(t.Context(), services, client.InNamespace(w.namespace))).To(Succeed())
	w.Expect(services.Items).To(BeEmpty())
}

// TestPodsThatViolatePodSecurityElsewhereReplaceNone has a namespace in another Kubernetes cluster enforce a standard that the running pods
// violate. No node in any cluster is restarted: the one there would not come back.
func TestPodsThatViolatePodSecurityElsewhereReplaceNone(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	pods := func() (uids []types.UID) {
		for _, id := range []string{"central", "east", "west"} {
			found := &corev1.PodList{}
			w.Expect(w.members[id].List(t.Context(), found, client.InNamespace(w.namespace))).To(Succeed())
			w.Expect(found.Items).To(HaveLen(1))
			uids = append(uids, found.Items[0].UID)
		}
		return uids
	}
	before := pods()
	w.enforceIn(w.members["east"].Client, "restricted")
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "1g"} })
	w.settle()
	w.Expect(pods()).To(Equal(before))
	w.Expect(w.ready()).To(And(HaveField("Status", "False"), HaveField("Reason", "PodInvalid"), HaveField("Message", And(
		ContainSubstring("KafkaNodePool east in cluster 'east'"), ContainSubstring(`violates PodSecurity "restricted:latest"`),
		ContainSubstring("runAsNonRoot != true")))))

	w.r.Settings.Restricted = true
	w.settle()
	w.Expect(w.ready()).To(HaveField("Status", "True"))
	for _, uid := range pods() {
		w.Expect(before).NotTo(ContainElement(uid))
	}
}

// TestPodsGoOnWhereNamespacesCantBeRead has the account in a kubeconfig lack the right to read the labels of namespaces, as an earlier
// version of its role did.
func TestPodsGoOnWhereNamespacesCantBeRead(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	east := w.members["east"]
	w.enforceIn(east.Client, "restricted")
	east.Client = interceptor.NewClient(east.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, k8s client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, is := o.(*corev1.Namespace); is {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, key.Name, errors.New("no right"))
			}
			return k8s.Get(ctx, key, o, opts...)
		}})
	before := w.all()
	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "1g"} })
	w.pass()
	w.Expect(w.ready()).NotTo(HaveField("Reason", "PodInvalid"))
	w.Expect(w.all()).NotTo(Equal(before))
}

// TestOtherDenialsOfPodsAreTold has others than the API server's own rules deny pods: whether they would deny the pod alone is unknown.
func TestOtherDenialsOfPodsAreTold(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, c := range map[string]struct {
		err  error
		told bool
	}{
		"a webhook": {apierrors.NewForbidden(pods, "a", errors.New("admission webhook \"a\" denied the request: no")), true},
		"a webhook, in its own words": {&apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 400,
			Message: `admission webhook "a" denied the request: no`}}, true},
		"a policy of the cluster": {apierrors.NewForbidden(pods, "a", errors.New("ValidatingAdmissionPolicy 'a' denied request: no")), true},
		"a quota":                 {apierrors.NewForbidden(pods, "a", errors.New("exceeded quota: a")), false},
		"no ServiceAccount": {apierrors.NewForbidden(pods, "a",
			errors.New(`error looking up service account b/default: serviceaccount "default" not found`)), false},
		"a timeout":       {apierrors.NewTimeoutError("a", 1), false},
		"the running pod": {apierrors.NewAlreadyExists(pods, "a"), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newReadyWorld(t, "pool", 1)
			w.r.Live = interceptor.NewClient(w.k8s.(client.WithWatch), interceptor.Funcs{
				Create: func(ctx context.Context, k8s client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					if _, is := o.(*corev1.Pod); is {
						return c.err
					}
					return k8s.Create(ctx, o, opts...)
				}})
			before := w.pods("pool")
			w.edit(func(k *v1.Kafka) { k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "1g"} })
			w.reconcile()
			w.Expect(w.pods("pool")).NotTo(Equal(before))
			told := ContainElement(HaveField("Reason", "PodDenied"))
			if !c.told {
				told = Not(told)
			}
			w.Expect(w.conditions()).To(told)
		})
	}
}
