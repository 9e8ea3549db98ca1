package topicoperator

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/e2e/controlplane"
)

// scene is the environment of one spec: a namespace, and names of topics that no other spec uses.
type scene struct {
	*operator
	namespace string
	prefix    string
}

// scenes are the scenes of the present spec, for messages of failures.
var scenes []*scene

// stage creates a scene for the operator's objects, in a new namespace.
func stage(o *operator) *scene {
	GinkgoHelper()
	return stageIn(o, newNamespace())
}

func stageIn(o *operator, namespace string) *scene {
	GinkgoHelper()
	s := &scene{operator: o, namespace: namespace, prefix: strings.TrimPrefix(namespace, "e2e-")}
	scenes = append(scenes, s)
	DeferCleanup(func() {
		scenes = nil
		s.abandon()
	})
	return s
}

// abandon removes the remaining objects from the operator's selection, so that it ignores them. Their topics stay, which no spec checks.
func (s *scene) abandon() {
	GinkgoHelper()
	if len(s.labels) == 0 {
		return // the operator ends with the spec
	}
	list := s.list()
	each(len(list), func(i int) {
		kt := &list[i]
		patch := client.RawPatch("application/merge-patch+json",
			fmt.Appendf(nil, `{"metadata":{"finalizers":null,"labels":{%q:null}}}`, labelOperator))
		Expect(client.IgnoreNotFound(k8s.Patch(ctx, kt, patch))).To(Succeed())
	})
}

// each calls f for 0..n-1 concurrently.
func each(n int, f func(int)) {
	GinkgoHelper()
	const together = 16
	var wg sync.WaitGroup
	slots := make(chan struct{}, together)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer GinkgoRecover()
			defer func() { <-slots }()
			f(i)
		})
	}
	wg.Wait()
}

// dump returns the first objects of the scene as YAML.
func (s *scene) dump() string {
	const most = 10
	var b strings.Builder
	list := &v1.KafkaTopicList{}
	if err := k8s.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
		return err.Error()
	}
	if len(list.Items) <= most {
		for i := range list.Items {
			list.Items[i].ManagedFields = nil
			text, _ := yaml.Marshal(list.Items[i])
			fmt.Fprintf(&b, "%s---\n", text)
		}
		return b.String()
	}
	written := 0
	for i := range list.Items {
		if list.Items[i].ManagedFields = nil; !isReady(&list.Items[i]) && written < most {
			written++
			text, _ := yaml.Marshal(list.Items[i])
			fmt.Fprintf(&b, "%s---\n", text)
		}
	}
	fmt.Fprintf(&b, "%d objects, of which up to %d that are not ready are above\n", len(list.Items), most)
	return b.String()
}

// slowly is the polling interval for large results.
const slowly = 250 * time.Millisecond

// change changes a KafkaTopic before it is written.
type change func(*v1.KafkaTopic)

func partitions(n int64) change { return func(kt *v1.KafkaTopic) { kt.Spec.Partitions = &n } }
func replicas(n int64) change   { return func(kt *v1.KafkaTopic) { kt.Spec.Replicas = &n } }

// config sets a key; the value is JSON, as a user would write it.
func config(key, json string) change {
	return func(kt *v1.KafkaTopic) {
		if kt.Spec.Config == nil {
			kt.Spec.Config = map[string]v1.ConfigValue{}
		}
		kt.Spec.Config[key] = v1.ConfigValue{Raw: []byte(json)}
	}
}

func withoutConfig(key string) change { return func(kt *v1.KafkaTopic) { delete(kt.Spec.Config, key) } }

func topicName(name string) change { return func(kt *v1.KafkaTopic) { kt.Spec.TopicName = &name } }

func annotation(key, value string) change {
	return func(kt *v1.KafkaTopic) { metav1.SetMetaDataAnnotation(&kt.ObjectMeta, key, value) }
}

func withoutAnnotation(key string) change {
	return func(kt *v1.KafkaTopic) { delete(kt.Annotations, key) }
}

func label(key, value string) change {
	return func(kt *v1.KafkaTopic) { metav1.SetMetaDataLabel(&kt.ObjectMeta, key, value) }
}

func paused() change    { return annotation(v1.AnnotationPauseReconciliation, "true") }
func resumed() change   { return withoutAnnotation(v1.AnnotationPauseReconciliation) }
func unmanaged() change { return annotation(v1.AnnotationManaged, "false") }
func managed() change   { return withoutAnnotation(v1.AnnotationManaged) }

// specManaged sets spec.managed, which has the same effect as the annotation (docs/decisions/unmanaged-and-paused.md).
func specManaged(yes bool) change { return func(kt *v1.KafkaTopic) { kt.Spec.Managed = &yes } }

// emptySpec sets spec: {}.
func emptySpec(kt *v1.KafkaTopic) { kt.Spec = &v1.KafkaTopicSpec{} }

// topic returns an object that the operator selects, for a topic of one partition and one replica, with changes. The object and the topic
// have the same name.
func (s *scene) topic(name string, changes ...change) *v1.KafkaTopic {
	one := int64(1)
	kt := &v1.KafkaTopic{Spec: &v1.KafkaTopicSpec{Partitions: &one, Replicas: &one}}
	kt.Namespace, kt.Name, kt.Labels = s.namespace, name+"-"+s.prefix, maps.Clone(s.labels)
	for _, c := range changes {
		c(kt)
	}
	return kt
}

// create creates the object that topic returns.
func (s *scene) create(name string, changes ...change) *v1.KafkaTopic {
	GinkgoHelper()
	kt := s.topic(name, changes...)
	Expect(k8s.Create(ctx, kt)).To(Succeed())
	return kt
}

// created creates an object and waits until it is ready.
func (s *scene) created(name string, changes ...change) *v1.KafkaTopic {
	GinkgoHelper()
	kt := s.create(name, changes...)
	s.ready(kt)
	return kt
}

// update changes the object, and retries if the operator writes at the same time.
func (s *scene) update(kt *v1.KafkaTopic, changes ...change) {
	GinkgoHelper()
	Eventually(func() error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(kt), kt); err != nil {
			return err
		}
		for _, c := range changes {
			c(kt)
		}
		return k8s.Update(ctx, kt)
	}).Should(Succeed())
}

// delete requests the object's deletion.
func (s *scene) delete(kt *v1.KafkaTopic) {
	GinkgoHelper()
	Expect(k8s.Delete(ctx, kt)).To(Succeed())
}

// deleted deletes the object and waits until it is removed.
func (s *scene) deleted(kt *v1.KafkaTopic) {
	GinkgoHelper()
	s.delete(kt)
	s.gone(kt)
}

// refresh reads the object again.
func refresh(g Gomega, kt *v1.KafkaTopic) {
	GinkgoHelper()
	fresh := &v1.KafkaTopic{}
	g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(kt), fresh)).To(Succeed())
	fresh.DeepCopyInto(kt)
}

// isReady reports whether the object is Ready in its present generation.
func isReady(kt *v1.KafkaTopic) bool {
	if kt.Status.ObservedGeneration != kt.Generation {
		return false
	}
	for _, c := range kt.Status.Conditions {
		if c.Type == v1.ConditionReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// conditions returns the conditions without their times, and without Stalled, which repeats Ready, for example "Ready=False NotSupported:
// Decrease ...".
func conditions(kt *v1.KafkaTopic) []string {
	var all []string
	for _, c := range kt.Status.Conditions {
		if c.Type == v1.ConditionStalled {
			continue
		}
		text := c.Type + "=" + c.Status
		if c.Reason != "" || c.Message != "" {
			text += " " + c.Reason + ": " + c.Message
		}
		all = append(all, text)
	}
	return all
}

// expectConditions waits until the status is that of the present generation, with these conditions, each a text or a matcher.
func (s *scene) expectConditions(kt *v1.KafkaTopic, want ...any) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		refresh(g, kt)
		g.Expect(kt.Status.ObservedGeneration).To(Equal(kt.Generation), "observedGeneration")
		g.Expect(conditions(kt)).To(HaveExactElements(want...))
	}).Should(Succeed())
}

// ready waits until the object is ready without warnings, and its status names the topic in Kafka.
func (s *scene) ready(kt *v1.KafkaTopic) {
	GinkgoHelper()
	s.readyWith(kt)
}

// readyWith waits until the object is ready with these warnings.
func (s *scene) readyWith(kt *v1.KafkaTopic, warnings ...string) {
	GinkgoHelper()
	want := []any{"Ready=True"}
	for _, w := range warnings {
		want = append(want, "Warning=True InvalidConfig: "+w)
	}
	Eventually(func(g Gomega) {
		refresh(g, kt)
		g.Expect(kt.Status.ObservedGeneration).To(Equal(kt.Generation), "observedGeneration")
		g.Expect(conditions(kt)).To(HaveExactElements(want...))
		g.Expect(kt.Status.TopicName).To(Equal(kt.TopicName()))
		g.Expect(kt.Status.TopicID).NotTo(BeEmpty())
		g.Expect(s.kafka.id(kt.TopicName())).To(Equal(kt.Status.TopicID), "the topic's id in Kafka and in the status")
	}).Should(Succeed())
}

// refused waits until the object is not ready for this reason.
func (s *scene) refused(kt *v1.KafkaTopic, reason, message string) {
	GinkgoHelper()
	s.expectConditions(kt, HavePrefix("Ready=False "+reason+": "+message))
}

// gone waits until the object is deleted.
func (s *scene) gone(kt *v1.KafkaTopic) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		err := k8s.Get(ctx, client.ObjectKeyFromObject(kt), &v1.KafkaTopic{})
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the object is still there (%v)", err)
	}).Should(Succeed())
}

// held reports whether the operator's finalizer holds the object.
func held(kt *v1.KafkaTopic) bool {
	return controllerutil.ContainsFinalizer(kt, v1.FinalizerTopicOperator)
}

// list returns all objects of the scene.
func (s *scene) list() []v1.KafkaTopic {
	GinkgoHelper()
	list := &v1.KafkaTopicList{}
	Expect(k8s.List(ctx, list, client.InNamespace(s.namespace))).To(Succeed())
	return list.Items
}

// name returns the name of a numbered topic.
func name(prefix string, i int) string { return fmt.Sprintf("%s%04d", prefix, i) }

// createAll creates n objects as fast as the API server accepts them.
func (s *scene) createAll(n int, changes ...change) {
	GinkgoHelper()
	each(n, func(i int) {
		defer GinkgoRecover()
		Expect(k8s.Create(ctx, s.topic(name("t", i), changes...))).To(Succeed())
	})
}

// allReady waits until n objects exist and all are ready.
func (s *scene) allReady(n int, within time.Duration) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		waiting := 0
		list := s.list()
		for i := range list {
			if !isReady(&list[i]) {
				waiting++
			}
		}
		g.Expect(waiting).To(BeZero(), "objects that are not ready")
		g.Expect(list).To(HaveLen(n))
	}).WithTimeout(within).WithPolling(slowly).Should(Succeed())
}

// inStep checks that Kafka has exactly the topics of the scene's objects, with the ids in their statuses.
func (s *scene) inStep() {
	GinkgoHelper()
	want := map[string]string{}
	for _, kt := range s.list() {
		want[kt.TopicName()] = kt.Status.TopicID
	}
	Eventually(func() map[string]string {
		return s.kafka.list(func(name string) bool { return strings.HasSuffix(name, "-"+s.prefix) })
	}).WithPolling(slowly).Should(Equal(want))
}

// events returns the Events about the object, as "Normal Created: Created topic ...".
func (s *scene) events(kt *v1.KafkaTopic) []string {
	GinkgoHelper()
	list := &eventsv1.EventList{}
	Expect(k8s.List(ctx, list, client.InNamespace(s.namespace))).To(Succeed())
	var all []string
	for _, e := range list.Items {
		if e.Regarding.Name == kt.Name {
			all = append(all, e.Type+" "+e.Reason+": "+e.Note)
		}
	}
	return all
}

// userAgent is the user agent of the operator.
const userAgent = "strimzi-topic-operator"

// mark returns the current position in the log of requests.
func mark() controlplane.Mark {
	GinkgoHelper()
	m, err := plane.Mark()
	Expect(err).NotTo(HaveOccurred())
	return m
}

// asked returns the operator's requests for KafkaTopics of the scene since the mark, except for the watch.
func (s *scene) asked(since controlplane.Mark) []controlplane.Request {
	GinkgoHelper()
	requests, err := plane.Requests(since, func(r controlplane.Request) bool {
		return r.UserAgent == userAgent && r.Resource == "kafkatopics" && r.Verb != "watch" && r.Namespace == s.namespace
	})
	Expect(err).NotTo(HaveOccurred())
	return requests
}
