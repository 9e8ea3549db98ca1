package roller

import (
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
)

// deploymentSpecs are about the Deployment's program, in two replicas of which one is the leader.
func deploymentSpecs(s *scene) {
	var first, second *background
	BeforeAll(func() {
		first = s.run("--leader-election")
		Eventually(s.holder).ShouldNot(BeEmpty())
		second = s.run("--leader-election")
	})

	It("is healthy and ready, and does nothing where nothing is to be done", func() {
		uids := s.uids()
		for _, replica := range []*background{first, second} {
			for _, path := range []string{"/healthy", "/ready"} {
				Eventually(func() error { _, err := replica.get(path); return err }).Should(Succeed(), path)
			}
		}
		Eventually(first.metrics).Should(And(s.tell(`phase{%s,phase="Done"}`, 1), s.tell(`nodes{%s,need="Nothing"}`, 3),
			s.tell(`nodes_under_way{%s}`, 0)))
		idle := s.journalVersion()
		Consistently(func() []int32 { return s.remade(uids) }, 4*time.Second, "200ms").Should(BeEmpty())
		Expect(s.journalVersion()).To(Equal(idle), "it wrote nothing either")
		Expect(first.metrics()).To(And(s.tell(`restarts_total{%s,result="done"}`, 0), s.tell(`looks_total{%s,result="failed"}`, 0)))
		Expect(second.metrics()).To(And(ContainSubstring("strimzi_roller_clusters 0\n"), Not(ContainSubstring("strimzi_roller_looks_total"))),
			"only one of them works")
	})

	It("goes on where a replica that is killed has stopped, and tells of it in Events and metrics", func() {
		before, order := s.restarts(), s.inOrder()
		s.outdate()
		Eventually(s.restarts).WithTimeout(2 * patience).Should(BeNumerically(">", before))
		// The replica that did the work announces it.
		Eventually(func() []eventsv1.Event { return s.events(order[0], "PodHasOldRevision") }).Should(HaveLen(1))
		Expect(first.metrics()).To(And(s.tell(`phase{%s,phase="Rolling"}`, 1), s.tell(`restarts_total{%s,result="done"}`, 1)))
		first.Kill()

		Eventually(second.metrics).WithTimeout(4 * patience).Should(And(
			s.tell(`phase{%s,phase="Done"}`, 1), s.tell(`phase{%s,phase="Rolling"}`, 0), s.tell(`restarts_total{%s,result="done"}`, 2),
			s.tell(`forced_restarts_total{%s}`, 0), s.tell(`nodes{%s,need="Restart"}`, 0), s.tell(`looks_total{%s,result="failed"}`, 0)))
		Expect(s.restartedSince(before)).To(Equal(order), "each once, two of them by the second replica")
		for _, id := range order {
			Eventually(func() []eventsv1.Event { return s.events(id, "PodHasOldRevision") }).Should(ConsistOf(And(
				HaveField("Type", corev1.EventTypeNormal), HaveField("Action", "StrimziInitiatedPodRestart"),
				HaveField("Note", "Rolling Pod "+s.pod(id)+" due to PodHasOldRevision"))))
		}
		s.settled()
	})

	It("tells in an Event and in the metrics what is blocked, and goes on at once when it is not any more", func() {
		const node = 0
		before := s.restarts()
		annotate[corev1.Pod](s, s.pod(node), core.AnnotationHold, "ann replaces a disk")
		annotate[corev1.Pod](s, s.pod(node), core.AnnotationManualRollingUpdate, "true")
		Eventually(second.metrics).Should(And(s.tell(`phase{%s,phase="Blocked"}`, 1), s.tell(`blocked_nodes{%s,rule="Hold"}`, 1)))
		Eventually(func() []eventsv1.Event { return s.events(node, "Blocked") }).Should(ContainElement(And(
			HaveField("Type", corev1.EventTypeWarning),
			HaveField("Note", "Restart waits (Hold): it is annotated with kafka-operators.io/hold: ann replaces a disk"))))
		Expect(s.ask(blocked, "roll")).To(ContainSubstring("another roller is already restarting this Kafka cluster: "+s.holder()+
			" holds Lease "+s.namespace+"/my-cluster-roller-leader"), "the command keeps away")
		Expect(s.restartedSince(before)).To(BeEmpty())
		annotate[corev1.Pod](s, s.pod(node), core.AnnotationHold, "")
		Eventually(func() []int32 { return s.restartedSince(before) }).Should(Equal([]int32{node}))
		Eventually(second.metrics).WithTimeout(2 * patience).Should(And(s.tell(`phase{%s,phase="Done"}`, 1),
			s.tell(`blocked_nodes{%s,rule="Hold"}`, 0)))
		Eventually(func() []eventsv1.Event { return s.events(node, "ManualRollingUpdate") }).ShouldNot(BeEmpty())

		Expect(second.Terminate(30 * time.Second)).To(Succeed())
		Expect(second.ExitCode()).To(Equal(done), second.printed())
		Expect(s.holder()).To(BeEmpty(), "it gave the lease back")
	})
}

// metrics returns the metrics of the program; an error is returned as the text.
func (b *background) metrics() string {
	text, err := b.get("/metrics")
	if err != nil {
		return err.Error()
	}
	return text
}

// tell matches metrics in which a series of the roller has a value. %s stands for the labels that all series have.
func (s *scene) tell(series string, value float64) types.GomegaMatcher {
	own := fmt.Sprintf("cluster=%q,namespace=%q", cluster, s.namespace)
	return ContainSubstring("strimzi_roller_" + fmt.Sprintf(series, own) + fmt.Sprintf(" %g\n", value))
}

// holder returns the holder of the lease; empty if there is none.
func (s *scene) holder() string {
	var lease coordinationv1.Lease
	err := k8s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: cluster + "-roller-leader"}, &lease)
	if apierrors.IsNotFound(err) || err == nil && lease.Spec.HolderIdentity == nil {
		return ""
	}
	Expect(err).NotTo(HaveOccurred())
	return *lease.Spec.HolderIdentity
}

// journalVersion returns the resourceVersion of the journal.
func (s *scene) journalVersion() string {
	GinkgoHelper()
	var config corev1.ConfigMap
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: journal}, &config)).To(Succeed())
	return config.ResourceVersion
}

// events returns the Events of a node's pod with this reason.
func (s *scene) events(id int32, reason string) []eventsv1.Event {
	GinkgoHelper()
	var events eventsv1.EventList
	Expect(k8s.List(ctx, &events, client.InNamespace(s.namespace))).To(Succeed())
	return slices.DeleteFunc(events.Items, func(e eventsv1.Event) bool { return e.Reason != reason || e.Regarding.Name != s.pod(id) })
}
