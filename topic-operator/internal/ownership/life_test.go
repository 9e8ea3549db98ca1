package ownership_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/ownership"
	"github.com/kafka-operators/kafka-operators/topic-operator/internal/topic"
)

// life is a KafkaTopic over several passes: each pass decides by the status that the previous one wrote.
type life struct {
	*WithT
	t     *testing.T
	kt    *v1.KafkaTopic
	own   ownership.Cluster
	kafka world
}

func newLife(t *testing.T) *life {
	kt := &v1.KafkaTopic{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "orders", Generation: 1,
		Finalizers: []string{v1.FinalizerTopicOperator}}, Spec: &v1.KafkaTopicSpec{}}
	return &life{WithT: NewWithT(t), t: t, kt: kt, own: ownership.Cluster{ID: clusterA}, kafka: has(idX)}
}

// pass decides, writes the status as the controller does, and returns the decision with shortened ids.
func (l *life) pass() string {
	l.t.Helper()
	d := drive(l.t, ownership.Facts{Object: ownership.ObjectOf(l.kt, true), Own: l.own}, l.kafka)
	o := topic.Outcome{State: topic.Ready}
	switch d.Action {
	case ownership.Align:
		o.Claimed = &topic.Claim{Name: d.Topic, ID: d.ID, ClusterID: l.own.ID}
	case ownership.MarkPaused:
		o.State = topic.Paused
	case ownership.MarkUnmanaged:
		o.State = topic.Unmanaged
	case ownership.Refuse:
		o.State, o.Failure, o.ConditionsOnly = topic.Failed, d.Refusal, d.Refusal.Reason == v1.ReasonClusterMismatch
	default:
		return xyz(d.String())
	}
	l.kt.Status = topic.StatusAfter(l.kt, o, born)
	return xyz(d.String())
}

// xyz shortens ids.
func xyz(s string) string {
	return strings.NewReplacer(idX.String(), "X", idY.String(), "Y", idZ.String(), "Z", clusterA, "A", clusterB, "B").Replace(s)
}

func (l *life) delete() { l.kt.DeletionTimestamp = &metav1.Time{Time: born} }

func (l *life) annotate(name, value string) { l.kt.Annotations = map[string]string{name: value} }

// identity returns the identity of the topic in the status.
func (l *life) identity() string {
	s := l.kt.Status
	return xyz(s.TopicName + "," + s.TopicID + "," + s.ClusterID)
}

// The status that a blocked deletion writes never leads a later pass to a weaker check.
func TestABlockedDeletionStaysBlocked(t *testing.T) {
	l := newLife(t)
	l.Expect(l.pass()).To(Equal("align orders X claim=true"))
	l.Expect(l.identity()).To(Equal("orders,X,A"))
	l.kafka = has(idY)
	l.delete()
	for range 3 {
		l.Expect(l.pass()).To(Equal("refuse orders (TopicIdMismatch)"))
		l.Expect(l.identity()).To(Equal("orders,X,A"))
	}
	l.kafka, l.own.ID = has(idX), clusterB
	for range 3 {
		l.Expect(l.pass()).To(Equal("refuse orders (ClusterMismatch)"))
		l.Expect(l.identity()).To(Equal("orders,X,A"))
	}
	l.own.ID = clusterA
	l.Expect(l.pass()).To(Equal("delete orders X claim=false"))
}

// A topic that another client recreated belongs to the object only after a pass has observed it.
func TestATopicThatWasMadeAgainIsDeletedOnlyAfterAPassHasSeenIt(t *testing.T) {
	l := newLife(t)
	l.pass()
	l.kafka = has(idY)
	l.Expect(l.pass()).To(Equal("align orders Y claim=false"))
	l.delete()
	l.Expect(l.pass()).To(Equal("delete orders Y claim=false"))
}

// A paused object keeps its clusterId and loses its topicId.
func TestAPausedTopicIsDeletedByItsClusterAlone(t *testing.T) {
	l := newLife(t)
	l.pass()
	l.annotate(v1.AnnotationPauseReconciliation, "true")
	l.Expect(l.pass()).To(Equal("mark-paused orders"))
	l.Expect(l.identity()).To(Equal("orders,,A"))
	l.delete()
	l.own.ID = clusterB
	l.Expect(l.pass()).To(Equal("refuse orders (ClusterMismatch)"))
	l.Expect(l.identity()).To(Equal("orders,,A"))
	l.own.ID = clusterA
	l.Expect(l.pass()).To(Equal("delete orders X claim=true"))
}

func TestATopicThatWasPausedFromTheStartIsNotDeleted(t *testing.T) {
	l := newLife(t)
	l.annotate(v1.AnnotationPauseReconciliation, "true")
	l.pass()
	l.Expect(l.identity()).To(Equal(",,"))
	l.delete()
	l.Expect(l.pass()).To(Equal("refuse orders (NotReadyForDeletion)"))
}

// If the cluster id could not be read, the first pass that knows it claims the object, and the protection begins.
func TestProtectionComesWithTheFirstPassThatKnowsTheCluster(t *testing.T) {
	l := newLife(t)
	l.own.ID = ""
	l.Expect(l.pass()).To(Equal("align orders X claim=false"))
	l.Expect(l.identity()).To(Equal("orders,X,"))
	l.own.ID = clusterA
	l.Expect(l.pass()).To(Equal("align orders X claim=true"))
	l.own.ID = ""
	l.Expect(l.pass()).To(Equal("align orders X claim=false"))
	l.Expect(l.identity()).To(Equal("orders,X,A"), "not to know is no reason to forget")
	l.own.ID = clusterB
	l.Expect(l.pass()).To(Equal("refuse orders (ClusterMismatch)"))
	l.Expect(l.identity()).To(Equal("orders,X,A"))
}

// docs/decisions/unmanaged-and-paused.md.
func TestUnmanagingMovesAnObjectToAnotherCluster(t *testing.T) {
	l := newLife(t)
	l.pass()
	l.own.ID, l.kafka = clusterB, has(idY)
	l.Expect(l.pass()).To(Equal("refuse orders (ClusterMismatch)"))
	l.annotate(v1.AnnotationManaged, "false")
	l.Expect(l.pass()).To(Equal("mark-unmanaged orders"))
	l.Expect(l.identity()).To(Equal(",,"))
	l.annotate(v1.AnnotationManaged, "true")
	l.Expect(l.pass()).To(Equal("align orders Y claim=true"))
	l.Expect(l.identity()).To(Equal("orders,Y,B"))
}

// Each blocked deletion ends when the object is marked unmanaged, and the topic stays.
func TestUnmanagingEndsEveryBlockedDeletion(t *testing.T) {
	answeredByB := func(f *ownership.Facts) { f.Own.Answering = clusterB }
	for name, c := range map[string]struct {
		f ownership.Facts
		w world
	}{
		v1.ReasonClusterMismatch:                       {facts(status(idX.String(), clusterB), deleting), has(idX)},
		v1.ReasonClusterMismatch + ", another answers": {facts(status(idX.String(), clusterA), deleting, answeredByB), has(idX)},
		v1.ReasonTopicIDMismatch:                       {facts(status(idY.String(), clusterA), deleting), has(idX)},
		v1.ReasonTopicIDMismatch + ", unclaimed":       {facts(status(idY.String(), ""), deleting), has(idX)},
		v1.ReasonNotReadyForDeletion:                   {facts(deleting), has(idX)},
		v1.ReasonNotReadyForDeletion + ", no topic":    {facts(status(idX.String(), ""), deleting), nothing()},
		v1.ReasonClusterIDUnknown:                      {facts(status(idX.String(), clusterA), deleting, unknownOwn, blockUnknown), has(idX)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			blocked := drive(t, c.f, c.w)
			g.Expect(blocked.Action).To(Equal(ownership.Refuse))
			g.Expect(name).To(HavePrefix(blocked.Refusal.Reason))
			unmanaged(&c.f)
			g.Expect(drive(t, c.f, c.w).String()).To(Equal("release orders (Released)"))
		})
	}
}

// The claim decides between two operators that see the same new object, because only one claim can be stored. Neither operator may claim
// the object in a deletion.
func TestTwoOperatorsOfTwoClustersSeeTheSameNewObject(t *testing.T) {
	g := NewWithT(t)
	for own, id := range map[string]kafka.TopicID{clusterA: idX, clusterB: idY} {
		its := func(f *ownership.Facts) { f.Own.ID = own }
		g.Expect(xyz(drive(t, facts(its), has(id)).String())).To(HaveSuffix("claim=true"))
		g.Expect(drive(t, facts(its, deleting), has(id)).String()).To(Equal("refuse orders (NotReadyForDeletion)"))
		g.Expect(drive(t, facts(its, deleting), nothing()).String()).To(Equal("refuse orders (NotReadyForDeletion)"))
	}
}

// docs/decisions/claims.md: with oldestWins exactly one of the claimants wins, whatever their ages, and all agree on it; by default none
// wins.
func TestOfThreeClaimantsExactlyTheOldestWins(t *testing.T) {
	g := NewWithT(t)
	keys := [...][2]string{{"a", "y"}, {"a", "z"}, {"b", "x"}} // the order that breaks ties
	for ages := range 27 {
		age, winner := [...]int{ages % 3, ages / 3 % 3, ages / 9}, 0
		for i := range age {
			if age[i] > age[winner] {
				winner = i
			}
		}
		of := func(i int) time.Time { return born.Add(-time.Duration(age[i]) * time.Hour) }
		for i := range keys {
			f := facts()
			f.Object.Key, f.Object.Created = key(keys[i][0], keys[i][1]), of(i)
			for j := range keys { // includes the claimant itself
				f.Others = append(f.Others, ownership.Claimant{Key: key(keys[j][0], keys[j][1]), Created: of(j)})
			}
			g.Expect(drive(t, f, has(idX)).String()).To(Equal("refuse orders (ResourceConflict)"), "%v among ages %v of %v", keys[i], age, keys)
			want := "refuse orders (ResourceConflict)"
			if i == winner {
				want = claimsX
			}
			oldestWins(&f)
			g.Expect(drive(t, f, has(idX)).String()).To(Equal(want), "%v among ages %v of %v", keys[i], age, keys)
		}
	}
}

func TestWhatAKafkaTopicSaysIsReadAsItIs(t *testing.T) {
	g := NewWithT(t)
	no, asks := false, "orders"
	kt := &v1.KafkaTopic{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "mine", CreationTimestamp: metav1.Time{Time: born},
			Finalizers: []string{"somebody/else"}},
		Spec: &v1.KafkaTopicSpec{TopicName: &asks}, Status: v1.KafkaTopicStatus{TopicName: "was", TopicID: "id", ClusterID: "cluster"},
	}
	want := ownership.Object{Key: key("ns", "mine"), Created: born, Selected: true, Managed: true, Asks: "orders", Name: "was", TopicID: "id",
		ClusterID: "cluster"}
	g.Expect(ownership.ObjectOf(kt, true)).To(Equal(want))
	g.Expect(ownership.ObjectOf(kt, false).Selected).To(BeFalse())
	g.Expect(ownership.ClaimedName(kt)).To(Equal("was"))
	g.Expect(ownership.ClaimantOf(kt, true)).To(Equal(ownership.Claimant{Key: key("ns", "mine"), Created: born, TopicID: "id",
		ClusterID: "cluster", Violates: true}))

	kt.Finalizers = append(kt.Finalizers, v1.FinalizerTopicOperator)
	kt.DeletionTimestamp = &metav1.Time{Time: born}
	kt.Spec.Managed = &no
	kt.Annotations = map[string]string{v1.AnnotationPauseReconciliation: "true"}
	kt.Status.TopicName = ""
	want.Held, want.Deleting, want.Managed, want.Paused, want.Name = true, true, false, true, ""
	g.Expect(ownership.ObjectOf(kt, true)).To(Equal(want))
	g.Expect(ownership.ClaimedName(kt)).To(Equal("orders"))
	kt.Spec = nil
	g.Expect(ownership.ClaimedName(kt)).To(Equal("mine"))
}
