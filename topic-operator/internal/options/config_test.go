package options

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// environment is a set of environment variables.
type environment map[string]string

func (e environment) lookup(name string) (string, bool) {
	value, ok := e[name]
	return value, ok
}

func (e environment) env() settings.Environment {
	return settings.Environment{Lookup: e.lookup, Variables: e.list()}
}

func (e environment) list() []string {
	var all []string
	for name, value := range e {
		all = append(all, name+"="+value)
	}
	return all
}

// with returns the mandatory settings, and more.
func with(more ...string) environment {
	e := environment{"STRIMZI_NAMESPACE": "my-namespace", "STRIMZI_KAFKA_BOOTSTRAP_SERVERS": "localhost:1234"}
	for i := 0; i < len(more); i += 2 {
		e[more[i]] = more[i+1]
	}
	return e
}

func (e environment) parse(t *testing.T, args ...string) (Options, []string) {
	t.Helper()
	o, warnings, err := Parse(args, e.env())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return o, warnings
}

func (e environment) fails(t *testing.T, texts ...string) {
	t.Helper()
	_, _, err := Parse(nil, e.env())
	for _, text := range texts {
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(text)))
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	NewWithT(t).Expect(got).To(Equal(want), what)
}

// warnedOnce checks that there is one warning, with this text.
func warnedOnce(t *testing.T, warnings []string, text string) {
	t.Helper()
	NewWithT(t).Expect(warnings).To(ConsistOf(ContainSubstring(text)))
}

const (
	plainJAAS = `org.apache.kafka.common.security.plain.PlainLoginModule required username=\"foo\" password=\"bar\";`
	oauthJAAS = `org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId=\"me\" clientSecret=\"hush\" ` +
		`scope=\"a b\" extension_logicalCluster=\"lc\";`
)

// The cases of Strimzi's TopicOperatorConfigTest, by their names. Where this operator deviates, the case says so.
func TestStrimziConfig(t *testing.T) {
	tls := []string{"STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME", "ca"}
	login := func(mechanism string, more ...string) environment {
		return with(append([]string{"STRIMZI_SASL_ENABLED", "true", "STRIMZI_SASL_MECHANISM", mechanism, "STRIMZI_SASL_USERNAME", "foo",
			"STRIMZI_SASL_PASSWORD", "bar"}, more...)...)
	}
	custom := func(text string) environment {
		return with("STRIMZI_SASL_ENABLED", "true", "STRIMZI_SASL_CUSTOM_CONFIG_JSON", text)
	}
	acceptsSCRAM := func(mechanism string, want kafka.SASLMechanism) func(*testing.T) {
		return func(t *testing.T) {
			o, _ := login(mechanism, tls...).parse(t)
			equal(t, "mechanism", o.Kafka.SASL.Mechanism, want)
			equal(t, "protocol", o.Kafka.Protocol, credentials.ProtocolSASLSSL)
		}
	}
	cases := map[string]func(*testing.T){
		"shouldConnectWithPlaintextAndNotAuthn": func(t *testing.T) {
			o, warnings := with().parse(t)
			equal(t, "protocol", o.Kafka.Protocol, credentials.ProtocolPlaintext)
			equal(t, "bootstrap", o.Kafka.Bootstrap, []string{"localhost:1234"})
			equal(t, "login", o.Kafka.SASL, credentials.SASL{})
			equal(t, "warnings", len(warnings), 0)
			NewWithT(t).Expect(o.Kafka.ClientID).To(MatchRegexp(`^strimzi-topic-operator-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`))
		},
		"shouldConnectWithSaslPlain": func(t *testing.T) {
			// Strimzi leaves the protocol at PLAINTEXT, which does not log in at all. Here it is derived.
			o, warnings := login("plain").parse(t)
			equal(t, "protocol", o.Kafka.Protocol, credentials.ProtocolSASLPlaintext)
			equal(t, "login", o.Kafka.SASL, credentials.SASL{Mechanism: kafka.SASLPlain, Username: "foo", Password: credentials.Conceal("bar")})
			warnedOnce(t, warnings, "in clear text")
		},
		"shouldConnectWithSaslPlainWithTls": func(t *testing.T) {
			o, _ := login("plain", append(tls, "STRIMZI_SECURITY_PROTOCOL", "SASL_SSL")...).parse(t)
			equal(t, "protocol", o.Kafka.Protocol, credentials.ProtocolSASLSSL)
			equal(t, "host names unverified", o.Kafka.TLS.SkipHostnameVerification, false)
			equal(t, "Secrets", o.Kafka.SecretNames(), []string{"ca"})
		},
		"shouldAcceptSaslScramSha256": acceptsSCRAM("scram-sha-256", kafka.SASLScramSHA256),
		"shouldAcceptSaslScramSha512": acceptsSCRAM("scram-sha-512", kafka.SASLScramSHA512),
		"shouldThrowWithDuplicateConfig": func(t *testing.T) {
			twice := append(with().list(), "STRIMZI_KAFKA_BOOTSTRAP_SERVERS=my-kafka:9093")
			_, _, err := Parse(nil, settings.Environment{Lookup: with().lookup, Variables: twice})
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("duplicate key: STRIMZI_KAFKA_BOOTSTRAP_SERVERS")), "a variable given twice")
			_, _, err = Parse([]string{"--namespace=a", "--namespace", "b"}, settings.Environment{Lookup: with().lookup})
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("duplicate key: --namespace")), "a flag given twice")
			with("STRIMZI_RESOURCE_LABELS", "a=1,a=2").fails(t, "duplicate key: a")
			custom(`{"sasl.mechanism":"PLAIN","sasl.mechanism":"PLAIN"}`).fails(t, "duplicate key: sasl.mechanism")
			custom(`{"sasl.mechanism":"PLAIN","sasl.jaas.config":"`+strings.Replace(plainJAAS, ";", ` username=x;`, 1)+`"}`).fails(t,
				"duplicate key")
		},
		"shouldThrowWithMissingRequired": func(t *testing.T) {
			environment{}.fails(t, "Config value: STRIMZI_NAMESPACE is mandatory", "Config value: STRIMZI_KAFKA_BOOTSTRAP_SERVERS is mandatory")
			with("STRIMZI_NAMESPACE", " ").fails(t, "Config value: STRIMZI_NAMESPACE is mandatory")
		},
		"shouldRejectInvalidSaslMechanism": func(t *testing.T) {
			login("foo").fails(t, "Invalid SASL_MECHANISM type: foo")
		},
		"shouldThrowIfSaslButNotCredentials": func(t *testing.T) {
			with("STRIMZI_SASL_ENABLED", "true", "STRIMZI_SASL_MECHANISM", "plain").fails(t, "SASL credentials are not set")
			login("plain", "STRIMZI_SASL_PASSWORD", "").fails(t, `STRIMZI_SASL_PASSWORD="": SASL credentials are not set`)
		},
		"shouldMaskSecuritySensitiveConfigsInToString": func(t *testing.T) {
			o, _ := login("plain", "STRIMZI_SASL_PASSWORD", "FORBIDDEN").parse(t)
			assertMasked(t, o)
			o, _ = custom(`{"sasl.mechanism":"OAUTHBEARER","sasl.oauthbearer.token.endpoint.url":"https://idp/token","sasl.jaas.config":"` +
				strings.Replace(oauthJAAS, "hush", "FORBIDDEN", 1) + `"}`).parse(t)
			equal(t, "secret", o.Kafka.SASL.OAuth.ClientSecret.Reveal(), "FORBIDDEN")
			assertMasked(t, o)
		},
		"shouldConfigureCustomSasl": func(t *testing.T) {
			// Strimzi hands anything to Java. Here the mechanism must be one that the operator has.
			o, _ := custom(`{ // why
				"sasl.mechanism": "PLAIN", /* how */ "sasl.jaas.config": "` + plainJAAS + `" }`).parse(t)
			equal(t, "login", o.Kafka.SASL, credentials.SASL{Mechanism: kafka.SASLPlain, Username: "foo", Password: credentials.Conceal("bar")})
			custom(`{"sasl.mechanism":"AWS_MSK_IAM","sasl.jaas.config":"software.amazon.msk.auth.iam.IAMLoginModule required;",`+
				`"sasl.client.callback.handler.class":"software.amazon.msk.auth.iam.IAMClientCallbackHandler"}`).
				fails(t, "AWS_MSK_IAM is not supported", "sasl.client.callback.handler.class is not supported", "SCRAM-SHA-512")
		},
		"shouldThrowIfCustomConfigPropertyEmpty": func(t *testing.T) {
			custom("{}").fails(t, "SASL custom config properties empty")
		},
		"shouldThrowIfCustomConfigPropertyInvalid": func(t *testing.T) {
			custom("{").fails(t, "SASL custom config properties deserialize failed")
		},
		"shouldThrowIfCustomConfigPropertyHasNonSaslProperties": func(t *testing.T) {
			custom(`{ "a": "b" }`).fails(t, "SASL custom config properties not SASL properties. customProperty: 'a'")
		},
		"shouldThrowIfCustomConfigPropertyHasEmptyProperties": func(t *testing.T) {
			custom(`{ "": "b" }`).fails(t, "SASL custom config properties not SASL properties. customProperty: ''")
		},
		"shouldDefaultToFalseForSkipClusterConfigCheck": func(t *testing.T) {
			o, _ := with().parse(t)
			equal(t, "skip", o.SkipClusterConfigReview, false)
		},
		"shouldDefaultToAllForAlterableTopicConfig": func(t *testing.T) {
			o, _ := with().parse(t)
			equal(t, "alterable", o.Alterable, AlterableConfig{})
		},
		"testDefaultFeatureGates": func(t *testing.T) {
			o, _ := with().parse(t)
			equal(t, "gates", len(o.FeatureGates), 0)
		},
		"testFeatureGatesParsing": func(t *testing.T) {
			// Strimzi's operator stops. Strimzi's cluster operator passes its own gates to operators of any version, so here they only
			// warn.
			o, warnings := with("STRIMZI_FEATURE_GATES", "-NonExistingGate").parse(t)
			equal(t, "gates", len(o.FeatureGates), 0)
			equal(t, "warnings", warnings,
				[]string{"STRIMZI_FEATURE_GATES: Unknown feature gate NonExistingGate found in the configuration; it has no effect"})
			with("STRIMZI_FEATURE_GATES", "Gate").fails(t, "Gate is not a valid feature gate configuration")
		},
		// Cruise Control settings have no effect, so their files are never read.
		"shouldConfigureCruiseControl": func(t *testing.T) {
			_, warnings := with("STRIMZI_CRUISE_CONTROL_ENABLED", "true").parse(t)
			warnedOnce(t, warnings, "STRIMZI_CRUISE_CONTROL_ENABLED has no effect yet: changing replication factors")
			_, warnings = with("STRIMZI_CRUISE_CONTROL_ENABLED", "false", "STRIMZI_CRUISE_CONTROL_HOSTNAME", "my-cruise-control",
				"STRIMZI_CRUISE_CONTROL_PORT", "9090", "STRIMZI_CRUISE_CONTROL_RACK_AWARE", "true").parse(t)
			equal(t, "warnings", len(warnings), 0)
		},
		"shouldThrowIfCruiseControlConfigHasNonExistentCertificate":  cruiseControlFile("STRIMZI_CRUISE_CONTROL_CRT_FILE_PATH"),
		"shouldThrowIfCruiseControlConfigHasNonExistentUsernamePath": cruiseControlFile("STRIMZI_CRUISE_CONTROL_API_USER_PATH"),
		"shouldThrowIfCruiseControlConfigHasNonExistentPasswordFile": cruiseControlFile("STRIMZI_CRUISE_CONTROL_API_PASS_PATH"),
		"shouldThrowIfCruiseControlClientHasNegativePort": func(t *testing.T) {
			with("STRIMZI_CRUISE_CONTROL_PORT", "-7000").fails(t,
				`STRIMZI_CRUISE_CONTROL_PORT="-7000": Failed to parse. Negative value is not supported for this configuration`)
		},
	}
	for name, test := range cases {
		t.Run(name, test)
	}
}

func cruiseControlFile(env string) func(*testing.T) {
	return func(t *testing.T) {
		with("STRIMZI_CRUISE_CONTROL_ENABLED", "true", env, "/no/such/file").parse(t)
		with(env, "/no/such/file").parse(t)
	}
}

func assertMasked(t *testing.T, o Options) {
	t.Helper()
	g := NewWithT(t)
	asJSON, err := json.Marshal(o)
	g.Expect(err).NotTo(HaveOccurred())
	printed := []string{string(asJSON), o.Effective}
	for _, verb := range []string{"v", "+v", "#v", "s", "q", "x", "X", "d"} {
		for _, value := range []any{o, o.Kafka.SASL, o.Kafka.SASL.Password, o.Kafka.SASL.OAuth} {
			printed = append(printed, fmt.Sprintf("%"+verb, value))
		}
		if o.Kafka.SASL.OAuth != nil {
			printed = append(printed, fmt.Sprintf("%"+verb, *o.Kafka.SASL.OAuth))
		}
	}
	for _, text := range printed {
		g.Expect(text).NotTo(ContainSubstring("FORBIDDEN"))
		g.Expect(strings.ToLower(text)).NotTo(ContainSubstring(fmt.Sprintf("%x", "FORBIDDEN")))
	}
	g.Expect(o.Effective).To(ContainSubstring(credentials.Mask), "it says that there is a secret")
}

func TestAllErrorsAtOnce(t *testing.T) {
	e := environment{
		"STRIMZI_MAX_BATCH_SIZE":                  "0",
		"STRIMZI_USE_FINALIZERS":                  "yes",
		"STRIMZI_LOG_LEVEL":                       "loud",
		"STRIMZI_FULL_RECONCILIATION_INTERVAL_MS": "2m",
		"STRIMZI_SASL_ENABLED":                    "true",
		"STRIMZI_SASL_CUSTOM_CONFIG_JSON": `{"sasl.mechanism":"OAUTHBEARER","sasl.kerberos.service.name":"SECRET-VALUE",` +
			`"sasl.jaas.config":"` + oauthJAAS + `"}`,
		"STRIMZI_KAFKA_BOOTSTRAPSERVERS": "localhost:9092",
	}
	g := NewWithT(t)
	_, warnings, err := Parse([]string{"--concurrency=none"}, e.env())
	for _, text := range []string{
		"Config value: STRIMZI_NAMESPACE is mandatory; set the variable or --namespace",
		"Config value: STRIMZI_KAFKA_BOOTSTRAP_SERVERS is mandatory",
		`STRIMZI_MAX_BATCH_SIZE="0": Failed to parse. Negative value is not supported for this configuration; use a whole number from 1`,
		`STRIMZI_USE_FINALIZERS="yes": neither true nor false`,
		`STRIMZI_LOG_LEVEL="loud"`, `STRIMZI_FULL_RECONCILIATION_INTERVAL_MS="2m"`, `--concurrency="none"`,
		"sasl.kerberos.service.name is not supported; supported are ", "sasl.oauthbearer.token.endpoint.url is not set",
	} {
		g.Expect(err).To(MatchError(ContainSubstring(text)))
	}
	g.Expect(err).NotTo(MatchError(Or(ContainSubstring("SECRET-VALUE"), ContainSubstring("hush"))), "the error quotes no secret")
	warnedOnce(t, warnings, "did you mean STRIMZI_KAFKA_BOOTSTRAP_SERVERS?")
	var setting *settings.Error
	g.Expect(errors.As(err, &setting)).To(BeTrue(), "%v", err)
	g.Expect(setting.Remedy).NotTo(BeEmpty(), "%v", err)
}

func TestHelpIsAskedFor(t *testing.T) {
	g := NewWithT(t)
	for _, arg := range []string{"--help", "-h"} {
		_, _, err := Parse([]string{arg}, environment{}.env())
		g.Expect(err).To(MatchError(flag.ErrHelp), arg)
	}
	help := Help("topic-operator first\n", "topic-operator second\n")
	g.Expect(help).To(ContainSubstring("objects.\n\ntopic-operator first\n\ntopic-operator second\n\nEach setting"))
	for _, group := range table(newDraft()).Groups {
		for _, s := range group.Settings {
			g.Expect(help).To(ContainSubstring("\n  " + s.Env))
		}
	}
	g.Expect(help).NotTo(ContainSubstring("--sasl-password"), "there is no flag for a secret")
}
