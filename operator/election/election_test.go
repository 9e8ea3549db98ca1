package election

import (
	"strings"
	"testing"
	"time"

	"github.com/kafka-operators/kafka-operators/operator/settings"
)

func read(variables ...string) (Options, error) {
	all := map[string]string{}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		all[name] = value
	}
	var o Options
	table := settings.Table{Groups: []settings.Group{{Settings: Settings(&o, "mine")}}}
	r := table.Read(nil, settings.Environment{Lookup: func(name string) (string, bool) {
		value, ok := all[name]
		return value, ok
	}})
	o.Complete(r, "mine", "home")
	return o, r.Err()
}

// The defaults are those of Strimzi's cluster operator.
func TestDefaults(t *testing.T) {
	o, err := read()
	want := Options{Name: "mine", Namespace: "home", LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second,
		RetryPeriod: 2 * time.Second}
	if err != nil || o != want {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestValues(t *testing.T) {
	o, err := read("STRIMZI_LEADER_ELECTION_ENABLED=true", "STRIMZI_LEADER_ELECTION_LEASE_NAME=a", "STRIMZI_LEADER_ELECTION_LEASE_NAMESPACE=b",
		"STRIMZI_LEADER_ELECTION_IDENTITY=pod-1")
	if err != nil || !o.Enabled || o.Name != "a" || o.Namespace != "b" || o.Identity != "pod-1" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestDurationsThatDoNotGoTogether(t *testing.T) {
	for variable, want := range map[string]string{
		"STRIMZI_LEADER_ELECTION_LEASE_DURATION_MS=10000": `STRIMZI_LEADER_ELECTION_RENEW_DEADLINE_MS="10000": must be less than ` +
			`STRIMZI_LEADER_ELECTION_LEASE_DURATION_MS (10000)`,
		"STRIMZI_LEADER_ELECTION_RETRY_PERIOD_MS=9000": `STRIMZI_LEADER_ELECTION_RETRY_PERIOD_MS="9000": must be less than ` +
			`STRIMZI_LEADER_ELECTION_RENEW_DEADLINE_MS (10000) / 1.2`,
	} {
		if _, err := read(variable); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", variable, err)
		}
	}
	if _, err := read("STRIMZI_LEADER_ELECTION_LEASE_DURATION_MS=x"); err == nil || strings.Contains(err.Error(), "RENEW_DEADLINE") {
		t.Errorf("one wrong value hides or repeats others: %v", err)
	}
}
