package options

import "strings"

// SecurityProtocol is how connections to Kafka are protected, in Kafka's words.
type SecurityProtocol string

// Kafka's security protocols.
const (
	ProtocolPlaintext     SecurityProtocol = "PLAINTEXT"
	ProtocolSSL           SecurityProtocol = "SSL"
	ProtocolSASLPlaintext SecurityProtocol = "SASL_PLAINTEXT"
	ProtocolSASLSSL       SecurityProtocol = "SASL_SSL"
)

// TLS reports whether connections are encrypted.
func (p SecurityProtocol) TLS() bool { return p == ProtocolSSL || p == ProtocolSASLSSL }

// SASL reports whether the operator logs in.
func (p SecurityProtocol) SASL() bool { return p == ProtocolSASLPlaintext || p == ProtocolSASLSSL }

func parseProtocol(text string) (SecurityProtocol, error) {
	switch p := SecurityProtocol(strings.ToUpper(text)); p {
	case "", ProtocolPlaintext, ProtocolSSL, ProtocolSASLPlaintext, ProtocolSASLSSL:
		return p, nil
	}
	return "", invalid("unknown security protocol", "use PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, or leave it empty")
}

// protocolOf is the protocol that follows from the other settings.
func protocolOf(tls, sasl bool) SecurityProtocol {
	switch {
	case tls && sasl:
		return ProtocolSASLSSL
	case tls:
		return ProtocolSSL
	case sasl:
		return ProtocolSASLPlaintext
	}
	return ProtocolPlaintext
}

// completeProtocol derives the protocol, or finds contradictions between the given one and the other settings. A contradiction is an
// error: guessing would either send a password in the clear or not log in at all.
func (d *draft) completeProtocol() {
	certificates := d.TLS.TrustSecret != "" || d.TLS.IdentitySecret != ""
	given := d.SecurityProtocol
	if given == "" {
		d.SecurityProtocol = protocolOf(certificates, d.saslEnabled)
		d.record(envProtocol, string(d.SecurityProtocol))
		return
	}
	if certificates && !given.TLS() {
		d.contradiction(envProtocol, string(given), "it is not encrypted, but "+envTrustSecret+" or "+envIdentitySecret+" is set",
			"use "+string(protocolOf(true, d.saslEnabled))+", or unset the Secrets")
	}
	if !d.ok(envSASLEnabled) {
		return
	}
	if given.SASL() && !d.saslEnabled {
		d.contradiction(envProtocol, string(given), "it needs a login, but "+envSASLEnabled+" is not true",
			"set "+envSASLEnabled+"=true, or use "+string(protocolOf(given.TLS(), false)))
	}
	if !given.SASL() && d.saslEnabled {
		d.contradiction(envProtocol, string(given), "it has no login, but "+envSASLEnabled+" is true",
			"use "+string(protocolOf(given.TLS() || certificates, true))+", or set "+envSASLEnabled+"=false")
	}
}

// completeTLS checks what belongs together in the TLS settings.
func (d *draft) completeTLS() {
	named := d.TLS.KeyEntry != "" || d.TLS.CertEntry != ""
	switch {
	case d.TLS.IdentitySecret == "":
		if named {
			d.warn("%s and %s have no effect: %s is not set", envKeyEntry, envCertEntry, envIdentitySecret)
		}
		d.TLS.KeyEntry, d.TLS.CertEntry = "", ""
	case !named:
		// The entries of a Secret of type kubernetes.io/tls.
		d.TLS.KeyEntry, d.TLS.CertEntry = "tls.key", "tls.crt"
	case d.TLS.KeyEntry == "":
		d.contradiction(envCertEntry, d.TLS.CertEntry, envKeyEntry+" is not set", "set both, or none for tls.key and tls.crt")
	case d.TLS.CertEntry == "":
		d.contradiction(envKeyEntry, d.TLS.KeyEntry, envCertEntry+" is not set", "set both, or none for tls.key and tls.crt")
	}
}
