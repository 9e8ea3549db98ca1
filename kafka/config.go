package kafka

import (
	"context"
	"net"
	"time"
)

// Config describes how to reach a cluster. It contains bytes, not file names: the owner of the files or Secrets reads them, and passes a
// new Config when they change.
type Config struct {
	// Bootstrap are host:port addresses of one or more brokers; for a client of the controllers (see Controllers) those of controllers.
	Bootstrap []string
	// Nodes are host:port addresses of single nodes, by id. They serve as further bootstrap addresses, and to reach a node whose address no
	// other one reports, as when all have failed.
	Nodes map[int32]string
	// Dial, if set, opens the connections instead of the default dialer, for example through a tunnel or into another network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ClientID is sent with each request; brokers log it and apply quotas to it.
	ClientID string
	// TLS is nil for plain connections.
	TLS *TLS
	// SASL is nil for connections without a login.
	SASL *SASL
	// DialTimeout bounds opening one connection, including TLS and login. Zero means 5 s.
	DialTimeout time.Duration
	// RequestTimeout bounds a call whose context has no deadline. Zero means 40 s, Kafka's default.api.timeout.ms for the operators.
	RequestTimeout time.Duration
	// NodeTimeout limits the wait for a request that only a single node can answer (its own configuration), so that a hanging node delays
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
	// Certificate and Key are the client's own, for mTLS; both or neither.
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
	// Token returns a token for OAUTHBEARER, and its SASL extensions, at each login. An error is retried as temporary, unless it is an *Error
	// of another class.
	Token func(ctx context.Context) (token string, extensions map[string]string, err error)
}
