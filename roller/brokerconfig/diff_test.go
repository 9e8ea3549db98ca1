package brokerconfig_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/roller/brokerconfig"
)

// started returns a node of the latest Kafka that was started with these properties.
func started(properties ...string) *model {
	m := newModel(brokerconfig.Latest())
	m.wants(properties...)
	m.start()
	return m
}

// wants replaces the desired properties of the node.
func (m *model) wants(properties ...string) *model {
	m.file = map[string]string{}
	for i := 0; i < len(properties); i += 2 {
		m.file[properties[i]] = properties[i+1]
	}
	return m
}

func (m *model) diff(r brokerconfig.Roles) brokerconfig.Diff { return m.table.Compare(m.config(), r) }

// to returns the new values of changes, by key; "(none)" for a deletion.
func to(changes []brokerconfig.Change) map[string]string {
	values := map[string]string{}
	for _, c := range changes {
		values[c.Key] = "(none)"
		if c.To != nil {
			values[c.Key] = *c.To
		}
	}
	return values
}

type values = map[string]string

// expect compares a node, and checks each part of the result.
func expect(t *testing.T, m *model, r brokerconfig.Roles, node, global, restart values) {
	t.Helper()
	g := NewWithT(t)
	d := m.diff(r)
	for _, part := range []struct {
		name    string
		changes []brokerconfig.Change
		want    values
	}{{"Node", d.Node, node}, {"Global", d.Global, global}, {"Restart", d.Restart, restart}} {
		if part.want == nil {
			part.want = values{}
		}
		g.Expect(to(part.changes)).To(Equal(part.want), part.name)
	}
}

var none values

// testCustomProperty{Added,Removed,Kept,Changed}: the pod's revision covers properties that Kafka does not know.
func TestPropertiesThatKafkaDoesNotKnow(t *testing.T) {
	custom := func(value string) brokerconfig.Entry {
		return brokerconfig.Entry{Value: value, Source: brokerconfig.SourceStatic, ReadOnly: true, Sensitive: true}
	}
	for name, c := range map[string]brokerconfig.Config{
		"added":   {Desired: values{"custom.property": "1"}},
		"removed": {Live: map[string]brokerconfig.Entry{"custom.property": custom("")}},
		"kept":    {Desired: values{"custom.property": "1"}, Live: map[string]brokerconfig.Entry{"custom.property": custom("1")}},
		"changed": {Desired: values{"custom.property": "2"}, Live: map[string]brokerconfig.Entry{"custom.property": custom("1")}},
		"for one listener": {Desired: values{"listener.name.tls.ssl.client.auth": "required"},
			Live: map[string]brokerconfig.Entry{"listener.name.tls.ssl.client.auth": custom("none")}},
		// testPrometheusMetricsReporterAllowList
		"of a reporter": {Desired: values{"prometheus.metrics.reporter.allowlist": ".*"},
			Live: map[string]brokerconfig.Entry{"prometheus.metrics.reporter.allowlist": custom(".*")}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(brokerconfig.Compare(c, combined).Empty()).To(BeTrue())
		})
	}
}

// testChangedPresentValue
func TestAChangedValueOfAClusterWideKey(t *testing.T) {
	expect(t, started("min.insync.replicas", "1").wants("min.insync.replicas", "2"), broker, none, values{"min.insync.replicas": "2"}, none)
}

// testChangedPresentValueToDefault
func TestAValueThatIsTheDefaultAlready(t *testing.T) {
	expect(t, started().wants("min.insync.replicas", "1"), broker, none, none, none)
}

// testChangedControllerConfigFor{Broker,Combined,Controller}Node (docs/roller/checklist.md)
func TestAChangedControllerConfiguration(t *testing.T) {
	m := started("controller.quorum.election.timeout.ms", "1000").wants("controller.quorum.election.timeout.ms", "2000")
	expect(t, m, broker, none, none, none)
	expect(t, m, combined, none, none, values{"controller.quorum.election.timeout.ms": "2000"})
	expect(t, m, controller, none, none, values{"controller.quorum.election.timeout.ms": "2000"})
}

func TestChangedVotersConcernBrokersToo(t *testing.T) {
	m := started("controller.quorum.voters", "1@a:9090").wants("controller.quorum.voters", "1@b:9090")
	for _, r := range []brokerconfig.Roles{broker, controller, combined} {
		expect(t, m, r, none, none, values{"controller.quorum.voters": "1@b:9090"})
	}
}

// testChangedBrokerConfigForCombinedNode, testChangedBrokerConfigForControllerNode
func TestAChangedBrokerConfiguration(t *testing.T) {
	m := started("log.retention.hours", "168").wants("log.retention.hours", "72")
	expect(t, m, combined, none, none, values{"log.retention.hours": "72"})
	expect(t, m, broker, none, none, values{"log.retention.hours": "72"})
	expect(t, m, controller, none, none, none)
}

// testChangedControllerDynamicConfig
func TestAChangedDynamicConfigurationOfAController(t *testing.T) {
	expect(t, started("max.connections", "100").wants("max.connections", "200"), controller, none, values{"max.connections": "200"}, none)
}

// A controller accepts a change of its listeners, but does not open them: ControllerServer does not register DynamicListenerConfig.
func TestAControllerTakesNoListenersUpWhileItRuns(t *testing.T) {
	m := started("listeners", "C://:9090").wants("listeners", "C://:9091")
	expect(t, m, controller, none, none, values{"listeners": "C://:9091"})
	expect(t, m, broker, values{"listeners": "C://:9091"}, none, none)
	m.node["listeners"] = "C://:9092"
	expect(t, m, controller, values{"listeners": "(none)"}, none, values{"listeners": "C://:9091"})
	m.wants("listeners", "C://:9090")
	expect(t, m, controller, values{"listeners": "(none)"}, none, none)
}

// A cluster-wide key that only brokers apply shows in a controller's description, but does not change its threads.
func TestAControllerIsRestartedForWhatOnlyBrokersTakeUp(t *testing.T) {
	m := started("num.network.threads", "3").wants("num.network.threads", "5")
	m.global["num.network.threads"] = "5"
	expect(t, m, controller, none, none, values{"num.network.threads": "5"})
	expect(t, m, broker, none, none, none)
	m.terse = true
	expect(t, m, controller, none, none, none)
}

// testChangedAdvertisedListenerFor{Broker,Controller,Combined}, …FromNothingToDefault, …FromNonDefaultToDefault
func TestWhatMakesANodeTheOneItIsIsIgnored(t *testing.T) {
	for _, key := range []string{"advertised.listeners", "broker.rack", "broker.id", "node.id", "process.roles"} {
		for _, r := range []brokerconfig.Roles{broker, controller, combined} {
			expect(t, started(key, "1").wants(key, "2"), r, none, none, none)
			expect(t, started(key, "1").wants(), r, none, none, none)
			expect(t, started().wants(key, "1"), r, none, none, none)
		}
	}
}

// testChangedLogDirs, testLogDirsNonDefaultToDefault, testLogDirsDefaultToDefault, testUnchangedLogDirs
func TestLogDirs(t *testing.T) {
	restart := func(value string) values { return values{"log.dirs": value} }
	expect(t, started("log.dirs", "/a").wants("log.dirs", "/a,/b"), broker, none, none, restart("/a,/b"))
	expect(t, started("log.dirs", "/a").wants("log.dirs", "null"), broker, none, none, restart("null"))
	expect(t, started("log.dirs", "/a").wants(), broker, none, none, restart("(none)"))
	expect(t, started().wants(), broker, none, none, none)
	expect(t, started("log.dirs", "/a,/b").wants("log.dirs", "/a, /b"), broker, none, none, none)
}

// testChangedInterBrokerListenerName
func TestTheInterBrokerListener(t *testing.T) {
	expect(t, started("inter.broker.listener.name", "A").wants("inter.broker.listener.name", "B"), broker, none, none,
		values{"inter.broker.listener.name": "B"})
}

// testChangedListenerSecurityProtocolMap(+FromNonDefault)
func TestTheSecurityProtocolsOfListeners(t *testing.T) {
	const key = "listener.security.protocol.map"
	expect(t, started().wants(key, "A:PLAINTEXT"), broker, values{key: "A:PLAINTEXT"}, none, none)
	expect(t, started(key, "A:SSL").wants(key, "A:PLAINTEXT,B:SSL"), broker, values{key: "A:PLAINTEXT,B:SSL"}, none, none)
	expect(t, started(key, "B:SSL,A:PLAINTEXT").wants(key, "A:PLAINTEXT, B:SSL"), broker, none, none, none)
}

// testChangedMoreProperties
func TestSeveralChangedProperties(t *testing.T) {
	m := started("inter.broker.listener.name", "A", "group.max.size", "5", "log.segment.bytes", "10000000")
	m.wants("inter.broker.listener.name", "B", "group.max.size", "6", "log.segment.bytes", "20000000")
	expect(t, m, broker, none, values{"log.segment.bytes": "20000000"}, values{"inter.broker.listener.name": "B", "group.max.size": "6"})
}

// testRemoveDefaultPropertyWhichIsNotDefault. If the value is the default already, a restart would not change it.
func TestARemovedReadOnlyProperty(t *testing.T) {
	expect(t, started("log.retention.hours", "72").wants(), broker, none, none, values{"log.retention.hours": "(none)"})
	expect(t, started("log.retention.hours", "168").wants(), broker, none, none, none)
}

// testClusterWideChanged, testPropertiesAllScopesChanged
func TestChangesOfEachMode(t *testing.T) {
	m := started("min.insync.replicas", "1", "log.retention.ms", "1", "listeners", "A://:1", "group.max.size", "5")
	m.wants("min.insync.replicas", "2", "log.retention.ms", "2", "listeners", "A://:2", "group.max.size", "6")
	expect(t, m, broker, values{"listeners": "A://:2"}, values{"min.insync.replicas": "2", "log.retention.ms": "2"},
		values{"group.max.size": "6"})
}

// TestCordonedLogDirs corresponds to Strimzi's testPerBrokerDynamicConfig.
func TestCordonedLogDirs(t *testing.T) {
	m := started("log.dirs", "/a,/b").wants("log.dirs", "/a,/b", "cordoned.log.dirs", "/a")
	expect(t, m, broker, values{"cordoned.log.dirs": "/a"}, none, none)
	m.apply(m.diff(broker))
	expect(t, m, broker, none, none, none)
	m.wants("log.dirs", "/a,/b")
	expect(t, m, broker, values{"cordoned.log.dirs": "(none)"}, none, none)
	m.apply(m.diff(broker))
	expect(t, m, broker, none, none, none)
}

// testClusterWideConfigSetPerBroker, Strimzi issue 12690.
func TestAnOverrideOfAClusterWideKeyIsRepaired(t *testing.T) {
	m := started("num.io.threads", "8").wants("num.io.threads", "9")
	m.node["num.io.threads"] = "4"
	expect(t, m, broker, values{"num.io.threads": "(none)"}, values{"num.io.threads": "9"}, none)
	m.terse = true
	expect(t, m, broker, values{"num.io.threads": "(none)"}, values{"num.io.threads": "9"}, none)
}

// testAreDoublesEqual, testAreDoublesEqualFailedConversion, testDoublePropertiesAreIgnoredWhenEqual, …UpdatedWhenNotEqual
func TestDoubles(t *testing.T) {
	const key = "log.cleaner.min.cleanable.ratio"
	expect(t, started(key, "0.50").wants(key, ".5"), broker, none, none, none)
	expect(t, started(key, "0.5").wants(key, "5e-1"), broker, none, none, none)
	expect(t, started(key, "0.5").wants(key, "0.51"), broker, none, values{key: "0.51"}, none)
	expect(t, started(key, "0.5").wants(key, "half"), broker, none, none, none)
	d := started(key, "0.5").wants(key, "half").diff(broker)
	NewWithT(t).Expect(d.Rejected).To(ConsistOf(HaveField("Illegal", true)))
}

// Strimzi issue 7391: a stored value overrides the file, so a restart would never apply the file's value.
func TestAStoredValueThatFightsTheFileIsDeleted(t *testing.T) {
	m := started("listeners", "A://:1", "num.io.threads", "9")
	m.node["listeners"], m.node["num.io.threads"] = "A://:2", "4"
	expect(t, m, broker, values{"listeners": "(none)", "num.io.threads": "(none)"}, none, none)
	m = started("num.io.threads", "9")
	m.global["num.io.threads"] = "4"
	expect(t, m, broker, none, values{"num.io.threads": "9"}, none)
}

// Strimzi issue 11685: Kafka rejects the deletion of the cluster's min.insync.replicas while eligible leader replicas are enabled.
func TestMinInSyncReplicasIsNeverDeletedForTheCluster(t *testing.T) {
	m := started("min.insync.replicas", "2").wants()
	m.global["min.insync.replicas"] = "2"
	expect(t, m, broker, none, values{"min.insync.replicas": "1"}, none)
	m.apply(m.diff(broker))
	expect(t, m, broker, none, none, none)
	m.start()
	expect(t, m, broker, none, none, none)
}

func TestARemovedPropertyOfAClusterWideKey(t *testing.T) {
	m := started().wants()
	m.global["num.io.threads"] = "4"
	expect(t, m, broker, none, values{"num.io.threads": "(none)"}, none)
	m = started("num.io.threads", "4").wants() // the file that the broker was started with still has it
	expect(t, m, broker, none, values{"num.io.threads": "8"}, none)
	m = started("log.retention.ms", "4").wants() // no value means "none"
	expect(t, m, broker, none, none, values{"log.retention.ms": "(none)"})
	m.global["log.retention.ms"] = "5"
	expect(t, m, broker, none, values{"log.retention.ms": "(none)"}, values{"log.retention.ms": "(none)"})
}

// Kafka ignores log.retention.hours if log.retention.ms is set, so a restart would change nothing.
func TestSynonyms(t *testing.T) {
	m := started("log.retention.hours", "72").wants("log.retention.ms", "1000", "log.retention.hours", "24")
	expect(t, m, broker, none, values{"log.retention.ms": "1000"}, none)
	m.wants("log.retention.ms", "1000")
	expect(t, m, broker, none, values{"log.retention.ms": "1000"}, none)
	m.wants("log.retention.minutes", "60")
	expect(t, m, broker, none, none, values{"log.retention.minutes": "60"})
	m.wants("log.retention.hours", "72")
	m.node["log.retention.ms"] = "5"
	expect(t, m, broker, values{"log.retention.ms": "(none)"}, none, none)
}

// Kafka describes these keys as dynamic, but rejects a change without a listener's prefix.
func TestAKeyThatIsDynamicForListenersOnly(t *testing.T) {
	m := started("ssl.keystore.location", "/a").wants("ssl.keystore.location", "/b")
	expect(t, m, broker, none, none, values{"ssl.keystore.location": "/b"})
}

func TestPasswordsAreNotCompared(t *testing.T) {
	m := started("sasl.jaas.config", "a", "ssl.key.password", "b", "delegation.token.secret.key", "c")
	m.wants("sasl.jaas.config", "d", "ssl.key.password", "e")
	expect(t, m, broker, none, none, none)
	m.node["sasl.jaas.config"] = "d"
	expect(t, m, broker, values{"sasl.jaas.config": "(none)"}, none, none)
}

func TestAValueThatTheNodeLooksUpItselfIsNotCompared(t *testing.T) {
	expect(t, started("listeners", "A://:1").wants("listeners", "${env:LISTENERS}"), broker, none, none, none)
	expect(t, started("listeners", "A://:1").wants("listeners", "${LISTENERS}"), broker, values{"listeners": "${LISTENERS}"}, none, none)
}

// A node of another version reports which keys it can change at runtime; its report takes precedence over the table.
func TestWhatTheNodeSaysOfItselfCounts(t *testing.T) {
	g := NewWithT(t)
	c := started("num.io.threads", "8").wants("num.io.threads", "9").config()
	e := c.Live["num.io.threads"]
	e.ReadOnly = true
	c.Live["num.io.threads"] = e
	g.Expect(to(brokerconfig.Compare(c, broker).Restart)).To(HaveKey("num.io.threads"))
	delete(c.Live, "num.io.threads")
	g.Expect(brokerconfig.Compare(c, broker).Empty()).To(BeTrue(), "it would refuse a key that it does not know")
	c.Live = nil
	g.Expect(brokerconfig.Compare(c, broker).Empty()).To(BeTrue())
}

func TestTheResultIsSortedAndTellsBothValues(t *testing.T) {
	g := NewWithT(t)
	d := started("num.io.threads", "8").wants("num.io.threads", "9", "background.threads", "11").diff(broker)
	g.Expect(d.Global).To(HaveLen(2))
	g.Expect(d.Global[0].Key).To(Equal("background.threads"))
	g.Expect(*d.Global[1].From + " -> " + *d.Global[1].To).To(Equal("8 -> 9"))
}

// The value of a synonym is not the key's own value.
func TestAnotherKeysValueIsNotTheKeysOwn(t *testing.T) {
	g := NewWithT(t)
	c := started("log.retention.hours", "72").config()
	e := brokerconfig.Entry{Value: "5", Source: brokerconfig.SourceDynamicNode, Synonyms: []brokerconfig.Synonym{
		{Key: "log.retention.ms", Value: "5", Source: brokerconfig.SourceDynamicNode},
		{Key: "log.retention.hours", Value: "72", Source: brokerconfig.SourceStatic},
		{Key: "log.retention.hours", Value: "168", Source: brokerconfig.SourceDefault},
	}}
	c.Live["log.retention.ms"] = e
	d := brokerconfig.Compare(c, broker)
	g.Expect(to(d.Node)).To(Equal(values{"log.retention.ms": "(none)"}))
	g.Expect(d.Global).To(BeEmpty())
	g.Expect(d.Restart).To(BeEmpty())
}

// A node may report a value that it derived from the file's value.
func TestWhatARestartWouldReadAgainIsNoReasonForOne(t *testing.T) {
	g := NewWithT(t)
	c := started("group.max.size", "5").config()
	e := c.Live["group.max.size"]
	e.Value = "4"
	c.Live["group.max.size"] = e
	g.Expect(brokerconfig.Compare(c, broker)).To(Equal(brokerconfig.Diff{}))
}

// A broker reports the value below an override only after the override is deleted.
func TestAnOverrideOfWhatIsNotDesiredIsDeletedAndNotReplaced(t *testing.T) {
	m := started()
	m.terse = true
	m.node["num.io.threads"], m.node["ssl.protocol"] = "4", "TLSv1.2"
	expect(t, m, broker, values{"num.io.threads": "(none)", "ssl.protocol": "(none)"}, none, none)
}
