package network_test

import (
	"strings"
	"testing"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
)

func TestAProviderMustFitTheOperator(t *testing.T) {
	for _, c := range []struct {
		name     string
		info     network.Info
		operator string
		want     string
	}{
		{"legal: the same interface", network.Info{Name: "x", Interface: network.Version}, "1.2.3", ""},
		{"no name", network.Info{Interface: network.Version}, "1.2.3", "has no name"},
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
		{"legal: an operator without a version", network.Info{Name: "x", Interface: "1.0.0", MinOperator: "1.3.0"}, "devel", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.info.Check(c.operator)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
