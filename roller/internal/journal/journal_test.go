package journal_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	core "github.com/kafka-operators/kafka-operators/api/core/v1"
	"github.com/kafka-operators/kafka-operators/roller"
	"github.com/kafka-operators/kafka-operators/roller/internal/journal"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// desk is an API server that counts writes.
type desk struct {
	client.Client
	writes int
	get    error // the error of the next reads
}

func newDesk(objects ...client.Object) *desk {
	d := &desk{}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, core.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	d.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if d.get != nil {
				return d.get
			}
			return c.Get(ctx, key, o, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			d.writes++
			return c.Create(ctx, o, options...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			d.writes++
			return c.Update(ctx, o, options...)
		},
	}).Build()
	return d
}

func (d *desk) journal() *journal.Journal { return journal.New(d, d, "kafka", "my-cluster") }

func (d *desk) stored(t *testing.T) *corev1.ConfigMap {
	stored := &corev1.ConfigMap{}
	NewWithT(t).Expect(d.Get(t.Context(), client.ObjectKey{Namespace: "kafka", Name: "my-cluster-roller"}, stored)).To(Succeed())
	return stored
}

func configMap(labels map[string]string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kafka", Name: "my-cluster-roller", Labels: labels}, Data: data}
}

var ours = map[string]string{"app.kubernetes.io/managed-by": "kafka-operators-roller"}

func progress() roller.Progress {
	return roller.Progress{Restarts: map[roller.NodeID]roller.Restart{3: {Instance: "first", At: noon,
		Reasons: []roller.Reason{{Kind: roller.PodHasOldRevision, Mark: "2"}}}}}
}

func TestARollerGoesOnWhereTheLastOneEnded(t *testing.T) {
	g := NewWithT(t)
	d := newDesk()
	first := d.journal()
	p, paused, err := first.Load(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p).To(Equal(roller.Progress{}), "no journal is a beginning")
	g.Expect(paused).To(BeEmpty())
	g.Expect(first.Status()).To(BeEmpty())
	g.Expect(first.Save(t.Context(), progress(), map[string]string{"phase": "Rolling"})).To(Succeed())
	g.Expect(d.stored(t).Labels).To(Equal(map[string]string{"app.kubernetes.io/managed-by": "kafka-operators-roller",
		"strimzi.io/cluster": "my-cluster"}))

	second := d.journal()
	p, _, err = second.Load(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p).To(Equal(progress()))
	g.Expect(second.Status()).To(Equal(`{"phase":"Rolling"}`))
}

func TestNothingIsWrittenIfNothingChanged(t *testing.T) {
	g := NewWithT(t)
	d := newDesk()
	j := d.journal()
	for range 3 {
		p, _, err := j.Load(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		if len(p.Restarts) == 0 {
			p = progress()
		}
		g.Expect(j.Save(t.Context(), p, "status")).To(Succeed())
		g.Expect(j.Save(t.Context(), p, "status")).To(Succeed())
	}
	g.Expect(d.writes).To(Equal(1))
	g.Expect(j.Save(t.Context(), progress(), "another status")).To(Succeed())
	g.Expect(d.writes).To(Equal(2))
}

// If two rollers both believe that they lead, the second write fails, because its roller read the journal before the first write.
func TestWhoReadBeforeAnotherWroteCannotWrite(t *testing.T) {
	g := NewWithT(t)
	d := newDesk()
	here, there := d.journal(), d.journal()
	for _, j := range []*journal.Journal{here, there} {
		_, _, err := j.Load(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(there.Save(t.Context(), roller.Progress{}, "there")).To(Succeed())
	g.Expect(apierrors.IsAlreadyExists(errors.Unwrap(here.Save(t.Context(), progress(), "here")))).To(BeTrue(), "both began")

	_, _, err := here.Load(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(there.Save(t.Context(), roller.Progress{}, "there, later")).To(Succeed())
	err = here.Save(t.Context(), progress(), "here")
	g.Expect(err).To(MatchError(ContainSubstring("write the journal")))
	g.Expect(apierrors.IsConflict(errors.Unwrap(err))).To(BeTrue())
	g.Expect(d.stored(t).Data["status"]).To(Equal(`"there, later"`))
}

func TestAJournalThatWasDeletedInBetweenIsNotWritten(t *testing.T) {
	g := NewWithT(t)
	d := newDesk()
	j := d.journal()
	g.Expect(j.Save(t.Context(), progress(), "status")).To(Succeed())
	g.Expect(d.Delete(t.Context(), d.stored(t))).To(Succeed())
	g.Expect(apierrors.IsNotFound(errors.Unwrap(j.Save(t.Context(), roller.Progress{}, "status")))).To(BeTrue())
	_, _, err := j.Load(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(j.Status()).To(BeEmpty())
	g.Expect(j.Save(t.Context(), progress(), "status")).To(Succeed(), "it begins anew")
}

func TestAConfigMapOfSomebodyElseIsLeftAlone(t *testing.T) {
	g := NewWithT(t)
	d := newDesk(configMap(map[string]string{"app.kubernetes.io/managed-by": "helm"}, map[string]string{"progress": "{}"}))
	j := d.journal()
	_, _, err := j.Load(t.Context())
	g.Expect(err).To(MatchError(journal.ErrNotOurs))
	g.Expect(err).To(MatchError(ContainSubstring("ConfigMap kafka/my-cluster-roller")))
	g.Expect(j.Save(t.Context(), progress(), "status")).NotTo(Succeed())
	g.Expect(d.stored(t).Data).To(Equal(map[string]string{"progress": "{}"}))
}

func TestAJournalThatCannotBeReadIsNoBeginning(t *testing.T) {
	g := NewWithT(t)
	d := newDesk(configMap(ours, map[string]string{"progress": "{"}))
	_, _, err := d.journal().Load(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("decode the journal in ConfigMap kafka/my-cluster-roller (to start over, delete it " +
		"while no node is being restarted)")))
	d.get = errors.New("the API server is away")
	_, _, err = d.journal().Load(t.Context())
	g.Expect(err).To(MatchError("read the journal: the API server is away"))
}

func TestWhoPausedTheRoller(t *testing.T) {
	g := NewWithT(t)
	paused := configMap(ours, nil)
	paused.Annotations = map[string]string{"strimzi.io/pause-reconciliation": "true", "other": "kept"}
	d := newDesk(paused)
	j := d.journal()
	_, why, err := j.Load(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(why).To(Equal("ConfigMap kafka/my-cluster-roller is annotated with strimzi.io/pause-reconciliation"))
	g.Expect(j.Save(t.Context(), progress(), "status")).To(Succeed())
	stored := d.stored(t)
	g.Expect(stored.Annotations).To(HaveKeyWithValue("strimzi.io/pause-reconciliation", "true"), "what people write there stays")
	stored.Annotations["strimzi.io/pause-reconciliation"] = "false"
	g.Expect(d.Update(t.Context(), stored)).To(Succeed())
	_, why, err = j.Load(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(why).To(BeEmpty())
}

func TestTheJournalIsDeletedWithItsKafka(t *testing.T) {
	g := NewWithT(t)
	set := func(name string, owners ...metav1.OwnerReference) *core.StrimziPodSet {
		return &core.StrimziPodSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: "kafka", Name: name, Labels: map[string]string{"strimzi.io/cluster": "my-cluster"}, OwnerReferences: owners,
		}}
	}
	kafka := metav1.OwnerReference{APIVersion: "kafka.strimzi.io/v1", Kind: "Kafka", Name: "my-cluster", UID: "1", Controller: new(true),
		BlockOwnerDeletion: new(true)}
	pool := metav1.OwnerReference{APIVersion: "kafka.strimzi.io/v1", Kind: "KafkaNodePool", Name: "b", UID: "2"}
	other := set("other", metav1.OwnerReference{Kind: "Kafka", Name: "my-cluster", UID: "3"})
	other.Namespace = "elsewhere"
	d := newDesk(set("my-cluster-a", kafka), set("my-cluster-b", kafka, pool), set("my-cluster-c"), other)
	g.Expect(d.journal().Save(t.Context(), roller.Progress{}, nil)).To(Succeed())
	g.Expect(d.stored(t).OwnerReferences).To(Equal([]metav1.OwnerReference{{APIVersion: "kafka.strimzi.io/v1", Kind: "Kafka",
		Name: "my-cluster", UID: "1"}}))

	alone := newDesk(set("my-cluster-c"))
	g.Expect(alone.journal().Save(t.Context(), roller.Progress{}, nil)).To(Succeed())
	g.Expect(alone.stored(t).OwnerReferences).To(BeEmpty())
}

func TestNoJournalIsLeftOfADeletedKafka(t *testing.T) {
	g := NewWithT(t)
	set := &core.StrimziPodSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kafka", Name: "my-cluster-a", Labels: map[string]string{"strimzi.io/cluster": "my-cluster"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "kafka.strimzi.io/v1", Kind: "Kafka", Name: "my-cluster", UID: "1"}},
	}}
	d := newDesk(set)
	j := d.journal()
	look := func(p roller.Progress) {
		t.Helper()
		_, _, err := j.Load(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(j.Save(t.Context(), p, nil)).To(Succeed())
	}
	look(roller.Progress{})
	look(progress())
	g.Expect(d.Delete(t.Context(), d.stored(t))).To(Succeed())
	g.Expect(d.Delete(t.Context(), set)).To(Succeed())
	writes := d.writes
	look(roller.Progress{Failing: map[roller.NodeID]time.Time{3: noon}})
	g.Expect(d.writes).To(Equal(writes), "the garbage collector would not delete it")

	look(progress())
	g.Expect(d.stored(t).Data).NotTo(BeEmpty(), "no restart begins without a record")
}
