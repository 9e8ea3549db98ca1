package credentials

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// pair returns a self-signed certificate and its key, in PEM.
func pair(t *testing.T, name string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

// readSettings reads a table of the connection's settings. Secrets are in namespace kafka.
func readSettings(p Program, variables map[string]string) (*Settings, *settings.Reading) {
	all := map[string]string{"STRIMZI_KAFKA_BOOTSTRAP_SERVERS": "k:9093", "STRIMZI_CLIENT_ID": "me"}
	maps.Copy(all, variables)
	s := NewSettings(p)
	table := settings.Table{Program: "test", Groups: append(s.Groups(), settings.Group{Settings: []settings.Setting{s.Namespace()}})}
	r := table.Read(nil, settings.Environment{Lookup: func(name string) (string, bool) {
		value, ok := all[name]
		return value, ok
	}})
	s.Complete(r, "kafka")
	return s, r
}

// parse reads valid settings.
func parse(t *testing.T, variables map[string]string) credentials.Settings {
	t.Helper()
	s, r := readSettings(Program{}, variables)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return s.Result
}

// kafkaConfig returns the configuration that a Watcher makes of the Secrets.
func kafkaConfig(s credentials.Settings, secrets map[string]*corev1.Secret) (kafka.Config, error) {
	m, err := read(s, secrets)
	if err != nil {
		return kafka.Config{}, err
	}
	return credentials.KafkaConfig(s, m), nil
}

func secret(name string, entries ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kafka", Name: name}, Data: map[string][]byte{}}
	for i := 0; i < len(entries); i += 2 {
		s.Data[entries[i]] = []byte(entries[i+1])
	}
	return s
}

func byName(secrets ...*corev1.Secret) map[string]*corev1.Secret {
	all := map[string]*corev1.Secret{}
	for _, s := range secrets {
		all[s.Name] = s
	}
	return all
}

var tlsVariables = map[string]string{
	"STRIMZI_TLS_TRUSTED_CERTS_SECRET_NAME": "ca", "STRIMZI_TLS_SECRET_NAME": "me", "STRIMZI_TLS_KEY_NAME": "user.key",
	"STRIMZI_TLS_CERT_NAME": "user.crt",
}

var loginVariables = map[string]string{
	"STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_MECHANISM": "scram-sha-512", "STRIMZI_SASL_SECRET_NAME": "login",
}

var oauthVariables = map[string]string{
	"STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_SECRET_NAME": "login",
	"STRIMZI_SASL_CUSTOM_CONFIG_JSON": `{"sasl.mechanism":"OAUTHBEARER","sasl.oauthbearer.token.endpoint.url":"https://idp/token"}`,
}

func TestPlainConfig(t *testing.T) {
	c, err := kafkaConfig(parse(t, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Bootstrap) != 1 || c.Bootstrap[0] != "k:9093" || c.ClientID != "me" || c.TLS != nil || c.SASL != nil {
		t.Errorf("%+v", c)
	}
}

func TestTLSConfig(t *testing.T) {
	one, _ := pair(t, "one")
	two, _ := pair(t, "two")
	certificate, key := pair(t, "me")
	c, err := kafkaConfig(parse(t, tlsVariables), byName(
		secret("ca", "b.crt", string(two), "a.crt", string(one), "ca.p12", "not PEM", "ca.password", "x"),
		secret("me", "user.crt", string(certificate), "user.key", string(key), "ca.crt", "whatever")))
	if err != nil {
		t.Fatal(err)
	}
	if want := string(one) + "\n" + string(two) + "\n"; string(c.TLS.TrustedCertificates) != want {
		t.Errorf("trusted:\n%s", c.TLS.TrustedCertificates)
	}
	if !bytes.Equal(c.TLS.Certificate, certificate) || !bytes.Equal(c.TLS.Key, key) || c.TLS.SkipHostnameVerification {
		t.Errorf("identity: %+v", c.TLS)
	}

	c, err = kafkaConfig(parse(t, map[string]string{"STRIMZI_SECURITY_PROTOCOL": "SSL",
		"STRIMZI_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM": ""}), nil)
	if err != nil || c.TLS == nil || len(c.TLS.TrustedCertificates) > 0 || !c.TLS.SkipHostnameVerification {
		t.Errorf("the system's authorities without host names: %+v, %v", c.TLS, err)
	}
}

func TestLoginConfig(t *testing.T) {
	check := func(name string, variables map[string]string, username, password string, secrets ...*corev1.Secret) {
		t.Helper()
		c, err := kafkaConfig(parse(t, variables), byName(secrets...))
		if err != nil || c.SASL.Username != username || c.SASL.Password != password || c.SASL.Mechanism != kafka.SASLScramSHA512 {
			t.Errorf("%s: %+v, %v", name, c.SASL, err)
		}
	}
	merge := func(a map[string]string, more ...string) map[string]string {
		b := map[string]string{}
		for k, v := range a {
			b[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			b[more[i]] = more[i+1]
		}
		return b
	}
	check("from a Secret", loginVariables, "alice", "hush", secret("login", "username", "alice\n", "password", "hush\r\n"))
	check("blanks are kept", loginVariables, "alice", " hush ", secret("login", "username", "alice", "password", " hush "))
	check("a KafkaUser's Secret", merge(loginVariables, "STRIMZI_SASL_USERNAME", "bob"), "bob", "hush",
		secret("login", "password", "hush", "sasl.jaas.config", "..."))
	check("from variables", merge(loginVariables, "STRIMZI_SASL_SECRET_NAME", "", "STRIMZI_SASL_USERNAME", "bob", "STRIMZI_SASL_PASSWORD",
		"pass"), "bob", "pass")

	c, err := kafkaConfig(parse(t, oauthVariables), byName(secret("login", "client-id", "alice", "client-secret", "hush")))
	if err != nil || c.SASL.Mechanism != kafka.SASLOAuthBearer || c.SASL.Token == nil || c.SASL.Password != "" {
		t.Errorf("OAUTHBEARER: %+v, %v", c.SASL, err)
	}
}

func TestMissingAndMalformedSecrets(t *testing.T) {
	certificate, key := pair(t, "me")
	_, otherKey := pair(t, "other")
	good := secret("me", "user.crt", string(certificate), "user.key", string(key))
	cases := map[string]struct {
		variables map[string]string
		secrets   []*corev1.Secret
		want      []string
	}{
		"both missing": {tlsVariables, nil, []string{
			"Secret ca in namespace kafka with certificates was configured but is missing.",
			"Secret me in namespace kafka with certificates was configured but is missing.",
		}},
		"no certificate among the entries": {tlsVariables, []*corev1.Secret{good, secret("ca", "ca.p12", "x")},
			[]string{"Secret ca in namespace kafka: it has no entry that ends in .crt"}},
		"no data": {tlsVariables, []*corev1.Secret{good, {ObjectMeta: metav1.ObjectMeta{Name: "ca"}}},
			[]string{"Secret ca in namespace kafka: it has no entry that ends in .crt"}},
		"not PEM": {tlsVariables, []*corev1.Secret{good, secret("ca", "ca.crt", "FORBIDDEN")},
			[]string{"Secret ca in namespace kafka: entry ca.crt: it has no certificate in PEM"}},
		"a key": {tlsVariables, []*corev1.Secret{good, secret("ca", "ca.crt", string(key))},
			[]string{"entry ca.crt: it has PEM blocks other than certificates"}},
		"half a file": {tlsVariables, []*corev1.Secret{good,
			secret("ca", "ca.crt", string(certificate)+string(certificate[:100]))}, []string{"entry ca.crt: it has a malformed PEM block"}},
		"a block that is no certificate": {tlsVariables, []*corev1.Secret{good,
			secret("ca", "ca.crt", "-----BEGIN CERTIFICATE-----\nRk9SQklEREVO\n-----END CERTIFICATE-----\n")},
			[]string{"entry ca.crt: it has a malformed certificate"}},
		"entries missing": {tlsVariables, []*corev1.Secret{secret("ca", "ca.crt", string(certificate)), secret("me")}, []string{
			"Secret me in namespace kafka: it has no entry user.crt", "Secret me in namespace kafka: it has no entry user.key",
		}},
		"key of another": {tlsVariables, []*corev1.Secret{secret("ca", "ca.crt", string(certificate)),
			secret("me", "user.crt", string(certificate), "user.key", string(otherKey))},
			[]string{"Secret me in namespace kafka: entries user.crt and user.key: "}},
		"login missing": {loginVariables, nil, []string{"Secret login in namespace kafka with credentials was configured but is missing."}},
		"login incomplete": {loginVariables, []*corev1.Secret{secret("login", "user", "x")},
			[]string{"it has no entry username", "it has no entry password"}},
		"client incomplete": {oauthVariables, []*corev1.Secret{secret("login", "username", "x", "password", "FORBIDDEN")},
			[]string{"it has no entry client-id", "it has no entry client-secret"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := kafkaConfig(parse(t, c.variables), byName(c.secrets...))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not hold %q:\n%v", want, err)
				}
			}
			for _, secret := range []string{"FORBIDDEN", "BEGIN PRIVATE"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error quotes a secret: %v", err)
				}
			}
		})
	}
}
