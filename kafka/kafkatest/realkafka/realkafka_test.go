package realkafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// needKafka skips the test if the machine can't run Kafka; in CI the test fails instead.
func needKafka(t *testing.T) {
	t.Helper()
	if err := Available(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func startForTest(t *testing.T, o Options) *Cluster {
	t.Helper()
	needKafka(t)
	o.Log = testLog{t}
	c, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// tool runs a tool that must succeed.
func tool(t *testing.T, c *Cluster, class string, args ...string) string {
	t.Helper()
	out, err := c.Tool(t.Context(), class, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOneNodeKeepsItsDataThroughKillAndHang(t *testing.T) {
	c := startForTest(t, Options{Config: map[string]string{"auto.create.topics.enable": "false"}})
	tool(t, c, "TopicCommand", "--create", "--topic", "orders", "--partitions", "3")

	if err := c.Kill(0); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(0); err == nil {
		t.Error("a node that is dead was killed again without an error")
	}
	if err := c.StartNode(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if out := tool(t, c, "TopicCommand", "--describe", "--topic", "orders"); !strings.Contains(out, "PartitionCount: 3") {
		t.Errorf("after kill and start: %s", out)
	}

	if err := c.Suspend(0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	n, _ := c.node(0)
	if err := n.await(ctx, 1); err == nil {
		t.Error("a suspended node answers")
	}
	if err := c.Resume(0); err != nil {
		t.Fatal(err)
	}
	if err := n.await(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if err := c.Stop(0); err != nil {
		t.Error(err)
	}
	if log := c.LogTail(0); !strings.Contains(log, "SHUTDOWN") {
		t.Errorf("a node that was stopped in order says so in its log, have:\n%s", log)
	}
}

func TestBrokersApartFromControllers(t *testing.T) {
	c := startForTest(t, Options{Brokers: 3, Controllers: 1, Racks: []string{"a", "b", "c"}, ClusterID: "4L6g3nShT-eMCtK--X86sw"})
	if c.ClusterID() != "4L6g3nShT-eMCtK--X86sw" || len(c.Bootstrap()) != 3 || len(c.ControllerBootstrap()) != 1 || len(c.NodeIDs()) != 4 ||
		len(c.BrokerIDs()) != 3 {
		t.Errorf("cluster %s, bootstrap %v, controllers %v, nodes %v, brokers %v", c.ClusterID(), c.Bootstrap(), c.ControllerBootstrap(),
			c.NodeIDs(), c.BrokerIDs())
	}
	tool(t, c, "TopicCommand", "--create", "--topic", "t", "--partitions", "1", "--replication-factor", "3")
	if out := tool(t, c, "MetadataQuorumCommand", "describe", "--status"); !regexp.MustCompile(`LeaderId:\s+3`).MatchString(out) ||
		!strings.Contains(out, c.ClusterID()) {
		t.Errorf("the quorum: %s", out)
	}
	if err := c.Stop(1); err != nil {
		t.Fatal(err)
	}
	if err := c.StartNode(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
}

func TestSecuredListeners(t *testing.T) {
	c := startForTest(t, Options{
		SASL: &SASL{Users: map[string]string{"alice": "alice-secret"}, OAuthBearer: true},
		TLS:  &TLS{},
		ACL:  &ACL{SuperUsers: []string{"User:admin"}},
	})
	tool(t, c, "TopicCommand", "--create", "--topic", "hers", "--partitions", "1")
	tool(t, c, "TopicCommand", "--create", "--topic", "not-hers", "--partitions", "1")
	if err := c.Allow(t.Context(), "User:alice", "--operation", "Describe", "--topic", "hers"); err != nil {
		t.Fatal(err)
	}

	login := map[string]string{
		"PLAIN":         `org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="alice-secret";`,
		"SCRAM-SHA-512": `org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="alice-secret";`,
		"OAUTHBEARER":   `org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";`,
	}
	for mechanism, module := range login {
		t.Run(mechanism, func(t *testing.T) {
			config := filepath.Join(t.TempDir(), "client.properties")
			if err := writeFile(config, formatProperties(map[string]string{
				"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": module,
			})); err != nil {
				t.Fatal(err)
			}
			out := tool(t, c, "TopicCommand", "--bootstrap-server", c.SASLBootstrap()[0], "--command-config", config, "--list")
			if strings.TrimSpace(out) != "hers" {
				t.Errorf("alice sees %q, want the topic she may describe", out)
			}
		})
	}
	t.Run("TLS", func(t *testing.T) { testHandshakes(t, c) })
}

func testHandshakes(t *testing.T, c *Cluster) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.Authority().PEM())
	own, err := tls.X509KeyPair(c.ClientCertificate().Cert, c.ClientCertificate().Key)
	if err != nil {
		t.Fatal(err)
	}
	for addr, certs := range map[string][]tls.Certificate{c.TLSBootstrap()[0]: {own}, c.SASLTLSBootstrap()[0]: nil} {
		conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: roots, Certificates: certs})
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		conn.Close()
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	c := startForTest(t, Options{})
	pid, dir := c.PID(0), c.scratch.dir
	if pid == 0 {
		t.Fatal("no process")
	}
	if err := c.Suspend(0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("process %d: %v, want no such process", pid, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
	if conn, err := net.Dial("tcp", c.Bootstrap()[0]); err == nil {
		conn.Close()
		t.Error("somebody still listens on the broker's port")
	}
}

func TestAStartThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	needKafka(t)
	dir := filepath.Join(t.TempDir(), "kafka")
	_, err := Start(t.Context(), Options{Dir: dir, Config: map[string]string{"num.io.threads": "none"}})
	if err == nil || !strings.Contains(err.Error(), "num.io.threads") {
		t.Errorf("error %v, want one that names the setting", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there", dir)
	}
}
