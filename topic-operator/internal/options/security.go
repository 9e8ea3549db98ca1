package options

import "github.com/kafka-operators/kafka-operators/kafka/credentials"

// completeProtocol derives the protocol, or finds contradictions between the given one and the other settings. A contradiction is an
// error: guessing would either send a password in the clear or not log in at all.
func (d *draft) completeProtocol() {
	certificates := d.TLS.TrustSecret != "" || d.TLS.IdentitySecret != ""
	given := d.SecurityProtocol
	if given == "" {
		d.SecurityProtocol = credentials.ProtocolOf(certificates, d.saslEnabled)
		d.record(envProtocol, string(d.SecurityProtocol))
		return
	}
	if certificates && !given.TLS() {
		d.contradiction(envProtocol, string(given), "it is not encrypted, but "+envTrustSecret+" or "+envIdentitySecret+" is set",
			"use "+string(credentials.ProtocolOf(true, d.saslEnabled))+", or unset the Secrets")
	}
	if !d.ok(envSASLEnabled) {
		return
	}
	if given.SASL() && !d.saslEnabled {
		d.contradiction(envProtocol, string(given), "it needs a login, but "+envSASLEnabled+" is not true",
			"set "+envSASLEnabled+"=true, or use "+string(credentials.ProtocolOf(given.TLS(), false)))
	}
	if !given.SASL() && d.saslEnabled {
		d.contradiction(envProtocol, string(given), "it has no login, but "+envSASLEnabled+" is true",
			"use "+string(credentials.ProtocolOf(given.TLS() || certificates, true))+", or set "+envSASLEnabled+"=false")
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
