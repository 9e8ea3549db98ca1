package credentials

import "strings"

// SecurityProtocol is how connections to Kafka are protected, by Kafka's names.
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

// SASL reports whether a login is needed.
func (p SecurityProtocol) SASL() bool { return p == ProtocolSASLPlaintext || p == ProtocolSASLSSL }

// ParseProtocol parses a protocol in upper or lower case. The empty text is the empty protocol, which callers derive.
func ParseProtocol(text string) (SecurityProtocol, error) {
	switch p := SecurityProtocol(strings.ToUpper(strings.TrimSpace(text))); p {
	case "", ProtocolPlaintext, ProtocolSSL, ProtocolSASLPlaintext, ProtocolSASLSSL:
		return p, nil
	}
	return "", invalid("unknown security protocol", "use PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, or leave it empty")
}

// ProtocolOf returns the protocol for connections with or without encryption and login.
func ProtocolOf(tls, sasl bool) SecurityProtocol {
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

// ParseEndpointAlgorithm parses Kafka's ssl.endpoint.identification.algorithm: https verifies host names, and the empty text skips the
// verification.
func ParseEndpointAlgorithm(text string) (skipVerification bool, err error) {
	switch strings.ToUpper(strings.TrimSpace(text)) {
	case "HTTPS":
		return false, nil
	case "":
		return true, nil
	}
	return false, invalid("unknown algorithm", "use HTTPS, or the empty string to accept certificates that were issued for another host name")
}
