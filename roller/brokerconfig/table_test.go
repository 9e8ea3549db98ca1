package brokerconfig

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/kafka-operators/kafka-operators/kafka/configdef"
)

func TestTheTableForAVersion(t *testing.T) {
	g := NewWithT(t)
	for version, want := range map[string]string{
		"4.3.1": "4.3.1", "4.3.0": "4.3.1", "4.3": "4.3.1", "4.2.1-rc0": "4.2.0", "4.1.1": "4.1.0", "3.9.0": "3.9.1",
		"3.7.0": "", "4.9.0": "", "40.0.0": "", "": "", "latest": "", "4": "", "4.x": "",
	} {
		table, exact := For(version)
		g.Expect(exact).To(Equal(want != ""), version)
		if exact {
			g.Expect(table.Version).To(Equal(want), version)
		}
	}
	older, _ := For("3.7.0")
	g.Expect(older.Version).To(Equal(Versions()[0]))
	newer, _ := For("4.9.0")
	g.Expect(newer).To(BeIdenticalTo(Latest()))
	guess, _ := For("latest")
	g.Expect(guess).To(BeIdenticalTo(Latest()))
}

// Entries that users rely on. A broken generator fails this test even without Java.
func TestWhatTheLatestTableSays(t *testing.T) {
	g := NewWithT(t)
	for name, mode := range map[string]Mode{
		"min.insync.replicas": ClusterWide, "num.io.threads": ClusterWide, "log.retention.ms": ClusterWide, "log.retention.hours": ReadOnly,
		"listeners": PerBroker, "ssl.keystore.location": PerListener, "log.dirs": ReadOnly, "process.roles": ReadOnly,
	} {
		k, known := Latest().Key(name)
		g.Expect(known).To(BeTrue(), name)
		g.Expect(k.Mode).To(Equal(mode), name)
	}
	hours, _ := Latest().Key("log.retention.hours")
	g.Expect(hours.Before).To(Equal([]string{"log.retention.ms", "log.retention.minutes"}))
	_, known := Latest().Key("no.such.key")
	g.Expect(known).To(BeFalse())
}

// An unknown type or mode would be treated as a string, or as read-only.
func TestEachTypeAndModeOfTheTablesIsKnown(t *testing.T) {
	g := NewWithT(t)
	for _, table := range configdef.Tables() {
		for _, name := range table.Names() {
			key, _ := table.Key(name)
			g.Expect(types).To(HaveKey(key.Type), name)
			g.Expect(modes).To(HaveKey(key.Mode), name)
		}
	}
}

// The lists in this package name only keys that exist, and no key whose group has the same rule.
func TestOurListsOfKeysAreNotStale(t *testing.T) {
	g := NewWithT(t)
	known := func(name string) *Key {
		for _, table := range all() {
			if k := table.keys[name]; k != nil {
				return k
			}
		}
		return nil
	}
	for name, why := range owned {
		g.Expect(known(name)).NotTo(BeNil(), name)
		g.Expect(why).NotTo(BeEmpty(), name)
	}
	for name := range readByControllers {
		g.Expect(known(name)).NotTo(BeNil(), name)
		g.Expect(brokersOnly[known(name).Group]).To(BeTrue(), name)
	}
	for name := range readByBrokers {
		g.Expect(known(name)).NotTo(BeNil(), name)
		g.Expect(brokersOnly[known(name).Group]).To(BeFalse(), name)
	}
	for name := range pairs {
		g.Expect(known(name)).NotTo(BeNil(), name)
	}
	groups := map[string]bool{}
	for _, table := range all() {
		for _, k := range table.keys {
			groups[k.Group] = true
		}
	}
	for group := range brokersOnly {
		g.Expect(groups).To(HaveKey(group))
	}
}

func TestTheTableForAClusterIsThatOfItsOldestNode(t *testing.T) {
	for name, c := range map[string]struct {
		versions []string
		table    string
	}{
		"all alike":                 {[]string{"4.1.0", "4.1.1"}, "4.1.0"},
		"in the middle of upgrade":  {[]string{"4.2.0", "3.9.1", "4.1.0"}, "3.9.1"},
		"4.10 is after 4.9":         {[]string{"4.10.0", "4.3.0"}, "4.3.1"},
		"one does not tell":         {[]string{"", "4.1.0", "4.2.0"}, "4.1.0"},
		"one tells no version":      {[]string{"latest", "4.0.0"}, "4.0.0"},
		"nobody tells":              {[]string{"", ""}, Latest().Version},
		"no nodes":                  {nil, Latest().Version},
		"newer than all that known": {[]string{"9.9.9"}, Latest().Version},
	} {
		t.Run(name, func(t *testing.T) {
			var nodes []Node
			for i, version := range c.versions {
				nodes = append(nodes, Node{ID: int32(i), Config: Config{Version: version}})
			}
			NewWithT(t).Expect(TableOf(nodes).Version).To(Equal(c.table))
		})
	}
}

// A table of the wrong version costs at most a restart: a key that a node reports as read-only is not changed at runtime, and a key that
// the node does not know is not changed at all.
func TestATableOfTheWrongVersionDoesNoHarm(t *testing.T) {
	broker := Roles{Broker: true}
	for _, version := range Versions() {
		t.Run(version, func(t *testing.T) {
			g := NewWithT(t)
			table, _ := For(version)
			for _, key := range table.Names() {
				other := "1234567"
				c := Config{Desired: map[string]string{key: other}, Live: map[string]Entry{}}
				g.Expect(table.Compare(c, broker).Empty()).To(BeTrue(), "%s, which the node does not know", key)
				c.Live[key] = Entry{Value: "7654321", Source: SourceStatic, ReadOnly: true}
				d := table.Compare(c, broker)
				g.Expect(append(d.Node, d.Global...)).To(BeEmpty(), "%s, which the node holds for read-only", key)
			}
		})
	}
}
