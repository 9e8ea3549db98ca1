package credentials

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// Settings configure the connection to Kafka. Read reads the Secrets that they name.
type Settings struct {
	// Bootstrap are host:port addresses.
	Bootstrap []string
	// ClientID is the id that brokers log and apply quotas to.
	ClientID string
	// Protocol reports whether connections are encrypted, and whether a login is needed.
	Protocol SecurityProtocol
	// TLS matters only if Protocol.TLS(), SASL only if Protocol.SASL().
	TLS  TLS
	SASL SASL
	// SecretNamespace is the namespace of all Secrets that TLS and SASL name. Errors contain it.
	SecretNamespace string
}

// TLS names the Secrets with certificates in PEM.
type TLS struct {
	// TrustSecret is the Secret whose .crt entries are trusted; empty means the system's authorities
	// (STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME).
	TrustSecret string
	// IdentitySecret is the Secret with the client's own certificate for mTLS; empty means none (STRIMZI_TLS_SECRET_NAME).
	IdentitySecret string
	// KeyEntry and CertEntry are the entries of IdentitySecret (STRIMZI_TLS_KEY_NAME, STRIMZI_TLS_CERT_NAME).
	KeyEntry, CertEntry string
	// SkipHostnameVerification accepts a broker's certificate that was issued for another name
	// (STRIMZI_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM set to the empty string).
	SkipHostnameVerification bool
}

// SASL is a login. Its values come from STRIMZI_SASL_*, directly or through STRIMZI_SASL_CUSTOM_CONFIG_JSON.
type SASL struct {
	// Mechanism is empty if the client does not log in.
	Mechanism kafka.SASLMechanism
	// Username and Password are for PLAIN and SCRAM. The entries of Secret take precedence.
	Username string
	Password Masked
	// OAuth is for OAUTHBEARER, and nil otherwise.
	OAuth *OAuth
	// Secret, in Settings.SecretNamespace, contains the credentials, so that a change applies without a restart; empty if only the fields
	// above are set (STRIMZI_SASL_SECRET_NAME).
	Secret string
}

// OAuth configures how tokens are fetched: OAuth 2.0's client credentials grant.
type OAuth struct {
	// TokenEndpoint is an https URL (sasl.oauthbearer.token.endpoint.url).
	TokenEndpoint string
	// ClientID and ClientSecret are empty if SASL.Secret contains them.
	ClientID     string
	ClientSecret Masked
	// Scope is sent with the request unless it is empty.
	Scope string
	// Extensions are SASL extensions (KIP-342), sent with each login.
	Extensions map[string]string
}

// SecretNames returns the names of the Secrets that the settings refer to, sorted and without duplicates.
func (s Settings) SecretNames() []string {
	var names []string
	if s.Protocol.TLS() {
		names = append(names, s.TLS.TrustSecret, s.TLS.IdentitySecret)
	}
	if s.Protocol.SASL() {
		names = append(names, s.SASL.Secret)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	slices.Sort(names)
	return slices.Compact(names)
}

// KafkaConfig combines settings and material. It reads nothing and opens no connection, except in the Token function.
func KafkaConfig(settings Settings, m Material) kafka.Config {
	config := kafka.Config{Bootstrap: settings.Bootstrap, ClientID: settings.ClientID}
	if settings.Protocol.TLS() {
		config.TLS = &kafka.TLS{
			TrustedCertificates:      []byte(m.trust),
			Certificate:              []byte(m.certificate),
			Key:                      []byte(m.key),
			SkipHostnameVerification: settings.TLS.SkipHostnameVerification,
		}
	}
	if !settings.Protocol.SASL() {
		return config
	}
	config.SASL = &kafka.SASL{Mechanism: settings.SASL.Mechanism}
	if settings.SASL.Mechanism == kafka.SASLOAuthBearer && settings.SASL.OAuth != nil {
		config.SASL.Token = newTokenSource(*settings.SASL.OAuth, m).token
	} else {
		config.SASL.Username, config.SASL.Password = m.name, m.secret
	}
	return config
}

// ParseMechanism parses a mechanism of STRIMZI_SASL_MECHANISM, which is one with a username and a password; it ignores case.
func ParseMechanism(text string) (kafka.SASLMechanism, error) {
	for _, m := range []kafka.SASLMechanism{kafka.SASLPlain, kafka.SASLScramSHA256, kafka.SASLScramSHA512} {
		if strings.EqualFold(text, string(m)) {
			return m, nil
		}
	}
	return "", invalid("Invalid SASL_MECHANISM type: "+text,
		"use plain, scram-sha-256 or scram-sha-512; for OAUTHBEARER use STRIMZI_SASL_CUSTOM_CONFIG_JSON")
}

func supportedMechanisms() string {
	return fmt.Sprintf("%s, %s, %s and %s", kafka.SASLPlain, kafka.SASLScramSHA256, kafka.SASLScramSHA512, kafka.SASLOAuthBearer)
}
