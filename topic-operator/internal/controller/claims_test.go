package controller

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

const conflicted = "Ready=False ResourceConflict: Also managed by "

func (w *world) conditions(name string) func() *v1.KafkaTopic {
	return func() *v1.KafkaTopic { return w.get(name) }
}

// docs/decisions/claims.md: an event triggers the pass. The timer never fires in this test.
func TestASurvivorRecoversWhenItsRivalGoes(t *testing.T) {
	for name, goes := range map[string]func(w *world){
		"deleted":            func(w *world) { w.delete("a") },
		"unmanaged":          func(w *world) { w.update("a", abandon) },
		"not selected":       func(w *world) { w.update("a", noLabel(v1.LabelCluster)) },
		"of another cluster": func(w *world) { w.status("a", func(s *v1.KafkaTopicStatus) { s.ClusterID = otherID }) },
		"deleted, unfinished": func(w *world) {
			w.update("a", moreFinalizers("example.org/other"))
			w.delete("a")
			w.update("a", finalizers())
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, untimed, onlySelected)
			w.start(w.kafka)
			w.create("a", named("t"), selected)
			w.Eventually(w.readyNames).Should(Equal([]string{"a"}))
			id := w.kafka.get("t").Topic.ID
			w.create("b", named("t"), selected)
			w.Eventually(w.conditions("a")).Should(haveConditions(conflicted + w.ns + "/b"))
			w.Eventually(w.conditions("b")).Should(haveConditions(conflicted + w.ns + "/a"))
			goes(w)
			w.Eventually(w.readyNames).Should(ContainElement("b"))
			w.Expect(w.kafka.get("t").Topic.ID).To(Equal(id))
			w.Expect(w.kafka.asks(deleteCall, "")()).To(BeZero())
		})
	}
}

// A restart changes nothing: the operator derives the claimants from the stored objects.
func TestConflictsSurviveARestart(t *testing.T) {
	w := newWorld(t, untimed)
	w.create("a", named("t"))
	w.create("b", named("t"))
	for range 2 {
		stop := w.start(w.kafka)
		w.Eventually(w.conditions("a")).Should(haveConditions(conflicted + w.ns + "/b"))
		w.Eventually(w.conditions("b")).Should(haveConditions(conflicted + w.ns + "/a"))
		stop()
	}
	w.Expect(w.kafka.took()).To(BeEmpty())
}

// Each namespace has its own watch, and nothing synchronizes the two.
func TestBeforeADeletionTheOtherNamespacesAreReadAgain(t *testing.T) {
	w := newWorld(t)
	w.ready("a", named("t"))
	other := newNamespace(t, w.admin)
	w.Expect(w.admin.Create(t.Context(), kafkaTopic(other, "b", named("t")))).To(Succeed())
	api := clientOf(t, w.config())
	claims := newClaims(t.Context(), api, api, []string{w.ns, other})
	object, claimants, err := claims.Now(t.Context(), w.key("a"), "t")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(object).To(HaveField("Name", "a"))
	w.Expect(claimants).To(ConsistOf(HaveField("Name", "a"), HaveField("Name", "b")))

	w.r.options.Claims = &blindClaims{claims}
	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.asks(deleteCall, "")()).To(BeZero())
	w.Expect(w.kafka.get("t")).NotTo(BeNil())
}

// blindClaims finds no claimants, like watches that have delivered nothing yet.
type blindClaims struct{ *cachedClaims }

func (blindClaims) Of(context.Context, string) ([]v1.KafkaTopic, error) { return nil, nil }

func TestWithoutAnAnswerAboutTheOtherNamespacesNothingIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	api := clientOf(t, w.config())
	w.r.options.Claims = newClaims(t.Context(), api, &failingReader{Reader: api}, []string{w.ns, "other"})
	w.r.options.Claims = &blindClaims{w.r.options.Claims.(*cachedClaims)}
	w.delete("a")
	w.withholds("a", "list the KafkaTopics of namespace '"+w.ns+"' again")
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
}

type failingReader struct{ client.Reader }

func (*failingReader) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return fmt.Errorf("no")
}

func TestClaimantsAreFoundInAllWatchedNamespaces(t *testing.T) {
	w := newWorld(t, untimed)
	other := newNamespace(t, w.admin)
	w.setup.Namespaces = []string{w.ns, other}
	w.start(w.kafka, func(o *manager.Options) { o.Cache.DefaultNamespaces[other] = cache.Config{} })
	w.create("a", named("t"))
	w.Eventually(w.readyNames).Should(Equal([]string{"a"}))
	w.Expect(w.admin.Create(t.Context(), kafkaTopic(other, "b", named("t")))).To(Succeed())
	w.Eventually(w.conditions("a")).Should(haveConditions(conflicted + other + "/b"))

	// A user moves a KafkaTopic: creates the new object, then deletes the old one.
	w.delete("a")
	b := &v1.KafkaTopic{}
	w.Eventually(func(g Gomega) {
		g.Expect(w.admin.Get(t.Context(), client.ObjectKey{Namespace: other, Name: "b"}, b)).To(Succeed())
		g.Expect(b).To(beReady())
	}).Should(Succeed())
	w.Expect(w.kafka.asks(deleteCall, "")()).To(BeZero())
}

func TestObjectsAreLookedAtAgainWhenSomethingOutsideOfThemChanges(t *testing.T) {
	var forbid atomic.Bool
	w := newWorld(t, untimed, func(s *setup) {
		s.Violation = func(_, topic string) string {
			if forbid.Load() && topic == "a" {
				return "not yours"
			}
			return ""
		}
	})
	w.start(w.kafka)
	w.create("a")
	w.create("b")
	w.Eventually(w.readyNames).Should(Equal([]string{"a", "b"}))
	w.kafka.took()
	forbid.Store(true)
	w.Expect(w.r.Requeue(t.Context(), func(kt *v1.KafkaTopic) bool { return kt.Name == "a" })).To(Succeed())
	w.Eventually(w.conditions("a")).Should(haveConditions("Ready=False PolicyViolation: not yours"))
	w.Expect(w.kafka.took()).To(BeEmpty())
}

// hanging is an API server that does not answer the first list.
type hanging struct {
	client.Reader
	asked bool
}

func (h *hanging) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	if !h.asked {
		h.asked = true
		<-ctx.Done()
	}
	return ctx.Err()
}

// nothing is a cache and an API server without objects.
type nothing struct{ client.Reader }

func (nothing) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (nothing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, "")
}

func TestAListThatHangsHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		c := newClaims(t.Context(), nothing{}, &hanging{Reader: nothing{}}, nil)
		_, _, err := c.Now(t.Context(), types.NamespacedName{}, "a")
		g.Expect(err).To(MatchError(context.DeadlineExceeded))
		_, _, err = c.Now(t.Context(), types.NamespacedName{}, "a")
		g.Expect(err).NotTo(HaveOccurred())
	})
}
