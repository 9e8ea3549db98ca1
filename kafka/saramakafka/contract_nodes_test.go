package saramakafka_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka"
	"github.com/kafka-operators/kafka-operators/kafka/saramakafka"
)

// connectControllers returns a client of controllers for the test.
func connectControllers(t testing.TB, cfg kafka.Config) *saramakafka.Controllers {
	t.Helper()
	c, err := saramakafka.NewControllers(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestNodeContractOnTheEmbeddedCluster(t *testing.T) {
	e := embed(t, kafkatest.Options{Brokers: 3})
	check := func(t testing.TB, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	kafkatest.RunNodeContract(t, kafkatest.NodeTarget{
		Admin: func(t testing.TB, nodeTimeout time.Duration) kafka.Admin {
			return connect(t, kafka.Config{Bootstrap: e.Bootstrap(), NodeTimeout: nodeTimeout})
		},
		ClusterID: e.ClusterID(), Brokers: []int32{0, 1, 2},
		Stop: func(t testing.TB, id int32) {
			check(t, e.StopNode(id))
			check(t, e.Fence(id))
		},
		Start: func(t testing.TB, id int32) { check(t, e.StartNode(id, false)) },
		Hang: func(_ testing.TB, id int32) func() {
			return e.Inject(kafkatest.Fault{Nodes: []int32{id}, Hang: true}).Remove
		},
	})
}

func TestNodeContractOnRealKafka(t *testing.T) {
	c := realCluster(t, realkafka.Options{Brokers: 2, Controllers: 3, Config: map[string]string{"broker.session.timeout.ms": "6000"}})
	check := func(t testing.TB, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	kafkatest.RunNodeContract(t, kafkatest.NodeTarget{
		Admin: func(t testing.TB, nodeTimeout time.Duration) kafka.Admin {
			return connect(t, kafka.Config{Bootstrap: c.Bootstrap(), NodeTimeout: nodeTimeout})
		},
		Controllers: func(t testing.TB, nodeTimeout time.Duration) kafka.Controllers {
			return connectControllers(t, kafka.Config{Bootstrap: c.ControllerBootstrap(), NodeTimeout: nodeTimeout})
		},
		ClusterID: c.ClusterID(), Brokers: []int32{0, 1}, ControllerIDs: []int32{2, 3, 4},
		Stop:  func(t testing.TB, id int32) { check(t, c.Kill(id)) },
		Start: func(t testing.TB, id int32) { check(t, c.StartNode(t.Context(), id)) },
		Hang: func(t testing.TB, id int32) func() {
			check(t, c.Suspend(id))
			return func() { check(t, c.Resume(id)) }
		},
		Prefer: func(t testing.TB, topic string, replicas []int32) {
			plan := filepath.Join(t.TempDir(), "plan.json")
			brokers := strings.ReplaceAll(strings.Trim(fmt.Sprint(replicas), "[]"), " ", ",")
			check(t, os.WriteFile(plan, fmt.Appendf(nil, `{"version":1,"partitions":[{"topic":%q,"partition":0,"replicas":[%s]}]}`, topic,
				brokers), 0o600))
			out, err := c.Tool(t.Context(), "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
				"--bootstrap-server", strings.Join(c.Bootstrap(), ","), "--reassignment-json-file", plan, "--execute")
			if err != nil {
				t.Fatal(err, out)
			}
		},
	})
}
