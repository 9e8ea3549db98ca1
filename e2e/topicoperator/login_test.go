package topicoperator

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kafka-operators/kafka-operators/e2e/proxy"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// Strimzi's MainTest, and additionally credentials that change while the operator runs.
var _ = Describe("The operator's login", func() {
	var namespace string
	BeforeEach(func() { namespace = newNamespace() })

	// secret creates a Secret, or replaces its data.
	secret := func(name string, data map[string][]byte) {
		GinkgoHelper()
		s := &corev1.Secret{}
		s.Namespace, s.Name = namespace, name
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(s), s); client.IgnoreNotFound(err) == nil && err != nil {
			s.Data = data
			Expect(k8s.Create(ctx, s)).To(Succeed())
			return
		}
		s.Data = data
		Expect(k8s.Update(ctx, s)).To(Succeed())
	}
	trust := func(authorities ...*realkafka.Authority) map[string][]byte {
		data := map[string][]byte{"notes.txt": []byte("not a certificate")}
		for i, a := range authorities {
			data[fmt.Sprintf("ca-%d.crt", i)] = a.PEM()
		}
		return data
	}
	identity := func(c realkafka.Certificate) map[string][]byte {
		return map[string][]byte{"user.crt": c.Cert, "user.key": c.Key}
	}
	issued := func(authority *realkafka.Authority, name string) realkafka.Certificate {
		GinkgoHelper()
		c, err := authority.Issue(name)
		Expect(err).NotTo(HaveOccurred())
		return c
	}
	// secured starts an operator that reads its Secrets in the spec's namespace.
	secured := func(name string, bootstrap []string, env settings) *scene {
		GinkgoHelper()
		s := setup{name: name, namespaces: namespace, bootstrap: bootstrap, env: settings{"STRIMZI_CLUSTER_NAMESPACE": namespace}}
		for key, value := range env {
			s.env[key] = value
		}
		return stageIn(startOperator(s), namespace)
	}
	const secretsChanged = "Applied the changed Secrets for Kafka"
	// reconnected closes all connections, so that later requests need a login with the current credentials.
	reconnected := func(p *proxy.Proxy) { p.Lead(main.SASLBootstrap()...) }

	It("TLS, mTLS: with the certificates of two Secrets, and new ones without a restart", func() {
		secret("trust", trust(main.Authority()))
		secret("identity", identity(main.ClientCertificate()))
		s := secured("mtls", main.TLSBootstrap(), settings{
			"STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME": "trust",
			"STRIMZI_TLS_SECRET_NAME":               "identity", "STRIMZI_TLS_KEY_NAME": "user.key", "STRIMZI_TLS_CERT_NAME": "user.crt",
		})
		s.created("first")
		stranger, err := realkafka.NewAuthority("stranger")
		Expect(err).NotTo(HaveOccurred())

		By("refusing a certificate that Kafka does not know")
		secret("identity", identity(issued(stranger, "client")))
		Eventually(s.logged).WithArguments(secretsChanged).Should(BeTrue())
		kt := s.create("second")
		s.refused(kt, "KafkaError", "SslAuthenticationException: ")

		By("taking a new one")
		secret("identity", identity(issued(main.Authority(), "client-2")))
		Eventually(func() int { return len(s.process.LogLines(secretsChanged)) }).Should(Equal(2))
		s.ready(kt)
	})

	It("TLS: a new authority without a restart", func() {
		stranger, err := realkafka.NewAuthority("stranger")
		Expect(err).NotTo(HaveOccurred())
		secret("trust", trust(stranger))
		s := secured("tls", main.SASLTLSBootstrap(), settings{
			"STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME": "trust",
			"STRIMZI_SASL_ENABLED":                  "true", "STRIMZI_SASL_MECHANISM": "scram-sha-256",
			"STRIMZI_SASL_USERNAME": superUser, "STRIMZI_SASL_PASSWORD": superPassword,
		})
		kt := s.create("t")
		s.refused(kt, "KafkaError", "SslAuthenticationException: ")
		secret("trust", trust(stranger, main.Authority()))
		Eventually(s.logged).WithArguments(secretsChanged).Should(BeTrue())
		s.ready(kt)
	})

	DescribeTable("SASL with name and password from the environment",
		func(mechanism string) {
			s := secured(mechanism, main.SASLBootstrap(), settings{
				"STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_MECHANISM": mechanism,
				"STRIMZI_SASL_USERNAME": superUser, "STRIMZI_SASL_PASSWORD": superPassword,
			})
			s.created("t")
			Expect(s.logged(superPassword)).To(BeFalse(), "the password in the log")
		},
		Entry("PLAIN", "plain"),
		Entry("SCRAM-SHA-256", "scram-sha-256"),
		Entry("SCRAM-SHA-512", "scram-sha-512"),
	)

	It("SASL: another user and password in the Secret, without a restart", func() {
		login := func(user, password string) map[string][]byte {
			return map[string][]byte{"username": []byte(user), "password": []byte(password + "\n")}
		}
		secret("login", login(superUser, superPassword))
		way := startProxy(main.SASLBootstrap()...)
		s := secured("sasl", way.Addresses(), settings{
			"STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_MECHANISM": "scram-sha-512", "STRIMZI_SASL_SECRET_NAME": "login",
		})
		s.created("first")

		By("refusing a wrong password")
		secret("login", login(superUser, "wrong"))
		Eventually(s.logged).WithArguments(secretsChanged).Should(BeTrue())
		reconnected(way)
		kt := s.create("second")
		s.refused(kt, "KafkaError", "SaslAuthenticationException: ")

		By("logging in as somebody else")
		secret("login", login(renamedUser, renamedPassword))
		Eventually(func() int { return len(s.process.LogLines(secretsChanged)) }).Should(Equal(2))
		s.ready(kt)
		Expect(s.logged(renamedPassword)).To(BeFalse(), "the password in the log")

		By("keeping what works when the Secret is gone")
		gone := &corev1.Secret{}
		gone.Namespace, gone.Name = namespace, "login"
		Expect(k8s.Delete(ctx, gone)).To(Succeed())
		Eventually(s.logged).WithArguments("the last valid ones stay in use").Should(BeTrue())
		reconnected(way)
		s.created("third")
	})

	It("OAUTHBEARER: tokens from an https endpoint that the brokers' authority vouches for", func() {
		secret("trust", trust(main.Authority()))
		secret("login", map[string][]byte{"client-id": []byte(superUser), "client-secret": []byte("token-secret")})
		endpoint, asked := tokenEndpoint(issued(main.Authority(), "localhost"))
		s := secured("oauth", main.SASLTLSBootstrap(), settings{
			"STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME": "trust",
			"STRIMZI_SASL_ENABLED":                  "true",
			"STRIMZI_SASL_SECRET_NAME":              "login",
			"STRIMZI_SASL_CUSTOM_CONFIG_JSON": fmt.Sprintf(`{"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": %q}`,
				endpoint),
		})
		s.created("t")
		Expect(asked.Load()).NotTo(BeZero())
		Expect(s.logged("token-secret")).To(BeFalse())
	})

	DescribeTable("a missing Secret ends the operator with Strimzi's message",
		func(env settings, want string) {
			env["STRIMZI_CLUSTER_NAMESPACE"] = namespace
			o := newOperator(setup{name: "missing", namespaces: namespace, bootstrap: main.TLSBootstrap(), env: env})
			DeferCleanup(o.forget)
			Eventually(o.process.Exited()).Should(BeClosed())
			Expect(o.process.ExitCode()).To(Equal(1))
			Expect(o.process.Log()).To(ContainSubstring(fmt.Sprintf(want, namespace)))
		},
		Entry("of trusted certificates", settings{"STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME": "nowhere"},
			"Secret nowhere in namespace %s with certificates was configured but is missing."),
		Entry("of the operator's own certificate", settings{"STRIMZI_TLS_SECRET_NAME": "nowhere"},
			"Secret nowhere in namespace %s with certificates was configured but is missing."),
	)

	It("settings that contradict each other end the operator with code 2", func() {
		o := newOperator(setup{name: "wrong", namespaces: namespace,
			env: settings{"STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_MECHANISM": "kerberos"}})
		DeferCleanup(o.forget)
		Eventually(o.process.Exited()).Should(BeClosed())
		Expect(o.process.ExitCode()).To(Equal(2))
		Expect(o.process.Log()).To(ContainSubstring("Invalid SASL_MECHANISM type: kerberos"))
	})
})

// tokenEndpoint issues unsecured tokens (Kafka's development mode), whose subject is the client's id, over https.
func tokenEndpoint(certificate realkafka.Certificate) (url string, asked *atomic.Int32) {
	GinkgoHelper()
	pair, err := tls.X509KeyPair(certificate.Cert, certificate.Key)
	Expect(err).NotTo(HaveOccurred())
	asked = &atomic.Int32{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		id, _, ok := r.BasicAuth()
		if !ok {
			id = r.FormValue("client_id")
		}
		part := func(v map[string]any) string {
			text, _ := json.Marshal(v)
			return base64.RawURLEncoding.EncodeToString(text)
		}
		now := time.Now()
		token := part(map[string]any{"alg": "none"}) + "." + part(map[string]any{"sub": id, "iat": now.Unix(),
			"exp": now.Add(time.Hour).Unix()}) + "."
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600})
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	DeferCleanup(server.Close)
	return server.URL, asked
}
