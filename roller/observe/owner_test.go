package observe_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/observe"
)

// The controller of StrimziPodSets creates no pods for a set that is paused or deleted.
func TestASetWhosePodsAreNotMadeAnew(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*core.StrimziPodSet)
		want   string
	}{
		{"followed", func(*core.StrimziPodSet) {}, ""},
		{"paused", func(s *core.StrimziPodSet) {
			s.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"}
		}, "StrimziPodSet my-cluster-kafka is annotated with strimzi.io/pause-reconciliation, so its pods are not recreated"},
		{"not paused", func(s *core.StrimziPodSet) {
			s.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "false"}
		}, ""},
		{"Strimzi's", func(s *core.StrimziPodSet) { s.Labels[core.LabelManagedBy] = core.ManagedByStrimzi },
			"StrimziPodSet my-cluster-kafka is managed by Strimzi's cluster operator, which restarts its pods itself: to have the roller do it, " +
				"pause its Kafka and annotate the set with " +
				"kafka-operators.io/rolled-by=roller"},
		{"deleted", func(s *core.StrimziPodSet) {
			now := metav1.Now()
			s.DeletionTimestamp, s.Finalizers = &now, []string{"example.com/late"}
		}, "StrimziPodSet my-cluster-kafka is being deleted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			scheme := runtime.NewScheme()
			g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
			g.Expect(core.AddToScheme(scheme)).To(Succeed())
			made := &core.StrimziPodSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "my-cluster-kafka", UID: "set",
					Labels: map[string]string{v1.LabelCluster: "my-cluster"}},
				Spec: &core.StrimziPodSetSpec{},
			}
			g.Expect(made.SetDesiredPods([]corev1.Pod{pod(0)})).To(Succeed())
			c.change(made)
			p := pod(0)
			owner, yes := metav1.OwnerReference{Kind: "StrimziPodSet", Name: made.Name, UID: made.UID}, true
			owner.Controller = &yes
			p.Namespace, p.OwnerReferences, p.Labels[v1.LabelCluster] = "ns", []metav1.OwnerReference{owner}, "my-cluster"
			reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects([]client.Object{made, &p}...).Build()
			place := observe.ReadPlace(t.Context(), "", reader, "ns", "my-cluster")
			g.Expect(place.Err).NotTo(HaveOccurred())
			g.Expect(observe.Assemble(seen(place)).Nodes[0].Foreign).To(Equal(c.want))
		})
	}
}

// Two controllers that restart pods of one Kafka cluster do not know of each other's restarts (docs/decisions/who-rolls.md).
func TestWhoIsLeftAlone(t *testing.T) {
	made := func(name string, labels, annotations map[string]string, pods ...corev1.Pod) core.StrimziPodSet {
		set := core.StrimziPodSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: labels, Annotations: annotations}}
		NewWithT(t).Expect(set.SetDesiredPods(pods)).To(Succeed())
		return set
	}
	connect := pod(0)
	connect.Labels = nil
	ours := map[string]string{core.AnnotationRolledBy: core.RolledByRoller}
	strimzi := map[string]string{core.LabelManagedBy: core.ManagedByStrimzi}
	for _, c := range []struct {
		name           string
		sets           []core.StrimziPodSet
		named, unnamed string // the sets that keep the roller from working
	}{
		{"nobody's", nil, "", ""},
		{"annotated", []core.StrimziPodSet{made("a", nil, ours, pod(0)), made("b", nil, ours, pod(1))}, "", ""},
		{"one is not annotated", []core.StrimziPodSet{made("a", nil, ours, pod(0)), made("b", nil, nil, pod(1))}, "", "b"},
		{"annotated with something else", []core.StrimziPodSet{made("a", nil, map[string]string{core.AnnotationRolledBy: "me"},
			pod(0))}, "", "a"},
		{"without nodes", []core.StrimziPodSet{made("a", nil, ours, pod(0)), made("connect", strimzi, nil, connect)}, "", ""},
		{"Strimzi's", []core.StrimziPodSet{made("a", strimzi, nil, pod(0))}, "a", "a"},
		{"Strimzi's, left to the roller", []core.StrimziPodSet{made("a", strimzi, ours, pod(0))}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			for named, want := range map[bool]string{true: c.named, false: c.unnamed} {
				set, why := observe.ExcludedBy(c.sets, named)
				if want == "" {
					g.Expect(set).To(BeNil())
					g.Expect(why).To(BeEmpty())
					continue
				}
				g.Expect(set.Name).To(Equal(want))
				g.Expect(why).To(And(ContainSubstring("StrimziPodSet "+want), ContainSubstring("kafka-operators.io/rolled-by=roller")))
			}
		})
	}
}

// One set that is hibernated is enough: the others follow, and what is missing then is no loss.
func TestAHibernatedKafkaIsLeftAlone(t *testing.T) {
	g := NewWithT(t)
	var sets []core.StrimziPodSet
	for i, asleep := range []string{"false", "true"} {
		set := core.StrimziPodSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: string(rune('a' + i)), Annotations: map[string]string{
			core.AnnotationRolledBy: core.RolledByRoller, core.AnnotationHibernate: asleep}}}
		g.Expect(set.SetDesiredPods([]corev1.Pod{pod(i)})).To(Succeed())
		sets = append(sets, set)
	}
	for _, named := range []bool{true, false} {
		set, why := observe.ExcludedBy(sets, named)
		g.Expect(set).NotTo(BeNil())
		g.Expect(set.Name).To(Equal("b"))
		g.Expect(why).To(ContainSubstring("is hibernated"))
		set, _ = observe.ExcludedBy(sets[:1], named)
		g.Expect(set).To(BeNil())
	}
}

// A remote operator that has stopped, or doesn't understand the sets, recreates no pod.
func TestAPlaceWhoseOperatorRecreatesNoPods(t *testing.T) {
	lease := func(contract string, ago time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: "strimzi-stretch-agent",
				Annotations: map[string]string{"kafka-operators.io/contract": contract}},
			Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: time.Now().Add(-ago)}},
		}
	}
	never := lease("2", 0)
	never.Spec.RenewTime = nil
	elsewhere := lease("2", time.Hour)
	elsewhere.Namespace = "other"
	failing := func(err error) interceptor.Funcs {
		return interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return err
		}}
	}
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	for _, c := range []struct {
		name  string
		place string
		named string // the namespace that the set names
		lease *coordinationv1.Lease
		funcs interceptor.Funcs
		want  types.GomegaMatcher
	}{
		{"runs", "east", "", lease("2", 50*time.Second), interceptor.Funcs{}, BeEmpty()},
		{"stopped", "east", "", lease("2", 2*time.Minute), interceptor.Funcs{}, And(HavePrefix("the cluster-operator in its Kubernetes cluster, "+
			"which would recreate its pod, was last seen at 2"), ContainSubstring("or delete Lease operators/strimzi-stretch-agent"))},
		{"never ran", "east", "", never, interceptor.Funcs{}, ContainSubstring("was last seen at 0001-01-01")},
		{"its clock is ahead", "east", "", lease("2", -50*time.Second), interceptor.Funcs{}, BeEmpty()},
		{"its clock is far ahead", "east", "", lease("2", -time.Hour), interceptor.Funcs{}, ContainSubstring("was last seen at")},
		{"has another contract", "east", "", lease("1", 0), interceptor.Funcs{}, ContainSubstring(`has contract "1", and the roller has "2"`)},
		{"of the home cluster", "", "", lease("1", time.Hour), interceptor.Funcs{}, BeEmpty()},
		{"of the home cluster, and named", "", "other", nil, interceptor.Funcs{}, HaveSuffix(": start it")},
		{"of the home cluster, named, and stopped", "", "other", elsewhere, interceptor.Funcs{}, HaveSuffix(": start it")},
		{"of the home cluster, named, and runs", "", "operators", lease("2", 0), interceptor.Funcs{}, BeEmpty()},
		{"of the home cluster, named, and forbidden", "", "other", nil,
			failing(apierrors.NewForbidden(leases, "strimzi-stretch-agent", errors.New("no"))), ContainSubstring("it is unknown whether")},
		{"somebody else's", "east", "", nil, interceptor.Funcs{}, BeEmpty()},
		{"in another namespace", "east", "", elsewhere, interceptor.Funcs{}, BeEmpty()},
		{"named, and not there", "east", "other", lease("2", 0), interceptor.Funcs{},
			Equal("its Kubernetes cluster has no Lease other/strimzi-stretch-agent of the cluster-operator that would recreate its pod: start it")},
		{"named, and stopped", "east", "other", elsewhere, interceptor.Funcs{}, HaveSuffix(": start it")},
		{"named, and runs", "east", "operators", lease("2", 0), interceptor.Funcs{}, BeEmpty()},
		{"unreadable", "east", "", nil, failing(errors.New("timeout")),
			And(ContainSubstring("it is unknown whether"), ContainSubstring("timeout"))},
		{"forbidden", "east", "", nil, failing(apierrors.NewForbidden(leases, "strimzi-stretch-agent", errors.New("no"))),
			ContainSubstring("apply the current config/roller/remote, or your overlay of the current config/cluster-operator")},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReading(t, 0)
			r.Expect(coordinationv1.AddToScheme(r.k8s.Scheme())).To(Succeed())
			if c.lease != nil {
				r.Expect(r.k8s.Create(t.Context(), c.lease.DeepCopy())).To(Succeed())
			}
			set := r.adopt(0)
			set.Annotations[core.AnnotationAgentNamespace] = c.named
			r.Expect(r.k8s.Update(t.Context(), set)).To(Succeed())
			reader := interceptor.NewClient(r.k8s.(client.WithWatch), c.funcs)
			r.observer.Sources = func() []observe.Source { return []observe.Source{{ID: c.place, Reader: reader}} }
			r.observer.Operators = "operators"
			s := r.observer.Verify(t.Context(), roller.Asked{})
			r.Expect(s.Node(0).Foreign).To(c.want)
		})
	}
}

// The clock of another Kubernetes cluster may be any time off: only a renewal that was not there before proves that an operator runs.
func TestAnOperatorWithAnotherClock(t *testing.T) {
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		r := newReading(t, 0)
		r.Expect(coordinationv1.AddToScheme(r.k8s.Scheme())).To(Succeed())
		r.adopt(0)
		at := time.Now().Add(off)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: "strimzi-stretch-agent",
			Annotations: map[string]string{"kafka-operators.io/contract": "2"}}}
		lease.Spec.RenewTime = &metav1.MicroTime{Time: at}
		r.Expect(r.k8s.Create(t.Context(), lease)).To(Succeed())
		r.observer.Sources = func() []observe.Source { return []observe.Source{{ID: "east", Reader: r.k8s}} }
		r.observer.Operators = "operators"
		foreign := func() string {
			s := r.observer.Verify(t.Context(), roller.Asked{})
			return s.Node(0).Foreign
		}
		r.Expect(foreign()).To(ContainSubstring("was last seen at"))
		r.Expect(foreign()).NotTo(BeEmpty())
		lease.Spec.RenewTime = &metav1.MicroTime{Time: at.Add(10 * time.Second)}
		r.Expect(r.k8s.Update(t.Context(), lease)).To(Succeed())
		r.Expect(foreign()).To(BeEmpty())
		r.Expect(foreign()).To(BeEmpty())
	}
}

// A cached set does not prove that the roller may roll it: each observation reads the set's annotation again.
func TestASetThatIsNotLeftToTheRoller(t *testing.T) {
	r := newReading(t, 0)
	set := r.adopt(0)
	set.Annotations = nil
	r.Expect(r.k8s.Update(t.Context(), set)).To(Succeed())
	foreign := func() string {
		s := r.observer.Verify(t.Context(), roller.Asked{})
		return s.Node(0).Foreign
	}
	r.Expect(foreign()).To(BeEmpty(), "the cluster was named")
	r.observer.Unnamed = true
	r.Expect(foreign()).To(ContainSubstring("is not annotated with kafka-operators.io/rolled-by=roller"))
	set.Annotations = map[string]string{core.AnnotationRolledBy: core.RolledByRoller}
	r.Expect(r.k8s.Update(t.Context(), set)).To(Succeed())
	r.Expect(foreign()).To(BeEmpty())
}

// A roller that has never read a Kubernetes cluster does not know whether the sets there are left to it.
func TestAKubernetesClusterThatWasNeverRead(t *testing.T) {
	r := newReading(t, 0)
	r.adopt(0)
	east := &gone{Reader: fake.NewClientBuilder().WithScheme(r.k8s.Scheme()).Build(), is: true}
	r.observer.Sources = func() []observe.Source { return []observe.Source{{Reader: r.k8s}, {ID: "east", Reader: east}} }
	foreign := func() string {
		s := r.observer.Observe(t.Context())
		return s.Node(0).Foreign
	}
	r.Expect(foreign()).To(BeEmpty(), "the cluster was named")
	r.observer.Unnamed = true
	r.Expect(foreign()).To(Equal("whether the StrimziPodSets in cluster east are annotated with kafka-operators.io/rolled-by=roller is " +
		"unknown: the roller has not been able to read them since it started"))
	set := &core.StrimziPodSet{}
	r.Expect(r.k8s.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "my-cluster-kafka"}, set)).To(Succeed())
	set.Labels[core.LabelManagedBy] = core.ManagedByClusterOperator
	r.Expect(r.k8s.Update(t.Context(), set)).To(Succeed())
	r.Expect(foreign()).To(BeEmpty(), "the cluster operator leaves all its sets to the roller")
	delete(set.Labels, core.LabelManagedBy)
	r.Expect(r.k8s.Update(t.Context(), set)).To(Succeed())
	east.is = false
	r.Expect(foreign()).To(BeEmpty())
	east.is = true
	r.Expect(foreign()).To(BeEmpty(), "it was read before")
}

// gone is the API server of a Kubernetes cluster that can be lost.
type gone struct {
	client.Reader
	is bool
}

func (l *gone) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if l.is {
		return errors.New("it is not connected")
	}
	return l.Reader.List(ctx, list, options...)
}

// adopt creates a StrimziPodSet that is left to the roller and owns the pod of a node.
func (r *reading) adopt(id int) *core.StrimziPodSet {
	set := &core.StrimziPodSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "my-cluster-kafka", UID: "set",
		Labels: map[string]string{v1.LabelCluster: "my-cluster"}}}
	set.Annotations = map[string]string{core.AnnotationRolledBy: core.RolledByRoller}
	r.Expect(set.SetDesiredPods([]corev1.Pod{pod(id)})).To(Succeed())
	r.Expect(r.k8s.Create(r.t.Context(), set)).To(Succeed())
	yes := true
	live := &corev1.Pod{}
	r.Expect(r.k8s.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: pod(id).Name}, live)).To(Succeed())
	live.OwnerReferences = []metav1.OwnerReference{{Kind: "StrimziPodSet", Name: set.Name, UID: set.UID, Controller: &yes}}
	r.Expect(r.k8s.Update(r.t.Context(), live)).To(Succeed())
	return set
}
