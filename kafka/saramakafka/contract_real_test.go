package saramakafka_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
)

// realCluster starts Apache Kafka for the test. Without Java the test is skipped; in CI the test fails instead.
func realCluster(t *testing.T, o realkafka.Options) *realkafka.Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("real Kafka takes longer than -short allows")
	}
	if err := realkafka.Available(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	c, err := realkafka.Start(t.Context(), o)
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

func users() map[string]string { return map[string]string{"admin": "secret", "nobody": "secret"} }

func TestContractOnRealKafka(t *testing.T) {
	c := realCluster(t, realkafka.Options{
		Config: map[string]string{"auto.create.topics.enable": "true", "num.partitions": "2"},
		SASL:   &realkafka.SASL{Users: users()},
		ACL:    &realkafka.ACL{SuperUsers: []string{"User:admin"}},
		HeapMB: 1024,
	})
	kept := realCluster(t, realkafka.Options{Config: map[string]string{"delete.topic.enable": "false"}})
	kafkatest.RunContract(t, kafkatest.Target{
		Admin: func(t testing.TB, observe func(string, time.Duration, error)) kafka.Admin {
			return connect(t, kafka.Config{Bootstrap: c.SASLBootstrap(), SASL: scram("admin"), ObserveRequest: observe})
		},
		Restricted: func(t testing.TB) kafka.Admin {
			return connect(t, kafka.Config{Bootstrap: c.SASLBootstrap(), SASL: plain("nobody", "secret")})
		},
		DeletionDisabled: func(t testing.TB) kafka.Admin { return connect(t, kafka.Config{Bootstrap: kept.Bootstrap()}) },
		ClusterID:        c.ClusterID(), Brokers: 1,
		LargeTopics: 2,
	})
}

func scram(user string) *kafka.SASL {
	return &kafka.SASL{Mechanism: kafka.SASLScramSHA512, Username: user, Password: "secret"}
}

func TestTopicIDsArePrintedAsKafkaPrintsThem(t *testing.T) {
	c := realCluster(t, realkafka.Options{})
	a := connect(t, kafka.Config{Bootstrap: c.Bootstrap()})
	created := createOne(t, a, "printed")
	out, err := c.Tool(t.Context(), "TopicCommand", "--describe", "--topic", "printed")
	if err != nil {
		t.Fatal(err)
	}
	printed := regexp.MustCompile(`TopicId: (\S+)`).FindStringSubmatch(out)
	if printed == nil || printed[1] != created.ID.String() {
		t.Errorf("we print %s, Kafka prints %v", created.ID, printed)
	}
}

func createOne(t *testing.T, a kafka.Admin, name string) kafka.CreateResult {
	t.Helper()
	results, err := a.CreateTopics(t.Context(), []kafka.NewTopic{{Name: name, Partitions: 1, ReplicationFactor: -1}}, false)
	if err == nil {
		err = results[name].Err
	}
	if err != nil {
		t.Fatal(err)
	}
	return results[name]
}

func TestLoginToRealKafka(t *testing.T) {
	logins := users()
	logins["alice"] = unprepared[0]
	c := realCluster(t, realkafka.Options{SASL: &realkafka.SASL{Users: logins, OAuthBearer: true},
		TLS: &realkafka.TLS{ClientAuth: "required"}})
	certificate := c.ClientCertificate()
	mutual := &kafka.TLS{TrustedCertificates: c.Authority().PEM(), Certificate: certificate.Cert, Key: certificate.Key}
	token := func(context.Context) (string, map[string]string, error) { return unsecuredToken("admin"), nil, nil }
	for name, cfg := range map[string]kafka.Config{
		"PLAIN": {Bootstrap: c.SASLBootstrap(), SASL: plain("admin", "secret")},
		"SCRAM-SHA-256": {Bootstrap: c.SASLBootstrap(), SASL: &kafka.SASL{Mechanism: kafka.SASLScramSHA256, Username: "admin",
			Password: "secret"}},
		"SCRAM-SHA-512, no SASLprep": {Bootstrap: c.SASLBootstrap(), SASL: &kafka.SASL{Mechanism: kafka.SASLScramSHA512,
			Username: "alice", Password: unprepared[0]}},
		"SCRAM-SHA-512":      {Bootstrap: c.SASLBootstrap(), SASL: scram("admin")},
		"OAUTHBEARER":        {Bootstrap: c.SASLBootstrap(), SASL: &kafka.SASL{Mechanism: kafka.SASLOAuthBearer, Token: token}},
		"mTLS":               {Bootstrap: c.TLSBootstrap(), TLS: mutual},
		"SCRAM-SHA-512, TLS": {Bootstrap: c.SASLTLSBootstrap(), TLS: mutual, SASL: scram("admin")},
	} {
		t.Run(name, func(t *testing.T) {
			a := connect(t, cfg)
			if _, err := a.DescribeQuorum(t.Context()); err != nil { // raw, over sarama's login
				t.Error(err)
			}
			if _, err := a.ListTopics(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wrong := func(context.Context) (string, map[string]string, error) { return "nonsense", nil, nil }
	for name, cfg := range map[string]kafka.Config{
		"PLAIN": {Bootstrap: c.SASLBootstrap(), SASL: plain("admin", "wrong")},
		"SCRAM-SHA-512": {Bootstrap: c.SASLBootstrap(),
			SASL: &kafka.SASL{Mechanism: kafka.SASLScramSHA512, Username: "admin", Password: "wrong"}},
		"OAUTHBEARER":           {Bootstrap: c.SASLBootstrap(), SASL: &kafka.SASL{Mechanism: kafka.SASLOAuthBearer, Token: wrong}},
		"no client certificate": {Bootstrap: c.TLSBootstrap(), TLS: &kafka.TLS{TrustedCertificates: c.Authority().PEM()}},
		"unknown authority":     {Bootstrap: c.TLSBootstrap(), TLS: &kafka.TLS{}},
	} {
		t.Run("refused "+name, func(t *testing.T) {
			_, err := connect(t, cfg).ListTopics(t.Context())
			if kafka.ClassOf(err) != kafka.ClassAuthentication {
				t.Errorf("got %v of class %d", err, kafka.ClassOf(err))
			}
			t.Log(err)
		})
	}
}

// unsecuredToken is a JSON web token of algorithm "none", which Kafka accepts in its development mode.
func unsecuredToken(subject string) string {
	encode := base64.RawURLEncoding.EncodeToString
	now := time.Now().Unix()
	return encode([]byte(`{"alg":"none"}`)) + "." +
		encode(fmt.Appendf(nil, `{"sub":%q,"iat":%d,"exp":%d}`, subject, now, now+3600)) + "."
}

func TestBrokersOfRealKafkaComeAndGo(t *testing.T) {
	c := realCluster(t, realkafka.Options{Brokers: 3, Config: map[string]string{"broker.session.timeout.ms": "6000"}})
	a := connect(t, kafka.Config{Bootstrap: c.Bootstrap()})
	createOne(t, a, "before")
	for _, id := range c.BrokerIDs() {
		if err := c.Kill(id); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := a.DescribeTopics(t.Context(), []string{"before"}); err != nil {
			t.Errorf("reading without broker %d: %v", id, err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("reading without broker %d took %s", id, took)
		}
		// A quorum of two must suffice, as soon as it has a leader.
		name := fmt.Sprintf("without-%d", id)
		results, err := a.CreateTopics(t.Context(), []kafka.NewTopic{{Name: name, Partitions: 1, ReplicationFactor: 1}}, false)
		if err == nil {
			err = results[name].Err
		}
		if err != nil && !kafka.IsRetriable(err) {
			t.Errorf("creating without broker %d: %v", id, err)
		}
		t.Logf("without broker %d: create answered %v after %s", id, err, time.Since(start))
		if err := c.StartNode(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	createOne(t, a, "after")
}

func TestAReassignmentOfRealKafkaIsListed(t *testing.T) {
	c := realCluster(t, realkafka.Options{Brokers: 3, Controllers: 1})
	a := connect(t, kafka.Config{Bootstrap: c.Bootstrap()})
	results, err := a.CreateTopics(t.Context(), []kafka.NewTopic{{Name: "moving", Partitions: -1, ReplicationFactor: -1,
		Assignments: map[int32][]int32{0: {0}}}}, false)
	if err != nil || results["moving"].Err != nil {
		t.Fatal(err, results)
	}
	// A reassignment to a stopped broker stays in progress.
	if err := c.Kill(2); err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(plan, []byte(`{"version":1,"partitions":[{"topic":"moving","partition":0,"replicas":[1,2]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	live := strings.Join(c.Bootstrap()[:2], ",")
	if out, err := c.Tool(t.Context(), "org.apache.kafka.tools.reassign.ReassignPartitionsCommand", "--bootstrap-server", live,
		"--reassignment-json-file", plan, "--execute"); err != nil {
		t.Fatal(err, out)
	}
	for _, topics := range [][]string{nil, {"moving"}} {
		moves, err := a.ListReassignments(t.Context(), topics)
		if err != nil {
			t.Fatal(err)
		}
		move, ok := moves[kafka.TopicPartition{Topic: "moving"}]
		if !ok || len(moves) != 1 || fmt.Sprint(move.Target()) != "[1 2]" || fmt.Sprint(move.Removing) != "[0]" {
			t.Errorf("ListReassignments(%v) = %+v", topics, moves)
		}
	}
	if moves, err := a.ListReassignments(t.Context(), []string{"other"}); err != nil || len(moves) != 0 {
		t.Errorf("another topic moves: %v, %v", moves, err)
	}
}
