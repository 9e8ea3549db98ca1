package credentials

import (
	"crypto/rand"
	"fmt"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// The variables that are used in several places.
const (
	envBootstrap      = "STRIMZI_KAFKA_BOOTSTRAP_SERVERS"
	envNamespace      = "STRIMZI_CLUSTER_NAMESPACE"
	envClientID       = "STRIMZI_CLIENT_ID"
	envProtocol       = "STRIMZI_SECURITY_PROTOCOL"
	envTrustSecret    = "STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME"
	envIdentitySecret = "STRIMZI_TLS_SECRET_NAME"
	envKeyEntry       = "STRIMZI_TLS_KEY_NAME"
	envCertEntry      = "STRIMZI_TLS_CERT_NAME"
	envCAFile         = "STRIMZI_TLS_CA_FILE"
	envCertFile       = "STRIMZI_TLS_CERT_FILE"
	envKeyFile        = "STRIMZI_TLS_KEY_FILE"
	envSASLEnabled    = "STRIMZI_SASL_ENABLED"
	envSASLMechanism  = "STRIMZI_SASL_MECHANISM"
	envSASLUsername   = "STRIMZI_SASL_USERNAME"
	envSASLPassword   = "STRIMZI_SASL_PASSWORD"
	envSASLSecret     = "STRIMZI_SASL_SECRET_NAME"
	envPasswordFile   = "STRIMZI_SASL_PASSWORD_FILE"
	envSASLCustom     = "STRIMZI_SASL_CUSTOM_CONFIG_JSON"
)

// Files are paths of files that replace Secrets. An empty path means no file. A file overrides a Secret.
type Files struct {
	// CA contains the certificates to trust (PEM), Cert and Key the program's own certificate and its key.
	CA, Cert, Key string
	// Password contains the password, or the client's secret for OAUTHBEARER.
	Password string
}

// Settings are the settings of the connection to Kafka. Create them with NewSettings, add Groups to a table, read the table, and call
// Complete; Result and Files are valid then, if the reading has no error.
type Settings struct {
	// Result describes how to reach Kafka.
	Result credentials.Settings
	// Files are set only with Program.Files.
	Files Files
	// Encrypt requests TLS if no certificate is named, and STRIMZI_SECURITY_PROTOCOL is not set.
	Encrypt bool

	program     Program
	saslEnabled bool
	mechanism   string
	custom      credentials.Masked
}

// Program describes the differences between programs.
type Program struct {
	// ClientID is the default client id; a random part is added to it, unless it is Stable.
	ClientID string
	// Stable keeps the default client id the same at each start.
	Stable bool
	// BootstrapOptional is for programs that have Kafka's address from elsewhere.
	BootstrapOptional bool
	// Files adds settings for files to those for Secrets, for programs that read them.
	Files bool
}

// NewSettings returns the settings for a program.
func NewSettings(p Program) *Settings { return &Settings{program: p} }

// Groups returns the settings for a table.
func (s *Settings) Groups() []settings.Group {
	return []settings.Group{
		{Title: "Kafka", Settings: s.connection()},
		{Title: "Certificates", Settings: s.certificates()},
		{Title: "Login", Settings: s.login()},
	}
}

// Namespace returns the setting for the namespace of all Secrets, for a table.
func (s *Settings) Namespace() settings.Setting {
	return settings.Setting{Env: envNamespace, DefaultDoc: "the operator's namespace",
		Parse: settings.Into(&s.Result.SecretNamespace, settings.Namespace),
		Doc:   "The namespace of all Secrets named below. Unset: the namespace the operator runs in, else the first one watched, else `default`."}
}

func (s *Settings) connection() []settings.Setting {
	r := &s.Result
	return []settings.Setting{
		{Env: envBootstrap, Mandatory: !s.program.BootstrapOptional, Parse: settings.Into(&r.Bootstrap, settings.Bootstrap),
			Doc: "Addresses of one or more brokers, as comma-separated `host:port`."},
		s.clientID(),
		{Env: envProtocol, DefaultDoc: "derived", Parse: settings.Into(&r.Protocol, credentials.ParseProtocol),
			Doc: "`PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`. Unset: encrypted if a certificate is configured, with login if " +
				"`STRIMZI_SASL_ENABLED` is true. `SSL` without a certificate trusts the system's authorities. The operator exits if it " +
				"contradicts the " +
				"other settings."},
	}
}

func (s *Settings) clientID() settings.Setting {
	c := settings.Setting{Env: envClientID, DefaultDoc: s.program.ClientID + "-`<uuid>`",
		Parse: settings.Into(&s.Result.ClientID, settings.Text),
		Doc:   "The client id, which brokers log and apply quotas to. Unset: a new one at each start."}
	if s.program.Stable {
		c.Default, c.DefaultDoc, c.Doc = s.program.ClientID, "", "The client id, which brokers log and apply quotas to."
	}
	return c
}

func (s *Settings) certificates() []settings.Setting {
	tls := &s.Result.TLS
	all := []settings.Setting{
		{Env: envTrustSecret, DefaultDoc: "none", Parse: settings.Into(&tls.TrustSecret, settings.Name),
			Doc: "A Secret whose `.crt` entries (PEM) are the trusted CAs of the brokers' certificates. Reloaded when it changes."},
		{Env: envIdentitySecret, DefaultDoc: "none", Parse: settings.Into(&tls.IdentitySecret, settings.Name),
			Doc: "A Secret with the operator's own key and certificate (PEM), for mTLS. Reloaded when it changes."},
		{Env: envKeyEntry, DefaultDoc: "tls.key", Parse: settings.Into(&tls.KeyEntry, settings.Text),
			Doc: "The entry with the key. The default is ours, and applies only if `STRIMZI_TLS_CERT_NAME` is also unset."},
		{Env: envCertEntry, DefaultDoc: "tls.crt", Parse: settings.Into(&tls.CertEntry, settings.Text),
			Doc: "The entry with the certificate and its chain. The default is ours, and applies only if `STRIMZI_TLS_KEY_NAME` is also unset."},
		{Env: "STRIMZI_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM", Default: "HTTPS", EmptyCounts: true,
			Parse: settings.Into(&tls.SkipHostnameVerification, credentials.ParseEndpointAlgorithm),
			Doc: "`HTTPS` verifies the host names of the brokers' certificates. The empty string disables that; the chain is verified " +
				"nevertheless."},
	}
	if !s.program.Files {
		return all
	}
	file := func(env string, place *string, doc string) settings.Setting {
		return settings.Setting{Env: env, DefaultDoc: "none", Added: true, Parse: settings.Into(place, settings.Text), Doc: doc}
	}
	return append(all,
		file(envCAFile, &s.Files.CA, "A file with trusted CAs (PEM), instead of a Secret."),
		file(envCertFile, &s.Files.Cert, "A file with the program's own certificate and its chain (PEM), instead of a Secret."),
		file(envKeyFile, &s.Files.Key, "A file with the key of that certificate (PEM)."))
}

func (s *Settings) login() []settings.Setting {
	sasl := &s.Result.SASL
	all := []settings.Setting{
		{Env: envSASLEnabled, Default: "false", Boolean: true, Parse: settings.Into(&s.saslEnabled, settings.Bool),
			Doc: "Whether to log in."},
		{Env: envSASLMechanism, DefaultDoc: "none", Parse: settings.Into(&s.mechanism, settings.Text),
			Doc: "`plain`, `scram-sha-256` or `scram-sha-512`. For OAUTHBEARER use `STRIMZI_SASL_CUSTOM_CONFIG_JSON`."},
		{Env: envSASLUsername, DefaultDoc: "none", Parse: settings.Into(&sasl.Username, settings.Text), Doc: "The user's name."},
		{Env: envSASLPassword, DefaultDoc: "none", Secret: true, Parse: settings.Into(&sasl.Password, settings.Secret),
			Doc: "The user's password. It is read only at start: prefer `STRIMZI_SASL_SECRET_NAME`."},
		{Env: envSASLSecret, DefaultDoc: "none", Added: true, Parse: settings.Into(&sasl.Secret, settings.Name),
			Doc: "A Secret with the entries `username` and `password`, or `client-id` and `client-secret` for OAUTHBEARER. Reloaded when " +
				"it changes. " +
				"The Secret of a KafkaUser, which has no `username`, needs `STRIMZI_SASL_USERNAME` too."},
		{Env: envSASLCustom, DefaultDoc: "none", Secret: true, Parse: settings.Into(&s.custom, settings.Secret),
			Doc: "Kafka client properties as a JSON object, all keys beginning with `sasl.`; see below. It replaces mechanism, user and password " +
				"above."},
	}
	if !s.program.Files {
		return all
	}
	return append(all, settings.Setting{Env: envPasswordFile, DefaultDoc: "none", Added: true,
		Parse: settings.Into(&s.Files.Password, settings.Text),
		Doc:   "A file with the password, or the client's secret for OAUTHBEARER."})
}

// Complete derives missing settings, and checks those that depend on each other. home is the namespace that the program runs in.
func (s *Settings) Complete(r *settings.Reading, home string) {
	r.Derive(envNamespace, &s.Result.SecretNamespace, home)
	r.Derive(envClientID, &s.Result.ClientID, s.program.ClientID+"-"+uuid())
	s.completeTLS(r)
	s.completeLogin(r)
	s.completeProtocol(r)
	s.warnOfClearText(r)
}

// WithPassword returns the settings with the password, or the client's secret for OAUTHBEARER, from the content of Files.Password.
func WithPassword(s credentials.Settings, content []byte) credentials.Settings {
	secret := credentials.Conceal(credentials.Line(content))
	if s.SASL.OAuth == nil {
		s.SASL.Password = secret
		return s
	}
	oauth := *s.SASL.OAuth
	oauth.ClientSecret = secret
	s.SASL.OAuth = &oauth
	return s
}

// uuid returns a random UUID (version 4).
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
