package controller

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// suppliedCA returns the certificate and the key of a CA as PEM.
func suppliedCA(t *testing.T, now time.Time) (certificate, key []byte) {
	t.Helper()
	g := NewWithT(t)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(1000 * time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	g.Expect(err).NotTo(HaveOccurred())
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	g.Expect(err).NotTo(HaveOccurred())
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

// TestWrongSecretsMakeNothing creates a Kafka beside Secrets with which its certificates can't be made: nothing is made for it, load
// balancers least of all.
func TestWrongSecretsMakeNothing(t *testing.T) {
	const keyName, certName = "c-cluster-ca", "c-cluster-ca-cert"
	ours := map[string]string{v1.LabelCluster: "c", core.LabelKind: core.KindKafka}
	none := map[string][]byte{}
	for name, c := range map[string]struct {
		// supplied reports that the user supplies the cluster CA.
		supplied bool
		labels   map[string]string
		secrets  func(certificate, key []byte) map[string]map[string][]byte
		message  string
	}{
		"a CA of the user's without Secrets": {supplied: true, message: "Cluster CA should not be generated, but the secrets were not found."},
		"a CA of the user's without a certificate": {supplied: true,
			secrets: func(_, key []byte) map[string]map[string][]byte {
				return map[string]map[string][]byte{keyName: {"ca.key": key}, certName: none}
			}, message: "Secret ns/c-cluster-ca-cert for CA CLUSTER_CA does not contain a readable ca.crt"},
		"a CA of the user's with a chain that is none": {supplied: true,
			secrets: func(certificate, key []byte) map[string]map[string][]byte {
				other, _ := suppliedCA(t, time.Unix(1_800_000_000, 0))
				return map[string]map[string][]byte{keyName: {"ca.key": key}, certName: {"ca.crt": append(certificate, other...)}}
			}, message: "Failed to validate User supplied Cluster CA cert chain in ca.crt"},
		"a CA of the user's without a key": {supplied: true,
			secrets: func(certificate, _ []byte) map[string]map[string][]byte {
				return map[string]map[string][]byte{keyName: none, certName: {"ca.crt": certificate}}
			}, message: "Secret ns/c-cluster-ca for CA CLUSTER_CA does not contain ca.key"},
		"a CA that lost its key": {labels: ours,
			secrets: func(certificate, _ []byte) map[string]map[string][]byte {
				return map[string]map[string][]byte{keyName: none, certName: {"ca.crt": certificate}}
			}, message: "Secret ns/c-cluster-ca holds no ca.key"},
		"the Secret of a CA is somebody else's": {
			secrets: func(_, _ []byte) map[string]map[string][]byte { return map[string]map[string][]byte{keyName: none} },
			message: "Secret ns/c-cluster-ca exists and does not belong to Kafka c"},
		"the Secret of a node is somebody else's": {
			secrets: func(_, _ []byte) map[string]map[string][]byte {
				return map[string]map[string][]byte{"c-broker-0": none}
			},
			message: "Secret ns/c-broker-0 exists and does not belong to Kafka c"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := newHistory(t, 1)
			h.name = "c"
			row := goodManifest(t)
			row.Kafka.Spec.Kafka.Listeners = append(row.Kafka.Spec.Kafka.Listeners,
				v1.Listener{Name: "lb", Port: 9094, Type: v1.ListenerLoadBalancer, TLS: true})
			if c.supplied {
				row.Kafka.Spec.ClusterCa = &v1.CertificateAuthority{GenerateCertificateAuthority: new(false)}
			}
			objects := row.objects()
			if c.secrets != nil {
				for name, data := range c.secrets(suppliedCA(t, h.now)) {
					objects = append(objects, &corev1.Secret{Data: data,
						ObjectMeta: metav1.ObjectMeta{Namespace: historyNamespace, Name: name, Labels: c.labels}})
				}
			}
			for _, o := range objects {
				h.must(h.k8s.Create(t.Context(), o))
			}
			before := h.others()
			h.passOver("c")
			g.Expect(h.kafka("c")).To(WithTransform(readyOf, And(HaveField("Status", "False"),
				HaveField("Message", ContainSubstring(c.message)))))
			g.Expect(h.others()).To(Equal(before))
		})
	}
}
