package credentials

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

// SASL reports whether a login is needed.
func (p SecurityProtocol) SASL() bool { return p == ProtocolSASLPlaintext || p == ProtocolSASLSSL }

// ParseProtocol reads a protocol in upper or lower case. The empty text is the empty protocol, which is for others to derive.
func ParseProtocol(text string) (SecurityProtocol, error) {
	switch p := SecurityProtocol(strings.ToUpper(text)); p {
	case "", ProtocolPlaintext, ProtocolSSL, ProtocolSASLPlaintext, ProtocolSASLSSL:
		return p, nil
	}
	return "", invalid("unknown security protocol", "use PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, or leave it empty")
}

// ProtocolOf is the protocol that follows from whether connections are encrypted, and whether a login is needed.
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

// ParseEndpointAlgorithm reads Kafka's ssl.endpoint.identification.algorithm as whether host names go unverified: https is that they do
// not, the empty text that they do.
func ParseEndpointAlgorithm(text string) (skipVerification bool, err error) {
	switch strings.ToUpper(strings.TrimSpace(text)) {
	case "HTTPS":
		return false, nil
	case "":
		return true, nil
	}
	return false, invalid("unknown algorithm", "use HTTPS, or the empty string to accept certificates that were issued for another host name")
}
