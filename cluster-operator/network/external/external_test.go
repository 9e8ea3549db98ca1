package external_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/conformance"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/external"
)

// patience is for machines that are busy with other tests.
const patience = time.Minute

// programs is the folder of the programs that the tests start.
var programs string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if programs, err = os.MkdirTemp("", "network-providers-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(programs) }()
		for name, source := range map[string]string{"dns": "../example", "faulty": "./testdata/faulty"} {
			if out, err := exec.Command("go", "build", "-o", filepath.Join(programs, name), source).CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "go build %s: %v\n%s", source, err, out)
				return 1
			}
		}
		return m.Run()
	}())
}

func start(t *testing.T, name string, settings map[string]string) *external.Provider {
	t.Helper()
	p, err := external.Start(t.Context(), external.Options{
		Path: filepath.Join(programs, name), Settings: settings, Deadline: patience, Pause: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestConformance(t *testing.T) {
	p := start(t, "dns", map[string]string{"domain": "kafka.example.com"})
	conformance.Run(t, conformance.Subject{New: func() (network.Provider, error) { return p, nil }})
}

func TestAProgramThatIsNoProviderIsRefused(t *testing.T) {
	for _, path := range []string{"/bin/true", filepath.Join(programs, "missing")} {
		_, err := external.Start(t.Context(), external.Options{Path: path})
		if err == nil || !strings.Contains(err.Error(), "start network provider "+path+":") {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	_, err := external.Start(t.Context(), external.Options{Path: filepath.Join(programs, "faulty"),
		Settings: map[string]string{"fault": "refuse"}, Deadline: patience})
	if want := "network provider faulty: Configure: setting fault: refuse is not a fault"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAnErrorOfTheProvider(t *testing.T) {
	_, err := start(t, "faulty", map[string]string{"fault": "fail"}).Plan(t.Context(), network.Request{})
	if want := "network provider faulty: Plan: no plan today"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestACrashIsSurvived(t *testing.T) {
	p := start(t, "faulty", map[string]string{"fault": "crash"})
	for range 3 {
		if _, err := p.Plan(t.Context(), network.Request{}); err == nil {
			t.Fatal("a plan without a provider")
		}
		for { // until the program runs again, which the deadline of the test bounds
			if _, err := p.Resolve(t.Context(), network.Request{}, nil); err == nil {
				break
			}
		}
	}
}

func TestAProgramThatRestartsIsCheckedAgain(t *testing.T) {
	starts, unfit := 0, errors.New("it does not fit this operator any more")
	p, err := external.Start(t.Context(), external.Options{
		Path: filepath.Join(programs, "faulty"), Settings: map[string]string{"fault": "crash"}, Deadline: patience, Pause: time.Nanosecond,
		Check: func(about network.Info) error {
			starts++
			if starts > 1 {
				return unfit
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if _, err := p.Plan(t.Context(), network.Request{}); err == nil {
		t.Fatal("a plan without a provider")
	}
	for { // until the operator notices that the program is gone, which the deadline of the test bounds
		_, err := p.Resolve(t.Context(), network.Request{}, nil)
		if errors.Is(err, unfit) {
			break
		}
		if err == nil {
			t.Fatal("a program was used that does not fit")
		}
	}
}

func TestMoreIsSentThanGRPCTakesByDefault(t *testing.T) {
	var large network.Object
	large.Object.SetAPIVersion("v1")
	large.Object.SetKind("Node")
	large.Object.SetAnnotations(map[string]string{"large": strings.Repeat("a", 5<<20)})
	if _, err := start(t, "faulty", nil).Resolve(t.Context(), network.Request{}, []network.Object{large}); err != nil {
		t.Error(err)
	}
}

func TestWhatNoProviderNeedsIsNotSent(t *testing.T) {
	p := start(t, "faulty", map[string]string{"fault": "echo"})
	node := network.Object{Object: unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": "a", "managedFields": []any{map[string]any{"manager": "kubelet"}}},
		"status":   map[string]any{"images": []any{"large"}, "addresses": []any{}},
	}}}
	before := node.Object.DeepCopy()
	_, err := p.Resolve(t.Context(), network.Request{}, []network.Object{node})
	if err == nil || strings.Contains(err.Error(), "managedFields") || strings.Contains(err.Error(), "images") ||
		!strings.Contains(err.Error(), "addresses") {
		t.Errorf("sent: %v", err)
	}
	if !reflect.DeepEqual(&node.Object, before) {
		t.Errorf("it was changed to %v", node.Object)
	}
}

func TestAProgramThatHangsDoesNotHangTheOperator(t *testing.T) {
	p := start(t, "faulty", map[string]string{"fault": "hang"})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := p.Plan(ctx, network.Request{}); err == nil {
		t.Error("a plan of a program that hangs")
	}
}

func TestAProgramThatHangsIsStartedAgain(t *testing.T) {
	t.Parallel() // it waits for the default deadline
	once := filepath.Join(t.TempDir(), "once")
	if err := os.WriteFile(once, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := external.Start(t.Context(), external.Options{
		Path: filepath.Join(programs, "faulty"), Settings: map[string]string{"fault": "stop", "once": once}, Pause: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if _, err := p.Plan(t.Context(), network.Request{}); err == nil || !strings.Contains(err.Error(), "no answer within 10s") {
		t.Fatalf("got %v", err)
	}
	for { // until it runs again, which the deadline of the test bounds
		if _, err := p.Plan(t.Context(), network.Request{}); err == nil {
			break
		}
	}
}

func TestTheProgramSeesNothingOfTheEnvironment(t *testing.T) {
	t.Setenv("KUBECONFIG", "/secret")
	about, err := start(t, "faulty", nil).Info(t.Context())
	if err != nil || strings.Contains(about.Name, "KUBECONFIG") || strings.Contains(about.Name, "HOME=") {
		t.Errorf("got %q, %v", about.Name, err)
	}
}

func TestAClosedProviderStaysClosed(t *testing.T) {
	p := start(t, "faulty", nil)
	p.Close()
	if _, err := p.Info(t.Context()); err == nil || !strings.Contains(err.Error(), "was closed") {
		t.Errorf("got %v", err)
	}
}
