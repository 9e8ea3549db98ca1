package brokerconfig_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

const threads = "num.io.threads"

// compared returns the changes for the nodes 0, 1, ..., given these refusals.
func compared(models []*model, refusals ...brokerconfig.Refusal) brokerconfig.Outcome {
	roles := make([]brokerconfig.Roles, len(models))
	for i := range roles {
		roles[i] = broker
	}
	return brokerconfig.Latest().CompareAll(nodesOf(models, roles), refusals...)
}

func refusedOf(node int32, key, value string) brokerconfig.Refusal {
	return brokerconfig.Refusal{Node: node, Key: key, To: &value, Why: "value should not be greater than double the current value 8"}
}

// No node starts with an illegal value. So the value is reported, whatever the key's mode and the node's roles, and leads to no change. The
// other keys are applied.
func TestIllegalValuesAreRejected(t *testing.T) {
	for key, value := range map[string]string{
		threads: "-3", "queued.max.requests": "0", "message.max.bytes": "many", "log.retention.hours": "three",
		"controller.quorum.fetch.timeout.ms": "soon",
	} {
		g := NewWithT(t)
		d := started("log.retention.ms", "5").wants(key, value, "log.retention.ms", "6", "background.threads", "11").diff(broker)
		g.Expect(d.Rejected).To(HaveLen(1), key)
		g.Expect(d.Rejected[0]).To(And(HaveField("Key", key), HaveField("Value", HaveValue(Equal(value))), HaveField("Illegal", true)))
		g.Expect(d.Rejected[0].String()).To(HavePrefix(key + "=" + value + " is illegal: it has value "))
		g.Expect(to(d.Global)).To(Equal(values{"background.threads": "11", "log.retention.ms": "6"}), key)
		g.Expect(d.Restart).To(BeEmpty(), key)
		g.Expect(d.Empty()).To(BeFalse())
	}
}

// A newer Kafka may accept the value, and the value may be meant for the pod's next image. For a Kafka that is newer than all tables
// nothing is known.
func TestWhatALaterKafkaTakesIsNotIllegal(t *testing.T) {
	g := NewWithT(t)
	rejected := func(version string) []brokerconfig.Rejection {
		c := started().wants(threads, "-3").config()
		c.Version = version
		return brokerconfig.Compare(c, broker).Rejected
	}
	g.Expect(rejected("3.9.0")).To(HaveLen(1))
	g.Expect(rejected("")).To(HaveLen(1))
	g.Expect(rejected("9.0.0")).To(BeEmpty())
}

// A value that Kafka rejects for all brokers is not requested again. Restarts apply it to the nodes that lack it. Other keys are applied at
// runtime.
func TestALegalValueThatIsRefusedIsAppliedByARestart(t *testing.T) {
	g := NewWithT(t)
	slow, fast := started(threads, "8").wants(threads, "100", "background.threads", "11"), started(threads, "100")
	fast.wants(threads, "100", "background.threads", "11")
	refusal := refusedOf(brokerconfig.EveryBroker, threads, "100")
	out := compared([]*model{slow, fast}, refusal)
	g.Expect(to(out.Global)).To(Equal(values{"background.threads": "11"}))
	g.Expect(out.Nodes).To(HaveLen(1))
	g.Expect(to(out.Nodes[0].Restart)).To(Equal(values{threads: "100"}))
	g.Expect(out.Met).To(ConsistOf(refusal))
	slow.start()
	alter(slow.global, out.Global)
	alter(fast.global, out.Global)
	out = compared([]*model{slow, fast}, refusal)
	g.Expect(out).To(Equal(brokerconfig.Outcome{Nodes: map[int32]brokerconfig.Diff{}}), "nothing stands in its way any more")
}

// The stored value would override the file, so it is changed first.
func TestAStoredValueIsChangedBeforeTheRestart(t *testing.T) {
	g := NewWithT(t)
	m := started(threads, "8").wants(threads, "100")
	m.global[threads] = "16"
	refusal := refusedOf(brokerconfig.EveryBroker, threads, "100")
	out := compared([]*model{m}, refusal)
	g.Expect(to(out.StoredGlobal)).To(Equal(values{threads: "100"}))
	g.Expect(out.Nodes).To(BeEmpty())

	// The broker reports the stored value in addition to the one that it runs with.
	config := m.config()
	e := config.Live[threads]
	e.Synonyms[0].Value, e.Value = "100", "16"
	config.Live[threads] = e
	d := brokerconfig.Latest().CompareAll([]brokerconfig.Node{{Roles: broker, Config: config}}, refusal)
	g.Expect(d.StoredGlobal).To(BeEmpty())
	g.Expect(to(d.Nodes[0].Restart)).To(Equal(values{threads: "100"}))
}

// The node's own value overrides the value of all brokers. If Kafka rejects its deletion at runtime, it is deleted before the next start.
func TestAnOverrideThatMayNotBeDeleted(t *testing.T) {
	g := NewWithT(t)
	m := started(threads, "100")
	m.node[threads] = "16"
	refusal := brokerconfig.Refusal{Key: threads, Why: "not greater than double"}
	out := compared([]*model{m}, refusal)
	g.Expect(to(out.Nodes[0].StoredNode)).To(Equal(values{threads: "(none)"}))
	g.Expect(out.Nodes[0].Restart).To(BeEmpty())
}

// If only Kafka's code can judge a value, it is unknown whether Kafka rejects the value only at runtime. A restart must not bypass a
// policy.
func TestWhatIsRefusedForGood(t *testing.T) {
	g := NewWithT(t)
	final := refusedOf(brokerconfig.EveryBroker, threads, "9")
	final.Final = true
	for _, c := range []struct {
		model   *model
		refusal brokerconfig.Refusal
	}{
		{started().wants(threads, "9"), final},
		{started().wants("compression.gzip.level", "7"), refusedOf(brokerconfig.EveryBroker, "compression.gzip.level", "7")},
	} {
		out := compared([]*model{c.model}, c.refusal)
		g.Expect(out.Global).To(BeEmpty())
		d := out.Nodes[0]
		g.Expect(d.Restart).To(BeEmpty())
		g.Expect(d.Rejected).To(HaveLen(1))
		g.Expect(d.Rejected[0].String()).To(Equal("Kafka rejects " + c.refusal.Key + "=" + *c.refusal.To + ": " + c.refusal.Why))
		g.Expect(d.Fingerprint()).To(BeEmpty(), "there is nothing to do")
	}
}

// An illegal value of one node causes no dispute with other nodes.
func TestAnIllegalWishIsNoDispute(t *testing.T) {
	g := NewWithT(t)
	bad, good := started().wants(threads, "0"), started().wants(threads, "9")
	bad.global = good.global
	out := compared([]*model{bad, good})
	g.Expect(out.Disputes).To(BeEmpty())
	g.Expect(to(out.Global)).To(Equal(values{threads: "9"}))
	g.Expect(out.Nodes[0].Rejected).To(HaveLen(1))
}

func TestTheLastWordOfKafkaCounts(t *testing.T) {
	g := NewWithT(t)
	first, other, again := refusedOf(1, threads, "9"), refusedOf(2, threads, "9"), refusedOf(1, threads, "9")
	again.Why = "another reason"
	g.Expect(brokerconfig.Add([]brokerconfig.Refusal{first, other}, again)).To(Equal([]brokerconfig.Refusal{other, again}))
}
