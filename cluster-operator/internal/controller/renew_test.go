package controller

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
)

// edit changes the Kafka as a user does.
func (w *world) edit(how func(*v1.Kafka)) {
	w.t.Helper()
	k := &v1.Kafka{}
	w.get(k, "my-cluster")
	how(k)
	w.Expect(w.k8s.Update(w.t.Context(), k)).To(Succeed())
}

// parse returns the certificate that a node serves.
func parse(secret *corev1.Secret) (*x509.Certificate, error) {
	block, _ := pem.Decode(secret.Data[secret.Name+".crt"])
	if block == nil {
		return nil, fmt.Errorf("Secret %s holds no certificate", secret.Name)
	}
	return x509.ParseCertificate(block.Bytes)
}

func certificate(g *WithT, secret *corev1.Secret) *x509.Certificate {
	cert, err := parse(secret)
	g.Expect(err).NotTo(HaveOccurred())
	return cert
}

// withoutCertificates returns a pod without the annotations that depend on certificates.
func withoutCertificates(pod corev1.Pod) corev1.Pod {
	pod.Annotations = maps.Clone(pod.Annotations)
	for _, key := range []string{nodeThumbprint, core.AnnotationRevision, core.AnnotationClusterCACertGeneration,
		core.AnnotationClusterCAKeyGeneration, core.AnnotationClientsCACertGeneration, pki.AnnotationDistrustedKey} {
		delete(pod.Annotations, key)
	}
	return pod
}

func TestCertificatesAreRenewedThoughAKafkaCannotBeReconciled(t *testing.T) {
	// refuse deletes an object, and makes the API server reject its creation.
	refuse := func(o client.Object, resource, name string) func(*world) {
		refused := apierrors.NewForbidden(schema.GroupResource{Resource: resource}, name, nil)
		return func(w *world) {
			w.get(o, name)
			w.Expect(w.k8s.Delete(w.t.Context(), o)).To(Succeed())
			w.r.Live = interceptor.NewClient(w.k8s.(client.WithWatch), interceptor.Funcs{
				Apply: func(ctx context.Context, c client.WithWatch, a runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
					if is, ok := a.(interface{ GetName() string }); ok && is.GetName() == name {
						return refused
					}
					return c.Apply(ctx, a, opts...)
				},
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
					if o.GetName() == name {
						return refused
					}
					return c.Patch(ctx, o, patch, opts...)
				}})
		}
	}
	allow := func(w *world) { w.r.Live = w.k8s }
	for name, c := range map[string]struct {
		// spoil changes the Kafka, or something that it needs, so that no pass succeeds. mend reverts that.
		spoil, mend func(w *world)
		message     string
	}{
		"an invalid Kafka": {
			func(w *world) {
				w.edit(func(k *v1.Kafka) {
					k.Spec.Kafka.Version = "1.0.0"
					k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "1g"}
					k.Spec.Kafka.Listeners[1].Name = "changed"
					k.Spec.EntityOperator = &v1.EntityOperatorSpec{TopicOperator: &v1.EntityTopicOperatorSpec{}}
				})
			},
			func(w *world) {
				w.edit(func(k *v1.Kafka) {
					valid := newKafka().Spec
					valid.DeepCopyInto(k.Spec)
				})
			}, "Unsupported Kafka.spec.kafka.version: 1.0.0"},
		"an invalid Kafka, and another label on a StrimziPodSet": {
			func(w *world) {
				set := w.set("pool")
				set.Labels[core.LabelManagedBy] = "Helm"
				w.Expect(w.k8s.Update(w.t.Context(), set)).To(Succeed())
				w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "1.0.0" })
			},
			func(w *world) { w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "" }) }, "Unsupported Kafka.spec.kafka.version: 1.0.0"},
		"no spec": {
			func(w *world) { w.edit(func(k *v1.Kafka) { k.Spec = nil }) },
			func(w *world) { w.edit(func(k *v1.Kafka) { k.Spec = newKafka().Spec }) }, "The required field .spec is missing"},
		"too many nodes": {
			func(w *world) { w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 30000 }) },
			func(w *world) { w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 3 }) },
			"the KafkaNodePools have 30000 replicas together"},
		"a Service that the API server refuses": {refuse(&corev1.Service{}, "services", "my-cluster-kafka-bootstrap"), allow,
			`services "my-cluster-kafka-bootstrap" is forbidden`},
		"a ServiceAccount that the API server refuses": {refuse(&corev1.ServiceAccount{}, "serviceaccounts", "my-cluster-kafka"), allow,
			`serviceaccounts "my-cluster-kafka" is forbidden`},
		"pods that the API server refuses": {
			func(w *world) {
				w.edit(func(k *v1.Kafka) {
					k.Spec.Kafka.Listeners[1].Configuration = &v1.ListenerConfiguration{
						Brokers: []v1.ListenerBroker{{Broker: 0, AdvertisedHost: "another.example.com"}}}
				})
				w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.JvmOptions = &v1.JvmOptions{Xms: "1g", Xmx: "1g"} })
				w.r.Live = interceptor.NewClient(w.k8s.(client.WithWatch), interceptor.Funcs{
					Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
						if _, is := o.(*corev1.Pod); is && strings.Contains(jsonText(o), "-Xms1g") {
							return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, o.GetName(), nil)
						}
						return c.Create(ctx, o, opts...)
					}})
			},
			func(w *world) {
				w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Listeners[1].Configuration = nil })
				w.change("pool", func(p *v1.KafkaNodePool) { p.Spec.JvmOptions = nil })
				w.r.Live = w.k8s
			}, "Kubernetes would reject the pods of KafkaNodePool pool"},
		"somebody else's Secret with the name of a new node's": {
			func(w *world) {
				w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "my-cluster-more-3"}}, nodePool("more", 1, v1.RoleBroker))
			},
			func(w *world) {
				w.Expect(w.k8s.Delete(w.t.Context(), &corev1.Secret{ObjectMeta: w.named("my-cluster-more-3")})).To(Succeed())
			}, "/my-cluster-more-3 "},
		"a name that no certificate can have": {
			func(w *world) {
				w.edit(func(k *v1.Kafka) {
					k.Spec.Kafka.Listeners[1].Configuration = &v1.ListenerConfiguration{
						Bootstrap: &v1.ListenerBootstrap{AlternativeNames: []string{"kafka.bücher.example"}}}
				})
			},
			func(w *world) { w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Listeners[1].Configuration = nil }) },
			"bootstrap.alternativeNames"},
		"a pause that ends with an invalid Kafka": {
			func(w *world) {
				pause := func(paused string) {
					w.edit(func(k *v1.Kafka) {
						k.Annotations = map[string]string{v1.AnnotationPauseReconciliation: paused}
						k.Spec.Kafka.Version = "1.0.0"
					})
				}
				pause("true")
				w.reconcile()
				set := &core.StrimziPodSet{}
				w.get(set, "my-cluster-pool")
				w.Expect(set.Annotations).To(HaveKey(core.AnnotationHold))
				pause("false")
				w.reconcile()
				w.get(set, "my-cluster-pool")
				w.Expect(set.Annotations).NotTo(HaveKey(core.AnnotationHold))
			},
			func(w *world) { w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "" }) }, "Unsupported Kafka.spec.kafka.version: 1.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(newKafka(), nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
			w.reconcile()
			c.spoil(w)
			request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "my-cluster"}}
			pass := func() { _, _ = w.r.Reconcile(t.Context(), request) } // the test does not check the error
			pass()
			w.Expect(w.ready()).To(HaveField("Message", ContainSubstring(c.message)))
			versions, pods := w.versions(), w.pods("pool")
			pass()
			w.Expect(w.versions()).To(Equal(versions), "nothing is due")

			secret := &corev1.Secret{}
			w.get(secret, "my-cluster-pool-0")
			before := certificate(w.WithT, secret)
			days := 350
			if name == "no spec" {
				days = 363 // TestWithoutASpecCertificatesAreRenewedInTheLastDays
			}
			w.now = w.now.AddDate(0, 0, days)
			pass()
			w.Expect(w.ready()).To(HaveField("Message", ContainSubstring(c.message)))
			w.get(secret, "my-cluster-pool-0")
			after := certificate(w.WithT, secret)
			w.Expect(after.NotAfter).To(BeTemporally(">", w.now.AddDate(0, 0, 300)))
			w.Expect(after.DNSNames).To(Equal(before.DNSNames))
			renewed := w.pods("pool")
			for name, pod := range renewed {
				w.Expect(pod.Annotations[core.AnnotationRevision]).NotTo(Equal(pods[name].Annotations[core.AnnotationRevision]),
					"the roller restarts it")
				w.Expect(withoutCertificates(pod)).To(Equal(withoutCertificates(pods[name])), "it is what it was otherwise")
			}
			for object, version := range w.versions() {
				if version != versions[object] {
					w.Expect(object).To(Or(HavePrefix("*v1.SecretList/"), Equal("*v1.StrimziPodSetList/my-cluster-pool"),
						Equal("*v1.KafkaList/my-cluster"), Equal("*v1.KafkaNodePoolList/pool")))
				}
			}
			w.Expect(slices.Sorted(maps.Keys(w.versions()))).To(Equal(slices.Sorted(maps.Keys(versions))), "nothing is made")
			versions = w.versions()
			pass()
			w.Expect(w.versions()).To(Equal(versions), "once")

			c.mend(w)
			w.reconcile()
			for name, pod := range w.pods("pool") {
				w.Expect(pod.Annotations).To(HaveKeyWithValue(core.AnnotationRevision, renewed[name].Annotations[core.AnnotationRevision]),
					"nothing is restarted once more")
			}
		})
	}
}

// What the spec said of maintenance and of the topic operator is unknown without it: nothing is restarted before it has to be, and the
// topic operator keeps a certificate that brokers accept.
func TestWithoutASpecCertificatesAreRenewedInTheLastDays(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.EntityOperator = &v1.EntityOperatorSpec{TopicOperator: &v1.EntityTopicOperatorSpec{}}
	w.create(k, nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	w.edit(func(k *v1.Kafka) { k.Spec = nil })
	w.now = w.now.AddDate(0, 0, 361)
	w.reconcile()
	before := w.versions()
	w.reconcile()
	w.Expect(w.versions()).To(Equal(before))
	node, operator := &corev1.Secret{}, &corev1.Secret{}
	w.get(node, "my-cluster-pool-0")
	w.Expect(certificate(w.WithT, node).NotAfter).To(BeTemporally("<", w.now.AddDate(0, 0, 5)), "a window may open yet")
	w.get(operator, pki.TopicOperatorSecret("my-cluster"))
	pods := w.pods("pool")

	w.now = w.now.AddDate(0, 0, 2)
	w.reconcile()
	w.get(node, "my-cluster-pool-0")
	w.Expect(certificate(w.WithT, node).NotAfter).To(BeTemporally(">", w.now.AddDate(0, 0, 300)))
	w.Expect(w.pods("pool")).NotTo(Equal(pods))
	renewed := &corev1.Secret{}
	w.get(renewed, operator.Name)
	w.Expect(renewed.Data["entity-operator.crt"]).NotTo(Equal(operator.Data["entity-operator.crt"]))
}

// TestNodesOfARemovedPoolMoveToANewKey checks that a pool that was removed by mistake does not hold up the replacement of a CA's key, and
// that its nodes get certificates of the new key.
func TestNodesOfARemovedPoolMoveToANewKey(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	h.runs(newKafka(), nodePool("brokers", 2, v1.RoleBroker), nodePool("controllers", 1, v1.RoleController))
	pool := nodePool("brokers", 2, v1.RoleBroker)
	pool.Namespace = historyNamespace
	h.must(h.k8s.Delete(t.Context(), pool))
	h.comeUp()
	before := h.brokerPods()[0]
	key := h.object(facts.Key{Kind: "Secret", Name: "my-cluster-cluster-ca"}).(*corev1.Secret)
	key.Annotations["strimzi.io/force-replace"] = "true"
	h.must(h.k8s.Update(t.Context(), key))
	h.comeUp()
	after := h.brokerPods()[0]
	g.Expect(after.Annotations[core.AnnotationClusterCAKeyGeneration]).To(Equal("1"))
	g.Expect(after.Annotations[nodeThumbprint]).NotTo(Equal(before.Annotations[nodeThumbprint]))
	g.Expect(withoutCertificates(*after).Spec).To(Equal(withoutCertificates(*before).Spec))
	for entry := range h.object(facts.Key{Kind: "Secret", Name: "my-cluster-cluster-ca-cert"}).(*corev1.Secret).Data {
		g.Expect(strings.HasPrefix(entry, "ca-")).To(BeFalse(), "the old certificate is dropped: no node serves or needs it")
	}
}

// judgeExpiry checks that no listed node has a certificate that is due for renewal, even if the Kafka is invalid. While the key of the
// CA is being replaced, which a node may hold up, certificates are renewed in their last days. A Secret is not recreated for a Kafka that
// can't be reconciled, and the status has to say so.
func (h *history) judgeExpiry() {
	h.t.Helper()
	due := 30 * 24 * time.Hour
	if ca, ok := h.object(facts.Key{Kind: "Secret", Name: h.name + "-cluster-ca-cert"}).(*corev1.Secret); ok && len(ca.Data) > 1 {
		due = 3 * 24 * time.Hour
	}
	for key, o := range h.k8s.server.objects {
		set, is := o.object().(*core.StrimziPodSet)
		if !is || key.Name != h.name+"-"+set.Labels[core.LabelPoolName] {
			continue // a copy may list nodes that are gone
		}
		for _, pod := range listedBy(h.t, set) {
			secret, ok := h.object(facts.Key{Kind: "Secret", Name: pod.Name}).(*corev1.Secret)
			if !ok {
				warns := And(HaveField("Reason", pki.ReasonNotRenewed), HaveField("Message", ContainSubstring(pod.Name)))
				if has, err := ContainElement(warns).Match(h.kafka(h.name).Status.Conditions); err != nil || !has {
					h.failf("in the end, nothing warns that there is no Secret %s (%v)", pod.Name, err)
				}
				continue
			}
			cert, err := parse(secret)
			h.must(err)
			if left := cert.NotAfter.Sub(h.now); left < due {
				h.failf("in the end, the certificate of %s ends in %s", pod.Name, left)
			}
		}
	}
}

func TestCertificatesElsewhereAreRenewedForAnInvalidKafka(t *testing.T) {
	for name, c := range map[string]struct {
		spoil, mend func(*stretchedWorld)
		message     string
	}{
		"an invalid Kafka": {
			func(w *stretchedWorld) { w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "1.0.0" }) },
			func(w *stretchedWorld) { w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "" }) },
			"Unsupported Kafka.spec.kafka.version: 1.0.0",
		},
		"another network provider": {
			func(w *stretchedWorld) { w.r.Stretching.ProviderName = "mcs" },
			func(w *stretchedWorld) { w.r.Stretching.ProviderName = "nodeport" },
			"the operator is configured for mcs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.form()
			served := func(id string) (end time.Time, thumbprint string) {
				set, secret := &core.StrimziPodSet{}, &corev1.Secret{}
				w.in(id, set, "my-cluster-"+id)
				for _, pod := range listedBy(t, set) {
					w.in(id, secret, pod.Name)
					end, thumbprint = certificate(w.WithT, secret).NotAfter, pod.Annotations[nodeThumbprint]
				}
				return end, thumbprint
			}
			c.spoil(w)
			w.now = w.now.AddDate(0, 0, 350)
			_, west := served("west")
			w.members["west"].lost = true
			w.pass()
			w.Expect(w.ready()).To(HaveField("Message", ContainSubstring(c.message)))
			for _, id := range []string{"central", "east"} {
				end, _ := served(id)
				w.Expect(end).To(BeTemporally(">", w.now.AddDate(0, 0, 300)), id)
			}
			w.members["west"].lost = false
			_, now := served("west")
			w.Expect(now).To(Equal(west))
			w.settle()
			end, now := served("west")
			w.Expect(end).To(BeTemporally(">", w.now.AddDate(0, 0, 300)))
			w.Expect(now).NotTo(Equal(west))
			c.mend(w)
			w.settle()
			w.Expect(w.ready()).To(HaveField("Status", "True"))
		})
	}
}

// TestTheKeyOfARemovedTopicOperatorGoes checks that no key of a super user stays in a Secret that nobody needs.
func TestTheKeyOfARemovedTopicOperatorGoes(t *testing.T) {
	w := newWorld(t)
	k := newKafka()
	k.Spec.EntityOperator = &v1.EntityOperatorSpec{TopicOperator: &v1.EntityTopicOperatorSpec{}}
	w.create(k, nodePool("pool", 3, v1.RoleBroker, v1.RoleController))
	w.reconcile()
	name := client.ObjectKey{Namespace: w.namespace, Name: pki.TopicOperatorSecret("my-cluster")}
	secret := &corev1.Secret{}
	w.get(secret, name.Name)
	mine := &corev1.Secret{ObjectMeta: *secret.ObjectMeta.DeepCopy(), Data: secret.Data}
	mine.Name, mine.UID, mine.ResourceVersion = "mine", "", ""
	w.create(mine)

	w.edit(func(k *v1.Kafka) { k.Spec.EntityOperator, k.Spec.Kafka.Version = nil, "1.0.0" })
	w.now = w.now.AddDate(0, 0, 350)
	w.reconcile()
	unchanged, node := &corev1.Secret{}, &corev1.Secret{}
	w.get(unchanged, name.Name)
	w.Expect(unchanged.ResourceVersion).To(Equal(secret.ResourceVersion), "nobody asks for it any more")
	w.get(node, "my-cluster-pool-0")
	w.Expect(certificate(w.WithT, node).NotAfter).To(BeTemporally(">", w.now.AddDate(0, 0, 300)))

	w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = "" })
	w.reconcile()
	w.Expect(apierrors.IsNotFound(w.k8s.Get(t.Context(), name, secret))).To(BeTrue())
	w.get(mine, "mine")
}
