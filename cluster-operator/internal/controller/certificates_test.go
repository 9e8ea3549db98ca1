package controller

import (
	"crypto/x509"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/pki"
)

// TestTheStatusHasTheCAsOfAllNodes checks that clients which take the certificate to trust from the status trust the nodes while the key of
// the cluster CA is replaced, also in a pass that can do no more than that.
func TestTheStatusHasTheCAsOfAllNodes(t *testing.T) {
	for name, version := range map[string]string{"a valid Kafka": "", "an invalid Kafka": "1.0.0"} {
		t.Run(name, func(t *testing.T) {
			w := newReadyWorld(t, "pool", 1)
			trusted := func() string {
				k := &v1.Kafka{}
				w.get(k, "my-cluster")
				for _, l := range k.Status.Listeners {
					if len(l.Certificates) > 0 {
						return l.Certificates[0]
					}
				}
				return ""
			}
			before := trusted()
			key := &corev1.Secret{}
			w.get(key, "my-cluster-cluster-ca")
			key.Annotations[v1.AnnotationForceReplace] = "true"
			w.Expect(w.k8s.Update(t.Context(), key)).To(Succeed())
			w.edit(func(k *v1.Kafka) { k.Spec.Kafka.Version = version })
			w.reconcile()
			w.Expect(trusted()).NotTo(Equal(before))
			if version == "" {
				k := &v1.Kafka{}
				w.get(k, "my-cluster")
				w.Expect(k.Status.Conditions).To(ContainElement(And(HaveField("Type", "Ready"), HaveField("Message",
					ContainSubstring("the key of the cluster CA is being replaced: first restart, to trust the new key")))))
			}
			node := &corev1.Secret{}
			w.get(node, "my-cluster-pool-0")
			roots := x509.NewCertPool()
			w.Expect(roots.AppendCertsFromPEM([]byte(trusted()))).To(BeTrue())
			_, err := certificate(w.WithT, node).Verify(x509.VerifyOptions{Roots: roots, CurrentTime: w.now,
				KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
			w.Expect(err).NotTo(HaveOccurred())
		})
	}
}

// A user who has a key replaced waits for several restarts of all nodes, and sees which one it is.
func TestTheStatusSaysWhichRestartForANewKeyIsInProgress(t *testing.T) {
	w := newWorld(t)
	w.createAndStart(newKafka(), nodePool("pool", 2, v1.RoleBroker, v1.RoleController))
	key := &corev1.Secret{}
	w.get(key, "my-cluster-cluster-ca")
	key.Annotations[v1.AnnotationForceReplace] = "true"
	w.Expect(w.k8s.Update(t.Context(), key)).To(Succeed())
	var rounds []string
	for range 8 {
		w.reconcile()
		if _, round, is := strings.Cut(w.ready().Message, "the key of the cluster CA is being replaced: "); is {
			rounds = append(rounds, round)
		}
		w.start("pool")
	}
	w.Expect(slices.Compact(rounds)).To(Equal([]string{"first restart, to trust the new key", "second restart, to use the new key",
		"third restart, to trust the old key no more"}))
	w.Expect(w.ready().Status).To(Equal("True"))
}

// Users see in the Events of a Kafka why all its nodes are restarted for a CA: once, however often it is reconciled.
func TestAnEventSaysWhyACAWasRenewed(t *testing.T) {
	w := newWorld(t)
	w.createAndStart(newKafka(), nodePool("pool", 1, v1.RoleBroker, v1.RoleController))
	told := func() (events []string) {
		for _, e := range w.events {
			if strings.HasPrefix(e, "CA") {
				events = append(events, e)
			}
		}
		return events
	}
	w.Expect(told()).To(BeEmpty())
	cert := &corev1.Secret{}
	w.get(cert, "my-cluster-clients-ca-cert")
	cert.Annotations[v1.AnnotationForceRenew] = "true"
	w.Expect(w.k8s.Update(t.Context(), cert)).To(Succeed())
	w.reconcile()
	w.get(cert, "my-cluster-cluster-ca-cert")
	cert.Data["ca.crt"] = []byte("garbage")
	w.Expect(w.k8s.Update(t.Context(), cert)).To(Succeed())
	w.reconcile()
	w.reconcile()
	w.Expect(told()).To(Equal([]string{
		"CARenewed: Made a new certificate of the clients CA, for which nodes are restarted: annotation strimzi.io/force-renew",
		"CARenewed: Made a new certificate of the cluster CA, for which nodes are restarted: the certificate is missing or unreadable",
	}))
}

// TestANodeWhoseSecretCannotBeReadIsNotRestarted checks a Secret that somebody deleted, and that can't be asked for.
func TestANodeWhoseSecretCannotBeReadIsNotRestarted(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	h.runs(newKafka(), nodePool("pool", 2, v1.RoleController, v1.RoleBroker))
	key := h.object(facts.Key{Kind: "Secret", Name: "my-cluster-cluster-ca"}).(*corev1.Secret)
	key.Annotations[v1.AnnotationForceReplace] = "true" // so that pods have all annotations
	h.must(h.k8s.Update(t.Context(), key))
	h.comeUp()
	pods := func() []*corev1.Pod {
		return h.podsOf(h.object(facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-pool"}).(*core.StrimziPodSet))
	}
	before := pods()
	g.Expect(before[0].Annotations).To(HaveKey(pki.AnnotationDistrustedKey))
	h.must(h.k8s.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: "my-cluster-pool-0"}}))
	h.unreadable("my-cluster-pool-0")
	h.passOver("my-cluster")
	g.Expect(pods()).To(Equal(before))
}
