package saramakafka_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
)

// nodeID returns the id that a node reports.
func nodeID(t *testing.T, r kafka.NodeConfigReader, id int32) (string, error) {
	t.Helper()
	nodes, err := r.DescribeNodeConfigs(within(t, patience), []int32{id}, []string{kafka.KeyNodeID})
	if err != nil {
		t.Fatal(err)
	}
	return nodes[id].Entries[kafka.KeyNodeID].Value, nodes[id].Err
}

// TestAFencedBrokerIsAskedItself checks that a fenced broker is asked for its own configuration, and for nothing else: it may be running
// but not caught up yet.
func TestAFencedBrokerIsAskedItself(t *testing.T) {
	e := embed(t, kafkatest.Options{Brokers: 3})
	if err := e.Fence(1); err != nil {
		t.Fatal(err)
	}
	a := connect(t, kafka.Config{Bootstrap: e.Bootstrap()[:1]})
	if id, err := nodeID(t, a, 1); err != nil || id != "1" {
		t.Errorf("got %q, %v", id, err)
	}
	topics := e.Inject(kafkatest.Fault{Requests: []string{"Metadata"}, Nodes: []int32{1}})
	if err := e.StopNode(0); err != nil {
		t.Fatal(err)
	}
	if _, err := a.ListTopics(within(t, patience)); err != nil || topics.Hits() != 0 {
		t.Errorf("got %v, and the fenced broker was asked %d times", err, topics.Hits())
	}
	cluster, err := a.DescribeCluster(within(t, patience))
	if err != nil || !cluster.FencedIncluded || len(cluster.Brokers) != 3 || !cluster.Brokers[1].Fenced || cluster.Brokers[2].Fenced {
		t.Errorf("got %+v, %v", cluster, err)
	}
}

// TestAnAddressThatBelongsToAnotherNodeByNow checks that an error of another node at the address is not returned as the node's answer.
func TestAnAddressThatBelongsToAnotherNodeByNow(t *testing.T) {
	e := embed(t, kafkatest.Options{Brokers: 2})
	a := connect(t, kafka.Config{Bootstrap: e.Bootstrap(), NodeTimeout: time.Second})
	moved := newProxy(t, e.Bootstrap()[1])
	if err := e.Advertise(0, moved.addr()); err != nil {
		t.Fatal(err)
	}
	resource := kafka.BrokerResource(0)
	ask := func() error {
		_, err := nodeID(t, a, 0)
		return err
	}
	change := func() error {
		errs, err := a.AlterConfigs(within(t, patience), []kafka.ConfigChange{{Resource: resource,
			Set: map[string]string{"num.io.threads": "3"}}}, false)
		return errors.Join(err, errs[resource])
	}
	for name, call := range map[string]func() error{"ask": ask, "change": change} {
		if err := call(); err == nil || kafka.ClassOf(err) != kafka.ClassRetriable {
			t.Errorf("%s: got %v of class %d", name, err, kafka.ClassOf(err))
		}
	}
	if moved.accepted() == 0 {
		t.Error("the other node was not asked")
	}
	moved.lead(e.Bootstrap()[0])
	moved.cut()
	for name, call := range map[string]func() error{"ask": ask, "change": change} {
		if err := call(); err != nil {
			t.Errorf("%s, when it is where it says: %v", name, err)
		}
	}
}

// TestManyNodesThatHang checks that the client waits for all of them at once, not for one after another.
func TestManyNodesThatHang(t *testing.T) {
	e := embed(t, kafkatest.Options{Brokers: 12})
	a := connect(t, kafka.Config{Bootstrap: e.Bootstrap()[:1], NodeTimeout: 2 * time.Second})
	var all, hung []int32
	for id := range int32(12) {
		all = append(all, id)
		if id > 0 {
			hung = append(hung, id)
		}
	}
	defer e.Inject(kafkatest.Fault{Nodes: hung, Hang: true}).Remove()
	start := time.Now()
	nodes, err := a.DescribeNodeConfigs(within(t, patience), all, []string{kafka.KeyNodeID})
	if err != nil || nodes[0].Err != nil || len(nodes) != len(all) {
		t.Fatal(err, nodes)
	}
	for _, id := range hung {
		if !kafka.IsRetriable(nodes[id].Err) || !strings.Contains(nodes[id].Err.Error(), "does not answer") {
			t.Errorf("node %d: %v", id, nodes[id].Err)
		}
	}
	if took := time.Since(start); took > time.Duration(len(hung))*2*time.Second/2 {
		t.Errorf("it took %s", took)
	}
}

// TestConnectionsAreOpenedAsTheConfigurationSays uses Config's dialer, for example for a tunnel. TLS and the login remain the client's.
func TestConnectionsAreOpenedAsTheConfigurationSays(t *testing.T) {
	e := embed(t, kafkatest.Options{Brokers: 1, Users: []kafkatest.User{{Name: "admin", Password: "secret", Mechanism: kafka.SASLPlain,
		Super: true}}})
	var opened atomic.Int32
	a := connect(t, kafka.Config{
		Bootstrap: []string{"kafka.example:9092"}, SASL: plain("admin", "secret"),
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if opened.Add(1) == 1 && address != "kafka.example:9092" {
				t.Errorf("the first connection goes to %s", address)
			}
			var d net.Dialer
			return d.DialContext(ctx, network, e.Bootstrap()[0])
		},
	})
	if _, err := a.ListTopics(within(t, patience)); err != nil || opened.Load() == 0 {
		t.Errorf("got %v after %d connections", err, opened.Load())
	}
}

// TestANodeIsAskedAtItsOwnAddress checks that no other node, and no bootstrap address, is needed for that.
func TestANodeIsAskedAtItsOwnAddress(t *testing.T) {
	e := embed(t, kafkatest.Options{Brokers: 2})
	gone := newProxy(t, e.Bootstrap()[0])
	_ = gone.listener.Close()
	own := map[int32]string{0: e.Bootstrap()[0], 1: e.Bootstrap()[1]}
	a := connect(t, kafka.Config{Bootstrap: []string{gone.addr()}, Nodes: own, NodeTimeout: time.Second})
	if _, err := a.DescribeCluster(within(t, patience)); err != nil {
		t.Errorf("the addresses of nodes are no bootstrap addresses: %v", err)
	}
	// A client that nobody has told the addresses, because all have failed.
	a = connect(t, kafka.Config{Bootstrap: []string{gone.addr()}, Nodes: own, NodeTimeout: time.Second})
	for id := range own {
		if err := e.StopNode(id); err != nil {
			t.Fatal(err)
		}
	}
	for id := range own {
		if _, err := nodeID(t, a, id); !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), fmt.Sprintf("broker %d ", id)) {
			t.Errorf("the failure of node %d is %v", id, err)
		}
	}
	if err := e.StartNode(1, false); err != nil {
		t.Fatal(err)
	}
	if id, err := nodeID(t, a, 1); err != nil || id != "1" {
		t.Errorf("got %q, %v", id, err)
	}
}

// TestAnUnknownAddressHidesNoAnswer checks that the others are asked at their own addresses, although nobody tells the address of one.
func TestAnUnknownAddressHidesNoAnswer(t *testing.T) {
	ours, theirs := newPKI(t), newPKI(t)
	e := embed(t, kafkatest.Options{Brokers: 1, TLS: ours.serverConfig(t, tls.RequireAndVerifyClientCert)})
	cfg := quick(e)
	cfg.TLS = &kafka.TLS{TrustedCertificates: ours.authority.PEM(), Certificate: theirs.client.Cert, Key: theirs.client.Key}
	a := connect(t, cfg)
	if nodes, err := a.DescribeNodeConfigs(within(t, patience), []int32{0, 7}, nil); kafka.TLSFailureOf(err) != kafka.TLSAlert {
		t.Errorf("no address is known, but got %v, %v", nodes, err)
	}
	cfg.Nodes = map[int32]string{0: e.Bootstrap()[0]}
	nodes, err := connect(t, cfg).DescribeNodeConfigs(within(t, patience), []int32{0, 7}, nil)
	if _, asked := nodes[7]; asked || kafka.TLSFailureOf(err) != kafka.TLSAlert || kafka.TLSFailureOf(nodes[0].Err) != kafka.TLSAlert {
		t.Errorf("got %v, %v", nodes, err)
	}
}
