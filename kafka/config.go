package kafka

import (
	"context"
	"net"
	"time"
)

// Config describes how to reach a cluster. It holds bytes, not files: whoever owns the files or Secrets reads them, and hands over a
// new Config when they change.
type Config struct {
	// Bootstrap are host:port addresses of one or more brokers; for a client of the controllers (see Controllers) those of controllers.
	Bootstrap []string
	// Dial, if set, opens the connections instead of the network's own means: through a tunnel, or into another network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ClientID is sent with each request; brokers log it and apply quotas to it.
	ClientID string
	// TLS is nil for plain connections.
	TLS *TLS
	// SASL is nil for connections without login.
	SASL *SASL
	// DialTimeout bounds opening one connection, TLS and login included. Zero means 5 s.
	DialTimeout time.Duration
	// RequestTimeout bounds a call whose context has no deadline. Zero means 40 s, Kafka's default.api.timeout.ms for the operators.
	RequestTimeout time.Duration
	// NodeTimeout bounds the wait for a single node where only that one can answer (its own configuration), so that one that hangs holds up
	// nothing else. Zero means 10 s.
	NodeTimeout time.Duration
	// ObserveRequest, if set, is called after each request that was sent to a broker, with the request's name as Kafka documents it
	// ("CreateTopics"), how long it took, and its transport error if any. Requests that open, log in or probe a connection, or
	// prove its cluster (see ClusterPinner), are left out. It must not block.
	ObserveRequest func(request string, took time.Duration, err error)
}

// TLS are the certificates of a TLS connection, in PEM.
type TLS struct {
	// TrustedCertificates are the authorities that may sign a broker's certificate; empty means the system's.
	TrustedCertificates []byte
	// Certificate and Key are the client's own, for mTLS; both or none.
	Certificate, Key []byte
	// SkipHostnameVerification accepts a broker's certificate that was issued for another name (ssl.endpoint.identification.algorithm="").
	// The chain is verified nevertheless.
	SkipHostnameVerification bool
}

// SASLMechanism names a login mechanism as Kafka does.
type SASLMechanism string

// The mechanisms of the port.
const (
	SASLPlain       SASLMechanism = "PLAIN"
	SASLScramSHA256 SASLMechanism = "SCRAM-SHA-256"
	SASLScramSHA512 SASLMechanism = "SCRAM-SHA-512"
	SASLOAuthBearer SASLMechanism = "OAUTHBEARER"
)

// SASL is a login.
type SASL struct {
	Mechanism SASLMechanism
	// Username and Password are for PLAIN and SCRAM.
	Username, Password string
	// Token returns a token for OAUTHBEARER, and its SASL extensions, at each login. Its error is taken for a passing one and tried again,
	// unless it is an *Error that says otherwise.
	Token func(ctx context.Context) (token string, extensions map[string]string, err error)
}
