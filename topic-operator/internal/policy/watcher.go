package policy

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// DefaultInterval is how often a Watcher checks its file. The kubelet takes up to a minute to update a mounted ConfigMap, so a shorter
// interval gains nothing.
const DefaultInterval = 2 * time.Second

// Settings configure a Watcher and its callbacks. All fields are optional.
type Settings struct {
	// Interval is the time between two checks of the file; 0 is DefaultInterval.
	Interval time.Duration
	// Log receives the changes and rejections of the policy.
	Log *slog.Logger
	// OnChange is called after another valid policy came into force; Current already returns it. It is not called for the policy of Load.
	// Callers compare before and after for a namespace and a topic.
	OnChange func(before, after *Policy)
	// OnRejected is called with the reason when the file's content is rejected first, or for another reason, so that the policy in force is
	// not the one in the file; and with nil when the two agree again.
	OnRejected func(reason error)
}

// Watcher holds the policy in force, and follows its file. It is a manager.Runnable that runs on every replica, so that a new leader has
// the current policy.
//
// It reads and compares the file, because notifications of the file system miss mounts that the kubelet exchanges. A change comes into
// force after two reads in a row returned it: a file that is being written may be valid, and wrong.
type Watcher struct {
	path     string
	settings Settings
	current  atomic.Pointer[Policy]

	// inForce is the content of the policy in force.
	inForce observation
	// seen is the last content of the file, judged the last one that was accepted or rejected.
	seen, judged observation
}

// observation is the result of a check of the file.
type observation struct {
	content string
	// problem is the reason why the file could not be read; empty if it could.
	problem string
}

// Load reads the policy, and returns a Watcher that holds it. The error describes a file that can't be read, or wraps an *IllegalError. It
// stops the start of the operator, which without the policy would allow everybody to manage everything
// (docs/decisions/namespace-policy.md). Without a path there is no policy, and no file to follow.
func Load(path string, settings Settings) (*Watcher, error) {
	if settings.Interval == 0 {
		settings.Interval = DefaultInterval
	}
	if settings.Log == nil {
		settings.Log = slog.New(slog.DiscardHandler)
	}
	w := &Watcher{path: path, settings: settings}
	if path == "" {
		return w, nil
	}
	seen := w.read()
	p, err := w.parse(seen)
	if err != nil {
		return nil, err
	}
	w.inForce, w.seen, w.judged = seen, seen, seen
	w.current.Store(p)
	settings.Log.Info("The namespace policy is in force", "file", path, "namespaces", len(p.namespaces), "prefixes", len(p.prefixes),
		"topicNames", len(p.names), "otherTopics", p.others.namespace)
	return w, nil
}

// Current returns the policy in force; nil if there is none. It is safe for concurrent use.
func (w *Watcher) Current() *Policy { return w.current.Load() }

// NeedLeaderElection returns false: the Watcher runs on all replicas.
func (w *Watcher) NeedLeaderElection() bool { return false }

// Start watches the file until the context ends. It never fails: if the file becomes invalid, the last valid policy stays in force.
func (w *Watcher) Start(ctx context.Context) error {
	if w.path == "" {
		return nil
	}
	ticker := time.NewTicker(w.settings.Interval)
	defer ticker.Stop()
	for {
		w.look()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// look reads the file, and evaluates the content if it is new and the previous read returned the same.
func (w *Watcher) look() {
	now := w.read()
	settled := now == w.seen
	w.seen = now
	if !settled || now == w.judged {
		return
	}
	rejectedBefore := w.judged != w.inForce
	w.judged = now
	if now == w.inForce {
		w.settings.Log.Info("Namespace policy file matches the policy in force again", "file", w.path)
		w.rejected(nil)
		return
	}
	p, err := w.parse(now)
	if err != nil {
		w.settings.Log.Warn("Rejected the changed namespace policy; the last valid one stays in force", "file", w.path, "error", err)
		w.rejected(err)
		return
	}
	before := w.current.Swap(p)
	w.inForce = now
	w.settings.Log.Info("The namespace policy changed; the new one is in force", "file", w.path, "namespaces", len(p.namespaces),
		"prefixes", len(p.prefixes), "topicNames", len(p.names), "otherTopics", p.others.namespace)
	if rejectedBefore {
		w.rejected(nil)
	}
	if w.settings.OnChange != nil {
		w.settings.OnChange(before, p)
	}
}

func (w *Watcher) rejected(reason error) {
	if w.settings.OnRejected != nil {
		w.settings.OnRejected(reason)
	}
}

func (w *Watcher) read() observation {
	content, err := os.ReadFile(w.path)
	if err != nil {
		return observation{problem: err.Error()}
	}
	return observation{content: string(content)}
}

// parse parses the content of the file. Its errors name the file.
func (w *Watcher) parse(seen observation) (*Policy, error) {
	if seen.problem != "" {
		return nil, fmt.Errorf("read the namespace policy: %s: mount it there, or unset STRIMZI_NAMESPACE_POLICY_FILE", seen.problem)
	}
	p, err := Parse([]byte(seen.content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.path, err)
	}
	return p, nil
}
