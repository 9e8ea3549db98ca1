package controller

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"
)

// dropping stubs the schema of an API server that may drop fields.
type dropping struct {
	clusterID, managed bool
	err                error
}

func (d *dropping) KeepsClusterID() bool { return !d.clusterID }
func (d *dropping) DroppedClusterID()    { d.clusterID = true }
func (d *dropping) KeepsManaged(context.Context, *v1.KafkaTopic) (bool, error) {
	return !d.managed, d.err
}

func newDroppingWorld(t *testing.T, d *dropping, changes ...func(*setup)) *world {
	t.Helper()
	return newWorld(t, append(changes, func(s *setup) { s.Schema = d })...)
}

// unmanagedOnce creates an object whose status says Unmanaged, while its specification reads as managed.
func (w *world) unmanagedOnce(name string) {
	w.create(name, managed(false), finalizers(v1.FinalizerTopicOperator))
	w.pass(name)
	w.Expect(w.get(name)).To(haveConditions("Unmanaged=True UnmanagedBySpec: spec.managed is false"))
	w.update(name, func(kt *v1.KafkaTopic) { kt.Spec.Managed = nil })
	w.kafka.put(name, 1, 1, map[string]string{"k": "theirs"})
}

// staysUnmanaged is the condition of an object that spec.managed unmanaged, according to its status alone.
var staysUnmanaged = And(HaveField("Type", v1.ConditionUnmanaged), HaveField("Status", v1.ConditionTrue),
	HaveField("Reason", v1.ReasonUnmanagedBySpec), HaveField("Message", ContainSubstring(`strimzi.io/managed="true"`)))

func TestTheAnnotationCountsWhileSpecManagedIsDropped(t *testing.T) {
	w := newDroppingWorld(t, &dropping{managed: true})
	w.create("a", abandon)
	w.pass("a")
	w.Expect(w.get("a")).To(haveConditions("Unmanaged=True"))
	w.update("a", manage)
	w.pass("a")
	w.Expect(w.get("a")).To(beReady())
}

func TestAnObjectThatWasUnmanagedStaysSoWhileSpecManagedIsDropped(t *testing.T) {
	w := newDroppingWorld(t, &dropping{managed: true})
	w.unmanagedOnce("a")
	w.pass("a")
	w.Expect(w.kafka.config("a")).To(HaveKey("k"))
	w.Expect(w.get("a").Status.Conditions).To(HaveExactElements(staysUnmanaged))
	w.Expect(w.sink.took()).To(ContainElement(And(HavePrefix("Warning Unmanaged: "), ContainSubstring(`strimzi.io/managed="true"`))))
	w.Expect(w.logged.took()).To(ContainElement(ContainSubstring("stays unmanaged")))
	w.pass("a")
	w.Expect(w.sink.took()).To(BeEmpty(), "it was told")
	w.update("a", abandon)
	w.pass("a")
	w.update("a", manage)
	w.pass("a")
	w.Expect(w.get("a").Status.Conditions).To(HaveExactElements(staysUnmanaged), "the annotation says nothing about spec.managed")

	w.delete("a")
	for range 2 { // the second pass reads the first one's report
		w.r.memory = newMemory(w.clock.now)
		w.pass("a")
		w.Expect(w.kafka.get("a")).NotTo(BeNil())
		w.Expect(w.get("a").Status.Conditions).To(ContainElements(
			And(HaveField("Reason", v1.ReasonNotReadyForDeletion), HaveField("Message", ContainSubstring("drops spec.managed"))),
			staysUnmanaged))
	}
	w.update("a", annotation(v1.AnnotationManaged, "false"))
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse())
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
}

func TestWhileItIsUnknownWhetherAnObjectIsManagedNothingIsChanged(t *testing.T) {
	d := &dropping{err: errors.New("no answer")}
	w := newDroppingWorld(t, d)
	w.unmanagedOnce("a")
	for range 2 {
		w.withholds("a", "no answer")
		w.Expect(w.kafka.config("a")).To(HaveKey("k"))
		w.Expect(w.get("a")).To(haveConditions("Unmanaged=True UnmanagedBySpec: spec.managed is false"))
	}
	w.delete("a")
	for range 2 { // the second pass reads the first one's report
		w.clock.step(reportAfter)
		w.withholds("a", "no answer")
		w.Expect(w.get("a").Status.Conditions).To(ContainElements(
			And(HaveField("Type", v1.ConditionReady), HaveField("Message", "Nothing is changed in Kafka for topic 'a': the KafkaTopic may be "+
				"managed or not (the API server does not answer). "+sayManaged)), staysUnmanaged))
		w.r.memory = newMemory(w.clock.now)
		w.withholds("a", "no answer")
	}
	w.update("a", annotation(v1.AnnotationManaged, "false"))
	w.pass("a")
	w.Expect(w.exists("a")).To(BeFalse(), "the annotation is an answer")
	w.Expect(w.kafka.get("a")).NotTo(BeNil())
}

// A handover: b is managed again, then a is deleted. Without an answer of the API server, b may be managed or not.
func TestWhileItIsUnknownWhetherARivalIsManagedNothingIsChanged(t *testing.T) {
	for name, fails := range map[string]func(w *world, d *dropping, err error){
		"from the start": func(_ *world, d *dropping, err error) { d.err = err },
		"before the call": func(w *world, d *dropping, err error) {
			w.r.options.Claims = &blindListed{w.r.options.Claims} // a watch that has not shown b yet
			w.kafka.waiting(func(string, string) { d.err = err })
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &dropping{}
			w := newDroppingWorld(t, d)
			w.ready("a", named("t"))
			w.create("b", named("t"), managed(false))
			w.pass("b")
			w.update("b", func(kt *v1.KafkaTopic) { kt.Spec.Managed = nil })
			fails(w, d, errors.New("the webhook does not answer"))
			w.update("a", config("k", `1`))
			w.withholds("a", "KafkaTopic "+w.ns+"/b claims it as well", "webhook does not answer")
			w.Expect(w.kafka.config("t")).To(BeEmpty())

			d.err = nil
			w.delete("a")
			fails(w, d, errors.New("the webhook does not answer"))
			w.withholds("a", "webhook does not answer")
			w.Expect(w.kafka.get("t")).NotTo(BeNil())

			w.kafka.waiting(nil)
			d.err = nil
			w.pass("a")
			w.Expect(w.exists("a")).To(BeFalse())
			w.Expect(w.kafka.get("t")).NotTo(BeNil(), "b manages it")
		})
	}
}

// blindListed finds no claimants in the cache.
type blindListed struct{ Claims }

func (*blindListed) Of(context.Context, string) ([]v1.KafkaTopic, error) { return nil, nil }

func TestAnObjectThatIsManagedAgainIsManaged(t *testing.T) {
	w := newDroppingWorld(t, &dropping{})
	w.unmanagedOnce("a")
	w.pass("a")
	w.Expect(w.kafka.config("a")).To(BeEmpty())
	w.Expect(w.get("a")).To(beReady())

	w = newDroppingWorld(t, &dropping{managed: true})
	w.unmanagedOnce("a")
	w.update("a", annotation(v1.AnnotationManaged, "true"))
	w.pass("a")
	w.Expect(w.get("a")).To(beReady(), "an annotation says so in so many words")
}

func TestAClusterIDThatIsDroppedIsNotWrittenInALoop(t *testing.T) {
	d := &dropping{clusterID: true}
	w := newDroppingWorld(t, d)
	w.create("a")
	w.pass("a")
	w.clock.step(settle)
	w.Expect(w.get("a").Status.ClusterID).To(BeEmpty())
	w.Expect(w.get("a")).To(beReady())
	w.Expect(w.sink.took()).To(ContainElement(ContainSubstring("drops status.clusterId")))
	w.requests.took()
	w.pass("a")
	w.Expect(w.requests.all()).To(BeEmpty())
	w.Expect(w.sink.took()).NotTo(ContainElement(ContainSubstring("drops status.clusterId")), "it was told")

	d.clusterID = false
	w.pass("a")
	w.Expect(w.get("a").Status.ClusterID).To(Equal(ownID))
}

func TestADroppedClusterIDIsAnUnknownCluster(t *testing.T) {
	for _, block := range []bool{false, true} {
		w := newDroppingWorld(t, &dropping{clusterID: true}, func(s *setup) { s.Ownership.BlockUnknown = block })
		w.create("a")
		w.pass("a")
		w.clock.step(settle)
		w.delete("a")
		w.pass("a")
		w.Expect(w.exists("a")).To(Equal(block))
		w.Expect(w.kafka.get("a") != nil).To(Equal(block))
		if block {
			w.Expect(w.get("a").Status.Conditions[0].Message).To(ContainSubstring("drops status.clusterId"))
			w.update("a", finalizers())
		}
	}
}

// hiding reads like a cache that was filled while another CustomResourceDefinition dropped the clusterId.
type hiding struct{ client.Client }

func (h *hiding) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := h.Client.Get(ctx, key, o, opts...)
	o.(*v1.KafkaTopic).Status.ClusterID = ""
	return err
}

func TestAClaimIsNotStoredOverAClusterIDThatTheCacheDoesNotShow(t *testing.T) {
	for name, changes := range map[string][]change{
		"new":         nil,
		"held":        {finalizers(v1.FinalizerTopicOperator)},
		"to be moved": {finalizers(v1.FinalizerTopicOperator), config("k", `1`)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.kafka.put("a", 1, 1, nil)
			w.create("a", changes...)
			w.status("a", func(s *v1.KafkaTopicStatus) { s.ClusterID = "anotherClusterId" })
			w.r.client = &hiding{w.r.client}
			w.pass("a")
			w.pass("a")
			w.Expect(w.get("a").Status.ClusterID).To(Equal("anotherClusterId"))
			w.Expect(w.get("a").Status.Conditions).To(ContainElement(HaveField("Reason", v1.ReasonClusterMismatch)))
			w.Expect(w.kafka.config("a")).To(BeEmpty())
		})
	}
}

func TestAnEmptyStatusTakesAClaim(t *testing.T) {
	w := newWorld(t)
	w.create("a")
	w.status("a", func(s *v1.KafkaTopicStatus) { s.ClusterID = "gone" })
	empty := client.RawPatch(types.MergePatchType, []byte(`{"status":{"clusterId":null}}`)) // an empty status
	w.Expect(w.admin.Status().Patch(t.Context(), w.get("a"), empty)).To(Succeed())
	w.pass("a")
	w.Expect(w.get("a").Status.ClusterID).To(Equal(ownID))
}
