package v1_test

import (
	"testing"

	v1 "github.com/kafka-operators/kafka-operators/api/core/v1"
)

func TestNodeID(t *testing.T) {
	type result struct {
		id int32
		ok bool
	}
	for name, want := range map[string]result{
		"my-cluster-pool-0":        {0, true},
		"x-7":                      {7, true},
		"data-2-my-cluster-pool-1": {1, true},
		"x-2147483647":             {2147483647, true},
		"x-2147483648":             {},
		"x-007":                    {},
		"x-+7":                     {},
		"x--7":                     {7, true}, // the sign is part of the prefix
		"x-":                       {},
		"x-y":                      {},
		"7":                        {},
		"":                         {},
	} {
		if id, ok := v1.NodeID(name); (result{id, ok}) != want {
			t.Errorf("NodeID(%q) = %d, %t, want %+v", name, id, ok, want)
		}
	}
}

func TestRolesIn(t *testing.T) {
	for _, c := range []struct {
		labels map[string]string
		want   v1.Roles
	}{
		{nil, v1.Roles{}},
		{map[string]string{v1.LabelBrokerRole: "true"}, v1.Roles{Broker: true}},
		{map[string]string{v1.LabelBrokerRole: "false", v1.LabelControllerRole: "true"}, v1.Roles{Controller: true}},
		{map[string]string{v1.LabelBrokerRole: "true", v1.LabelControllerRole: "yes"}, v1.Roles{Broker: true}},
	} {
		if got := v1.RolesIn(c.labels); got != c.want {
			t.Errorf("RolesIn(%v) = %+v, want %+v", c.labels, got, c.want)
		}
	}
}

func TestHoldReason(t *testing.T) {
	type result struct {
		why  string
		held bool
	}
	if why, held := v1.HoldReason(nil); why != "" || held {
		t.Errorf("HoldReason(nil) = %q, %t", why, held)
	}
	for value, want := range map[string]result{
		"false":               {"", false},
		"":                    {"", true},
		"true":                {"", true},
		"ann replaces a disk": {"ann replaces a disk", true},
		"flase":               {"flase", true},
	} {
		if why, held := v1.HoldReason(map[string]string{v1.AnnotationHold: value}); (result{why, held}) != want {
			t.Errorf("HoldReason(%q) = %q, %t, want %+v", value, why, held, want)
		}
	}
}
