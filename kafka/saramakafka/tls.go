package saramakafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// tlsConfig converts the port's PEM to a tls.Config without a server name, or returns nil for plain connections.
func tlsConfig(cfg *kafka.TLS) (*tls.Config, error) {
	if cfg == nil {
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(cfg.TrustedCertificates) > 0 {
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(cfg.TrustedCertificates) {
			return nil, errors.New("the trusted certificates contain no certificate in PEM")
		}
	}
	if (len(cfg.Certificate) > 0) != (len(cfg.Key) > 0) {
		return nil, errors.New("a client certificate needs its key, and a key its certificate")
	}
	if len(cfg.Certificate) > 0 {
		pair, err := tls.X509KeyPair(cfg.Certificate, cfg.Key)
		if err != nil {
			return nil, fmt.Errorf("the client certificate or its key: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	if cfg.SkipHostnameVerification {
		// crypto/tls can only skip all checks, so VerifyConnection verifies the chain.
		out.InsecureSkipVerify = true
		out.VerifyConnection = verifyChain(out.RootCAs)
	}
	return out, nil
}

// certificate returns the client's own certificate; nil if it has none.
func (s *settings) certificate() *x509.Certificate {
	if s.tls == nil || len(s.tls.Certificates) == 0 {
		return nil
	}
	return s.tls.Certificates[0].Leaf
}

// verifyChain verifies a server's certificate against roots (nil: the system's) for any name.
func verifyChain(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		intermediates := x509.NewCertPool()
		for _, c := range state.PeerCertificates[1:] {
			intermediates.AddCert(c)
		}
		if _, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates}); err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
		}
		return nil
	}
}

// open opens a TCP connection and, if configured, TLS on it. It returns both, because closing the TCP connection aborts a call at once:
// closing a tls.Conn first tries to send an alert.
func (s *settings) open(ctx context.Context, addr string) (tcp, stream net.Conn, err error) {
	config := s.tls
	tcp, err = s.dial(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	if config == nil {
		return tcp, tcp, nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, nil, errors.Join(err, tcp.Close())
	}
	config = config.Clone()
	config.ServerName = host
	secure := tls.Client(tcp, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = tcp.Close() // the handshake's error has the reason
		return nil, nil, err
	}
	return tcp, secure, nil
}

// isTLSRefusal reports whether err is a certificate or handshake that one side rejected, as opposed to a network failure.
func isTLSRefusal(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		record       tls.RecordHeaderError
	)
	return errors.As(err, &verification) || errors.As(err, &record) || isAlert(err)
}

// isAlert reports whether the peer sent an alert, which has no exported type. In TLS 1.3, the rejection of a client certificate arrives
// after the handshake, with the first read.
func isAlert(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) && operation.Op == "remote error" && strings.HasPrefix(operation.Err.Error(), "tls: ")
}

// tlsFailure returns why one side rejected a handshake.
func tlsFailure(err error) kafka.TLSFailure {
	switch out := outOfDate(err); {
	case isAlert(err):
		return kafka.TLSAlert
	case out != nil && out.own && out.late:
		return kafka.TLSExpired
	}
	return kafka.TLSUntrusted
}

// dated is a certificate whose time is not now, as far as this machine's clock tells.
type dated struct {
	*x509.Certificate
	// own: it is the server's, and not a CA's. late: it has expired; otherwise it is not valid yet.
	own, late bool
}

// outOfDate returns the certificate that failed the check of its time; nil if none did. Only a server's own one that has expired concerns
// all clients: Java does not check the times of a CA that it trusts, and for a certificate that is not valid yet, our clock may be wrong.
func outOfDate(err error) *dated {
	var (
		invalid      x509.CertificateInvalidError
		verification *tls.CertificateVerificationError
	)
	if !errors.As(err, &invalid) || invalid.Reason != x509.Expired || !errors.As(err, &verification) {
		return nil
	}
	own := len(verification.UnverifiedCertificates) > 0 && invalid.Cert.Equal(verification.UnverifiedCertificates[0])
	return &dated{invalid.Cert, own, time.Now().After(invalid.Cert.NotAfter)}
}

// check tells users what to do; empty if the server's own certificate has expired.
func (d *dated) check() string {
	times := d.NotBefore.UTC().Format(time.RFC3339) + " to " + d.NotAfter.UTC().Format(time.RFC3339)
	switch {
	case !d.own:
		return fmt.Sprintf("the certificate of the CA %s is valid only from %s: replace it, or check this machine's clock", d.Subject, times)
	case !d.late:
		return fmt.Sprintf("the server's certificate is valid only from %s: check this machine's clock", times)
	}
	return ""
}
