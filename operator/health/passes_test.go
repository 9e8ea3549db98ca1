package health

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestAPassThatHangsIsNotHealthy(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	p := NewPasses("Kafka", time.Minute, func() time.Time { return now })
	expect := func(when, want string) {
		t.Helper()
		got := ""
		if err := p.Healthy(t.Context()); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", when, got, want)
		}
	}
	expect("nothing runs", "")
	slow := types.NamespacedName{Namespace: "ns", Name: "slow"}
	end := p.Start(slow)
	now = now.Add(2 * time.Minute)
	endOther := p.Start(types.NamespacedName{Namespace: "ns", Name: "other"})
	expect("its context ended, and it may be about to return", "")
	now = now.Add(time.Second)
	expect("it hangs", "the reconciliation of Kafka ns/slow has been running for 2m1s, and must not take longer than 1m0s")
	if !p.Running(slow) {
		t.Error("it is not running")
	}
	end()
	expect("it ended", "")
	endOther()
	if p.Running(slow) {
		t.Error("it is still running")
	}
	p = nil
	p.Start(slow)()
	expect("nobody watches", "")
}
