package network_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

func observing(group, version, kind string) network.Info {
	kinds := []metav1.GroupVersionKind{{Group: group, Version: version, Kind: kind}}
	return network.Info{Name: "x", Interface: network.Version, Observes: kinds}
}

func TestAProviderMustFitTheOperator(t *testing.T) {
	for _, c := range []struct {
		name     string
		info     network.Info
		operator string
		want     string
	}{
		{"legal: the same interface", network.Info{Name: "x", Interface: network.Version}, "1.2.3", ""},
		{"no name", network.Info{Interface: network.Version}, "1.2.3", "has no name"},
		{"a name of several lines", network.Info{Name: "x\n, central=x", Interface: network.Version}, "1.2.3",
			`the network provider's name "x\n, central=x" is not a DNS label`},
		{"a name with capitals", network.Info{Name: "NodePort", Interface: network.Version}, "1.2.3", `name "NodePort" is not a DNS label`},
		{"a name that is too long", network.Info{Name: strings.Repeat("x", 64), Interface: network.Version}, "1.2.3", "is not a DNS label"},
		{"no version", network.Info{Name: "x"}, "1.2.3", `version "" of the interface`},
		{"another major version", network.Info{Name: "x", Interface: "2.0.0"}, "1.2.3",
			"network provider x was built for version 2.0.0 of the interface, and this operator has version 1.0.0"},
		{"a newer minor version", network.Info{Name: "x", Interface: "1.1.0"}, "1.2.3", "was built for version 1.1.0"},
		{"legal: a newer patch", network.Info{Name: "x", Interface: "1.0.7"}, "1.2.3", ""},
		{"legal: within the range", network.Info{Name: "x", Interface: "1.0.0", MinOperator: "1.2.3", MaxOperator: "1.2.3"}, "1.2.3", ""},
		{"an operator that is too old", network.Info{Name: "x", Interface: "1.0.0", MinOperator: "1.3.0"}, "1.2.3",
			"network provider x needs operator version 1.3.0 or newer, and this is 1.2.3"},
		{"an operator that is too new", network.Info{Name: "x", Interface: "1.0.0", MaxOperator: "1.1"}, "1.2.3",
			"needs operator version 1.1 or older"},
		{"a range that can't be read", network.Info{Name: "x", Interface: "1.0.0", MinOperator: "new"}, "1.2.3", `version "new" of the operator`},
		{"legal: it sees Nodes", observing("", "v1", "Node"), "1.2.3", ""},
		{"legal: it sees objects of a CRD", observing("gateway.networking.k8s.io", "v1", "Gateway"), "1.2.3", ""},
		{"it sees Secrets", observing("", "v1", "Secret"), "1.2.3", "network provider x observes /v1, Kind=Secret, which no provider may see"},
		{"it sees pods", observing("", "v1", "Pod"), "1.2.3", "Kind=Pod, which no provider may see"},
		{"it sees Kafkas", observing("kafka.strimzi.io", "v1", "Kafka"), "1.2.3", "which no provider may see"},
		{"it sees Secrets, in a build without a version", observing("", "v1", "Secret"), "devel", "which no provider may see"},
		{"it sees no kind", observing("", "v1", ""), "1.2.3", "which is no kind"},
		{"it sees no version", observing("", "", "Service"), "1.2.3", "which is no kind"},
		{"legal: an operator without a version", network.Info{Name: "x", Interface: "1.0.0", MinOperator: "1.3.0"}, "devel", ""},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.info.Check(c.operator), c.want) })
	}
}
