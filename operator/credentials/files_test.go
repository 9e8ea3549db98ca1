package credentials

import (
	"strings"
	"testing"

	"github.com/kafka-operators/kafka-operators/kafka/credentials"
)

// A program that accepts files as well as Secrets: which settings belong together, and which contradict each other.
func TestFiles(t *testing.T) {
	login := func(more ...string) map[string]string {
		v := map[string]string{"STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_MECHANISM": "scram-sha-512", "STRIMZI_SASL_USERNAME": "me"}
		for i := 0; i < len(more); i += 2 {
			v[more[i]] = more[i+1]
		}
		return v
	}
	custom := `{"sasl.mechanism":"OAUTHBEARER","sasl.oauthbearer.token.endpoint.url":"https://idp/token"}`
	cases := map[string]struct {
		variables map[string]string
		protocol  credentials.SecurityProtocol
		wrong     string
	}{
		"an authority encrypts":     {map[string]string{"STRIMZI_TLS_CA_FILE": "/ca"}, credentials.ProtocolSSL, ""},
		"a certificate needs a key": {map[string]string{"STRIMZI_TLS_CERT_FILE": "/c"}, "", "STRIMZI_TLS_KEY_FILE is not set"},
		"a key needs a certificate": {map[string]string{"STRIMZI_TLS_KEY_FILE": "/k"}, "", "STRIMZI_TLS_CERT_FILE is not set"},
		"a protocol that contradicts": {map[string]string{"STRIMZI_TLS_CA_FILE": "/ca", "STRIMZI_SECURITY_PROTOCOL": "PLAINTEXT"}, "",
			"use SSL, or unset the Secrets and files"},
		"a password file": {login("STRIMZI_SASL_PASSWORD_FILE", "/p"), credentials.ProtocolSASLPlaintext, ""},
		"two places": {login("STRIMZI_SASL_PASSWORD_FILE", "/p", "STRIMZI_SASL_SECRET_NAME", "s"), "",
			"keep the password in one place"},
		"two other places": {login("STRIMZI_SASL_PASSWORD_FILE", "/p", "STRIMZI_SASL_PASSWORD", "x"), "",
			"keep the password in one place"},
		"no place": {login(), "", "SASL credentials are not set"},
		"a client's secret": {login("STRIMZI_SASL_PASSWORD_FILE", "/p", "STRIMZI_SASL_CUSTOM_CONFIG_JSON", custom),
			credentials.ProtocolSASLPlaintext, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, r := readSettings(Program{Files: true, BootstrapOptional: true}, c.variables)
			err := r.Err()
			switch {
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
				t.Errorf("error %v, want one with %q", err, c.wrong)
			case c.wrong == "" && err != nil:
				t.Error(err)
			case c.wrong == "" && s.Result.Protocol != c.protocol:
				t.Errorf("protocol %s, want %s", s.Result.Protocol, c.protocol)
			}
		})
	}
}

func TestPasswordFromAFile(t *testing.T) {
	s, _ := readSettings(Program{Files: true}, map[string]string{"STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_PASSWORD_FILE": "/p",
		"STRIMZI_SASL_USERNAME":           "me",
		"STRIMZI_SASL_CUSTOM_CONFIG_JSON": `{"sasl.mechanism":"OAUTHBEARER","sasl.oauthbearer.token.endpoint.url":"https://idp/token"}`})
	with := WithPassword(s.Result, []byte("hush\n"))
	if got := with.SASL.OAuth; got.ClientID != "me" || got.ClientSecret.Reveal() != "hush" {
		t.Errorf("client %s, secret %q", got.ClientID, got.ClientSecret.Reveal())
	}
	if !s.Result.SASL.OAuth.ClientSecret.IsEmpty() {
		t.Error("the settings themselves changed")
	}
	s, _ = readSettings(Program{Files: true}, map[string]string{"STRIMZI_SASL_ENABLED": "true", "STRIMZI_SASL_MECHANISM": "plain",
		"STRIMZI_SASL_PASSWORD_FILE": "/p"})
	if got := WithPassword(s.Result, []byte("hush")).SASL.Password.Reveal(); got != "hush" {
		t.Errorf("password %q", got)
	}
}
