package manager

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	crmanager "sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kafka-operators/kafka-operators/operator/election"
	"github.com/kafka-operators/kafka-operators/operator/logging"
	"github.com/kafka-operators/kafka-operators/operator/settings"
)

var nowhere = &rest.Config{Host: "http://127.0.0.1:1"}

func TestElectionThatIsOffIsLogged(t *testing.T) {
	var text strings.Builder
	mgr, probes, err := New(nowhere, Options{Name: "test", Scheme: scheme.Scheme, Namespaces: settings.Namespaces{Names: []string{"a"}},
		HTTP: HTTP{Address: "0"}, Log: logging.New(&text, logging.Options{})})
	if err != nil || mgr == nil || probes == nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "Leader election is off: run one replica only") {
		t.Error(text.String())
	}
}

func TestElection(t *testing.T) {
	e := election.Options{Enabled: true, Name: "lease", Namespace: "ns", LeaseDuration: 3, RenewDeadline: 2, RetryPeriod: 1}
	var got crmanager.Options
	if err := elect(nowhere, Options{Election: e, Log: logr.Discard()}, &got); err != nil {
		t.Fatal(err)
	}
	if !got.LeaderElection || got.LeaderElectionID != "lease" || got.LeaderElectionNamespace != "ns" || *got.RenewDeadline != 2 ||
		got.LeaderElectionResourceLockInterface != nil {
		t.Errorf("%+v", got)
	}
	e.Identity = "pod-1"
	if err := elect(nowhere, Options{Election: e, Log: logr.Discard()}, &got); err != nil {
		t.Fatal(err)
	}
	if lock := got.LeaderElectionResourceLockInterface; lock == nil || lock.Identity() != "pod-1" || lock.Describe() != "ns/lease" {
		t.Errorf("%+v", lock)
	}
}

func TestProfilesNeedAPortOfTheirOwn(t *testing.T) {
	var h HTTP
	table := settings.Table{Groups: []settings.Group{{Settings: Settings(&h)}}}
	r := table.Read(nil, settings.Environment{Lookup: func(name string) (string, bool) { return ":8080", name == "STRIMZI_PPROF_ADDRESS" }})
	h.Complete(r)
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "the same as STRIMZI_HTTP_ADDRESS") {
		t.Error(err)
	}
}
