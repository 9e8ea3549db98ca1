package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/randomtest"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// The model of two operators is only as good as its model of the API server. So these tests send the same random requests to the model and
// to a real API server, and compare what a client can observe: answers, objects, and watch events.

// twins are the two API servers: a real one and the model.
type twins struct {
	*WithT
	t     *testing.T
	ctx   context.Context // the test's context
	r     *rand.Rand
	real  client.Client
	model *modelServer
	ns    string
	// uids maps the uids of real objects to those of the model's objects.
	uids map[types.UID]types.UID
	// old are earlier states of objects, as pairs.
	old  []twin
	did  map[string]int
	last string
}

// twin is one object as read from the real API server and from the model.
type twin struct{ real, model *v1.KafkaTopic }

func (w *twins) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: w.ns, Name: name}
}

// get reads an object from both servers; nil if there is none.
func (w *twins) get(key types.NamespacedName) twin {
	w.t.Helper()
	kt := &v1.KafkaTopic{}
	err := w.real.Get(w.ctx, key, kt)
	if apierrors.IsNotFound(err) {
		kt, err = nil, nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	now := twin{real: kt, model: w.model.objects[key]}
	w.same(now)
	if now.real != nil {
		w.old = append(w.old, now)
	}
	return now
}

// same compares the object of one server with that of the other.
func (w *twins) same(both twin) {
	w.t.Helper()
	w.Expect(w.seen(both.real, true)).To(Equal(w.seen(both.model, false)), "after %s", w.last)
}

// seen returns what the test compares of an object. Versions and times differ between the servers, so only their effects are compared.
func (w *twins) seen(kt *v1.KafkaTopic, isReal bool) string {
	if kt == nil {
		return "none"
	}
	uid := kt.UID
	if isReal {
		if w.uids[uid] == "" {
			w.uids[uid] = types.UID(fmt.Sprintf("uid-%d", len(w.uids)+1))
		}
		uid = w.uids[uid]
	}
	text, err := json.Marshal(map[string]any{"uid": uid, "name": kt.Name, "generation": kt.Generation, "deleting": kt.DeletionTimestamp != nil,
		"created": !kt.CreationTimestamp.IsZero(), "labels": len(kt.Labels), "label": kt.Labels[modelLabel], "annotations": len(kt.Annotations),
		"managed": kt.Annotations[v1.AnnotationManaged], "finalizers": append([]string{}, kt.Finalizers...), "spec": kt.Spec,
		"status": kt.Status})
	w.Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// sameAnswer compares the reasons of the two servers' errors.
func (w *twins) sameAnswer(real, model error) {
	w.t.Helper()
	w.did["answer "+string(apierrors.ReasonForError(real))]++
	w.Expect(apierrors.ReasonForError(model)).To(Equal(apierrors.ReasonForError(real)), "after %s: %v, and %v in the model", w.last,
		real, model)
}

// step sends one random request to both servers.
func (w *twins) step() {
	name := []string{"x", "y", "z"}[w.r.IntN(3)]
	steps := []struct {
		name string
		do   func(key types.NamespacedName)
	}{{"create", w.create}, {"edit", w.edit}, {"relabel", w.edit}, {"delete", w.delete}, {"restore", w.restore},
		{"hold", w.hold}, {"hold", w.hold}, {"status", w.status}, {"status", w.status}, {"status", w.status}}
	s := steps[w.r.IntN(len(steps))]
	w.last = s.name + " " + name
	w.did[s.name]++
	s.do(w.key(name))
	w.get(w.key(name))
}

func (w *twins) create(key types.NamespacedName) {
	kt := kafkaTopic(key.Namespace, key.Name)
	w.shape(kt)
	if w.r.IntN(4) == 0 {
		kt.Status = w.randomStatus() // a create ignores the status
	}
	twin := kt.DeepCopy()
	twin.Status = v1.KafkaTopicStatus{}
	err := w.real.Create(w.ctx, kt)
	if made := w.model.create(twin); !made {
		w.Expect(apierrors.IsAlreadyExists(err)).To(BeTrue(), "%v", err)
		return
	}
	w.Expect(err).NotTo(HaveOccurred())
}

// shape sets what a user sets: labels, annotations and specification.
func (w *twins) shape(kt *v1.KafkaTopic) {
	kt.Labels = map[string]string{modelLabel: []string{"A", "B", "AB", ""}[w.r.IntN(4)]}
	kt.Annotations = map[string]string{v1.AnnotationManaged: []string{"true", "false"}[w.r.IntN(2)]}
	shape(kt, w.r.IntN(1<<16))
	kt.Spec.Managed = nil
	if kt.Spec.Replicas == nil && w.r.IntN(3) == 0 {
		kt.Spec.Managed = new(w.r.IntN(2) == 0)
	}
}

// edit changes the specification or the labels, as a user does; sometimes it changes nothing.
func (w *twins) edit(key types.NamespacedName) {
	now := w.get(key)
	if now.real == nil {
		return
	}
	after := now.real.DeepCopy()
	switch w.r.IntN(3) {
	case 0:
		w.shape(after)
	case 1:
		after.Labels[modelLabel] = []string{"A", "B"}[w.r.IntN(2)]
	default:
		after.Status = w.randomStatus() // an update outside of the status subresource ignores the status
	}
	version := after.ResourceVersion
	w.Expect(w.real.Update(w.ctx, after)).To(Succeed())
	changed := w.model.change(key, func(kt *v1.KafkaTopic) {
		kt.Labels, kt.Annotations, kt.Spec = after.Labels, after.Annotations, after.Spec.DeepCopy()
	})
	w.Expect(changed).To(Equal(after.ResourceVersion != version), "after %s", w.last)
}

func (w *twins) delete(key types.NamespacedName) {
	err := w.real.Delete(w.ctx, kafkaTopic(key.Namespace, key.Name))
	w.Expect(client.IgnoreNotFound(err)).To(Succeed())
	w.model.delete(key)
}

// restore writes the status, as a backup tool does.
func (w *twins) restore(key types.NamespacedName) {
	now := w.get(key)
	if now.real == nil {
		return
	}
	after := now.real.DeepCopy()
	after.Status = w.randomStatus()
	status := *after.Status.DeepCopy()
	w.shape(after) // an update of the status ignores the rest
	after.Labels, after.Annotations = now.real.Labels, now.real.Annotations
	w.Expect(w.real.Status().Update(w.ctx, after)).To(Succeed())
	changed := w.model.replaceStatus(key, status)
	w.Expect(changed).To(Equal(after.ResourceVersion != now.real.ResourceVersion), "after %s", w.last)
}

// view returns a state of an object that an operator may have cached: the current one, an earlier one, or one of a deleted object.
func (w *twins) view(key types.NamespacedName) (twin, bool) {
	now := w.get(key)
	known := slices.Clone(w.old)
	known = slices.DeleteFunc(known, func(t twin) bool { return t.real.Name != key.Name })
	switch {
	case len(known) == 0:
		return twin{}, false
	case now.real == nil || w.r.IntN(3) == 0:
		return known[w.r.IntN(len(known))], true
	}
	return now, true
}

// hold patches the finalizers, as the operator does.
func (w *twins) hold(key types.NamespacedName) {
	view, ok := w.view(key)
	if !ok {
		return
	}
	finalizers := [][]string{{}, {}, {v1.FinalizerTopicOperator}, {v1.FinalizerTopicOperator}, {"somebody.else/holds"},
		{"somebody.else/holds", v1.FinalizerTopicOperator}}[w.r.IntN(6)]
	w.patch(view, false, types.MergePatchType, func(version string) []byte {
		meta := map[string]any{"resourceVersion": version, "finalizers": finalizers}
		if version == "" {
			delete(meta, "resourceVersion")
		}
		return w.json(map[string]any{"metadata": meta})
	})
}

// status patches the status, as the operator does.
func (w *twins) status(key types.NamespacedName) {
	view, ok := w.view(key)
	if !ok {
		return
	}
	after := w.randomStatus()
	if view.real.Status.ClusterID == "" && after.ClusterID != "" {
		w.claim(view, after)
		return
	}
	w.patch(view, true, types.MergePatchType, func(version string) []byte {
		patch, err := topic.StatusPatch(version, view.real.Status, after)
		w.Expect(err).NotTo(HaveOccurred())
		return patch
	})
}

// claim stores a first clusterId, as the operator does.
func (w *twins) claim(view twin, after v1.KafkaTopicStatus) {
	forms, err := topic.ClaimPatches("", view.real.Status, after)
	w.Expect(err).NotTo(HaveOccurred())
	for i := range forms {
		w.did["claim"]++
		w.patch(view, true, types.JSONPatchType, func(version string) []byte {
			patches, err := topic.ClaimPatches(version, view.real.Status, after)
			w.Expect(err).NotTo(HaveOccurred())
			return patches[i]
		})
	}
}

// patch sends a patch to both servers, with each server's resourceVersion of the view, or with none.
func (w *twins) patch(view twin, status bool, kind types.PatchType, of func(version string) []byte) {
	w.t.Helper()
	bound := status || w.r.IntN(4) > 0
	version := func(kt *v1.KafkaTopic) string {
		if !bound {
			return ""
		}
		return kt.ResourceVersion
	}
	mine := of(version(view.real))
	if mine == nil {
		return
	}
	there, here := view.real.DeepCopy(), view.model.DeepCopy()
	var realErr error
	if status {
		realErr = w.real.Status().Patch(w.ctx, there, client.RawPatch(kind, mine))
	} else {
		realErr = w.real.Patch(w.ctx, there, client.RawPatch(kind, mine))
	}
	before := w.model.version
	modelErr := w.model.patch(here, client.RawPatch(kind, of(version(view.model))), status, func(write modelWrite) {
		w.Expect(write.bound).To(Equal(bound))
	})
	w.last += fmt.Sprintf(" of version %s with %s", view.model.ResourceVersion, mine)
	w.sameAnswer(realErr, modelErr)
	if realErr != nil {
		return
	}
	w.same(twin{real: there, model: here})
	if !bound || w.model.objects[client.ObjectKeyFromObject(here)] == nil {
		return
	}
	// A patch that changes nothing creates no new version.
	changed := there.ResourceVersion != view.real.ResourceVersion
	w.Expect(changed).To(Equal(w.model.version != before), "after %s", w.last)
}

func (w *twins) json(v any) []byte {
	text, err := json.Marshal(v)
	w.Expect(err).NotTo(HaveOccurred())
	return text
}

// randomStatus returns a random status that the operator may write.
func (w *twins) randomStatus() v1.KafkaTopicStatus {
	some := func(texts ...string) string { return texts[w.r.IntN(len(texts))] }
	s := v1.KafkaTopicStatus{TopicName: some("", "x"), TopicID: some("", "id1", "id2"), ClusterID: some("", "a", "b"),
		ObservedGeneration: int64(w.r.IntN(3))}
	if w.r.IntN(3) > 0 {
		s.Conditions = append(s.Conditions, v1.Condition{Type: "Ready", Status: some("True", "False"), Reason: some("", "KafkaError"),
			LastTransitionTime: "2026-05-04T03:02:01Z"})
	}
	return s
}

// follower records all events of a watch. It reads them at once, because the API server ends the watch of a slow client.
type follower struct {
	mu     sync.Mutex
	events []watch.Event
	ended  bool
}

func (s *follower) follow(events <-chan watch.Event) {
	for e := range events {
		s.mu.Lock()
		s.events = append(s.events, e)
		s.mu.Unlock()
	}
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
}

// upTo returns the first n events.
func (s *follower) upTo(n int) ([]watch.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.events) >= n:
		return s.events[:n], nil
	case s.ended:
		return nil, StopTrying(fmt.Sprintf("the watch ended after %d of %d events", len(s.events), n))
	}
	return nil, fmt.Errorf("the watch showed %d of %d events so far", len(s.events), n)
}

// sameEvents compares the events of a real watch with the log of the model's API server.
func (w *twins) sameEvents(all *follower) {
	var events []watch.Event
	w.Eventually(func() (err error) {
		events, err = all.upTo(len(w.model.log))
		return err
	}, time.Minute).Should(Succeed())
	for i, e := range w.model.log {
		want := map[bool]watch.EventType{true: watch.Deleted, false: watch.Modified}[e.gone]
		if e.before == nil {
			want = watch.Added
		}
		kt, ok := events[i].Object.(*v1.KafkaTopic)
		w.Expect(ok).To(BeTrue(), "%v", events[i].Object)
		w.Expect(events[i].Type).To(Equal(want), "event %d", i)
		w.Expect(w.seen(kt, true)).To(Equal(w.seen(e.after, false)), "event %d, %s", i, want)
	}
}

// twinBudget returns how many requests a run sends.
func twinBudget() int {
	if os.Getenv("PROVE") == "full" {
		return 20_000
	}
	return 600
}

// newTwins returns two empty API servers, and a follower of the real one's watch.
func newTwins(t *testing.T, seed uint64) (*twins, *follower) {
	t.Helper()
	a := admin(t)
	w := &twins{WithT: NewWithT(t), t: t, ctx: t.Context(), real: a, model: newModelServer(newClock().now), ns: newNamespace(t, a),
		uids: map[types.UID]types.UID{}, did: map[string]int{}, r: rand.New(rand.NewPCG(seed, 2))} // no secret depends on it
	watcher, err := client.NewWithWatch(rest.CopyConfig(server.Config), client.Options{Scheme: scheme})
	w.Expect(err).NotTo(HaveOccurred())
	var list v1.KafkaTopicList
	w.Expect(a.List(w.ctx, &list, client.InNamespace(w.ns))).To(Succeed())
	events, err := watcher.Watch(w.ctx, &v1.KafkaTopicList{ListMeta: metav1.ListMeta{ResourceVersion: list.ResourceVersion}},
		client.InNamespace(w.ns))
	w.Expect(err).NotTo(HaveOccurred())
	all, done := &follower{}, make(chan struct{})
	go func() {
		defer close(done)
		all.follow(events.ResultChan())
	}()
	t.Cleanup(func() {
		events.Stop()
		<-done
	})
	return w, all
}

func TestTheModelsServerIsLikeARealOne(t *testing.T) {
	seed := randomtest.Seed(t)
	w, events := newTwins(t, seed)
	requests, violations := twinBudget(), 1
	defer func() {
		fmt.Printf("PROOF {\"name\":\"the model's API server against a real one\",\"count\":%d,\"violations\":%d,\"seed\":%d}\n", requests,
			violations, seed)
	}()
	for range requests {
		w.step()
	}
	// Some answers are rare. The test goes on until each was given; few seeds need more than the budget.
	needed := []string{"answer ", "answer NotFound", "answer Conflict", "answer Invalid", "claim"}
	lacks := func(answer string) bool { return w.did[answer] == 0 }
	for most := 20 * requests; slices.ContainsFunc(needed, lacks) && requests < most; requests++ {
		w.step()
	}
	w.sameEvents(events)
	for _, answer := range needed {
		w.Expect(w.did).To(HaveKey(answer), "too little was played: %v", w.did)
	}
	violations = 0
}
