package metrics

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestRemoteOperators(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := New(registry, "")
	compare := func(want string) {
		t.Helper()
		NewWithT(t).Expect(testutil.GatherAndCompare(registry, strings.NewReader(want), "kafka_operators_remote_operator_running",
			"kafka_operators_remote_operator_same_version")).To(Succeed())
	}
	compare("")
	m.ObserveRemoteOperators(map[string]RemoteOperator{
		"east": {Running: true, SameVersion: new(true)}, "north": {}, "west": {Running: true, SameVersion: new(false)}})
	compare(`
# HELP kafka_operators_remote_operator_running 1 if the operator in the remote Kubernetes cluster is running, else 0; absent if unknown
# TYPE kafka_operators_remote_operator_running gauge
kafka_operators_remote_operator_running{cluster="east"} 1
kafka_operators_remote_operator_running{cluster="north"} 0
kafka_operators_remote_operator_running{cluster="west"} 1
# HELP kafka_operators_remote_operator_same_version 1 if the operator in the remote Kubernetes cluster has the same version as this one, else 0; absent if unknown
# TYPE kafka_operators_remote_operator_same_version gauge
kafka_operators_remote_operator_same_version{cluster="east"} 1
kafka_operators_remote_operator_same_version{cluster="west"} 0
`)
	m.ObserveRemoteOperators(nil) // no remote operator can be read now
	compare("")
}
