package kafkatest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
)

const (
	keyMetadata         int16 = 3
	keySASLHandshake    int16 = 17
	keyAPIVersions      int16 = 18
	keyCreateTopics     int16 = 19
	keyDeleteTopics     int16 = 20
	keyDescribeConfigs  int16 = 32
	keySASLAuthenticate int16 = 36
	keyCreatePartitions int16 = 37
	keyElectLeaders     int16 = 43
	keyAlterConfigs     int16 = 44
	keyReassignments    int16 = 46
	keyDescribeQuorum   int16 = 55
	keyUpdateFeatures   int16 = 57
	keyUnregisterBroker int16 = 64
	keyDescribeCluster  int16 = 60
)

// session serves one client's connection to one broker. Each request passes the faults, the rules, and a fake broker, one request at a
// time.
type session struct {
	cluster  *Embedded
	node     *endpoint
	client   net.Conn
	backends map[int32]net.Conn // to the fake brokers, by id
	gone     chan struct{}      // closed when the client disconnects
	frames   chan []byte

	mechanism string
	user      string
}

func newSession(e *Embedded, n *endpoint, client net.Conn) *session {
	return &session{cluster: e, node: n, client: client, backends: map[int32]net.Conn{}, gone: make(chan struct{}), frames: make(chan []byte)}
}

// run serves the connection until either side closes it.
func (s *session) run() {
	defer func() {
		_ = s.client.Close()
		for _, b := range s.backends {
			_ = b.Close()
		}
	}()
	stop := make(chan struct{})
	defer close(stop)
	s.cluster.sessions.Go(func() { s.receive(stop) })
	for {
		select {
		case frame := <-s.frames:
			answer, err := s.answer(frame)
			if errors.Is(err, errAnswered) {
				continue
			}
			if err != nil {
				return
			}
			if err := writeFrame(s.client, answer); err != nil {
				return
			}
		case <-s.gone:
			return
		}
	}
}

// receive reads requests ahead, so that the end of the client's connection ends a waiting request.
func (s *session) receive(stop <-chan struct{}) {
	defer close(s.gone)
	for {
		frame, err := readFrame(s.client)
		if err != nil {
			return
		}
		select {
		case s.frames <- frame:
		case <-stop:
			return
		}
	}
}

// answer returns the answer to one request. An error closes the connection.
func (s *session) answer(frame []byte) ([]byte, error) {
	c, err := parse(frame)
	if err != nil {
		return nil, err
	}
	fault := s.cluster.match(s.node.id, c.key)
	if fault != nil {
		if resp, err := s.before(fault, c); resp != nil || err != nil {
			return c.encode(resp), err
		}
	}
	answer, err := s.serve(c)
	if err != nil {
		return nil, err
	}
	if fault != nil {
		return s.after(fault, c, answer)
	}
	return answer, nil
}

// serve answers a request by the rules and a fake broker.
func (s *session) serve(c *call) ([]byte, error) {
	switch c.key {
	case keySASLHandshake, keySASLAuthenticate:
		return s.logIn(c)
	case keyAPIVersions, keyMetadata, keyCreateTopics, keyDeleteTopics, keyDescribeConfigs, keyCreatePartitions, keyElectLeaders,
		keyAlterConfigs, keyDescribeQuorum, keyDescribeCluster,
		keyUpdateFeatures, keyUnregisterBroker:
		resp, err := s.overlay(c)
		if err != nil {
			return nil, err
		}
		return c.encode(resp), nil
	}
	return s.forward(s.node.id, c.frame)
}

// ask sends a request to a fake broker: to the controller if only the controller can answer it.
func (s *session) ask(c *call, req kmsg.Request) (kmsg.Response, error) {
	target := s.node.id
	switch req.Key() {
	case keyCreateTopics, keyDeleteTopics, keyCreatePartitions:
		if !s.cluster.options.NoForwarding {
			target = s.cluster.Controller()
		}
	}
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID(c.clientID)).AppendRequest(nil, req, c.correlation)
	answer, err := s.forward(target, frame[4:])
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	body := answer[4:]
	if resp.IsFlexible() && req.Key() != keyAPIVersions {
		body = body[1:] // kfake sends no tags
	}
	return resp, resp.ReadFrom(body)
}

// forward sends a frame to a fake broker, and returns its answer.
func (s *session) forward(id int32, frame []byte) ([]byte, error) {
	backend := s.backends[id]
	if backend == nil {
		var err error
		if backend, err = s.cluster.nodes[id].inner.dial(); err != nil {
			return nil, err
		}
		s.backends[id] = backend
		if id != s.node.id && s.user != "" {
			if err := s.impersonate(backend); err != nil {
				return nil, err
			}
		}
	}
	if err := writeFrame(backend, frame); err != nil {
		return nil, err
	}
	return readFrame(backend)
}

// impersonate logs in to another fake broker as the user of this session.
func (s *session) impersonate(backend net.Conn) error {
	password := ""
	for _, u := range s.cluster.options.Users {
		if u.Name == s.user {
			password = u.Password
		}
	}
	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.Version, handshake.Mechanism = 1, string(kafka.SASLPlain)
	authenticate := kmsg.NewPtrSASLAuthenticateRequest()
	authenticate.SASLAuthBytes = []byte("\x00" + s.user + "\x00" + password)
	for _, req := range []kmsg.Request{handshake, authenticate} {
		frame := kmsg.NewRequestFormatter().AppendRequest(nil, req, 0)
		if err := writeFrame(backend, frame[4:]); err != nil {
			return err
		}
		if _, err := readFrame(backend); err != nil {
			return fmt.Errorf("logging in to the controller as %s: %w", s.user, err)
		}
	}
	return nil
}

// logIn forwards a login, remembers its user, and answers a failed one as Kafka does, because kfake only closes the connection.
func (s *session) logIn(c *call) ([]byte, error) {
	if handshake, ok := c.req.(*kmsg.SASLHandshakeRequest); ok {
		s.mechanism = handshake.Mechanism
		if s.bearer() {
			return c.encode(handshake.ResponseKind()), nil
		}
		return s.forward(s.node.id, c.frame)
	}
	req := c.req.(*kmsg.SASLAuthenticateRequest)
	if s.bearer() {
		return s.checkToken(c, req)
	}
	if user := userOf(req.SASLAuthBytes); user != "" {
		s.user = user
	}
	answer, err := s.forward(s.node.id, c.frame)
	if err == nil {
		return answer, nil
	}
	return nil, s.refuseLogin(c, req)
}

// refuseLogin answers as Kafka does, and ends the connection.
func (s *session) refuseLogin(c *call, req *kmsg.SASLAuthenticateRequest) error {
	resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	resp.ErrorCode = kafka.CodeSASLAuthenticationFailed
	message := "Authentication failed during authentication due to invalid credentials with SASL mechanism " + s.mechanism
	if s.mechanism == string(kafka.SASLPlain) {
		message = "Authentication failed: Invalid username or password"
	}
	resp.ErrorMessage = &message
	_ = writeFrame(s.client, c.encode(resp)) // the connection ends here either way
	return net.ErrClosed
}

// bearer reports whether this package checks the login itself.
func (s *session) bearer() bool {
	return s.mechanism == string(kafka.SASLOAuthBearer) && s.cluster.options.Tokens != nil
}

// checkToken completes a login by OAUTHBEARER (n,,^Aauth=Bearer token^A...): it logs in to kfake as the token's user.
func (s *session) checkToken(c *call, req *kmsg.SASLAuthenticateRequest) ([]byte, error) {
	_, token, _ := bytes.Cut(req.SASLAuthBytes, []byte("\x01auth=Bearer "))
	token, _, _ = bytes.Cut(token, []byte{1})
	user, ok := s.cluster.options.Tokens[string(token)]
	if !ok {
		return nil, s.refuseLogin(c, req)
	}
	s.user = user
	backend, err := s.node.inner.dial()
	if err != nil {
		return nil, err
	}
	if old := s.backends[s.node.id]; old != nil {
		_ = old.Close() // it was not logged in
	}
	s.backends[s.node.id] = backend
	if err := s.impersonate(backend); err != nil {
		return nil, err
	}
	return c.encode(req.ResponseKind()), nil
}

// userOf finds the user in the first message of PLAIN (authzid NUL user NUL password) or SCRAM (n,,n=user,r=nonce).
func userOf(first []byte) string {
	if parts := bytes.Split(first, []byte{0}); len(parts) == 3 {
		return string(parts[1])
	}
	if rest, ok := bytes.CutPrefix(first, []byte("n,,n=")); ok {
		user, _, _ := bytes.Cut(rest, []byte(",r="))
		return string(user)
	}
	return ""
}

// wait waits, unless the client disconnects or the cluster closes.
func (s *session) wait(d time.Duration, until <-chan struct{}) error {
	var timer <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-timer:
		return nil
	case <-until:
		return nil
	case <-s.gone:
	case <-s.cluster.done:
	}
	return net.ErrClosed
}

// call is one parsed request.
type call struct {
	frame       []byte
	key         int16
	version     int16
	correlation int32
	clientID    string
	req         kmsg.Request // nil for requests that kmsg does not know
}

var (
	errShort = errors.New("the request is too short")
	// errAnswered means that the answer was sent already.
	errAnswered = errors.New("the request is answered")
)

func parse(frame []byte) (*call, error) {
	if len(frame) < 10 {
		return nil, errShort
	}
	c := &call{
		frame: frame,
		key:   int16(binary.BigEndian.Uint16(frame)), version: int16(binary.BigEndian.Uint16(frame[2:])),
		correlation: int32(binary.BigEndian.Uint32(frame[4:])),
	}
	body := frame[10:]
	if n := int(int16(binary.BigEndian.Uint16(frame[8:]))); n > 0 {
		if len(body) < n {
			return nil, errShort
		}
		c.clientID, body = string(body[:n]), body[n:]
	}
	req := kmsg.RequestForKey(c.key)
	if req == nil || c.version > req.MaxVersion() {
		return c, nil
	}
	req.SetVersion(c.version)
	if req.IsFlexible() {
		if len(body) == 0 || body[0] != 0 {
			return nil, errors.New("tags in the request's header")
		}
		body = body[1:]
	}
	if err := req.ReadFrom(body); err != nil {
		return nil, err
	}
	c.req = req
	return c, nil
}

// encode makes a frame of an answer.
func (c *call) encode(resp kmsg.Response) []byte {
	if resp == nil {
		return nil
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(c.correlation))
	if resp.IsFlexible() && c.key != keyAPIVersions {
		out = append(out, 0)
	}
	return resp.AppendTo(out)
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	const most = 100 << 20
	if n > most {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	frame := make([]byte, n)
	_, err := io.ReadFull(r, frame)
	return frame, err
}

func writeFrame(w io.Writer, frame []byte) error {
	out := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(frame)), uint32(len(frame)))
	_, err := w.Write(append(out, frame...))
	return err
}
