package credentials

import (
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/credentials"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

// completeTLS checks certificate settings that depend on each other.
func (s *Settings) completeTLS(r *settings.Reading) {
	tls := &s.Result.TLS
	named := tls.KeyEntry != "" || tls.CertEntry != ""
	switch {
	case tls.IdentitySecret == "":
		if named {
			r.Warn("%s and %s have no effect: %s is not set", envKeyEntry, envCertEntry, envIdentitySecret)
		}
		tls.KeyEntry, tls.CertEntry = "", ""
	case !named:
		// The entries of a Secret of type kubernetes.io/tls.
		tls.KeyEntry, tls.CertEntry = "tls.key", "tls.crt"
	case tls.KeyEntry == "":
		r.Reject(envCertEntry, tls.CertEntry, envKeyEntry+" is not set", "set both, or none for tls.key and tls.crt")
	case tls.CertEntry == "":
		r.Reject(envKeyEntry, tls.KeyEntry, envCertEntry+" is not set", "set both, or none for tls.key and tls.crt")
	}
	switch f := s.Files; {
	case f.Cert != "" && f.Key == "":
		r.Reject(envCertFile, f.Cert, envKeyFile+" is not set", "set both")
	case f.Key != "" && f.Cert == "":
		r.Reject(envKeyFile, f.Key, envCertFile+" is not set", "set both")
	}
}

// completeProtocol derives the protocol, or finds contradictions between the given one and other settings. A contradiction is an error,
// because a guess might send a password unencrypted, or not log in at all.
func (s *Settings) completeProtocol(r *settings.Reading) {
	tls, given := s.Result.TLS, s.Result.Protocol
	certificates := tls.TrustSecret != "" || tls.IdentitySecret != "" || s.Files.CA != "" || s.Files.Cert != "" || s.Encrypt
	if given == "" {
		s.Result.Protocol = credentials.ProtocolOf(certificates, s.saslEnabled)
		r.Record(envProtocol, string(s.Result.Protocol))
		return
	}
	if certificates && !given.TLS() {
		r.Reject(envProtocol, string(given), "it is not encrypted, but "+s.certificateSettings()+" is set",
			"use "+string(credentials.ProtocolOf(true, s.saslEnabled))+", or unset the "+s.certificatePlaces())
	}
	if !r.OK(envSASLEnabled) {
		return
	}
	if given.SASL() && !s.saslEnabled {
		r.Reject(envProtocol, string(given), "it needs a login, but "+envSASLEnabled+" is not true",
			"set "+envSASLEnabled+"=true, or use "+string(credentials.ProtocolOf(given.TLS(), false)))
	}
	if !given.SASL() && s.saslEnabled {
		r.Reject(envProtocol, string(given), "it has no login, but "+envSASLEnabled+" is true",
			"use "+string(credentials.ProtocolOf(given.TLS() || certificates, true))+", or set "+envSASLEnabled+"=false")
	}
}

func (s *Settings) certificateSettings() string {
	if s.Encrypt {
		return "--tls"
	}
	if s.program.Files {
		return envTrustSecret + ", " + envIdentitySecret + ", " + envCAFile + " or " + envCertFile
	}
	return envTrustSecret + " or " + envIdentitySecret
}

func (s *Settings) certificatePlaces() string {
	if s.Encrypt {
		return "flag"
	}
	if s.program.Files {
		return "Secrets and files"
	}
	return "Secrets"
}

// warnOfClearText warns about a login whose password others on the network can read. SCRAM does not send the password.
func (s *Settings) warnOfClearText(r *settings.Reading) {
	if s.Result.Protocol != credentials.ProtocolSASLPlaintext {
		return
	}
	switch s.Result.SASL.Mechanism {
	case kafka.SASLPlain:
		r.Warn("the password is sent in clear text: %s is %s; use %s", envProtocol, s.Result.Protocol, credentials.ProtocolSASLSSL)
	case kafka.SASLOAuthBearer:
		r.Warn("the token is sent in clear text: %s is %s; use %s", envProtocol, s.Result.Protocol, credentials.ProtocolSASLSSL)
	case kafka.SASLScramSHA256, kafka.SASLScramSHA512:
	}
}
