package options_test

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	shared "github.com/kafka-operators/kafka-operators/operator/credentials"
	"github.com/kafka-operators/kafka-operators/roller/internal/options"
)

const oauthJSON = `{"sasl.mechanism":"OAUTHBEARER","sasl.oauthbearer.token.endpoint.url":"https://idp/token"}`

// The roller reads the topic-operator's environment variables with the same meaning.
func TestHowToReachKafka(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		want options.KafkaOptions
	}{
		"nothing said": {nil, nil, options.KafkaOptions{Settings: credentials.Settings{Protocol: credentials.ProtocolPlaintext}}},
		"--tls":        {nil, []string{"--tls"}, options.KafkaOptions{Settings: credentials.Settings{Protocol: credentials.ProtocolSSL}}},
		"Strimzi's Secrets": {
			map[string]string{"STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME": "ca", "STRIMZI_TLS_SECRET_NAME": "me", "STRIMZI_TLS_CERT_NAME": "user.crt",
				"STRIMZI_TLS_KEY_NAME": "user.key"}, nil,
			options.KafkaOptions{Settings: credentials.Settings{
				Protocol: credentials.ProtocolSSL, TLS: credentials.TLS{TrustSecret: "ca", IdentitySecret: "me", CertEntry: "user.crt",
					KeyEntry: "user.key"},
			}},
		},
		"a Secret of type kubernetes.io/tls": {
			map[string]string{"STRIMZI_TLS_SECRET_NAME": "me", "STRIMZI_CLUSTER_NAMESPACE": "elsewhere"}, nil,
			options.KafkaOptions{Settings: credentials.Settings{
				Protocol: credentials.ProtocolSSL, TLS: credentials.TLS{IdentitySecret: "me", CertEntry: "tls.crt", KeyEntry: "tls.key"},
				SecretNamespace: "elsewhere",
			}},
		},
		"files, and any host name": {
			map[string]string{"STRIMZI_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM": ""},
			[]string{"--tls-ca-file=ca", "--tls-cert-file=crt", "--tls-key-file=key"},
			options.KafkaOptions{
				Settings: credentials.Settings{Protocol: credentials.ProtocolSSL, TLS: credentials.TLS{SkipHostnameVerification: true}},
				Files:    shared.Files{CA: "ca", Cert: "crt", Key: "key"},
			},
		},
		"a password": {
			map[string]string{"STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_MECHANISM": "scram-sha-512", "STRIMZI_SASL_USERNAME": "me",
				"STRIMZI_SASL_PASSWORD": "hush"}, nil,
			options.KafkaOptions{Settings: credentials.Settings{
				Protocol: credentials.ProtocolSASLPlaintext, SASL: credentials.SASL{Mechanism: kafka.SASLScramSHA512, Username: "me",
					Password: credentials.Conceal("hush")},
			}},
		},
		"a password in a file": {
			nil, []string{"--sasl-enabled", "--sasl-mechanism=PLAIN", "--sasl-username=me", "--sasl-password-file=f",
				"--security-protocol=sasl_ssl"},
			options.KafkaOptions{
				Settings: credentials.Settings{Protocol: credentials.ProtocolSASLSSL,
					SASL: credentials.SASL{Mechanism: kafka.SASLPlain, Username: "me"}},
				Files: shared.Files{Password: "f"},
			},
		},
		"a password in a Secret": {
			map[string]string{"STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_MECHANISM": "plain", "STRIMZI_SASL_SECRET_NAME": "login",
				"STRIMZI_CLIENT_ID": "me-too"}, nil,
			options.KafkaOptions{Settings: credentials.Settings{
				Protocol: credentials.ProtocolSASLPlaintext, SASL: credentials.SASL{Mechanism: kafka.SASLPlain, Secret: "login"}, ClientID: "me-too",
			}},
		},
		"a token": {
			map[string]string{"STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_CUSTOM_CONFIG_JSON": oauthJSON,
				"STRIMZI_SASL_SECRET_NAME": "login"}, nil,
			options.KafkaOptions{Settings: credentials.Settings{
				Protocol: credentials.ProtocolSASLPlaintext,
				SASL: credentials.SASL{
					Mechanism: kafka.SASLOAuthBearer, Secret: "login",
					OAuth: &credentials.OAuth{TokenEndpoint: "https://idp/token", Extensions: map[string]string{}},
				},
			}},
		},
		"a mechanism, and nothing that says to log in": {
			map[string]string{"STRIMZI_SASL_MECHANISM": "plain", "STRIMZI_SASL_PASSWORD": "hush"}, nil,
			options.KafkaOptions{Settings: credentials.Settings{Protocol: credentials.ProtocolPlaintext}},
		},
		"switched off": {
			map[string]string{"STRIMZI_SASL_ENABLED": "false", "STRIMZI_SASL_MECHANISM": "plain", "STRIMZI_SASL_PASSWORD": "hush"}, nil,
			options.KafkaOptions{Settings: credentials.Settings{Protocol: credentials.ProtocolPlaintext}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o, err := parse(c.env, append(append([]string{"plan"}, where...), c.args...)...)
			g.Expect(err).NotTo(HaveOccurred())
			c.want.Bootstrap = []string{"a:9092", "b:9092"}
			if c.want.ClientID == "" {
				c.want.ClientID = "kafka-operators-roller"
			}
			if c.want.SecretNamespace == "" {
				c.want.SecretNamespace = "ns"
			}
			g.Expect(o.Kafka).To(Equal(c.want))
			g.Expect(o.Effective).To(And(ContainSubstring(`="a:9092`), Not(ContainSubstring("hush"))))
		})
	}
}

// Contradictory settings are reported at the start: a guess would send a password in clear text, or not log in at all.
func TestWrongWaysToKafka(t *testing.T) {
	login := map[string]string{"STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_MECHANISM": "plain", "STRIMZI_SASL_USERNAME": "me",
		"STRIMZI_SASL_PASSWORD": "hush"}
	with := func(more ...string) map[string]string {
		env := maps.Clone(login)
		for i := 0; i < len(more); i += 2 {
			env[more[i]] = more[i+1]
		}
		return env
	}
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"unknown protocol": {map[string]string{"STRIMZI_SECURITY_PROTOCOL": "TLS"},
			`STRIMZI_SECURITY_PROTOCOL="TLS": unknown security protocol`},
		"certificates without TLS": {map[string]string{"STRIMZI_SECURITY_PROTOCOL": "PLAINTEXT", "STRIMZI_TLS_SECRET_NAME": "me"},
			"STRIMZI_TLS_CERT_FILE is set; use SSL"},
		"login in a protocol without": {with("STRIMZI_SECURITY_PROTOCOL", "SSL"), "use SASL_SSL, or set STRIMZI_SASL_ENABLED=false"},
		"no login in a protocol with": {map[string]string{"STRIMZI_SECURITY_PROTOCOL": "SASL_SSL"},
			"it needs a login, but STRIMZI_SASL_ENABLED is not true"},
		"unknown mechanism": {with("STRIMZI_SASL_MECHANISM", "kerberos"), "Invalid SASL_MECHANISM type: kerberos"},
		"no mechanism":      {map[string]string{"STRIMZI_SASL_ENABLED": "true"}, "Invalid SASL_MECHANISM type"},
		"no password":       {with("STRIMZI_SASL_PASSWORD", ""), "SASL credentials are not set"},
		"no name":           {with("STRIMZI_SASL_USERNAME", ""), "SASL credentials are not set"},
		"two passwords":     {with("STRIMZI_SASL_SECRET_NAME", "login"), "keep the password in one place"},
		"a client without its secret": {map[string]string{"STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_CUSTOM_CONFIG_JSON": oauthJSON},
			"SASL credentials are not set"},
		"no JSON": {map[string]string{"STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_CUSTOM_CONFIG_JSON": "hush"},
			"SASL custom config properties deserialize failed"},
		"a certificate without its key": {map[string]string{"STRIMZI_TLS_SECRET_NAME": "me", "STRIMZI_TLS_CERT_NAME": "user.crt"},
			"STRIMZI_TLS_KEY_NAME is not set"},
		"an unknown check of host names": {map[string]string{"STRIMZI_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM": "none"},
			"unknown algorithm; use HTTPS"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := parse(c.env, append([]string{"plan"}, where...)...)
			g.Expect(err).To(MatchError(ContainSubstring(c.want)))
			g.Expect(err.Error()).NotTo(ContainSubstring("hush"))
		})
	}
}
