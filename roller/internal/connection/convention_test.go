package connection

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func setOf(roles map[string]string) observe.PodSet {
	var set observe.PodSet
	for name, controller := range roles {
		set.Pods = append(set.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{core.LabelControllerRole: controller}}})
	}
	return set
}

func TestAddressesByConvention(t *testing.T) {
	g := NewWithT(t)
	g.Expect(bootstrap("kafka", "my-cluster")).To(Equal("my-cluster-kafka-brokers.kafka.svc:9091"))
	places := []observe.Place{
		{Sets: []observe.PodSet{setOf(map[string]string{"my-cluster-c-1": "true", "my-cluster-b-2": "false"}),
			setOf(map[string]string{"my-cluster-c-0": "true"})}},
		{ID: "east", Sets: []observe.PodSet{setOf(map[string]string{"my-cluster-e-7": "true", "my-cluster-e-8": "true"})},
			Properties: map[string]string{
				"my-cluster-e-7": "controller.listener.names=CONTROLPLANE-9090\ninter.broker.listener.name=REPLICATION-9091\n" +
					"advertised.listeners=REPLICATION-9091://e7.example.com:31091, CONTROLPLANE-9090://e7.example.com:31090\n",
				"my-cluster-e-8": "node.id=8\n", // no process.roles
			}},
	}
	g.Expect(ofControllers.addresses("kafka", "my-cluster", places)).To(Equal(map[int32]string{
		7: "e7.example.com:31090", 0: "my-cluster-c-0.my-cluster-kafka-brokers.kafka.svc:9090",
		1: "my-cluster-c-1.my-cluster-kafka-brokers.kafka.svc:9090",
	}))
	for _, pod := range slices.Concat(places[0].Sets[0].Pods, places[1].Sets[0].Pods) {
		pod.Labels[core.LabelBrokerRole] = strconv.FormatBool(pod.Name != "my-cluster-c-1")
	}
	g.Expect(ofBrokers.addresses("kafka", "my-cluster", places)).To(Equal(map[int32]string{
		7: "e7.example.com:31091", 2: "my-cluster-b-2.my-cluster-kafka-brokers.kafka.svc:9091",
	}))
	for _, host := range []string{"fd00::7", "[fd00::7]"} {
		places[1].Properties["my-cluster-e-7"] = "inter.broker.listener.name=REPLICATION-9091\n" +
			"advertised.listeners=REPLICATION-9091://" + host + ":31091\n"
		g.Expect(ofBrokers.addresses("kafka", "my-cluster", places)).To(HaveKeyWithValue(int32(7), "[fd00::7]:31091"))
	}
}

// pair returns a self-signed certificate and its key, in PEM.
func pair(t *testing.T) (authority, certificate, key string) {
	t.Helper()
	g := NewWithT(t)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: noon, NotAfter: noon.AddDate(10, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	g.Expect(err).NotTo(HaveOccurred())
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	g.Expect(err).NotTo(HaveOccurred())
	certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return certificate, certificate, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// conventional returns a connection without configured addresses, for a cluster with these Secrets.
func conventional(secrets ...client.Object) *Connection {
	return &Connection{
		Namespace: "kafka", Cluster: "my-cluster",
		Kafka:   options.KafkaOptions{Settings: credentials.Settings{Protocol: credentials.ProtocolPlaintext}},
		Timeout: time.Second, Secrets: fake.NewClientBuilder().WithObjects(secrets...).Build(), Log: logr.Discard(),
	}
}

func TestCredentialsByConvention(t *testing.T) {
	g := NewWithT(t)
	authority, certificate, key := pair(t)
	ca := secretOf("my-cluster-cluster-ca-cert", "ca.crt", authority, "ca-2026-11-21T12-00-00Z.crt", authority, "ca.p12", "no PEM")
	own := secretOf("my-cluster-cluster-operator-certs", "cluster-operator.crt", certificate, "cluster-operator.key", key)

	settings, m, err := conventional(ca, own).credentials(t.Context(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	config := credentials.KafkaConfig(settings, m)
	g.Expect(strings.Count(string(config.TLS.TrustedCertificates), authority)).To(Equal(2), "all that end in .crt")
	g.Expect(string(config.TLS.Certificate)).To(Equal(certificate))
	g.Expect(string(config.TLS.Key)).To(Equal(key))

	settings, _, err = conventional().credentials(t.Context(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(settings.Protocol).To(Equal(credentials.ProtocolPlaintext), "without both, the settings count")

	_, _, err = conventional(ca).credentials(t.Context(), nil)
	g.Expect(err).To(MatchError("Secret my-cluster-cluster-operator-certs in namespace kafka with certificates was configured but is " +
		"missing."))

	operators := []observe.Place{{Sets: []observe.PodSet{{Everywhere: true}}}}
	_, _, err = conventional().credentials(t.Context(), operators)
	g.Expect(err).To(MatchError(ContainSubstring("is missing")), "the cluster operator will make both")

	forbidden := conventional()
	forbidden.Secrets = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, k client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, k.Name, nil)
		},
	}).Build()
	_, _, err = forbidden.credentials(t.Context(), nil)
	g.Expect(err).To(MatchError(ContainSubstring("get must be allowed")), "what can't be read is not absent")
}

// Changed addresses and Secrets are applied; unusable ones leave the previous connection.
func TestAConnectionFollowsItsCluster(t *testing.T) {
	g := NewWithT(t)
	authority, certificate, key := pair(t)
	c := conventional()
	defer c.Close()
	one := []observe.Place{{Sets: []observe.PodSet{setOf(map[string]string{"c-0": "true"})}}}
	k, err := c.Connect(t.Context(), one, noon)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(k.Controllers).NotTo(BeNil())
	first := c.inForce
	g.Expect(first.protocol).To(Equal(credentials.ProtocolPlaintext))

	c.Secrets = fake.NewClientBuilder().WithObjects(
		secretOf("my-cluster-cluster-ca-cert", "ca.crt", authority),
		secretOf("my-cluster-cluster-operator-certs", "cluster-operator.crt", certificate, "cluster-operator.key", key),
	).Build()
	_, err = c.Connect(t.Context(), one, noon.Add(recheck-1))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.inForce.equal(first)).To(BeTrue(), "they are not read at each look")
	_, err = c.Connect(t.Context(), one, noon.Add(recheck))
	g.Expect(err).NotTo(HaveOccurred())
	second := c.inForce
	g.Expect(second.protocol).To(Equal(credentials.ProtocolSSL))
	g.Expect(c.problem).To(BeEmpty())

	late := noon.AddDate(10, 0, 0).Add(time.Second)
	_, err = c.Connect(t.Context(), one, late)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.problem).To(ContainSubstring("certificate in Secret my-cluster-cluster-operator-certs in namespace kafka is valid only from"))
	_, err = c.Connect(t.Context(), one, noon.Add(2*recheck))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.problem).To(BeEmpty())

	two := []observe.Place{{Sets: []observe.PodSet{setOf(map[string]string{"c-0": "true", "c-1": "true"})}}}
	_, err = c.Connect(t.Context(), two, noon.Add(recheck+1))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.inForce.controllers).To(HaveLen(2), "a controller that is new is asked at once")

	c.Secrets = fake.NewClientBuilder().WithObjects(secretOf("my-cluster-cluster-ca-cert", "ca.crt", "no PEM")).Build()
	_, err = c.Connect(t.Context(), two, noon.Add(time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.problem).To(ContainSubstring("my-cluster-cluster-operator-certs"))
	g.Expect(c.inForce.material).To(Equal(second.material))
	c.Secrets = fake.NewClientBuilder().Build()
	_, err = c.Connect(t.Context(), two, noon.Add(2*time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.problem).To(ContainSubstring("Secret my-cluster-cluster-ca-cert in namespace kafka with certificates was configured but is " +
		"missing"))
	g.Expect(c.inForce.material).To(Equal(second.material), "the login of the settings is for others")

	_, err = conventional(secretOf("my-cluster-cluster-ca-cert", "ca.crt", authority)).Connect(t.Context(), one, noon)
	g.Expect(err).To(HaveOccurred(), "there are no last good ones")
}

// If a Kubernetes cluster can't be read, its controllers stay among the addresses.
func TestControllersOfAPlaceThatCannotBeReadStay(t *testing.T) {
	g := NewWithT(t)
	c := conventional()
	defer c.Close()
	_, err := c.Connect(t.Context(), []observe.Place{{ID: "east", Err: net.ErrClosed}}, noon.Add(-time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
	home := observe.Place{Sets: []observe.PodSet{setOf(map[string]string{"c-0": "true"})}}
	east := observe.Place{
		ID: "east", Sets: []observe.PodSet{setOf(map[string]string{"c-1": "true"})},
		Properties: map[string]string{"c-1": "controller.listener.names=CONTROLPLANE-9090\nadvertised.listeners=CONTROLPLANE-9090://c1:9090"},
	}
	_, err = c.Connect(t.Context(), []observe.Place{home, east}, noon)
	g.Expect(err).NotTo(HaveOccurred())
	known := c.inForce.controllers
	g.Expect(known).To(HaveLen(2))
	_, err = c.Connect(t.Context(), []observe.Place{home, {ID: "east", Err: net.ErrClosed}}, noon.Add(time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.inForce.controllers).To(Equal(known))
}
