package saramakafka

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
)

// These tests check undocumented behaviour of sarama that this package relies on. If one fails after an update of sarama, adapt conn.go
// before the update is merged.

// countedReads is a connection that counts the reads in progress.
type countedReads struct {
	net.Conn
	mu      sync.Mutex
	reading int
}

func (c *countedReads) Read(p []byte) (int, error) {
	c.mu.Lock()
	c.reading++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.reading--
		c.mu.Unlock()
	}()
	return c.Conn.Read(p)
}

func (c *countedReads) inProgress() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reading
}

func wireCluster(t *testing.T) (*kafkatest.Embedded, *settings) {
	t.Helper()
	e, err := kafkatest.StartEmbedded(kafkatest.Options{Users: []kafkatest.User{{Name: "u", Password: "p", Mechanism: kafka.SASLScramSHA256,
		Super: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	s, err := newSettings(kafka.Config{Bootstrap: e.Bootstrap(),
		SASL: &kafka.SASL{Mechanism: kafka.SASLScramSHA256, Username: "u", Password: "p"}})
	if err != nil {
		t.Fatal(err)
	}
	return e, s
}

func metadataOf(ctx context.Context, c *conn) error {
	_, err := metadata(ctx, c, []string{"x"})
	return err
}

func rawQuorum(ctx context.Context, c *conn) error {
	req := kmsg.NewPtrDescribeQuorumRequest()
	_, err := c.raw(ctx, req, 0)
	return err
}

func TestTypedAndRawRequestsShareOneConnection(t *testing.T) {
	e, s := wireCluster(t)
	c, err := openConn(t.Context(), s, e.Bootstrap()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	logins := e.Inject(kafkatest.Fault{Requests: []string{"SASLHandshake"}})
	for i, f := range []func(context.Context, *conn) error{rawQuorum, metadataOf, rawQuorum, rawQuorum, metadataOf, metadataOf, rawQuorum} {
		if err := f(t.Context(), c); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		if c.broken {
			t.Fatalf("request %d left the connection broken", i)
		}
	}
	if logins.Hits() != 0 {
		t.Error("sarama opened another connection")
	}
}

func TestSaramaReadsOnlyDuringItsOwnCalls(t *testing.T) {
	e, s := wireCluster(t)
	tcp, err := net.Dial("tcp", e.Bootstrap()[0])
	if err != nil {
		t.Fatal(err)
	}
	counted := &countedReads{Conn: tcp}
	conf := *s.sarama
	conf.Net.Proxy.Dialer = readyStream{counted}
	s.login.apply(&conf, &conn{})
	broker := sarama.NewBroker(e.Bootstrap()[0])
	if err := broker.Open(&conf); err != nil {
		t.Fatal(err)
	}
	if ok, err := broker.Connected(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer broker.Close()
	for range 20 {
		if _, err := broker.DescribeCluster(sarama.NewDescribeClusterRequest(sarama.MaxVersion)); err != nil {
			t.Fatal(err)
		}
		// A reader goroutine that outlives the call would show here, or take the byte below.
		if n := counted.inProgress(); n != 0 {
			t.Fatalf("%d reads are in progress between calls", n)
		}
	}
	// The connection must return the answer to this request.
	frame := kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrDescribeQuorumRequest(), 7)
	if _, err := tcp.Write(frame); err != nil {
		t.Fatal(err)
	}
	if err := tcp.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var head [8]byte
	if n, err := tcp.Read(head[:]); err != nil || n != len(head) || head[7] != 7 {
		t.Fatalf("the answer went elsewhere: %d bytes, %v", n, err)
	}
}

// watchedStream depends on this: each request is one Write that begins with the size and the key.
func TestSaramaWritesEachRequestAsOneFrame(t *testing.T) {
	e, s := wireCluster(t)
	tcp, err := net.Dial("tcp", e.Bootstrap()[0])
	if err != nil {
		t.Fatal(err)
	}
	keys := &keyRecorder{Conn: tcp}
	conf := *s.sarama
	conf.Net.Proxy.Dialer = readyStream{keys}
	s.login.apply(&conf, &conn{})
	broker := sarama.NewBroker(e.Bootstrap()[0])
	if err := broker.Open(&conf); err != nil {
		t.Fatal(err)
	}
	if ok, err := broker.Connected(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := broker.Close(); err != nil {
		t.Fatal(err)
	}
	if want := []int32{keyAPIVersions, keySASLHandshake, keySASLAuthenticate, keySASLAuthenticate}; !slices.Equal(keys.keys, want) {
		t.Errorf("opening wrote %v, want %v", keys.keys, want)
	}
}

// keyRecorder records the keys that a watchedStream saw.
type keyRecorder struct {
	net.Conn
	keys []int32
}

func (k *keyRecorder) Write(p []byte) (int, error) {
	w := watchedStream{Conn: k.Conn}
	n, err := w.Write(p)
	k.keys = append(k.keys, w.lastKey.Load())
	return n, err
}

func TestAbortEndsSaramasCallAtOnce(t *testing.T) {
	e, s := wireCluster(t)
	for name, f := range map[string]func(context.Context, *conn) error{"typed": metadataOf, "raw": rawQuorum} {
		c, err := openConn(t.Context(), s, e.Bootstrap()[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := f(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		hang := e.Inject(kafkatest.Fault{Hang: true})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		start := time.Now()
		err = f(ctx, c)
		cancel()
		hang.Remove()
		if !errors.Is(err, context.DeadlineExceeded) || !c.broken || time.Since(start) > 15*time.Second {
			t.Errorf("%s: got %v, broken %t after %s", name, err, c.broken, time.Since(start))
		}
		c.close()
	}
}

// TestADeadlineThatSaramaLeftBehind covers that sarama sets a deadline for its read and never clears it.
func TestADeadlineThatSaramaLeftBehind(t *testing.T) {
	e, s := wireCluster(t)
	c, err := openConn(t.Context(), s, e.Bootstrap()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.stream.SetDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.exchange(versioned(kmsg.NewPtrDescribeQuorumRequest())); err != nil {
		t.Errorf("a raw request fell over an old deadline: %v", err)
	}
	if err := metadataOf(t.Context(), c); err != nil {
		t.Error(err)
	}
}

func versioned(req kmsg.Request) kmsg.Request {
	req.SetVersion(req.MaxVersion())
	return req
}
