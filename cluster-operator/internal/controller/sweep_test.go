package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kafka-operators/kafka-operators/api/ownership"
)

// countingReader counts reads of single objects. With forbidden, it is that of an account without the right to ConfigMaps.
type countingReader struct {
	client.Reader
	reads     *int
	forbidden bool
}

func (r countingReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	*r.reads++
	if _, is := o.(*corev1.ConfigMap); is && r.forbidden {
		return apierrors.NewForbidden(corev1.Resource("configmaps"), key.Name, errors.New("no right in this namespace"))
	}
	return r.Reader.Get(ctx, key, o, opts...)
}

// countedMember is a member whose reads past the cache are counted, and perhaps forbidden.
type countedMember struct {
	Member
	reads     *int
	forbidden bool
}

func (m countedMember) APIReader() client.Reader {
	return countingReader{m.Member.APIReader(), m.reads, m.forbidden}
}

func (m countedMember) Reader() client.Reader {
	return countingReader{m.Member.Reader(), new(0), m.forbidden}
}

// A name that never was a stretched Kafka's, such as that of a KafkaConnect, is looked up in caches alone. Where the account may not read
// ConfigMaps, a Kafka left nothing that it could delete.
func TestASweepAsksNoAPIServerAboutNamesThatNeverWereAKafka(t *testing.T) {
	for name, forbidden := range map[string]bool{"permitted": false, "forbidden in east": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, untouched)
			h.start(h.leader())
			r, home, remote := h.leader().r, 0, 0
			live, is := r.Live.(client.WithWatch)
			g.Expect(is).To(BeTrue())
			r.Live = interceptor.NewClient(live, interceptor.Funcs{Get: func(ctx context.Context, k8s client.WithWatch, key client.ObjectKey,
				o client.Object, opts ...client.GetOption) error {
				home++
				return k8s.Get(ctx, key, o, opts...)
			}})
			members := r.Stretching.Members()
			for i, m := range members {
				if !m.Home() {
					members[i] = countedMember{m, &remote, forbidden && m.ID() == "east"}
				}
			}
			r.Stretching.Members = func() []Member { return members }
			connect := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: historyNamespace, Name: "my-connect"}}
			for range 3 {
				result, err := r.Reconcile(t.Context(), connect)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(result.RequeueAfter).To(BeZero())
			}
			g.Expect(home).To(BeZero())
			if !forbidden {
				g.Expect(remote).To(BeZero())
			}
		})
	}
}

// An anchor without the Kafka's label is in no cache. It is swept where this process has seen its Kafka.
func TestASweepFindsAnAnchorThatNoCacheHolds(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	for _, id := range []string{"east", "west"} {
		h.leader().links[id].view = objects{}
	}
	h.deleteWithoutFinalizer()
	for range 2 {
		_, err := h.pass(h.leader(), -1)
		g.Expect(err).NotTo(HaveOccurred())
		h.now = h.now.Add(3 * time.Hour)
	}
	for _, s := range h.servers[2:4] {
		g.Expect(s.objects).NotTo(HaveKey(anchorKey), s.id)
	}
}

// An anchor that a backup restored under another name, or into another namespace, is not swept: its marks show that it is a copy.
func TestASweepKeepsARestoredAnchor(t *testing.T) {
	g := NewWithT(t)
	h := formInMemory(t, untouched)
	s := h.servers[2]
	restored := s.objects[anchorKey].object().(*corev1.ConfigMap).DeepCopy()
	h.deleteWithoutFinalizer()
	h.rest()
	h.now = h.now.Add(3 * time.Hour)
	h.rest()
	g.Expect(s.objects).NotTo(HaveKey(anchorKey), "swept")
	restored.Annotations[ownership.MarkSelf] = ownership.Self("ConfigMap", "another", anchorKey.Name)
	restored.UID, restored.ResourceVersion, restored.ManagedFields = "", "", nil
	h.must(s.client().Create(t.Context(), restored))
	h.rest()
	h.now = h.now.Add(3 * time.Hour)
	h.rest()
	g.Expect(s.objects).To(HaveKey(anchorKey))
}

// One that lost its term is swept by the field manager of its owner, not by that of another one.
func TestASweepKnowsAnAnchorWithoutMarksByItsFieldManager(t *testing.T) {
	for name, c := range map[string]struct {
		id, other string
		swept     bool
	}{
		"all marks are lost":          {"", "", true},
		"the term is lost":            {"kept", "", true},
		"another owner applied it":    {"kept", "another", false},
		"its id is another owner's":   {"another", "", false},
		"two owners, and no marks":    {"", "another", false},
		"the anchor of another owner": {"another", "another", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h := formInMemory(t, untouched)
			holder, err := h.leader().r.holder(h.centrals[0].kafka())
			g.Expect(err).NotTo(HaveOccurred())
			anchor := h.servers[2].objects[anchorKey].object().(*corev1.ConfigMap).DeepCopy()
			id := anchor.Annotations[ownership.MarkID]
			delete(anchor.Annotations, ownership.MarkTerm)
			switch c.id {
			case "":
				delete(anchor.Annotations, ownership.MarkID)
			case "another":
				anchor.Annotations[ownership.MarkID] = "another"
			}
			if c.other != "" {
				anchor.ManagedFields = append(anchor.ManagedFields, metav1.ManagedFieldsEntry{Operation: metav1.ManagedFieldsOperationApply,
					Manager: ownership.Owner{ID: c.other, Epoch: 1, Holder: holder}.FieldManager()})
			}
			g.Expect(id).NotTo(BeEmpty())
			g.Expect(holds(anchor, holder)).To(Equal(c.swept))
		})
	}
}

func TestWhatAKafkaLeftWithoutItsFinalizerIsSwept(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.deleteWithoutFinalizer()
	anchor := &corev1.ConfigMap{}
	w.Expect(w.pass().RequeueAfter).To(Equal(2 * w.r.Interval))
	w.in("east", anchor, "my-cluster-kafka-gc")
	w.now = w.now.Add(2 * w.r.Interval)
	// An anchor of another owner stays.
	foreign := &corev1.ConfigMap{}
	w.in("west", foreign, "my-cluster-kafka-gc")
	foreign.Data["holder"] = "other:" + foreign.Data["kafka-uid"] + ":x"
	w.Expect(w.members["west"].Update(t.Context(), foreign)).To(Succeed())
	w.pass()
	w.Expect(w.members["east"].Get(t.Context(), client.ObjectKeyFromObject(anchor), anchor)).To(MatchError(apierrors.IsNotFound, "NotFound"))
	w.in("west", foreign, "my-cluster-kafka-gc")
}

func TestAKafkaThatIsDeletedAgainIsSweptNoEarlier(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	backup := w.kafka()
	w.deleteWithoutFinalizer()
	w.Expect(w.pass().RequeueAfter).To(Equal(2 * w.r.Interval))
	backup.ResourceVersion, backup.UID = "", ""
	w.Expect(w.k8s.Create(t.Context(), backup)).To(Succeed())
	w.settle()
	w.now = w.now.Add(24 * time.Hour)
	w.deleteWithoutFinalizer()
	w.Expect(w.pass().RequeueAfter).To(Equal(2 * w.r.Interval))
	w.in("east", &corev1.ConfigMap{}, "my-cluster-kafka-gc")
}

// deleteWithoutFinalizer deletes the Kafka, and has nothing wait for what it has elsewhere.
func (w *stretchedWorld) deleteWithoutFinalizer() {
	w.t.Helper()
	k := w.kafka()
	k.Finalizers = nil
	w.Expect(w.k8s.Update(w.t.Context(), k)).To(Succeed())
	w.Expect(w.k8s.Delete(w.t.Context(), k)).To(Succeed())
}

func (w *stretchedWorld) anchored(id string) bool {
	w.t.Helper()
	err := w.members[id].Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "my-cluster-kafka-gc"}, &corev1.ConfigMap{})
	w.Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
	return err == nil
}

func TestASweepDoesNotStopAtAKubernetesClusterThatFails(t *testing.T) {
	failed := errors.New("no quorum")
	for name, fails := range map[string]interceptor.Funcs{
		"a read fails": {Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return failed
		}},
		"a deletion fails": {Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return failed }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStretchedWorld(t)
			w.form()
			w.deleteWithoutFinalizer()
			w.pass()
			w.now = w.now.Add(2 * w.r.Interval)
			k8s, is := w.members["east"].Client.(client.WithWatch)
			w.Expect(is).To(BeTrue())
			w.members["east"].Client = interceptor.NewClient(k8s, fails)
			_, err := w.r.Reconcile(t.Context(), w.request())
			w.Expect(err).To(MatchError(ContainSubstring("cluster 'east'")))
			w.Expect(w.anchored("west")).To(BeFalse(), "the sweep goes on with it")
			w.members["east"].Client = k8s
			w.pass()
			w.Expect(w.anchored("east")).To(BeFalse(), "its grace period is over")
		})
	}
}

func TestASweepGoesOnWhenAKubernetesClusterIsBack(t *testing.T) {
	w := newStretchedWorld(t)
	w.form()
	w.deleteWithoutFinalizer()
	w.members["west"].lost = true
	w.Expect(w.pass().RequeueAfter).To(Equal(2*w.r.Interval), "for east")
	w.now = w.now.Add(2 * w.r.Interval)
	w.pass()
	w.Expect(w.anchored("east")).To(BeFalse())
	w.Expect(w.pass().RequeueAfter).To(BeZero(), "no timer runs while west is away")
	woken := func() (requests []reconcile.Request) {
		changes := make(chan event.GenericEvent)
		go func() {
			defer close(changes)
			w.r.wakeLeft(t.Context(), changes)
		}()
		for e := range changes {
			if request := (reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)}); request == w.request() {
				requests = append(requests, request)
			}
		}
		return requests
	}
	w.Expect(woken()).To(BeEmpty())
	w.members["west"].lost = false
	for range 2 {
		w.Expect(woken()).NotTo(BeEmpty(), "its anchor tells of the Kafka")
		w.pass()
		w.now = w.now.Add(2 * w.r.Interval)
	}
	w.Expect(w.anchored("west")).To(BeFalse())
	w.Expect(woken()).To(BeEmpty())
	w.Expect(w.pass().RequeueAfter).To(BeZero())
}
