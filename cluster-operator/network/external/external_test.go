package external_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kafka-operators/kafka-operators/cluster-operator/network"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/conformance"
	"github.com/kafka-operators/kafka-operators/cluster-operator/network/external"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
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
			if err := assets.Build(context.Background(), filepath.Join(programs, name), ".", source); err != nil {
				fmt.Fprintln(os.Stderr, err)
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
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
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
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("start network provider " + path + ":")))
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	_, err := external.Start(t.Context(), external.Options{Path: filepath.Join(programs, "faulty"),
		Settings: map[string]string{"fault": "refuse"}, Deadline: patience})
	NewWithT(t).Expect(err).To(MatchError("network provider faulty: Configure: setting fault: refuse is not a fault"))
}

func TestAnErrorOfTheProvider(t *testing.T) {
	_, err := start(t, "faulty", map[string]string{"fault": "fail"}).Plan(t.Context(), network.Request{})
	NewWithT(t).Expect(err).To(MatchError("network provider faulty: Plan: no plan today"))
}

func TestACrashIsSurvived(t *testing.T) {
	p := start(t, "faulty", map[string]string{"fault": "crash"})
	for range 3 {
		_, err := p.Plan(t.Context(), network.Request{})
		NewWithT(t).Expect(err).To(HaveOccurred(), "there is no provider")
		for err != nil { // until the program runs again, which the deadline of the test bounds
			_, err = p.Resolve(t.Context(), network.Request{}, nil)
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
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(p.Close)
	_, err = p.Plan(t.Context(), network.Request{})
	g.Expect(err).To(HaveOccurred(), "there is no provider")
	for !errors.Is(err, unfit) { // until the operator notices that the program is gone, which the deadline of the test bounds
		_, err = p.Resolve(t.Context(), network.Request{}, nil)
		g.Expect(err).To(HaveOccurred(), "a program was used that does not fit")
	}
}

func TestMoreIsSentThanGRPCTakesByDefault(t *testing.T) {
	var large network.Object
	large.Object.SetAPIVersion("v1")
	large.Object.SetKind("Node")
	large.Object.SetAnnotations(map[string]string{"large": strings.Repeat("a", 5<<20)})
	_, err := start(t, "faulty", nil).Resolve(t.Context(), network.Request{}, []network.Object{large})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
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
	g := NewWithT(t)
	g.Expect(err).To(MatchError(And(ContainSubstring("addresses"), Not(ContainSubstring("managedFields")), Not(ContainSubstring("images")))))
	g.Expect(&node.Object).To(Equal(before))
}

func TestAProgramThatHangsDoesNotHangTheOperator(t *testing.T) {
	p := start(t, "faulty", map[string]string{"fault": "hang"})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := p.Plan(ctx, network.Request{})
	NewWithT(t).Expect(err).To(HaveOccurred())
}

func TestAProgramThatHangsIsStartedAgain(t *testing.T) {
	t.Parallel() // it waits for the default deadline
	once := filepath.Join(t.TempDir(), "once")
	g := NewWithT(t)
	g.Expect(os.WriteFile(once, nil, 0o600)).To(Succeed())
	p, err := external.Start(t.Context(), external.Options{
		Path: filepath.Join(programs, "faulty"), Settings: map[string]string{"fault": "stop", "once": once}, Pause: time.Millisecond,
		Silence: time.Millisecond,
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(p.Close)
	_, err = p.Plan(t.Context(), network.Request{})
	g.Expect(err).To(MatchError(ContainSubstring("no answer within 10s")))
	for err != nil { // until it runs again, which the deadline of the test bounds
		_, err = p.Plan(t.Context(), network.Request{})
	}
}

// Each call would wait for ten seconds, and occupy a worker that other Kafkas need.
func TestAProgramThatHangsIsLeftAlone(t *testing.T) {
	t.Parallel() // it waits for the default deadline
	g := NewWithT(t)
	once := filepath.Join(t.TempDir(), "once")
	g.Expect(os.WriteFile(once, nil, 0o600)).To(Succeed())
	p, err := external.Start(t.Context(), external.Options{Path: filepath.Join(programs, "faulty"),
		Settings: map[string]string{"fault": "stop", "once": once}, Pause: time.Millisecond, Silence: time.Hour})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(p.Close)
	_, first := p.Plan(t.Context(), network.Request{})
	g.Expect(first).To(MatchError(ContainSubstring("no answer within 10s")))
	g.Expect(os.WriteFile(once, nil, 0o600)).To(Succeed(), "whoever asks would wait again")
	for range 20 {
		_, err := p.Plan(t.Context(), network.Request{})
		g.Expect(err).To(Equal(first))
	}
	g.Expect(once).To(BeAnExistingFile(), "nobody asks")
}

// It would answer right before the deadline if it knew it, each time.
func TestAProgramThatWaitsAsLongAsItMayIsLeftAlone(t *testing.T) {
	g := NewWithT(t)
	p, err := external.Start(t.Context(), external.Options{Path: filepath.Join(programs, "faulty"),
		Settings: map[string]string{"fault": "hang"}, Deadline: time.Second, Silence: time.Hour})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(p.Close)
	_, first := p.Plan(t.Context(), network.Request{})
	g.Expect(first).To(MatchError(ContainSubstring("no answer within 1s")))
	_, err = p.Plan(t.Context(), network.Request{})
	g.Expect(err).To(Equal(first))
}

func TestTheProgramSeesNothingOfTheEnvironment(t *testing.T) {
	t.Setenv("KUBECONFIG", "/secret")
	about, err := start(t, "faulty", nil).Info(t.Context())
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(about.Name).NotTo(Or(ContainSubstring("KUBECONFIG"), ContainSubstring("HOME=")))
}

// The operator's image has no folder that programs may write to, except for one that is mounted.
func TestWhereSocketsAre(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	p := start(t, "faulty", map[string]string{"fault": "crash"})
	sockets := func() []string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(folder, "*", "plugin*"))
		g.Expect(err).NotTo(HaveOccurred())
		return found
	}
	g.Expect(sockets()).To(HaveLen(1))
	_, err := p.Plan(t.Context(), network.Request{})
	for err != nil { // until the program runs again, which the deadline of the test bounds
		_, err = p.Resolve(t.Context(), network.Request{}, nil)
	}
	g.Expect(sockets()).To(HaveLen(1), "a crash leaves none behind")
	p.Close()
	left, err := os.ReadDir(folder)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(BeEmpty())

	t.Setenv("TMPDIR", filepath.Join(folder, "missing"))
	_, err = external.Start(t.Context(), external.Options{Path: filepath.Join(programs, "faulty")})
	g.Expect(err).To(MatchError(And(HavePrefix("start network provider "+filepath.Join(programs, "faulty")+": no folder for its socket: "),
		ContainSubstring(filepath.Join(folder, "missing")))))
}

func TestAClosedProviderStaysClosed(t *testing.T) {
	p := start(t, "faulty", nil)
	p.Close()
	_, err := p.Info(t.Context())
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("was closed")))
}
