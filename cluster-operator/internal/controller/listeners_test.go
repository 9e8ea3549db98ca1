package controller

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/cluster-operator/internal/facts"
)

// ownCertificate returns the data of a user's Secret with a certificate for a listener that is valid from then on.
func (h *history) ownCertificate(from time.Time, validity time.Duration) map[string][]byte {
	h.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	h.must(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(from.UnixNano()), NotBefore: from, NotAfter: from.Add(validity)}
	cert, err := x509.CreateCertificate(cryptorand.Reader, template, template, key.Public(), key)
	h.must(err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	h.must(err)
	return map[string][]byte{"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})}
}

// restoreOwn creates Secret own with a valid certificate, in place of the existing one.
func (h *history) restoreOwn() {
	h.t.Helper()
	own := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: "own"}, Data: h.ownCertificate(h.now, 30*years)}
	h.must(client.IgnoreNotFound(h.k8s.Delete(h.t.Context(), own.DeepCopy())))
	h.must(h.k8s.Create(h.t.Context(), own))
}

// alterOwn renews or breaks the certificate of a listener, or changes the maintenance windows.
func (h *history) alterOwn(kafka *v1.Kafka) string {
	own := &corev1.Secret{}
	switch exists := h.k8s.Get(h.t.Context(), client.ObjectKey{Namespace: historyNamespace, Name: "own"}, own) == nil; {
	case h.rand.Intn(4) == 0:
		kafka.Spec.MaintenanceTimeWindows = [][]string{nil, {"* * * ? * SUN"}, {"* * * 1 1 ?"}}[h.rand.Intn(3)]
		h.must(h.k8s.Update(h.t.Context(), kafka))
		return fmt.Sprintf("maintenance windows %v", kafka.Spec.MaintenanceTimeWindows)
	case !exists || h.rand.Intn(2) == 0:
		h.restoreOwn()
		return "renew the certificate of a listener"
	case h.rand.Intn(3) == 0:
		h.must(h.k8s.Delete(h.t.Context(), own))
		return "delete the certificate of a listener"
	}
	own.Data["tls.crt"] = [][]byte{nil, []byte("garbage"), h.ownCertificate(h.now, years)["tls.crt"]}[h.rand.Intn(3)]
	h.must(h.k8s.Update(h.t.Context(), own))
	return "spoil the certificate of a listener"
}

const years = 3 * 365 * 24 * time.Hour

// runsWithOwn runs a Kafka whose listener tls has the certificate in Secret own.
func (h *history) runsWithOwn(windows ...string) {
	h.t.Helper()
	h.runs(kafkaWithOwn(windows...), nodePool("brokers", 2, v1.RoleBroker), nodePool("controllers", 1, v1.RoleController),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Data: h.ownCertificate(h.now, years)})
}

func kafkaWithOwn(windows ...string) *v1.Kafka {
	kafka := newKafka()
	kafka.Spec.MaintenanceTimeWindows = windows
	kafka.Spec.Kafka.Listeners[1].Configuration = &v1.ListenerConfiguration{
		BrokerCertChainAndKey: &v1.CertAndKeySecret{SecretName: "own", Certificate: "tls.crt", Key: "tls.key"}}
	return kafka
}

// served returns the certificate and key of listener tls in a broker's Secret.
func (h *history) served(pod string) map[string][]byte {
	secret := h.object(facts.Key{Kind: "Secret", Name: pod}).(*corev1.Secret)
	return map[string][]byte{"tls.crt": secret.Data["tls-9093.crt"], "tls.key": secret.Data["tls-9093.key"]}
}

// annotation returns an annotation of the first broker's pod, as its StrimziPodSet lists it.
func (h *history) annotation(key string) string {
	return h.brokerPods()[0].Annotations[key]
}

func (h *history) brokerPods() []*corev1.Pod {
	return h.podsOf(h.object(facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-brokers"}).(*core.StrimziPodSet))
}

const (
	ownThumbprint  = "strimzi.io/custom-listener-cert-thumbprints"
	nodeThumbprint = "strimzi.io/server-cert-hash"
)

func TestWhatNoBrokerCanServeReachesNone(t *testing.T) {
	for name, c := range map[string]struct {
		spoil   func(map[string][]byte)
		message string
	}{
		"garbage": {
			func(d map[string][]byte) { d["tls.crt"] = []byte("x") }, "listener tls: tls.crt in Secret own has no valid certificate in PEM",
		},
		"without key": {
			func(d map[string][]byte) { delete(d, "tls.key") }, "Secret own does not contain custom certificate private key under the key",
		},
		"the key of another": {func(d map[string][]byte) {
			d["tls.crt"] = newHistory(t, 1).ownCertificate(time.Unix(1_800_000_000, 0), years)["tls.crt"]
		}, "listener tls: tls.key in Secret own is not the key of the first certificate"},
		"PKCS #1": {func(d map[string][]byte) {
			d["tls.key"] = bytes.ReplaceAll(d["tls.key"], []byte("PRIVATE KEY"), []byte("RSA PRIVATE KEY"))
		}, "openssl pkcs8 -topk8"},
		"expired": {func(d map[string][]byte) {
			expired := newHistory(t, 1).ownCertificate(time.Unix(1_700_000_000, 0), time.Hour)
			d["tls.crt"], d["tls.key"] = expired["tls.crt"], expired["tls.key"]
		}, "listener tls: tls.crt in Secret own expired at 2023-11-14T23:13:20Z"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := newHistory(t, 1)
			h.runsWithOwn()
			before, hash := h.served("my-cluster-brokers-0"), h.annotation(ownThumbprint)
			change(h, &corev1.Secret{}, "own", func(s *corev1.Secret) { c.spoil(s.Data) })
			change(h, &v1.Kafka{}, "my-cluster", func(k *v1.Kafka) { k.Spec.Kafka.JvmOptions = &v1.JvmOptions{Xmx: "2g"} })
			change(h, &v1.KafkaNodePool{}, "brokers", func(p *v1.KafkaNodePool) { p.Spec.Replicas = 3 })
			h.comeUp()
			g.Expect(h.kafka("my-cluster")).To(isReady("False", "InvalidResourceException", c.message))
			for _, pod := range []string{"my-cluster-brokers-0", "my-cluster-brokers-1", "my-cluster-brokers-3"} {
				g.Expect(h.served(pod)).To(Equal(before), pod)
			}
			g.Expect(h.annotation(ownThumbprint)).To(Equal(hash))
			g.Expect(jsonText(h.brokerPods())).To(ContainSubstring("-Xmx2g"),
				"everything else is done")

			renewed := h.ownCertificate(h.now, years)
			change(h, &corev1.Secret{}, "own", func(s *corev1.Secret) { s.Data = renewed })
			h.comeUp()
			g.Expect(h.kafka("my-cluster")).To(isReady("True", "", ""))
			g.Expect(h.served("my-cluster-brokers-0")).To(Equal(renewed))
			g.Expect(h.annotation(ownThumbprint)).NotTo(Equal(hash))
		})
	}
}

func TestNothingIsMadeForAListenerWithoutACertificate(t *testing.T) {
	for name, data := range map[string]map[string][]byte{"no Secret": nil, "garbage": {"tls.crt": []byte("x"), "tls.key": []byte("y")}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := newHistory(t, 1)
			for _, o := range []client.Object{kafkaWithOwn(), nodePool("pool", 1, v1.RoleController, v1.RoleBroker)} {
				o.SetNamespace(historyNamespace)
				h.must(h.k8s.Create(t.Context(), o))
			}
			if data != nil {
				h.must(h.k8s.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: "own"}, Data: data}))
			}
			h.passOver("my-cluster")
			g.Expect(h.kafka("my-cluster")).To(isReady("False", "InvalidResourceException", "Secret own"))
			for key := range h.all() {
				g.Expect(key.Name).To(Equal("own"))
			}
		})
	}
}

func TestARenewedCertificateOfAListenerWaitsForTheWindow(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1) // at 8 in the morning
	h.runsWithOwn("* * 22 * * ?")
	before, hash := h.served("my-cluster-brokers-0"), h.annotation(ownThumbprint)
	controllers := h.object(facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-controllers"}).(*core.StrimziPodSet).Spec
	renewed := h.ownCertificate(h.now, years)
	change(h, &corev1.Secret{}, "own", func(s *corev1.Secret) { s.Data = renewed })
	h.comeUp()
	waits := ContainElement(And(HaveField("Reason", "MaintenancePostponed"), HaveField("Message", ContainSubstring("listener tls"))))
	g.Expect(h.kafka("my-cluster")).To(isReady("True", "", ""))
	g.Expect(h.kafka("my-cluster").Status.Conditions).To(waits)
	g.Expect(h.served("my-cluster-brokers-0")).To(Equal(before))
	g.Expect(h.annotation(ownThumbprint)).To(Equal(hash))
	g.Expect(h.kafka("my-cluster").Status.Listeners[1].Certificates).To(Equal([]string{string(before["tls.crt"])}))

	h.now = h.now.Truncate(24 * time.Hour).Add(22 * time.Hour)
	h.fail = 2 // the operator ends after it validated a pod and wrote one node's Secret, and the window closes
	h.passOver("my-cluster")
	h.fail = -1
	g.Expect([]map[string][]byte{h.served("my-cluster-brokers-0"), h.served("my-cluster-brokers-1")}).To(ConsistOf(before, renewed))
	h.now = h.now.Add(2 * time.Hour)
	h.comeUp()
	for _, pod := range []string{"my-cluster-brokers-0", "my-cluster-brokers-1"} {
		g.Expect(h.served(pod)).To(Equal(renewed))
	}
	g.Expect(h.annotation(ownThumbprint)).NotTo(Equal(hash))
	g.Expect(h.object(facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-controllers"}).(*core.StrimziPodSet).Spec).To(Equal(controllers),
		"it is no reason to restart controllers with what an upgrade left pending")
	g.Expect(h.kafka("my-cluster").Status.Conditions).NotTo(waits)
	g.Expect(h.kafka("my-cluster").Status.Listeners[1].Certificates).To(Equal([]string{string(renewed["tls.crt"])}))
}

func TestTheStatusShowsTheCertificateThatNodesServe(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	h.runsWithOwn()
	own := h.kafka("my-cluster").Status.Listeners[1].Certificates
	change(h, &v1.Kafka{}, "my-cluster", func(k *v1.Kafka) {
		k.Spec.Kafka.Version = "1.0" // which is invalid, so that nodes stay as they are
		k.Spec.Kafka.Listeners[1].Configuration = nil
	})
	h.passOver("my-cluster")
	g.Expect(h.kafka("my-cluster").Status.Listeners[1].Certificates).To(Equal(own))
}

// TestTheKeyOfAListenerStaysOutOfTheStatus checks an entry that holds the certificate and its key, as cert-manager's CombinedPEM does.
// Kafka loads it, so nodes get all of it, and the status has the certificate alone.
func TestTheKeyOfAListenerStaysOutOfTheStatus(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	own := h.ownCertificate(h.now, years)
	certificate := []string{string(own["tls.crt"])}
	own["tls.crt"] = slices.Concat(own["tls.key"], own["tls.crt"])
	h.runs(kafkaWithOwn(), nodePool("pool", 1, v1.RoleController, v1.RoleBroker),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Data: own})
	g.Expect(h.served("my-cluster-pool-0")).To(Equal(own))
	g.Expect(h.kafka("my-cluster").Status.Listeners[1].Certificates).To(Equal(certificate))

	pods := h.podsOf(h.object(facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-pool"}).(*core.StrimziPodSet))
	earlier := func() { // versions wrote the entry as it is
		kafka := h.kafka("my-cluster")
		kafka.Status.Listeners[1].Certificates = []string{string(own["tls.crt"])}
		h.must(h.k8s.Status().Update(t.Context(), kafka))
	}
	earlier()
	h.passOver("my-cluster")
	g.Expect(h.kafka("my-cluster").Status.Listeners[1].Certificates).To(Equal(certificate))
	g.Expect(h.podsOf(h.object(facts.Key{Kind: "StrimziPodSet", Name: "my-cluster-pool"}).(*core.StrimziPodSet))).To(Equal(pods))

	earlier()
	change(h, &v1.Kafka{}, "my-cluster", func(k *v1.Kafka) { k.Spec.Kafka.Version = "1.0" }) // the pass ends before listeners are known
	h.passOver("my-cluster")
	g.Expect(h.kafka("my-cluster").Status.Listeners[1].Certificates).To(Equal(certificate))
}

// unreadable makes the operator's reads of a Secret fail.
func (h *history) unreadable(name string) {
	live := h.r.Live.(client.WithWatch)
	h.r.Live = interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, is := o.(*corev1.Secret); is && key.Name == name {
				return errors.New("timeout")
			}
			return c.Get(ctx, key, o, opts...)
		}})
}

func TestCertificatesAreRenewedBesideAListenersSecretThatIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		lose            func(h *history)
		reason, message string
	}{
		"deleted": {func(h *history) {
			h.must(h.k8s.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: "own"}}))
		}, "InvalidResourceException", "Secret own with custom TLS certificate does not exist"},
		"unreadable": {func(h *history) { h.unreadable("own") }, "ReconciliationFailed", "get Secret own: timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := newHistory(t, 1)
			h.runsWithOwn()
			own, node := h.served("my-cluster-brokers-0"), h.annotation(nodeThumbprint)
			ca := h.object(facts.Key{Kind: "Secret", Name: "my-cluster-cluster-ca-cert"}).(*corev1.Secret).Data["ca.crt"]
			c.lose(h)
			h.now = h.now.AddDate(0, 0, 350)
			h.comeUp()
			g.Expect(h.kafka("my-cluster")).To(isReady("False", c.reason, c.message))
			g.Expect(h.object(facts.Key{Kind: "Secret", Name: "my-cluster-cluster-ca-cert"}).(*corev1.Secret).Data["ca.crt"]).NotTo(Equal(ca))
			g.Expect(h.annotation(nodeThumbprint)).NotTo(Equal(node), "nodes are restarted with a new certificate")
			g.Expect(h.served("my-cluster-brokers-0")).To(Equal(own))
		})
	}
}

func TestAPassIsRepeatedForAListenersSecretThatCannotBeRead(t *testing.T) {
	g := NewWithT(t)
	h := newHistory(t, 1)
	h.runsWithOwn()
	h.unreadable("own")
	_, err := h.r.Reconcile(t.Context(),
		reconcile.Request{NamespacedName: types.NamespacedName{Namespace: historyNamespace, Name: "my-cluster"}})
	g.Expect(err).To(MatchError(ContainSubstring("timeout")))
}

// judgePairs checks that no Secret of a node holds a listener's certificate with the key of another one.
func (h *history) judgePairs(s *apiServer, key facts.Key, after client.Object) {
	secret, ok := after.(*corev1.Secret)
	if !ok {
		return
	}
	for entry, certificate := range secret.Data {
		name, is := strings.CutSuffix(entry, ".crt")
		if !is || secret.Data[name+".key"] == nil {
			continue
		}
		if _, err := tls.X509KeyPair(certificate, secret.Data[name+".key"]); err != nil {
			h.failf("%s and its key in Secret %s in %s: %v", entry, key.Name, s.id, err)
		}
	}
}
