// Package schema finds out which fields of a KafkaTopic the API server keeps. A CustomResourceDefinition other than the operator's, such as
// Strimzi's, silently drops status.clusterId and spec.managed (docs/decisions/pruned-fields.md).
package schema

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/operator/logging"
)

// Getter reads a path of the API server.
type Getter func(ctx context.Context, path string) ([]byte, error)

// Options tune a Watcher.
type Options struct {
	// Get reads the schema that the API server publishes.
	Get Getter
	// Client sends dry runs to the API server; they store nothing.
	Client client.Client
	// Interval is the time between two reads of the published schema.
	Interval time.Duration
	// Changed is called when the API server starts or stops keeping the clusterId. It must not block.
	Changed func(keepsClusterID bool)
	Log     logr.Logger
}

// Watcher tracks which fields the API server keeps. It implements manager.Runnable.
type Watcher struct {
	options Options
	// wake wakes up Start.
	wake chan struct{}

	mu sync.Mutex
	// drops means that the API server drops the clusterId. from identifies the schema document that shows it, or that was current when the
	// answer to a patch showed it.
	drops bool
	from  string
	// blind means that the schema could not be read, and mute that the API server rejected a dry run; each was logged.
	blind, mute bool
	// managed means that the API server drops spec.managed, and that this was logged.
	managed bool
	// last is the result of the last read.
	last published
}

// New returns a Watcher that assumes that the API server keeps everything, until something shows the opposite.
func New(o Options) *Watcher {
	return &Watcher{options: o, wake: make(chan struct{}, 1)}
}

// KeepsClusterID reports whether the API server keeps status.clusterId; true until something shows the opposite.
func (w *Watcher) KeepsClusterID() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.drops
}

// DroppedClusterID records that the answer to a patch of a status lacked the clusterId: the API server drops it, even if its published
// schema has it.
func (w *Watcher) DroppedClusterID() {
	w.set(false, "")
	select {
	case w.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// KeepsManaged asks the API server, in a dry run, whether it would store spec.managed of an object.
func (w *Watcher) KeepsManaged(ctx context.Context, kt *v1.KafkaTopic) (bool, error) {
	probe := &v1.KafkaTopic{}
	probe.Namespace, probe.Name = kt.Namespace, kt.Name
	patch := []byte(`{"spec":{"managed":false}}`)
	if err := w.options.Client.Patch(ctx, probe, client.RawPatch(types.MergePatchType, patch), client.DryRunAll); err != nil {
		return false, fmt.Errorf("check whether the API server keeps spec.managed: %w", err)
	}
	return probe.Spec != nil && probe.Spec.Managed != nil, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a standby has the schema when it is elected.
func (w *Watcher) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (w *Watcher) Start(ctx context.Context) error {
	tick := time.NewTicker(w.options.Interval)
	defer tick.Stop()
	for {
		w.Look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-w.wake:
		}
	}
}

// Look reads the published schema once. While the clusterId counts as dropped and the schema does not say so, it asks the API server.
func (w *Watcher) Look(ctx context.Context) {
	found, err := w.read(ctx)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		w.unread(err)
	default:
		w.learned(found)
	}
	if (err != nil || found.clusterID) && !w.KeepsClusterID() {
		w.ask(ctx)
	}
}

// ask finds out whether the API server keeps the clusterId again. The schema alone can't tell: after a short swap of the
// CustomResourceDefinition that no read noticed, the same document is published as before.
func (w *Watcher) ask(ctx context.Context) {
	kept, err := w.wouldKeepClusterID(ctx)
	if ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && !w.mute {
		logging.Warn(w.options.Log, "Failed to check whether the API server keeps status.clusterId again, trying again", "error", err.Error())
	}
	w.mute = err != nil
	if kept {
		w.change(true)
	}
}

// wouldKeepClusterID asks the API server, in a dry run, whether it would store the clusterId of a KafkaTopic. If one is rejected, another
// one is asked about the next time: a cache lists them in random order. Without any, nothing shows that the clusterId is dropped.
func (w *Watcher) wouldKeepClusterID(ctx context.Context) (bool, error) {
	var one v1.KafkaTopicList
	if err := w.options.Client.List(ctx, &one, client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("find a KafkaTopic: %w", err)
	}
	if len(one.Items) == 0 {
		return true, nil
	}
	probe := &v1.KafkaTopic{}
	probe.Namespace, probe.Name = one.Items[0].Namespace, one.Items[0].Name
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"clusterId":"dry-run"}}`))
	if err := w.options.Client.Status().Patch(ctx, probe, patch, client.DryRunAll); err != nil {
		return false, fmt.Errorf("try to patch the status of KafkaTopic %s: %w", client.ObjectKeyFromObject(probe), err)
	}
	return probe.Status.ClusterID != "", nil
}

// published is the content of the published schema.
type published struct {
	// path is the document's path in the index, and sum the hash of its content.
	path, sum          string
	clusterID, managed bool
}

func (w *Watcher) unread(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.blind {
		w.blind = true
		logging.Warn(w.options.Log,
			"Failed to read the schema of KafkaTopics; the next write of a status shows whether the API server keeps status.clusterId",
			"error", err.Error())
	}
}

func (w *Watcher) learned(found published) {
	w.mu.Lock()
	w.last = found
	w.blind = false
	dropped := w.managed
	w.managed = !found.managed
	w.mu.Unlock()
	switch {
	case !found.managed && !dropped:
		w.options.Log.Error(errDropsManaged,
			"Apply this operator's CustomResourceDefinition again. Until then only the annotation strimzi.io/managed marks a KafkaTopic as "+
				"unmanaged, and one that spec.managed unmanaged before stays so until the annotation is \"true\"")
	case found.managed && dropped:
		w.options.Log.Info("The CustomResourceDefinition of KafkaTopics keeps spec.managed again")
	}
	w.set(found.clusterID, found.sum)
}

var (
	errDropsManaged   = errors.New("the CustomResourceDefinition of KafkaTopics drops spec.managed")
	errDropsClusterID = errors.New("the CustomResourceDefinition of KafkaTopics drops status.clusterId")
)

// set records whether the API server keeps the clusterId, according to the document with this sum. An empty sum stands for the answer to a
// patch, which overrules the last document until another one is published, or until the answer to a dry run has the clusterId (ask).
func (w *Watcher) set(keeps bool, sum string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if keeps && w.drops && w.from == sum {
		return
	}
	if sum != "" {
		w.from = sum
	}
	w.change(keeps)
}

// change records whether the API server keeps the clusterId. The caller holds the lock.
func (w *Watcher) change(keeps bool) {
	if w.drops != keeps {
		return
	}
	w.drops = !keeps
	if keeps {
		w.options.Log.Info("The CustomResourceDefinition of KafkaTopics keeps status.clusterId again: cluster id protection is armed")
	} else {
		w.options.Log.Error(errDropsClusterID,
			"Cluster ID protection is disabled: KafkaTopics of another Kafka cluster can't be distinguished from those of this one. Apply this "+
				"operator's "+
				"CustomResourceDefinition again")
	}
	w.options.Changed(keeps)
}

// The parts of the API server's documents that matter (OpenAPI v3).
type index struct {
	Paths map[string]struct {
		ServerRelativeURL string `json:"serverRelativeURL"`
	} `json:"paths"`
}

type document struct {
	Components struct {
		Schemas map[string]object `json:"schemas"`
	} `json:"components"`
}

type object struct {
	Properties map[string]object `json:"properties"`
	Preserves  bool              `json:"x-kubernetes-preserve-unknown-fields"`
	Kinds      []struct {
		Group   string `json:"group"`
		Kind    string `json:"kind"`
		Version string `json:"version"`
	} `json:"x-kubernetes-group-version-kind"`
}

// keeps reports whether the schema keeps a field of a part of the object.
func (o object) keeps(part, field string) bool {
	p, ok := o.Properties[part]
	_, named := p.Properties[field]
	return o.Preserves || ok && (named || p.Preserves)
}

// read reads the schema from the API server. The index names the document by its content, so read fetches it again only after a change, or
// while a field is dropped: after the CustomResourceDefinition was applied again, the index may name an earlier document for minutes (seen
// with Kubernetes 1.36), while the document itself is the current one.
func (w *Watcher) read(ctx context.Context) (published, error) {
	var all index
	if _, err := w.get(ctx, "/openapi/v3", &all); err != nil {
		return published{}, err
	}
	at := all.Paths["apis/"+v1.GroupVersion.String()].ServerRelativeURL
	if at == "" {
		return published{}, fmt.Errorf("the API server publishes no schema of %s", v1.GroupVersion)
	}
	w.mu.Lock()
	last, drops := w.last, w.drops
	w.mu.Unlock()
	if last.path == at && last.clusterID && last.managed && !drops {
		return last, nil
	}
	current, _, _ := strings.Cut(at, "?") // without the hash, which may be old
	var d document
	data, err := w.get(ctx, current, &d)
	if err != nil {
		return published{}, err
	}
	for _, o := range d.Components.Schemas {
		for _, k := range o.Kinds {
			if k.Group == v1.GroupVersion.Group && k.Version == v1.GroupVersion.Version && k.Kind == "KafkaTopic" {
				return published{
					path: at, sum: fmt.Sprintf("%s %x", at, sha256.Sum256(data)),
					clusterID: o.keeps("status", "clusterId"), managed: o.keeps("spec", "managed"),
				}, nil
			}
		}
	}
	return published{}, fmt.Errorf("the API server publishes no schema of KafkaTopic in %s", strings.TrimPrefix(at, "/"))
}

func (w *Watcher) get(ctx context.Context, path string, into any) ([]byte, error) {
	data, err := w.options.Get(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read %s of the API server: %w", path, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return nil, fmt.Errorf("read %s of the API server: %w", path, err)
	}
	return data, nil
}
