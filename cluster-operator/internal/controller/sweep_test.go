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
