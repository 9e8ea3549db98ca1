package saramakafka_test

import (
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// embed starts an embedded cluster for the test.
func embed(t testing.TB, o kafkatest.Options) *kafkatest.Embedded {
	t.Helper()
	e, err := kafkatest.StartEmbedded(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// connect returns a client for the test.
func connect(t testing.TB, cfg kafka.Config) *saramakafka.Admin {
	t.Helper()
	a, err := saramakafka.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func plain(user, password string) *kafka.SASL {
	return &kafka.SASL{Mechanism: kafka.SASLPlain, Username: user, Password: password}
}

func TestContractOnTheEmbeddedCluster(t *testing.T) {
	for name, o := range map[string]kafkatest.Options{
		"one broker":                  {Brokers: 1},
		"three brokers that forward":  {Brokers: 3, AutoCreateTopics: true, DefaultPartitions: 4},
		"brokers that do not forward": {Brokers: 3, NoForwarding: true},
	} {
		t.Run(name, func(t *testing.T) {
			o.ACLs = true
			o.Users = []kafkatest.User{
				{Name: "admin", Password: "secret", Mechanism: kafka.SASLScramSHA512, Super: true},
				{Name: "nobody", Password: "secret", Mechanism: kafka.SASLPlain},
			}
			e := embed(t, o)
			kept := embed(t, kafkatest.Options{DeletionDisabled: true})
			kafkatest.RunContract(t, kafkatest.Target{
				Admin: func(t testing.TB, observe func(string, time.Duration, error)) kafka.Admin {
					return connect(t, kafka.Config{
						Bootstrap: e.Bootstrap(), ObserveRequest: observe,
						SASL: &kafka.SASL{Mechanism: kafka.SASLScramSHA512, Username: "admin", Password: "secret"},
					})
				},
				Restricted: func(t testing.TB) kafka.Admin {
					return connect(t, kafka.Config{Bootstrap: e.Bootstrap(), SASL: plain("nobody", "secret")})
				},
				DeletionDisabled: func(t testing.TB) kafka.Admin { return connect(t, kafka.Config{Bootstrap: kept.Bootstrap()}) },
				ClusterID:        e.ClusterID(), Brokers: o.Brokers,
			})
		})
	}
}
