package prove

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// history records every version of every KafkaTopic, in the order of the API server's events, and the actions of the proof.
type history struct {
	proof *proof
	mu    sync.Mutex
	lines []line
	// objects maps UIDs to objects.
	objects map[types.UID]*object
	// edited are the names of objects whose status was written by the proof rather than by an operator.
	edited map[string]bool
}

// line is one event. A line without a name concerns all objects.
type line struct {
	at         time.Time
	name, what string
}

// object is the known state of one KafkaTopic.
type object struct {
	last *v1.KafkaTopic
	gone bool
	// claims are the clusters for which it was ever claimed, in order.
	claims []string
}

// follow records the history of a namespace until the context ends.
func follow(ctx context.Context, p *proof, k8s client.WithWatch, namespace string) (*history, error) {
	h := &history{proof: p, objects: map[types.UID]*object{}, edited: map[string]bool{}}
	var list v1.KafkaTopicList
	if err := k8s.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	version := list.ResourceVersion
	open := func() (watch.Interface, error) {
		return k8s.Watch(ctx, &v1.KafkaTopicList{}, client.InNamespace(namespace),
			&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
	}
	w, err := open()
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			for e := range w.ResultChan() {
				kt, ok := e.Object.(*v1.KafkaTopic)
				if !ok {
					p.violated("the watch", "%v", e.Object) // without the watch, nothing can be proven
					return
				}
				version = kt.ResourceVersion
				h.saw(e.Type, kt)
			}
			// The API server ends watches now and then.
			if w, err = open(); err != nil {
				if ctx.Err() == nil {
					p.violated("the watch", "%v", err)
				}
				return
			}
		}
	}()
	return h, nil
}

// note records an action for a name, or, without a name, for all objects.
func (h *history) note(name, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, line{at: time.Now(), name: name, what: fmt.Sprintf(format, args...)})
}

// edit records that the proof, and not an operator, is about to write an object's status.
func (h *history) edit(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.edited[name] = true
}

// saw records a new version, and checks the promises that hold for every version (docs/decisions/another-cluster.md;
// docs/decisions/deletion.md).
func (h *history) saw(kind watch.EventType, kt *v1.KafkaTopic) {
	h.note(kt.Name, "  %s %s", strings.ToLower(string(kind)), describe(kt))
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.objects[kt.UID]
	if o == nil {
		o = &object{last: &v1.KafkaTopic{}}
		h.objects[kt.UID] = o
	}
	before, after := o.last.Status, kt.Status
	unmanaged := hasCondition(kt, v1.ConditionUnmanaged)
	if before.ClusterID != "" && before.ClusterID != after.ClusterID && !unmanaged {
		h.proof.violated(kt.Name, "the claim of cluster %s was replaced by %q", before.ClusterID, after.ClusterID)
	}
	if before.TopicID != "" && after.TopicID == "" && !unmanaged && !hasCondition(kt, v1.ConditionReconciliationPaused) && !h.edited[kt.Name] {
		h.proof.violated(kt.Name, "the status lost the topic's id %s", before.TopicID)
	}
	if after.ClusterID != "" && after.ClusterID != before.ClusterID {
		o.claims = append(o.claims, after.ClusterID)
	}
	o.last, o.gone = kt, kind == watch.Deleted
}

// object returns the known state of an object.
func (h *history) object(uid types.UID) object {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.objects[uid]
	if o == nil {
		return object{last: &v1.KafkaTopic{}}
	}
	return object{last: o.last, gone: o.gone, claims: slices.Clone(o.claims)}
}

// await waits until the watch shows the object in the state that f accepts.
func (h *history) await(ctx context.Context, uid types.UID, what string, f func(o object) bool) error {
	return await(ctx, patience, func() error {
		o := h.object(uid)
		if f(o) {
			return nil
		}
		return fmt.Errorf("%w %s: the KafkaTopic is %s", errNotYet, what, describe(o.last))
	})
}

// story returns the history of a name.
func (h *history) story(name string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "--- the history of %s ---\n", name)
	for _, l := range h.lines {
		if l.name == name || l.name == "" {
			fmt.Fprintf(&b, "%s %s\n", l.at.Format("15:04:05.000"), l.what)
		}
	}
	return b.String()
}

// describe returns a version as one line.
func describe(kt *v1.KafkaTopic) string {
	var b strings.Builder
	fmt.Fprintf(&b, "uid=%.8s rv=%s generation=%d", kt.UID, kt.ResourceVersion, kt.Generation)
	if kt.DeletionTimestamp != nil {
		b.WriteString(" DELETING")
	}
	fmt.Fprintf(&b, " held=%t", len(kt.Finalizers) > 0)
	for _, key := range slices.Sorted(maps.Keys(kt.Annotations)) {
		fmt.Fprintf(&b, " %s=%s", key, kt.Annotations[key])
	}
	if kt.Spec != nil {
		if kt.Spec.Partitions != nil {
			fmt.Fprintf(&b, " partitions=%d", *kt.Spec.Partitions)
		}
		if kt.Spec.Managed != nil {
			fmt.Fprintf(&b, " managed=%t", *kt.Spec.Managed)
		}
		for _, key := range slices.Sorted(maps.Keys(kt.Spec.Config)) {
			fmt.Fprintf(&b, " %s=%s", key, kt.Spec.Config[key].Raw)
		}
	}
	s := kt.Status
	fmt.Fprintf(&b, " | observed=%d topicId=%s clusterId=%s", s.ObservedGeneration, s.TopicID, s.ClusterID)
	for _, c := range s.Conditions {
		fmt.Fprintf(&b, " %s=%s %s %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return b.String()
}

// hasCondition reports whether a condition is True.
func hasCondition(kt *v1.KafkaTopic, kind string) bool {
	return slices.ContainsFunc(kt.Status.Conditions, func(c v1.Condition) bool { return c.Type == kind && c.Status == v1.ConditionTrue })
}

// isReady reports whether the object is Ready in its present generation.
func isReady(kt *v1.KafkaTopic) bool {
	return kt.Status.ObservedGeneration == kt.Generation && hasCondition(kt, v1.ConditionReady)
}

// refusal returns the reason why the object is not ready; empty if there is none.
func refusal(kt *v1.KafkaTopic) string {
	for _, c := range kt.Status.Conditions {
		if c.Type == v1.ConditionReady && c.Status == v1.ConditionFalse {
			return c.Reason
		}
	}
	return ""
}
