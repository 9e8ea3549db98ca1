package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// The entries of the Secret that STRIMZI_SASL_SECRET_NAME names.
const (
	entryUsername     = "username"
	entryPassword     = "password"
	entryClientID     = "client-id"
	entryClientSecret = "client-secret"
)

// Secrets are the entries of Kubernetes Secrets, by the Secret's name. A Secret that does not exist is missing.
type Secrets map[string]map[string][]byte

// Material is everything from Secrets that a connection depends on. It is comparable: with equal material, the connection needs no change.
// It contains secrets.
type Material struct {
	// trust, certificate and key are PEM.
	trust, certificate, key string
	// name and secret are username and password, or client id and client secret.
	name, secret string
}

// WithFiles returns a copy of m with PEM that does not come from Secrets. For an empty argument, it keeps the value of m.
func (m Material) WithFiles(trust, certificate, key []byte) Material {
	for _, f := range []struct {
		to   *string
		text []byte
	}{{&m.trust, trust}, {&m.certificate, certificate}, {&m.key, key}} {
		if len(f.text) > 0 {
			*f.to = string(f.text)
		}
	}
	return m
}

// Read reads the entries that the settings name from the Secrets. The error lists all missing and malformed ones.
func Read(settings Settings, secrets Secrets) (Material, error) {
	r := reader{namespace: settings.SecretNamespace, secrets: secrets}
	var m Material
	if settings.Protocol.TLS() {
		if name := settings.TLS.TrustSecret; name != "" {
			m.trust = r.trust(name)
		}
		if name := settings.TLS.IdentitySecret; name != "" {
			m.certificate, m.key = r.identity(name, settings.TLS.CertEntry, settings.TLS.KeyEntry)
		}
	}
	if settings.Protocol.SASL() {
		m.name, m.secret = r.login(settings.SASL)
	}
	if err := errors.Join(r.errs...); err != nil {
		return Material{}, err
	}
	return m, nil
}

// reader collects errors, so that they are all reported together.
type reader struct {
	namespace string
	secrets   Secrets
	errs      []error
}

func (r *reader) fail(name, format string, args ...any) {
	reason := fmt.Sprintf(format, args...)
	r.errs = append(r.errs, fmt.Errorf("Secret %s in namespace %s: %s", name, r.namespace, reason)) //nolint:staticcheck // Secret is a name
}

// get returns the Secret's data, or nil if there is none. The text is Strimzi's.
func (r *reader) get(name, with string) map[string][]byte {
	data, found := r.secrets[name]
	if !found {
		//nolint:staticcheck,revive // Strimzi's text
		r.errs = append(r.errs, fmt.Errorf("Secret %s in namespace %s with %s was configured but is missing.", name, r.namespace, with))
		return nil
	}
	if data == nil {
		return map[string][]byte{}
	}
	return data
}

// trust returns all .crt entries, one after the other.
func (r *reader) trust(name string) string {
	data := r.get(name, "certificates")
	if data == nil {
		return ""
	}
	var all strings.Builder
	for _, entry := range slices.Sorted(maps.Keys(data)) {
		if !strings.HasSuffix(entry, ".crt") {
			continue
		}
		if err := checkCertificates(data[entry]); err != nil {
			r.fail(name, "entry %s: %v", entry, err)
		}
		all.Write(data[entry])
		all.WriteByte('\n')
	}
	if all.Len() == 0 {
		r.fail(name, "it has no entry that ends in .crt")
	}
	return all.String()
}

// checkCertificates requires at least one certificate, and nothing else, because an incomplete file would otherwise fail only at a
// handshake.
func checkCertificates(text []byte) error {
	found := false
	for {
		block, rest := pem.Decode(text)
		switch {
		case block == nil && !found:
			return errors.New("it has no certificate in PEM")
		case block == nil && strings.Contains(string(rest), "-----BEGIN"):
			return errors.New("it has a malformed PEM block")
		case block == nil:
			return nil
		case block.Type != "CERTIFICATE":
			return errors.New("it has PEM blocks other than certificates")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("it has a malformed certificate: %w", err)
		}
		found, text = true, rest
	}
}

// identity returns the certificate and key, after checking that they belong together.
func (r *reader) identity(name, certEntry, keyEntry string) (certificate, key string) {
	data := r.get(name, "certificates")
	if data == nil {
		return "", ""
	}
	complete := true
	for _, entry := range []string{certEntry, keyEntry} {
		if len(data[entry]) == 0 {
			r.fail(name, "it has no entry %s", entry)
			complete = false
		}
	}
	if !complete {
		return "", ""
	}
	if _, err := tls.X509KeyPair(data[certEntry], data[keyEntry]); err != nil {
		r.fail(name, "entries %s and %s: %v", certEntry, keyEntry, err)
	}
	return string(data[certEntry]), string(data[keyEntry])
}

// login returns name and secret from the options, or from the Secret that they name.
func (r *reader) login(sasl SASL) (name, secret string) {
	nameEntry, secretEntry := entryUsername, entryPassword
	name, secret = sasl.Username, sasl.Password.Reveal()
	if sasl.Mechanism == kafka.SASLOAuthBearer && sasl.OAuth != nil {
		nameEntry, secretEntry = entryClientID, entryClientSecret
		name, secret = sasl.OAuth.ClientID, sasl.OAuth.ClientSecret.Reveal()
	}
	if sasl.Secret == "" {
		return name, secret
	}
	data := r.get(sasl.Secret, "credentials")
	if data == nil {
		return "", ""
	}
	if given := Line(data[nameEntry]); given != "" {
		name = given
	}
	secret = Line(data[secretEntry])
	if name == "" {
		r.fail(sasl.Secret, "it has no entry %s, and no setting has the name", nameEntry)
	}
	if secret == "" {
		r.fail(sasl.Secret, "it has no entry %s", secretEntry)
	}
	return name, secret
}

// Line returns a text without the newline that editors and kubectl create secret --from-file leave at the end.
func Line(text []byte) string {
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
}
