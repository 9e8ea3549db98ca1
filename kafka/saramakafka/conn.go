package saramakafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
	"github.com/rcrowley/go-metrics"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// socketTimeout bounds a single read or write of sarama. It is only a backstop: each call closes the socket at its deadline.
	socketTimeout = 10 * time.Minute
	// firstRawCorrelation keeps the correlation ids of raw frames apart from sarama's, which count from 0.
	firstRawCorrelation = 1 << 30
	// maxResponse is the largest accepted answer: sarama's own limit.
	maxResponse = 100 << 20

	keyAPIVersions      = 18
	keySASLHandshake    = 17
	keySASLAuthenticate = 36
)

// Without this, each sarama.Broker would feed meters whose arbiter goroutine never ends. It must precede the first connection.
var _ = func() bool { metrics.UseNilMetrics = true; return true }()

// conn is one connection to one broker. It has one user at a time (see pool.go).
//
// It relies on two undocumented facts about sarama, which conn_wire_test.go verifies: sarama reads from the socket only during its own
// calls, and it buffers nothing beyond a complete answer. Between calls, this package can use the socket.
type conn struct {
	broker *sarama.Broker
	tcp    net.Conn // closed to abort a call
	stream net.Conn // tcp, or TLS on it
	login  *login

	format      *kmsg.RequestFormatter
	correlation int32
	versions    map[int16][2]int16 // lowest and highest version of each request that the broker serves; nil until read

	cluster   string          // the id of its cluster; empty until read
	call      context.Context // sarama's token callback has no other access to its call
	broken    bool            // the stream's position is lost, or the socket is closed
	fresh     bool            // opened for the present call, and therefore alive
	probed    bool            // its versions and its login were renewed for the present attempt
	idleSince time.Time
	muted     time.Time // the broker reads nothing before this time (KIP-219)
}

// openConn dials, and negotiates versions and login. It returns by ctx's end.
func openConn(ctx context.Context, s *settings, addr string) (*conn, error) {
	tcp, stream, err := s.open(ctx, addr)
	if err != nil {
		return nil, err
	}
	c := &conn{
		broker: sarama.NewBroker(addr), tcp: tcp, stream: stream, login: s.login, call: ctx, fresh: true,
		format: kmsg.NewRequestFormatter(kmsg.FormatterClientID(s.clientID)), correlation: firstRawCorrelation,
	}
	watched := &watchedStream{Conn: stream}
	stop := context.AfterFunc(ctx, c.abort)
	defer stop()
	conf := *s.sarama
	conf.Net.Proxy.Dialer = readyStream{watched}
	if s.login != nil {
		s.login.apply(&conf, c)
	}
	if err := c.broker.Open(&conf); err != nil {
		c.close()
		return nil, err
	}
	if connected, err := c.broker.Connected(); err != nil || !connected {
		c.close()
		return nil, loginError(ctx, watched.lastKey.Load(), err)
	}
	return c, nil
}

// loginError distinguishes a rejected login from a connection that failed while it was opened.
func loginError(ctx context.Context, lastKey int32, err error) error {
	var (
		own   *loginRefused
		token *tokenFailed
	)
	switch {
	case ctx.Err() != nil:
		return errors.Join(context.Cause(ctx), err)
	case err == nil:
		return net.ErrClosed
	case errors.As(err, &own), errors.As(err, &token):
		return err
	case authenticationFailed(err):
		return &loginRefused{err}
	case lastKey == keySASLAuthenticate || lastKey == keySASLHandshake:
		return &loginAborted{err}
	}
	return err
}

// loginAborted is a connection that the broker closed in the middle of the login. Brokers explain a refusal since Kafka 1.0, so
// this usually is a broker going down; when each attempt ends like this, the credentials are the likely cause.
type loginAborted struct{ cause error }

func (e *loginAborted) Error() string {
	return "the broker closed the connection during login: " + e.cause.Error()
}
func (e *loginAborted) Unwrap() error { return e.cause }

// typed runs one or more of sarama's own calls. Any error of f, except that a request could not be encoded, means that the connection is
// lost.
func (c *conn) typed(ctx context.Context, f func(*sarama.Broker) error) error {
	c.call = ctx
	stop := context.AfterFunc(ctx, c.abort)
	err := f(c.broker)
	if !stop() {
		c.broken = true
		if err != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		return err
	}
	if err != nil && !unsent(err) {
		c.broken = true
	}
	if authenticationFailed(err) {
		return &loginRefused{err} // while sarama renewed the login
	}
	return err
}

// unsent reports whether sarama did not send the request: the broker does not support it, or it can't be encoded.
func unsent(err error) bool {
	var encoding sarama.PacketEncodingError
	return errors.Is(err, sarama.ErrUnsupportedVersion) || errors.As(err, &encoding)
}

// probe reads the broker's versions. It proves that the connection is alive, renews a login that is about to expire (KIP-368), and is the
// cheapest request of all.
func (c *conn) probe(ctx context.Context) error {
	return c.typed(ctx, func(b *sarama.Broker) error {
		answer, err := b.ApiVersions(&sarama.ApiVersionsRequest{Version: 3, ClientSoftwareName: "sarama", ClientSoftwareVersion: "1"})
		if err != nil {
			return err
		}
		c.mute(time.Duration(answer.ThrottleTimeMs) * time.Millisecond)
		c.versions = make(map[int16][2]int16, len(answer.ApiKeys))
		for _, k := range answer.ApiKeys {
			c.versions[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
		}
		return nil
	})
}

// raw sends a request that sarama lacks. lowest is the first version that can express it.
func (c *conn) raw(ctx context.Context, req kmsg.Request, lowest int16) (kmsg.Response, error) {
	// sarama renews the login, and only before its own calls.
	if c.versions == nil || c.login != nil && !c.probed {
		if err := c.probe(ctx); err != nil {
			return nil, err
		}
	}
	served, ok := c.versions[req.Key()]
	version := min(req.MaxVersion(), served[1])
	if !ok || version < max(lowest, served[0]) {
		return nil, sarama.ErrUnsupportedVersion
	}
	req.SetVersion(version)
	c.call = ctx
	stop := context.AfterFunc(ctx, c.abort)
	resp, err := c.exchange(req)
	if !stop() || err != nil {
		c.broken = true
	}
	if err != nil && ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return resp, err
}

// exchange writes one frame and reads its answer.
func (c *conn) exchange(req kmsg.Request) (kmsg.Response, error) {
	c.correlation++
	// Sarama does not reset the deadline of its last read.
	if err := c.stream.SetDeadline(time.Now().Add(socketTimeout)); err != nil {
		return nil, err
	}
	if _, err := c.stream.Write(c.format.AppendRequest(nil, req, c.correlation)); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(c.stream, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:4])
	if size < 4 || size > maxResponse {
		return nil, fmt.Errorf("a response of %d bytes is not Kafka's protocol", size)
	}
	if got := int32(binary.BigEndian.Uint32(head[4:])); got != c.correlation {
		return nil, fmt.Errorf("the response has correlation id %d, want %d", got, c.correlation)
	}
	body := make([]byte, size-4)
	if _, err := io.ReadFull(c.stream, body); err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	if resp.IsFlexible() {
		if len(body) == 0 || body[0] != 0 {
			return nil, errors.New("the response header has unexpected tags")
		}
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, err
	}
	if throttled, ok := resp.(kmsg.ThrottleResponse); ok {
		millis, _ := throttled.Throttle()
		c.mute(time.Duration(millis) * time.Millisecond)
	}
	return resp, nil
}

// mute records that the broker reads nothing from this connection for some time.
func (c *conn) mute(d time.Duration) {
	if d > 0 {
		c.muted = time.Now().Add(d)
	}
}

// abort makes every read and write on the connection fail.
func (c *conn) abort() { _ = c.tcp.Close() }

// close closes the connection. The caller must be its only user.
func (c *conn) close() {
	c.abort()
	_ = c.broker.Close() // fails if sarama has closed it already
}

// readyStream is a dialer that returns an open connection to sarama.
type readyStream struct{ stream net.Conn }

func (r readyStream) Dial(string, string) (net.Conn, error) { return r.stream, nil }

// watchedStream records which request sarama wrote last, to distinguish a failed connection setup from a failed login.
type watchedStream struct {
	net.Conn
	lastKey atomic.Int32
}

// Write implements net.Conn. Sarama writes each request as one frame: size, then key.
func (w *watchedStream) Write(frame []byte) (int, error) {
	if len(frame) >= 6 {
		w.lastKey.Store(int32(binary.BigEndian.Uint16(frame[4:])))
	}
	return w.Conn.Write(frame)
}
