package connection

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	shared "github.com/kafka-operators/kafka-operators/operator/credentials"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
)

func secretOf(name string, entries ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kafka", Name: name}, Data: map[string][]byte{}}
	for i := 0; i < len(entries); i += 2 {
		s.Data[entries[i]] = []byte(entries[i+1])
	}
	return s
}

// Connections use the credentials of Secrets and files, and notice changes of both.
func TestCredentialsComeFromSecretsAndFiles(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	ca := filepath.Join(folder, "ca.crt")
	g.Expect(os.WriteFile(ca, []byte("PEM"), 0o600)).To(Succeed())
	cluster := fake.NewClientBuilder().WithObjects(secretOf("login", "username", "me", "password", "hush\n")).Build()
	o := options.KafkaOptions{Settings: credentials.Settings{
		Protocol: credentials.ProtocolSASLSSL, SecretNamespace: "kafka", SASL: credentials.SASL{Mechanism: kafka.SASLPlain, Secret: "login"},
	}, Files: shared.Files{CA: ca}}
	read := func() (credentials.Material, kafka.Config) {
		settings, m, err := material(t.Context(), cluster, o)
		g.Expect(err).NotTo(HaveOccurred())
		return m, credentials.KafkaConfig(settings, m)
	}
	first, config := read()
	g.Expect(config.TLS.TrustedCertificates).To(Equal([]byte("PEM")))
	g.Expect([]string{config.SASL.Username, config.SASL.Password}).To(Equal([]string{"me", "hush"}))
	again, _ := read()
	g.Expect(again).To(Equal(first), "nothing has changed")

	g.Expect(cluster.Update(t.Context(), secretOf("login", "username", "me", "password", "hush, hush"))).To(Succeed())
	second, _ := read()
	g.Expect(second).NotTo(Equal(first))
	g.Expect(os.WriteFile(ca, []byte("another"), 0o600)).To(Succeed())
	third, _ := read()
	g.Expect(third).NotTo(Equal(second))
}

func TestAPasswordInAFile(t *testing.T) {
	for _, oauth := range []*credentials.OAuth{nil, {TokenEndpoint: "https://idp/token", ClientID: "me"}} {
		g := NewWithT(t)
		file := filepath.Join(t.TempDir(), "password")
		g.Expect(os.WriteFile(file, []byte("hush\n"), 0o600)).To(Succeed())
		o := options.KafkaOptions{Settings: credentials.Settings{
			Protocol: credentials.ProtocolSASLSSL, SASL: credentials.SASL{Mechanism: kafka.SASLScramSHA256, Username: "me", OAuth: oauth},
		}, Files: shared.Files{Password: file}}
		if oauth != nil {
			o.SASL.Mechanism = kafka.SASLOAuthBearer
		}
		settings, m, err := material(t.Context(), fake.NewClientBuilder().Build(), o)
		g.Expect(err).NotTo(HaveOccurred())
		config := credentials.KafkaConfig(settings, m)
		if oauth != nil {
			g.Expect(config.SASL.Token).NotTo(BeNil())
			g.Expect(settings.SASL.OAuth.ClientSecret.Reveal()).To(Equal("hush"))
			g.Expect(oauth.ClientSecret.IsEmpty()).To(BeTrue(), "the options stay as they were")
			continue
		}
		g.Expect([]string{config.SASL.Username, config.SASL.Password}).To(Equal([]string{"me", "hush"}), "without the end of the line")
	}
}

func TestCredentialsThatCannotBeRead(t *testing.T) {
	g := NewWithT(t)
	o := options.KafkaOptions{Settings: credentials.Settings{
		Protocol: credentials.ProtocolSSL, SecretNamespace: "kafka", TLS: credentials.TLS{TrustSecret: "ca"},
	}}
	_, _, err := material(t.Context(), fake.NewClientBuilder().Build(), o)
	g.Expect(err).To(MatchError("Secret ca in namespace kafka with certificates was configured but is missing."))
	_, _, err = material(t.Context(), fake.NewClientBuilder().WithObjects(client.Object(secretOf("ca", "ca.crt", "no PEM"))).Build(), o)
	g.Expect(err).To(MatchError(ContainSubstring("entry ca.crt: it has no certificate in PEM")))
	o.TLS.TrustSecret, o.Files.CA = "", filepath.Join(t.TempDir(), "nowhere")
	_, _, err = material(t.Context(), fake.NewClientBuilder().Build(), o)
	g.Expect(err).To(MatchError(os.ErrNotExist))
}
