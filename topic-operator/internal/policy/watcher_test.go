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
			if j.watcher.Current() != after {
				t.Error("a change was told before it was in force")
			}
		},
		OnRejected: func(reason error) {
			if j.reasons = append(j.reasons, reason); reason == nil {
				j.told = append(j.told, "in order")
				return
			}
			j.told = append(j.told, "rejected")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
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
	if got := owner(j.watcher.Current()); got != namespace {
		t.Errorf("the policy of %s is in force, not that of %s", got, namespace)
	}
	if !slices.Equal(j.told, told) {
		t.Errorf("told %q, want %q", j.told, told)
	}
}

func (j *journal) warnings() []string {
	return slices.DeleteFunc(strings.Split(j.log.String(), "\n"), func(line string) bool { return !strings.Contains(line, "level=WARN") })
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func policyFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, path, content)
	return path
}

func TestWithoutAPathThereIsNoPolicyAndNothingToFollow(t *testing.T) {
	w, err := Load("", Settings{})
	if err != nil || w.Current() != nil {
		t.Fatalf("policy %v, error %v", w.Current(), err)
	}
	if err := w.Start(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAnIllegalPolicyStopsTheStartWithEachOffendingPair(t *testing.T) {
	path := policyFile(t, twoPairs)
	w, err := Load(path, Settings{})
	var found *IllegalError
	if w != nil || !errors.As(err, &found) {
		t.Fatalf("watcher %v, error %v", w, err)
	}
	for _, text := range append(pairs, path) {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error does not hold %q: %v", text, err)
		}
	}
}

func TestAFileThatCanNotBeReadStopsTheStart(t *testing.T) {
	folder := t.TempDir()
	for _, path := range []string{filepath.Join(folder, "none.yaml"), folder} {
		_, err := Load(path, Settings{})
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "or unset STRIMZI_NAMESPACE_POLICY_FILE") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestALegalChangeComesIntoForce(t *testing.T) {
	path := policyFile(t, ofA)
	j := follow(t, path)
	j.holds(t, "a")
	write(t, path, ofB)
	j.holds(t, "b", "changed from a to b")
	j.holds(t, "b", "changed from a to b")
	if len(j.warnings()) > 0 {
		t.Errorf("warnings: %q", j.warnings())
	}
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
	if len(j.warnings()) > 0 {
		t.Errorf("warnings: %q", j.warnings())
	}
}

func TestWhatCanNotBeUsedLeavesTheOldPolicyInForceAndIsToldOnce(t *testing.T) {
	for name, spoil := range map[string]struct {
		it    func(t *testing.T, path string)
		wants []string
	}{
		"an illegal policy": {func(t *testing.T, path string) { write(t, path, twoPairs) }, pairs},
		"an empty file":     {func(t *testing.T, path string) { write(t, path, "") }, []string{"the policy is empty"}},
		"a file that vanished": {func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, []string{"read the namespace policy", "no such file"}},
		"a folder in its place": {func(t *testing.T, path string) {
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		}, []string{"read the namespace policy", "is a directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := policyFile(t, ofA)
			j := follow(t, path)
			spoil.it(t, path)
			for range 3 {
				j.holds(t, "a", "rejected")
			}
			warnings := j.warnings()
			if len(warnings) != 1 {
				t.Fatalf("warnings: %q", warnings)
			}
			for _, text := range append(spoil.wants, path) {
				if !strings.Contains(warnings[0], text) || !strings.Contains(j.reasons[0].Error(), text) {
					t.Errorf("warning %s and reason %v, want %q", warnings[0], j.reasons[0], text)
				}
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
	if len(j.warnings()) != 2 {
		t.Errorf("warnings: %q", j.warnings())
	}
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
				if err := os.Rename(path+".new", path); err != nil {
					t.Error(err)
				}
			}
		},
		"a file that is removed and made again": func(t *testing.T) (string, func(string)) {
			path := policyFile(t, ofA)
			return path, func(content string) {
				if err := os.Remove(path); err != nil {
					t.Error(err)
				}
				write(t, path, content)
			}
		},
		"a ConfigMap's mount": configMapMount,
	} {
		t.Run(name, func(t *testing.T) {
			path, change := begin(t)
			changes := make(chan string, 10)
			w, err := Load(path, Settings{Interval: time.Millisecond, OnChange: func(_, after *Policy) { changes <- owner(after) }})
			if err != nil {
				t.Fatal(err)
			}
			change(ofB) // a change before the start must be noticed
			stop := start(t, w)
			receive(t, changes, "b")
			change(ofA)
			receive(t, changes, "a")
			change(ofB)
			receive(t, changes, "b")
			stop()
			if len(changes) > 0 {
				t.Errorf("a change too many: %s", <-changes)
			}
		})
	}
}

// configMapMount returns a folder like the kubelet's: policy.yaml links through ..data to a folder with a timestamp, and a change replaces
// ..data.
func configMapMount(t *testing.T) (string, func(string)) {
	mount := t.TempDir()
	at := func(name string) string { return filepath.Join(mount, name) }
	previous := ""
	change := func(content string) {
		day, err := os.MkdirTemp(mount, "..day")
		if err != nil {
			t.Error(err)
		}
		write(t, filepath.Join(day, "policy.yaml"), content)
		if err := errors.Join(os.Symlink(filepath.Base(day), at("..data_tmp")), os.Rename(at("..data_tmp"), at("..data"))); err != nil {
			t.Error(err)
		}
		if previous != "" {
			if err := os.RemoveAll(previous); err != nil {
				t.Error(err)
			}
		}
		previous = day
	}
	change(ofA)
	if err := os.Symlink(filepath.Join("..data", "policy.yaml"), at("policy.yaml")); err != nil {
		t.Fatal(err)
	}
	return at("policy.yaml"), change
}

func TestThePolicyInForceMayBeAskedForWhileItChanges(t *testing.T) {
	path := policyFile(t, ofA)
	changes := make(chan string, 10)
	w, err := Load(path, Settings{Interval: time.Millisecond, OnChange: func(_, after *Policy) { changes <- owner(after) }})
	if err != nil {
		t.Fatal(err)
	}
	stop := start(t, w)
	done := make(chan struct{})
	var askers sync.WaitGroup
	for range 4 {
		askers.Go(func() {
			for {
				if p := w.Current(); (p.Check("a", "x") == nil) == (p.Check("b", "x") == nil) {
					t.Error("neither or both of the namespaces may manage a topic")
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
	if (&Watcher{}).NeedLeaderElection() {
		t.Error("it waits to become the leader")
	}
}

// start runs a Watcher; stop ends it and waits for its end.
func start(t *testing.T, w *Watcher) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(ctx) }()
	return func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("the Watcher does not end")
		}
	}
}

func receive(t *testing.T, from <-chan string, want string) {
	t.Helper()
	select {
	case got := <-from:
		if got != want {
			t.Fatalf("the policy of %s is in force, not that of %s", got, want)
		}
	case <-time.After(patience):
		t.Fatalf("the policy of %s does not come into force", want)
	}
}
