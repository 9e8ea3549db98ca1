package policy

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// A Watcher runs in controller-runtime's manager, and does not wait for the lease.
var (
	_ manager.Runnable               = (*Watcher)(nil)
	_ manager.LeaderElectionRunnable = (*Watcher)(nil)
)

// patience bounds each wait of these tests; only a failing test reaches it.
const patience = time.Minute

var (
	ofA = entries("a, otherTopics: true")
	ofB = entries("b, otherTopics: true")
	// twoPairs has two pairs that break a rule.
	twoPairs = entries("a, topicNamePrefixes: [x-, x-y], otherTopics: true", "b, otherTopics: true")
	pairs    = []string{"prefix 'x-' of namespace 'a'", "prefix 'x-y' of namespace 'a'",
		"otherTopics is true at namespace 'a' (line 2) and at namespace 'b' (line 3)"}
)

// journal records what a Watcher logs and reports.
type journal struct {
	log bytes.Buffer
	// told are the calls of the callbacks, in order: "changed to a", "rejected", "in order".
	told    []string
	reasons []error
	watcher *Watcher
}

// owner returns the namespace that has otherTopics.
func owner(p *Policy) string { return p.claim("anything").namespace }

// follow loads a policy. The test itself triggers the checks of the file.
func follow(t *testing.T, path string) *journal {
	t.Helper()
	j := &journal{}
	w, err := Load(path, Settings{
		Log: slog.New(slog.NewTextHandler(&j.log, nil)),
		OnChange: func(before, after *Policy) {
			j.told = append(j.told, "changed from "+owner(before)+" to "+owner(after))
			NewWithT(t).Expect(j.watcher.Current()).To(BeIdenticalTo(after), "a change was told before it was in force")
		},
		OnRejected: func(reason error) {
			if j.reasons = append(j.reasons, reason); reason == nil {
				j.told = append(j.told, "in order")
				return
			}
			j.told = append(j.told, "rejected")
		},
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	j.watcher = w
	return j
}

// holds checks the file twice, because a change needs that, and compares the namespace of otherTopics and all reports so far.
func (j *journal) holds(t *testing.T, namespace string, told ...string) {
	t.Helper()
	j.watcher.look()
	j.watcher.look()
	j.is(t, namespace, told...)
}

func (j *journal) is(t *testing.T, namespace string, told ...string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(owner(j.watcher.Current())).To(Equal(namespace), "whose policy is in force")
	g.Expect(j.told).To(HaveExactElements(told))
}

func (j *journal) warnings() []string {
	return slices.DeleteFunc(strings.Split(j.log.String(), "\n"), func(line string) bool { return !strings.Contains(line, "level=WARN") })
}

func write(t *testing.T, path, content string) {
	t.Helper()
	NewWithT(t).Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
}

func policyFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, path, content)
	return path
}

func TestWithoutAPathThereIsNoPolicyAndNothingToFollow(t *testing.T) {
	g := NewWithT(t)
	w, err := Load("", Settings{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.Current()).To(BeNil())
	g.Expect(w.Start(t.Context())).To(Succeed())
}

func TestAnIllegalPolicyStopsTheStartWithEachOffendingPair(t *testing.T) {
	g := NewWithT(t)
	path := policyFile(t, twoPairs)
	w, err := Load(path, Settings{})
	g.Expect(w).To(BeNil())
	var found *IllegalError
	g.Expect(errors.As(err, &found)).To(BeTrue(), "%v", err)
	for _, text := range append(pairs, path) {
		g.Expect(err).To(MatchError(ContainSubstring(text)))
	}
}

func TestAFileThatCanNotBeReadStopsTheStart(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	for _, path := range []string{filepath.Join(folder, "none.yaml"), folder} {
		_, err := Load(path, Settings{})
		g.Expect(err).To(MatchError(And(ContainSubstring(path), ContainSubstring("or unset STRIMZI_NAMESPACE_POLICY_FILE"))))
	}
}

func TestALegalChangeComesIntoForce(t *testing.T) {
	path := policyFile(t, ofA)
	j := follow(t, path)
	j.holds(t, "a")
	write(t, path, ofB)
	j.holds(t, "b", "changed from a to b")
	j.holds(t, "b", "changed from a to b")
	NewWithT(t).Expect(j.warnings()).To(BeEmpty())
}

func TestAChangeCountsOnlyWhenTwoLooksInARowSawIt(t *testing.T) {
	path := policyFile(t, ofA)
	j := follow(t, path)
	long := ofB + "- {namespace: c, topicNames: [x, y]}\n"
	// A writer may write piece by piece; each piece is another policy, or an illegal one.
	for _, n := range []int{0, 5, len(ofB), len(long) - 3} {
		write(t, path, long[:n])
		j.watcher.look()
		j.is(t, "a")
	}
	write(t, path, long)
	j.watcher.look()
	j.is(t, "a")
	j.watcher.look()
	j.is(t, "b", "changed from a to b")
	NewWithT(t).Expect(j.warnings()).To(BeEmpty())
}

func TestWhatCanNotBeUsedLeavesTheOldPolicyInForceAndIsToldOnce(t *testing.T) {
	for name, spoil := range map[string]struct {
		it    func(t *testing.T, path string)
		wants []string
	}{
		"an illegal policy": {func(t *testing.T, path string) { write(t, path, twoPairs) }, pairs},
		"an empty file":     {func(t *testing.T, path string) { write(t, path, "") }, []string{"the policy is empty"}},
		"a file that vanished": {func(t *testing.T, path string) {
			NewWithT(t).Expect(os.Remove(path)).To(Succeed())
		}, []string{"read the namespace policy", "no such file"}},
		"a folder in its place": {func(t *testing.T, path string) {
			NewWithT(t).Expect(errors.Join(os.Remove(path), os.Mkdir(path, 0o700))).To(Succeed())
		}, []string{"read the namespace policy", "is a directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := policyFile(t, ofA)
			j := follow(t, path)
			spoil.it(t, path)
			for range 3 {
				j.holds(t, "a", "rejected")
			}
			g := NewWithT(t)
			warnings := j.warnings()
			g.Expect(warnings).To(HaveLen(1))
			for _, text := range append(spoil.wants, path) {
				g.Expect(warnings[0]).To(ContainSubstring(text))
				g.Expect(j.reasons[0]).To(MatchError(ContainSubstring(text)))
			}
		})
	}
}

func TestARefusedFileThatIsPutRightIsTaken(t *testing.T) {
	path := policyFile(t, ofA)
	j := follow(t, path)
	write(t, path, twoPairs)
	j.holds(t, "a", "rejected")
	write(t, path, "policy: []")
	j.holds(t, "a", "rejected", "rejected")
	NewWithT(t).Expect(j.warnings()).To(HaveLen(2))
	write(t, path, ofB)
	j.holds(t, "b", "rejected", "rejected", "in order", "changed from a to b")
}

func TestARefusedFileThatIsPutBackIsInOrderAgainWithoutAChange(t *testing.T) {
	path := policyFile(t, ofA)
	j := follow(t, path)
	write(t, path, twoPairs)
	j.holds(t, "a", "rejected")
	write(t, path, ofA)
	j.holds(t, "a", "rejected", "in order")
	write(t, path, twoPairs)
	j.holds(t, "a", "rejected", "in order", "rejected")
}

func TestABriefMistakeThatNoTwoLooksSawIsNeverTold(t *testing.T) {
	path := policyFile(t, ofA)
	j := follow(t, path)
	write(t, path, twoPairs)
	j.watcher.look()
	write(t, path, ofA)
	j.holds(t, "a")
}

// The ways in which files change, with the Watcher running as in the operator.
func TestARunningWatcherFollows(t *testing.T) {
	for name, begin := range map[string]func(t *testing.T) (path string, change func(content string)){
		"a file that is written over": func(t *testing.T) (string, func(string)) {
			path := policyFile(t, ofA)
			return path, func(content string) { write(t, path, content) }
		},
		"a file that is renamed into place": func(t *testing.T) (string, func(string)) {
			path := policyFile(t, ofA)
			return path, func(content string) {
				write(t, path+".new", content)
				NewWithT(t).Expect(os.Rename(path+".new", path)).To(Succeed())
			}
		},
		"a file that is removed and made again": func(t *testing.T) (string, func(string)) {
			path := policyFile(t, ofA)
			return path, func(content string) {
				NewWithT(t).Expect(os.Remove(path)).To(Succeed())
				write(t, path, content)
			}
		},
		"a ConfigMap's mount": configMapMount,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			path, change := begin(t)
			changes := make(chan string, 10)
			w, err := Load(path, Settings{Interval: time.Millisecond, OnChange: func(_, after *Policy) { changes <- owner(after) }})
			g.Expect(err).NotTo(HaveOccurred())
			change(ofB) // a change before the start must be noticed
			stop := start(t, w)
			receive(t, changes, "b")
			change(ofA)
			receive(t, changes, "a")
			change(ofB)
			receive(t, changes, "b")
			stop()
			g.Expect(changes).NotTo(Receive(), "a change too many")
		})
	}
}

// configMapMount returns a folder like the kubelet's: policy.yaml links through ..data to a folder with a timestamp, and a change replaces
// ..data.
func configMapMount(t *testing.T) (string, func(string)) {
	g := NewWithT(t)
	mount := t.TempDir()
	at := func(name string) string { return filepath.Join(mount, name) }
	previous := ""
	change := func(content string) {
		day, err := os.MkdirTemp(mount, "..day")
		g.Expect(err).NotTo(HaveOccurred())
		write(t, filepath.Join(day, "policy.yaml"), content)
		g.Expect(errors.Join(os.Symlink(filepath.Base(day), at("..data_tmp")), os.Rename(at("..data_tmp"), at("..data")))).To(Succeed())
		if previous != "" {
			g.Expect(os.RemoveAll(previous)).To(Succeed())
		}
		previous = day
	}
	change(ofA)
	g.Expect(os.Symlink(filepath.Join("..data", "policy.yaml"), at("policy.yaml"))).To(Succeed())
	return at("policy.yaml"), change
}

func TestThePolicyInForceMayBeAskedForWhileItChanges(t *testing.T) {
	path := policyFile(t, ofA)
	changes := make(chan string, 10)
	w, err := Load(path, Settings{Interval: time.Millisecond, OnChange: func(_, after *Policy) { changes <- owner(after) }})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	stop := start(t, w)
	done := make(chan struct{})
	var askers sync.WaitGroup
	for range 4 {
		askers.Go(func() {
			for {
				if p := w.Current(); (p.Check("a", "x") == nil) == (p.Check("b", "x") == nil) {
					t.Error("neither or both of the namespaces may manage a topic") // an assertion must not end another goroutine
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for range 5 {
		write(t, path, ofB)
		receive(t, changes, "b")
		write(t, path, ofA)
		receive(t, changes, "a")
	}
	close(done)
	askers.Wait()
	stop()
}

func TestAWatcherRunsOnEveryReplica(t *testing.T) {
	NewWithT(t).Expect((&Watcher{}).NeedLeaderElection()).To(BeFalse())
}

// start runs a Watcher; stop ends it and waits for its end.
func start(t *testing.T, w *Watcher) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(ctx) }()
	return func() {
		cancel()
		NewWithT(t).Eventually(ended, patience).Should(Receive(BeNil()), "the Watcher ends")
	}
}

func receive(t *testing.T, from <-chan string, want string) {
	t.Helper()
	var got string
	g := NewWithT(t)
	g.Eventually(from, patience).Should(Receive(&got), "the policy of %s comes into force", want)
	g.Expect(got).To(Equal(want), "whose policy is in force")
}
