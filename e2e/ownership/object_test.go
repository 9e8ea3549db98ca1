package ownership

import (
	"fmt"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// newNamespace creates a namespace.
func newNamespace() string {
	GinkgoHelper()
	namespace := &corev1.Namespace{}
	namespace.GenerateName = "owner-"
	Expect(k8s.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

// named returns a name with the suffix of the namespace, which no other spec uses.
func named(name, namespace string) string { return name + suffix(namespace) }

func suffix(namespace string) string { return strings.TrimPrefix(namespace, "owner") }

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

// change changes a KafkaTopic before it is written.
type change func(*v1.KafkaTopic)

// config sets a key; the value is JSON, as a user would write it.
func config(key, json string) change {
	return func(kt *v1.KafkaTopic) {
		if kt.Spec.Config == nil {
			kt.Spec.Config = map[string]v1.ConfigValue{}
		}
		kt.Spec.Config[key] = v1.ConfigValue{Raw: []byte(json)}
	}
}

func replicas(n int64) change      { return func(kt *v1.KafkaTopic) { kt.Spec.Replicas = &n } }
func topicName(name string) change { return func(kt *v1.KafkaTopic) { kt.Spec.TopicName = &name } }
func ownName(kt *v1.KafkaTopic)    { kt.Spec.TopicName = nil }
func finalizer(kt *v1.KafkaTopic)  { kt.Finalizers = []string{v1.FinalizerTopicOperator} }
func paused() change               { return annotation(v1.AnnotationPauseReconciliation, "true") }
func unmanaged() change            { return annotation(v1.AnnotationManaged, "false") }

func managed(kt *v1.KafkaTopic) { delete(kt.Annotations, v1.AnnotationManaged) }

func annotation(key, value string) change {
	return func(kt *v1.KafkaTopic) { metav1.SetMetaDataAnnotation(&kt.ObjectMeta, key, value) }
}

// retention is the configuration key by which specs detect changes of a topic.
const retention = "retention.ms"

// object returns a KafkaTopic of one partition and one replica, with changes. It has the same name as its topic.
func object(namespace, name string, changes ...change) *v1.KafkaTopic {
	one := int64(1)
	kt := &v1.KafkaTopic{Spec: &v1.KafkaTopicSpec{Partitions: &one, Replicas: &one}}
	kt.Namespace, kt.Name = namespace, name
	for _, c := range changes {
		c(kt)
	}
	return kt
}

// create creates an object for a topic with a name that no other spec uses.
func create(namespace, name string, changes ...change) *v1.KafkaTopic {
	GinkgoHelper()
	kt := object(namespace, named(name, namespace), changes...)
	Expect(k8s.Create(ctx, kt)).To(Succeed())
	return kt
}

// created creates an object, waits until it is ready, and writes some records to the topic.
func created(c *cluster, namespace, name string, changes ...change) *v1.KafkaTopic {
	GinkgoHelper()
	kt := create(namespace, name, changes...)
	ready(kt, c)
	c.produce(kt.TopicName())
	return kt
}

// update changes the object, and retries if the operator writes at the same time.
func update(kt *v1.KafkaTopic, changes ...change) {
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

// writeStatus writes a status that no operator would write. No operator may run meanwhile.
func writeStatus(kt *v1.KafkaTopic, status v1.KafkaTopicStatus) {
	GinkgoHelper()
	status.ObservedGeneration = kt.Generation
	kt.Status = status
	Expect(k8s.Status().Update(ctx, kt)).To(Succeed())
}

// remove requests the object's deletion.
func remove(kt *v1.KafkaTopic) {
	GinkgoHelper()
	Expect(k8s.Delete(ctx, kt)).To(Succeed())
}

// refresh reads the object again.
func refresh(g Gomega, kt *v1.KafkaTopic) {
	GinkgoHelper()
	fresh := &v1.KafkaTopic{}
	g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(kt), fresh)).To(Succeed())
	fresh.DeepCopyInto(kt)
}

// conditions returns the conditions without their times, and without Stalled, which repeats Ready, for example "Ready=False
// ResourceConflict: Also managed by ...".
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

// expectCondition waits until the object has only this condition, a text or a matcher.
func expectCondition(kt *v1.KafkaTopic, want any) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		refresh(g, kt)
		g.Expect(conditions(kt)).To(HaveExactElements(want))
	}).Should(Succeed())
}

// ready waits until the object is ready and its status names the cluster's topic.
func ready(kt *v1.KafkaTopic, c *cluster) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		refresh(g, kt)
		g.Expect(conditions(kt)).To(HaveExactElements("Ready=True"))
		g.Expect(kt.Status.ObservedGeneration).To(Equal(kt.Generation), "observedGeneration")
		g.Expect(kt.Status.TopicName).To(Equal(kt.TopicName()))
		g.Expect(kt.Status.TopicID).NotTo(BeEmpty())
		g.Expect(c.id(kt.TopicName())).To(Equal(kt.Status.TopicID), "the topic's id in Kafka and in the status")
		g.Expect(kt.Status.ClusterID).To(Equal(c.ClusterID()), "the cluster's id in Kafka and in the status")
	}).Should(Succeed())
}

// refused waits until the object is not ready for this reason, with exactly this message.
func refused(kt *v1.KafkaTopic, reason, message string) {
	GinkgoHelper()
	expectCondition(kt, "Ready=False "+reason+": "+message)
}

// refusedWith waits until the object is not ready for this reason, with a message that contains these texts.
func refusedWith(kt *v1.KafkaTopic, reason string, texts ...string) {
	GinkgoHelper()
	expectCondition(kt, SatisfyAll(HavePrefix("Ready=False "+reason+": "), containing(texts)))
}

// containing matches a text that contains all of these.
func containing(texts []string) OmegaMatcher {
	all := []OmegaMatcher{Not(BeEmpty())}
	for _, text := range texts {
		all = append(all, ContainSubstring(text))
	}
	return SatisfyAll(all...)
}

// mismatch is the exact message for an object of another cluster.
func mismatch(stored, current string) string {
	return fmt.Sprintf("KafkaTopic is owned by cluster '%s', not this cluster '%s'.", stored, current)
}

// gone waits until the object is deleted.
func gone(kt *v1.KafkaTopic) {
	GinkgoHelper()
	Eventually(isGone).WithArguments(kt).Should(BeTrue(), "the object is still there")
}

func isGone(kt *v1.KafkaTopic) bool {
	return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(kt), &v1.KafkaTopic{}))
}

// held reports whether the operator's finalizer holds the object.
func held(kt *v1.KafkaTopic) bool {
	return controllerutil.ContainsFinalizer(kt, v1.FinalizerTopicOperator)
}

// events returns the Events about the object, as "Normal Created: Created topic ...".
func events(kt *v1.KafkaTopic) []string {
	GinkgoHelper()
	list := &eventsv1.EventList{}
	Expect(k8s.List(ctx, list, client.InNamespace(kt.Namespace))).To(Succeed())
	var all []string
	for _, e := range list.Items {
		if e.Regarding.Name == kt.Name {
			all = append(all, e.Type+" "+e.Reason+": "+e.Note)
		}
	}
	return all
}

// told waits for an Event about the object that contains these texts.
func told(kt *v1.KafkaTopic, kind, reason string, texts ...string) {
	GinkgoHelper()
	Eventually(events).WithArguments(kt).Should(ContainElement(SatisfyAll(HavePrefix(kind+" "+reason+": "), containing(texts))))
}

// dump returns the first objects of a namespace as YAML.
func dump(namespace string) string {
	const most = 10
	list := &v1.KafkaTopicList{}
	if err := k8s.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return err.Error()
	}
	var b strings.Builder
	for i := range list.Items[:min(most, len(list.Items))] {
		list.Items[i].ManagedFields = nil
		text, _ := yaml.Marshal(list.Items[i])
		fmt.Fprintf(&b, "%s---\n", text)
	}
	fmt.Fprintf(&b, "%d objects in all\n", len(list.Items))
	return b.String()
}
