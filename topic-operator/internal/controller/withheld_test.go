package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// withholds runs a pass that makes no change, logs these words, and is repeated.
func (w *world) withholds(name string, words ...string) {
	w.t.Helper()
	w.logged.took()
	w.Expect(w.pass(name).RequeueAfter).To(BeNumerically(">", 0))
	all := []gomegatypes.GomegaMatcher{ContainSubstring("Nothing is changed in Kafka")}
	for _, word := range words {
		all = append(all, ContainSubstring(word))
	}
	w.Expect(w.logged.took()).To(ContainElement(And(all...)))
}

// gone is an API server on which the operator has lost its rights in a namespace, with the namespace or without it.
type gone struct {
	client.Reader
	namespace string
	// knows means that the operator may read namespaces.
	knows bool
}

func (g *gone) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	if o.Namespace == g.namespace {
		return apierrors.NewForbidden(modelResource, "", fmt.Errorf("cannot list resource in the namespace %q", g.namespace))
	}
	return g.Reader.List(ctx, list, opts...)
}

func (g *gone) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, namespace := o.(*metav1.PartialObjectMetadata); namespace && !g.knows {
		return apierrors.NewForbidden(modelResource, key.Name, errors.New("no"))
	}
	return g.Reader.Get(ctx, key, o, opts...)
}

// rightsLost makes the operator watch a second namespace, in which it may not list any more.
func (w *world) rightsLost(namespace string, knows bool) {
	api := clientOf(w.t, w.config())
	w.r.options.Claims = &blindClaims{newClaims(w.t.Context(), api, &gone{Reader: api, namespace: namespace, knows: knows},
		[]string{w.ns, namespace})}
}

func TestANamespaceThatMayNotBeReadIsReported(t *testing.T) {
	for name, namespace := range map[string]func(w *world) string{
		"of which nothing is known":           func(*world) string { return "not-there" },
		"which is there, and that is a proof": func(w *world) string { return newNamespace(t, w.admin) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ready("a")
			w.ready("b")
			lost := namespace(w)
			w.rightsLost(lost, lost != "not-there")
			w.update("b", config("k", `1`))
			w.delete("a")
			w.withholds("a", "list the KafkaTopics of namespace '"+lost+"' again")
			w.withholds("b", "list the KafkaTopics of namespace '"+lost+"' again")
			w.Expect(w.get("a")).To(haveConditions("Ready=True"), "most errors pass by")

			w.clock.step(reportAfter)
			w.sink.took()
			for range 3 {
				w.pass("a")
				w.pass("b")
			}
			for topic, kt := range map[string]*v1.KafkaTopic{"a": w.get("a"), "b": w.get("b")} {
				says := fmt.Sprintf("Nothing is changed in Kafka for topic '%s': the KafkaTopics of namespace '%s' can't be listed, and one of them "+
					"may claim it as well (the API server answers Forbidden). Give the operator the right to list kafkatopics there; or, if the "+
					"namespace is gone, take it out of STRIMZI_NAMESPACE", topic, lost)
				w.Expect(kt).To(failWith("InternalError", says))
				w.Expect(kt.Status.Conditions).To(ContainElement(HaveField("Type", v1.ConditionStalled)), "only a user can help")
			}
			w.Expect(w.sink.took()).To(ConsistOf(ContainSubstring("for topic 'a': the KafkaTopics of namespace"),
				ContainSubstring("for topic 'b': the KafkaTopics of namespace")), "once each")
			w.Expect(w.kafka.get("a")).NotTo(BeNil())
			w.Expect(w.kafka.config("b")).To(BeEmpty())

			w.r.options.Claims = &listedClaims{w}
			w.pass("a")
			w.pass("b")
			w.Expect(w.exists("a")).To(BeFalse())
			w.Expect(w.get("b")).To(beReady())
		})
	}
}

// The status of an object of another cluster is another operator's.
func TestWhatIsWithheldIsNotReportedOnAnObjectOfAnotherCluster(t *testing.T) {
	d := &dropping{}
	w := newDroppingWorld(t, d)
	w.create("b", named("a"), managed(false))
	w.pass("b")
	w.update("b", func(kt *v1.KafkaTopic) { kt.Spec.Managed = nil })
	w.create("a")
	w.status("a", func(s *v1.KafkaTopicStatus) { s.TopicName, s.ClusterID = "a", otherID })
	d.err = errors.New("no answer")
	for range 3 {
		w.pass("a")
		w.clock.step(reportAfter)
		w.Expect(w.get("a")).To(haveConditions(ofAnother))
	}
}

func TestANamespaceThatCertainlyDoesNotExistHasNoClaimants(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.rightsLost("not-there", true)
	w.delete("a")
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("a")).To(BeNil())
}

// refusing answers the writes of finalizers as admission webhooks do: it rejects them, or changes them back.
type refusing struct {
	client.Client
	strips bool
	err    error
}

func (c *refusing) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if c.strips {
		return nil
	}
	if c.err != nil {
		return c.err
	}
	return c.Client.Patch(ctx, o, patch, opts...)
}

func TestAFinalizerThatCannotBeWrittenIsReported(t *testing.T) {
	forbidden := apierrors.NewForbidden(modelResource, "a", errors.New("a webhook says no"))
	invalid := apierrors.NewInvalid(v1.GroupVersion.WithKind("KafkaTopic").GroupKind(), "a", nil)
	for name, c := range map[string]refusing{
		"the API server answers Forbidden":                 {err: forbidden},
		"the API server answers Invalid":                   {err: invalid},
		"an admission webhook changes the finalizers back": {strips: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ready("gone")
			w.delete("gone")
			w.create("new")
			api := w.r.client
			c.Client = api
			w.r.client = &c
			for range 2 {
				w.pass("new")
				w.pass("gone")
				w.clock.step(reportAfter)
			}
			w.pass("new")
			w.pass("gone")
			const advice = "). Look for admission webhooks and policies for kafkatopics, and for the operator's right to patch them"
			w.Expect(w.get("new")).To(failWith("InternalError",
				"Nothing is changed in Kafka for topic 'new': the finalizer can't be added to the KafkaTopic ("+name+advice))
			w.Expect(w.get("gone")).To(failWith("InternalError",
				"The KafkaTopic is held for topic 'gone': the finalizer can't be removed from it ("+name+advice))
			w.Expect(w.kafka.get("new")).To(BeNil())
			w.Expect(w.kafka.get("gone")).To(BeNil())
			w.Expect(seen(w.get("new"))).To(Equal("Failed"))

			w.r.client = api
			w.pass("new")
			w.pass("gone")
			w.Expect(w.get("new")).To(beReady())
			w.Expect(w.exists("gone")).To(BeFalse())
		})
	}
}

// Without the operator's own id, nothing says that the status is another operator's.
func TestWhatIsWithheldIsReportedWhileTheOwnClusterIsUnknown(t *testing.T) {
	w := newWorld(t)
	w.ready("a")
	w.cluster.ID = ""
	w.rightsLost("not-there", false)
	w.delete("a")
	w.pass("a")
	w.clock.step(reportAfter)
	w.pass("a")
	w.Expect(w.get("a")).To(haveCondition(HavePrefix("Ready=False InternalError: Nothing is changed in Kafka for topic 'a'")))
}
