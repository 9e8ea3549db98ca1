package options

import (
	"errors"
	"flag"
	"fmt"
	"strconv"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
)

// KafkaOptions say how to reach Kafka: as all programs of this project are told, with Secrets, or with files, which win over them. Both are read again when
// they change.
type KafkaOptions struct {
	credentials.Settings

	// CAFile, CertFile and KeyFile are files with what TLS.TrustSecret and TLS.IdentitySecret hold otherwise; empty: there is none.
	CAFile, CertFile, KeyFile string
	// PasswordFile is a file with the password, or the client's secret for OAUTHBEARER; empty: there is none.
	PasswordFile string
}

// The variables without a flag, because command lines can be seen by others.
const (
	envPassword = "STRIMZI_SASL_PASSWORD"
	envCustom   = "STRIMZI_SASL_CUSTOM_CONFIG_JSON"
)

// kafkaTexts are settings that mean something only together with others.
type kafkaTexts struct {
	bootstrap, protocol, algorithm, mechanism string
	tls, skipHostnames                        bool
	sasl                                      *bool // nil: nobody says whether to log in
	custom                                    string
}

func (o *Options) kafkaFlags(set *flag.FlagSet, t *kafkaTexts) {
	k := &o.Kafka
	set.StringVar(&t.bootstrap, "bootstrap-servers", "", "`host:port` of brokers, with commas between. Without them: <cluster>-kafka-brokers.<namespace>.svc:9091, and 9090 of its controllers, with the Secrets <cluster>-cluster-ca-cert and <cluster>-cluster-operator-certs if they exist")
	set.StringVar(&k.ClientID, "client-id", "kafka-operators-roller", "what brokers log, and apply quotas to")
	set.StringVar(&t.protocol, "security-protocol", "", "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL; derived from the others if empty, and an error if it contradicts them")
	set.StringVar(&k.SecretNamespace, "cluster-namespace", "", "`namespace` of the Secrets; that of the nodes if empty")
	set.BoolVar(&t.tls, "tls", false, "encrypt the connections to Kafka; also where a certificate is named")
	set.StringVar(&k.TLS.TrustSecret, "tls-trusted-certs-secret-name", "", "`Secret` whose .crt entries are trusted; the system's authorities without it")
	set.StringVar(&k.CAFile, "tls-ca-file", "", "`file` with the certificates to trust, instead")
	set.StringVar(&k.TLS.IdentitySecret, "tls-secret-name", "", "`Secret` with the certificate to log in with")
	set.StringVar(&k.TLS.CertEntry, "tls-cert-name", "", "`entry` with the certificate; tls.crt if empty")
	set.StringVar(&k.TLS.KeyEntry, "tls-key-name", "", "`entry` with its key; tls.key if empty")
	set.StringVar(&k.CertFile, "tls-cert-file", "", "`file` with the certificate to log in with, instead")
	set.StringVar(&k.KeyFile, "tls-key-file", "", "`file` with its key")
	set.StringVar(&t.algorithm, "ssl-endpoint-identification-algorithm", "HTTPS", "HTTPS; empty to accept certificates that were issued for another name")
	set.BoolVar(&t.skipHostnames, "tls-skip-hostname-verification", false, "the same as an empty --ssl-endpoint-identification-algorithm")
	set.BoolFunc("sasl-enabled", "log in; whoever names a mechanism wants that too, unless this is false", func(text string) error {
		enabled, err := strconv.ParseBool(text)
		t.sasl = &enabled
		return err
	})
	set.StringVar(&t.mechanism, "sasl-mechanism", "", "plain, scram-sha-256 or scram-sha-512; OAUTHBEARER by "+envCustom)
	set.StringVar(&k.SASL.Username, "sasl-username", "", "`name` to log in with")
	set.StringVar(&k.PasswordFile, "sasl-password-file", "", "`file` with the password, or the client's secret; else "+envPassword+", or the Secret")
	set.StringVar(&k.SASL.Secret, "sasl-secret-name", "", "`Secret` with username and password, or client-id and client-secret")
}

// complete makes settings of texts. The rules are the topic-operator's.
func (k *KafkaOptions) complete(t *kafkaTexts, namespace string) error {
	k.Bootstrap = list(t.bootstrap, ",")
	if k.SecretNamespace == "" {
		k.SecretNamespace = namespace
	}
	skip, err := credentials.ParseEndpointAlgorithm(t.algorithm)
	if err != nil {
		return fmt.Errorf("--ssl-endpoint-identification-algorithm=%s: %w", t.algorithm, err)
	}
	k.TLS.SkipHostnameVerification = skip || t.skipHostnames
	login := t.mechanism != "" || t.custom != ""
	if t.sasl != nil {
		login = *t.sasl
	}
	return errors.Join(k.completeEntries(), k.completeLogin(t, login), k.completeProtocol(t, login))
}

// completeEntries finds what belongs together in certificates.
func (k *KafkaOptions) completeEntries() error {
	switch {
	case (k.CertFile == "") != (k.KeyFile == ""):
		return errors.New("--tls-cert-file and --tls-key-file go together")
	case (k.TLS.CertEntry == "") != (k.TLS.KeyEntry == ""):
		return errors.New("--tls-cert-name and --tls-key-name go together, or none is given for tls.crt and tls.key")
	case k.TLS.CertEntry == "" && k.TLS.IdentitySecret != "":
		k.TLS.CertEntry, k.TLS.KeyEntry = "tls.crt", "tls.key"
	}
	return nil
}

// completeProtocol derives the protocol. A contradiction is an error: a guess would send a password in the clear, or not log in at all.
func (k *KafkaOptions) completeProtocol(t *kafkaTexts, login bool) error {
	certificates := k.TLS.TrustSecret != "" || k.TLS.IdentitySecret != "" || k.CAFile != "" || k.CertFile != ""
	given, err := credentials.ParseProtocol(t.protocol)
	k.Protocol = given
	switch {
	case err != nil:
		return fmt.Errorf("--security-protocol=%s: %w", t.protocol, err)
	case given == "":
		k.Protocol = credentials.ProtocolOf(t.tls || certificates, login)
	case (t.tls || certificates) && !given.TLS():
		return fmt.Errorf("--security-protocol=%s: it is not encrypted, but --tls or a certificate is given; use %s", given, credentials.ProtocolOf(true, login))
	case given.SASL() != login:
		return fmt.Errorf("--security-protocol=%s: it contradicts whether to log in; use %s, or see to --sasl-enabled and --sasl-mechanism", given, credentials.ProtocolOf(given.TLS(), login))
	}
	return nil
}

// completeLogin makes a login of mechanism and credentials, or of the properties of Kafka's clients.
func (k *KafkaOptions) completeLogin(t *kafkaTexts, login bool) error {
	switch {
	case !login:
		k.SASL, k.PasswordFile = credentials.SASL{}, ""
		return nil
	case t.custom != "":
		custom, err := credentials.ParseCustomSASL(t.custom)
		if err != nil {
			return fmt.Errorf("%s: %w", envCustom, err)
		}
		custom.Secret = k.SASL.Secret
		if name := name(&custom); *name == "" {
			*name = k.SASL.Username
		}
		k.SASL = custom
	default:
		mechanism, err := credentials.ParseMechanism(t.mechanism)
		if err != nil {
			return fmt.Errorf("--sasl-mechanism=%s: %w", t.mechanism, err)
		}
		k.SASL.Mechanism = mechanism
	}
	return k.checkCredentials()
}

// checkCredentials demands each of them once.
func (k *KafkaOptions) checkCredentials() error {
	places := 0
	for _, given := range []bool{k.SASL.Secret != "", k.PasswordFile != "", !secret(&k.SASL).IsEmpty()} {
		if given {
			places++
		}
	}
	switch {
	case places > 1:
		return fmt.Errorf("the password is given in more than one place: keep one of --sasl-secret-name, --sasl-password-file and %s (or %s)", envPassword, envCustom)
	case places == 0, k.SASL.Secret == "" && *name(&k.SASL) == "":
		return errors.New("--sasl-mechanism needs --sasl-username and --sasl-password-file, or --sasl-secret-name")
	}
	return nil
}

// name is whom to log in as.
func name(s *credentials.SASL) *string {
	if s.OAuth != nil {
		return &s.OAuth.ClientID
	}
	return &s.Username
}

// secret is what proves that.
func secret(s *credentials.SASL) *credentials.Masked {
	if s.OAuth != nil {
		return &s.OAuth.ClientSecret
	}
	return &s.Password
}

// WithPassword is the login with the password, or the client's secret, from elsewhere.
func (k *KafkaOptions) WithPassword(password []byte) credentials.Settings {
	s := k.Settings
	if s.SASL.OAuth != nil {
		oauth := *s.SASL.OAuth
		s.SASL.OAuth = &oauth
	}
	*secret(&s.SASL) = credentials.Conceal(credentials.Line(password))
	return s
}

// ClearText reports whether what proves who the roller is crosses the network in the clear. SCRAM does not send the password.
func (k *KafkaOptions) ClearText() bool {
	return k.Protocol == credentials.ProtocolSASLPlaintext && (k.SASL.Mechanism == kafka.SASLPlain || k.SASL.Mechanism == kafka.SASLOAuthBearer)
}
